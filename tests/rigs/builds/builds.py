#!/usr/bin/env python3
"""Builds Ronde twice, without CUDA, in folders of different names, and compares what is installed.

    tests/rigs/builds/builds.py [--jobs N] [CMake's options]

Ends with 0 if every installed file has the same bytes in both.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout[-4000:]}")


def copy_sources(place):
    def ignored(folder, names):
        top = pathlib.Path(folder) == ROOT
        return [name for name in names if name in (".git", "__pycache__") or (top and name.startswith("build"))]

    shutil.copytree(ROOT, place / "source", ignore=ignored)


def build(place, jobs, options):
    """Builds and installs the sources there; returns {name: SHA-256}."""
    # The compiler itself, whatever wraps it elsewhere: a cache would compare the first build with itself.
    environment = {**os.environ, "CCACHE_DISABLE": "1", "DESTDIR": str(place / "out")}
    run("cmake", "-G", "Ninja", "-S", place / "source", "-B", place / "build", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_INSTALL_PREFIX=/usr", "-DRONDE_WITH_CUDA=OFF", "-DRONDE_BUILD_TESTS=OFF",
        "-DRONDE_BUILD_BENCHMARKS=OFF", *options, env=environment)
    run("cmake", "--build", place / "build", "--parallel", jobs, env=environment)
    run("cmake", "--install", place / "build", env=environment)
    out = place / "out"
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(out.rglob("*")) if path.is_file() and not path.is_symlink()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="ronde-builds-") as place:
        places = [pathlib.Path(place) / name for name in ("a", "another-folder/deeper")]
        for one in places:
            copy_sources(one)
        first, second = (build(one, arguments.jobs, options) for one in places)
        names = sorted(set(first) | set(second))
        different = [name for name in names if first.get(name) != second.get(name)]
    for name in different:
        print(f"DIFFERENT: {name}")
    programs = [name for name in names if "/bin/" in name or ".so" in name]
    print(f"{len(names)} installed files, {len(programs)} of them programs and libraries: {len(different)} differ")
    for name in programs:
        print(f"{first.get(name, '-')[:16]}  {name}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
