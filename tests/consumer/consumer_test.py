"""The README's program, built as a user builds it, and run on two ranks. Usage: consumer_test.py [-v] CLASS..."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["RONDE_BUILD"]
SOURCE = pathlib.Path(os.environ["RONDE_SOURCE"])
CXX = os.environ["RONDE_CXX"]
MPIEXEC = os.environ["RONDE_MPIEXEC"]
PROJECT = pathlib.Path(__file__).parent / "project"
ROOMS = ("core", "nn", "data", "distributed", "models")
READER = "libexec/ronde/ronde-hdf5-reader"
FOREIGN_HEADERS = re.compile(r"/(mpi|hdf5|dnnl|oneapi|nlohmann|CLI|curl|openssl|Eigen|zlib)[./_]", re.IGNORECASE)


def run(*command, **options):
    """Runs a command; its output is the message when it fails."""
    command = [str(word) for word in command]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def readme_program():
    """The C++ program of README.md."""
    found = re.findall(r"^```cpp\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    return found[0]


class InTemporaryDirectory(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ronde-consumer-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.program = self.root / "circle.cpp"
        self.program.write_text(readme_program())

    def install(self):
        """Installs, then moves the tree: nothing in it may remember where it was."""
        run("cmake", "--install", BUILD, "--prefix", self.root / "first")
        prefix = self.root / "prefix"
        (self.root / "first").rename(prefix)
        return prefix

    def build(self, *options):
        folder = self.root / "build"
        run("cmake", "-S", PROJECT, "-B", folder, "-G", "Ninja", f"-DCIRCLE_SOURCE={self.program}", *options)
        run("cmake", "--build", folder, "--parallel", "2", "--target", "circle")
        return folder / "circle"

    def check_program(self, program):
        """Two ranks learn the circle."""
        output = run(MPIEXEC, "-np", "2", program, timeout=120)
        right, count = map(int, re.search(r"(\d+) of (\d+) points are right", output).groups())
        self.assertEqual(count, 4000)
        self.assertGreater(right, 3800, output)
        self.assertEqual(output.count("points are right"), 1, output)


class Installed(InTemporaryDirectory):
    def test_readme_program_is_short(self):
        self.assertLess(len(readme_program().splitlines()), 60)

    def test_find_package(self):
        prefix = self.install()
        program = self.build(f"-DCMAKE_PREFIX_PATH={prefix}", "-DRONDE_COMPONENTS=mpi")
        self.check_program(program)

    def test_valgrind_takes_no_block_for_lost(self):
        if shutil.which("valgrind") is None:
            self.skipTest("no valgrind")
        self.program.write_text(readme_program().replace("start(0, 200)", "start(0, 2)").replace("epochs = 10", "epochs = 1"))
        program = self.build(f"-DCMAKE_PREFIX_PATH={self.install()}", "-DRONDE_COMPONENTS=mpi")
        report = run("valgrind", "--leak-check=full", program, timeout=300)
        self.assertIn("points are right", report)
        self.assertNotIn("CachingAllocator", report)

    def test_unknown_component_is_refused(self):
        prefix = self.install()
        with self.assertRaisesRegex(AssertionError, "teleport"):
            self.build(f"-DCMAKE_PREFIX_PATH={prefix}", "-DRONDE_COMPONENTS=teleport")

    def test_component_cuda_is_the_module_beside_the_library(self):
        prefix = self.install()
        module = next(prefix.rglob("libronde.so")).with_name("libronde_cuda.so")
        options = ("cmake", "-S", PROJECT, "-G", "Ninja", f"-DCIRCLE_SOURCE={self.program}", f"-DCMAKE_PREFIX_PATH={prefix}",
                   "-DRONDE_COMPONENTS=cuda")
        module.touch()
        run(*options, "-B", self.root / "with")
        module.unlink()
        with self.assertRaisesRegex(AssertionError, "cuda"):
            run(*options, "-B", self.root / "without")

    def test_programs_run_from_the_prefix(self):
        prefix = self.install()
        self.assertRegex(run(prefix / "bin" / "train_mnist", "--version"), r"^train_mnist \d+\.\d+\.\d+\n$")
        self.assertIn("backend", run(prefix / "bin" / "ronde", "info"))
        foreign = SOURCE / "tests" / "golden" / "mnist_cnn_keras3.15.1.h5"  # which a program in libexec reads
        self.assertIn("dense", run(prefix / "bin" / "ronde", "summary", foreign))


class Package(InTemporaryDirectory):
    def test_needs_no_foreign_header(self):
        prefix = self.install()
        headers = run(CXX, "-std=c++20", "-M", f"-I{prefix}/include", self.program).replace("\\\n", " ").split()
        ours = [header for header in headers if "/ronde/" in header]
        foreign = [header for header in set(headers) - set(ours) if FOREIGN_HEADERS.search(header)]
        self.assertEqual(foreign, [])
        self.assertTrue(ours and all(header.startswith(str(prefix)) for header in ours), ours)

    def test_umbrella_header_compiles_alone(self):
        prefix = self.install()
        alone = self.root / "alone.cpp"
        alone.write_text("#include <ronde/ronde.h>\n")
        # In a user's build that does not come from CMake, warnings reach into our headers.
        strict = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wold-style-cast",
                  "-Wnon-virtual-dtor", "-Woverloaded-virtual", "-Wextra-semi", "-Wcast-align", "-Wredundant-decls", "-Werror")
        for compiler in {CXX, shutil.which("g++"), shutil.which("clang++")} - {None}:
            with self.subTest(compiler):
                begin = time.monotonic()
                run(compiler, "-std=c++20", "-O0", *strict, f"-I{prefix}/include", "-c", alone, "-o", self.root / "alone.o")
                print(f"#include <ronde/ronde.h> compiles in {time.monotonic() - begin:.2f} s at -O0 with {compiler}")

    def test_heavy_standard_headers_stay_out(self):
        prefix = self.install()
        heavy = re.compile(r"#\s*include\s*<(iostream|sstream|fstream|filesystem|regex|chrono)>")
        guilty = [str(path) for path in prefix.rglob("*.h") if heavy.search(path.read_text())]
        self.assertEqual(guilty, [])

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config")
        directory = next(self.install().rglob("ronde.pc")).parent
        environment = {**os.environ, "PKG_CONFIG_PATH": str(directory)}
        flags = run("pkg-config", "--cflags", "--libs", "ronde", env=environment).split()
        run(CXX, "-std=c++20", self.program, *flags, f"-Wl,-rpath,{directory.parent}", "-o", self.root / "circle")
        self.check_program(self.root / "circle")


class Debian(InTemporaryDirectory):
    def test_packages_name_what_they_need_and_run(self):
        if missing := [name for name in ("dpkg-shlibdeps", "file") if shutil.which(name) is None]:
            self.skipTest(f"no {missing[0]}")
        run("cpack", "--config", pathlib.Path(BUILD) / "CPackConfig.cmake", "-G", "DEB", "-B", self.root)
        packages = {path.name.split("_")[0]: path for path in self.root.glob("*.deb")}
        needed = {name: run("dpkg-deb", "--field", path, "Depends") for name, path in packages.items()}
        self.assertRegex(needed["ronde"], r"\blibhdf5-")
        self.assertRegex(needed["libronde-dev"], r"^ronde \(= \d")
        for path in packages.values():
            run("dpkg-deb", "--extract", path, self.root / "system")
        programs = self.root / "system/usr/bin"
        self.assertIn("backend", run(programs / "ronde", "info"))
        foreign = SOURCE / "tests" / "golden" / "mnist_cnn_keras3.15.1.h5"  # which a program in libexec reads
        self.assertIn("dense", run(programs / "ronde", "summary", foreign))
        self.check_program(self.build(f"-DCMAKE_PREFIX_PATH={self.root / 'system/usr'}", "-DRONDE_COMPONENTS=mpi"))


class Library(InTemporaryDirectory):
    def setUp(self):
        super().setUp()
        self.library = next(path for path in self.install().rglob("libronde.so*") if not path.is_symlink())

    def symbols(self, *options):
        return [line.split(" ", 2)[2] for line in run("nm", "-D", "--defined-only", *options, self.library).splitlines()]

    def test_exports_only_our_symbols(self):
        names = self.symbols()
        ours = re.compile(r"_Z(T[VITS]|GV|Tv?h?n?[0-9_n]*_)?(N|NK)5ronde")
        self.assertTrue(names)
        self.assertEqual([name for name in names if not ours.match(name)], [])

    def test_exports_no_private_class(self):
        def classes(folder):
            headers = [path for room in ROOMS for path in (SOURCE / room / folder).rglob("*.h")]
            return set(re.findall(r"^(?:class|struct) (?:RONDE_API )?(\w+)", "\n".join(path.read_text() for path in headers), re.M))

        private = classes("src") - classes("include")
        self.assertTrue(private)
        exported = " ".join(self.symbols("-C"))
        self.assertEqual([name for name in private if f"ronde::v0::{name}::" in exported], [])

    def test_is_hardened(self):
        files = [path for folder in ("bin", "libexec/ronde") for path in (self.root / "prefix" / folder).iterdir()]
        programs = [path for path in files if path.read_bytes().startswith(b"\x7fELF")]
        self.assertTrue(programs)
        for path in [self.library, *programs]:
            with self.subTest(path.name):
                text = run("readelf", "-hld", "-W", path)
                self.assertRegex(text, r"Type: +DYN")  # of a program: position-independent
                self.assertIn("GNU_RELRO", text)
                self.assertRegex(text, r"\bNOW\b")
                self.assertNotRegex(text, r"GNU_STACK.*\bRWE\b")
                if path.name == "ronde-hdf5-reader":
                    continue  # one call of the library: nothing in it to guard
                used = run("nm", "-D", "--undefined-only", path)
                self.assertIn("__stack_chk_fail", used)
                self.assertRegex(used, r"__\w+_chk\b(?<!__stack_chk_fail)")  # _FORTIFY_SOURCE

    def test_stays_mapped_when_a_plugin_that_uses_it_is_closed(self):
        self.assertRegex(run("readelf", "-d", "-W", self.library), r"FLAGS_1.*\bNODELETE\b")

    def test_is_small(self):
        self.assertLess(self.library.stat().st_size, 20 << 20)


class Elsewhere(InTemporaryDirectory):
    """Other people's libraries in prefixes of their own, as one without root's rights has them."""

    def configure(self, *options):
        parts = [f"-DRONDE_{part}=OFF" for part in ("BUILD_BENCHMARKS", "BUILD_PROGRAMS", "BUILD_TESTS", "WITH_CUDA", "WITH_MPI")]
        run("cmake", "-S", SOURCE, "-B", self.root / "build", "-G", "Ninja", *parts, *options)

    def test_what_is_installed_finds_them_too(self):
        library = self.root / "jpeg/lib/libjpeg.so"
        library.parent.mkdir(parents=True)
        library.symlink_to(run(CXX, "-print-file-name=libjpeg.so").strip())
        self.configure(f"-DJPEG_LIBRARY={library}")
        rules = (self.root / "build/cmake_install.cmake").read_text()
        self.assertRegex(rules, rf'libronde\.so[^)]*NEW_RPATH "([^"]*:)?{library.parent}[:"]')

    def test_headers_of_a_parallel_hdf5_find_mpi(self):
        headers, library = self.root / "hdf5/include", self.root / "hdf5/lib/libhdf5.so"
        for folder in (headers, library.parent):
            folder.mkdir(parents=True)
        library.touch()
        (headers / "H5pubconf.h").write_text('#define H5_VERSION "1.10.8"\n#define H5_HAVE_PARALLEL 1\n')
        (headers / "hdf5.h").write_text("#include <mpi.h>\nint H5get_libversion(unsigned*, unsigned*, unsigned*);\n")
        self.configure(f"-DHDF5_ROOT={self.root / 'hdf5'}", "-DCMAKE_CXX_COMPILER_LAUNCHER=env")  # which has no header precompiled
        run("ninja", "-C", self.root / "build", "models/CMakeFiles/ronde_models.dir/src/keras_file/hdf5_version.cpp.o")

    def test_eigen_of_a_later_major_version_is_taken(self):
        package = self.root / "eigen"
        package.mkdir()
        (package / "Eigen3Config.cmake").write_text("add_library(Eigen3::Eigen INTERFACE IMPORTED)\n")
        version = package / "Eigen3ConfigVersion.cmake"
        compatible = ("if(NOT PACKAGE_FIND_VERSION OR PACKAGE_VERSION MATCHES \"^${PACKAGE_FIND_VERSION_MAJOR}\")\n"
                      "  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n")
        version.write_text("set(PACKAGE_VERSION 5.0.1)\n" + compatible)
        self.configure(f"-DEigen3_ROOT={package}")
        self.assertIn(f"Eigen3_DIR:PATH={package}\n", (self.root / "build/CMakeCache.txt").read_text())
        version.write_text("set(PACKAGE_VERSION 3.3.9)\n" + compatible)
        with self.assertRaisesRegex(AssertionError, r"needs\s+Eigen\s+3\.4\."):
            self.configure(f"-DEigen3_ROOT={package}")

    def test_all_that_are_missing_are_named_at_once(self):
        with self.assertRaisesRegex(AssertionError, r"needs\s+libpng,\s+libjpeg[^.]*\.\s+On\s+Debian[^.]*libpng-dev\s+libjpeg-dev"):
            self.configure("-DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON")


class Subdirectory(InTemporaryDirectory):
    def test_add_subdirectory(self):
        program = self.build(f"-DRONDE_SUBDIRECTORY={SOURCE}", "-DCMAKE_BUILD_TYPE=None",
                             f"-DCMAKE_UNITY_BUILD={os.environ['RONDE_UNITY']}",  # objects of the same files
                             f"-DCMAKE_UNITY_BUILD_BATCH_SIZE={os.environ['RONDE_UNITY_BATCH'] or 8}",
                             f"-DCMAKE_CXX_COMPILER_LAUNCHER={pathlib.Path(__file__).parent / 'reuse_object.sh'}")
        self.check_program(program)
        self.assertTrue((self.root / "build" / READER).is_file())  # which the library starts to read foreign HDF5

    def test_the_reader_is_found_in_a_build_of_several_configurations(self):
        run("cmake", "-S", PROJECT, "-B", self.root, "-G", "Ninja Multi-Config", f"-DCIRCLE_SOURCE={self.program}",
            f"-DRONDE_SUBDIRECTORY={SOURCE}")
        targets = run("ninja", "-C", self.root, "-f", "build-Release.ninja", "-t", "targets", "all")
        self.assertIn(f"\n{READER}: ", targets)


if __name__ == "__main__":
    unittest.main()
