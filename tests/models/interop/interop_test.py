"""Files of Ronde in other programs, and theirs in Ronde: 56 random nets each way.

Needs no package itself. The others are looked for in the interpreters of $RONDE_INTEROP_PYTHONS (paths with ':'
between them), or in this one; what is not there is skipped, and said so. Exit status 77: nothing could be tested.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

RONDE = os.environ["RONDE_SIDE"]
PYTHONS = os.environ.get("RONDE_INTEROP_PYTHONS", sys.executable).split(":")
HERE = pathlib.Path(__file__).parent
NETS = 56
SKIPPED = 77


def version_of(python, package):
    """None where it is not installed."""
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def run(what, *command):
    print(f"{what}:", *command, flush=True)
    return subprocess.run(list(command), check=False).returncode == 0


def interpreters_with(*packages):
    found = [python for python in PYTHONS if all(version_of(python, package) for package in packages)]
    if not found:
        print(f"SKIPPED: no {' and '.join(packages)} in {', '.join(PYTHONS)}")
    return found


def main():
    keras, onnx = interpreters_with("keras"), interpreters_with("onnx", "onnxruntime")
    safetensors = interpreters_with("safetensors")
    if not keras + onnx + safetensors:
        return SKIPPED
    good = True
    with tempfile.TemporaryDirectory() as directory:
        ours = f"{directory}/ronde"
        good &= run("Ronde makes", RONDE, "make", ours, str(NETS))
        for python in onnx:
            good &= run("onnxruntime reads", python, str(HERE / "onnx_side.py"), ours)
        for python in safetensors:
            good &= run("safetensors reads", python, str(HERE / "safetensors_side.py"), ours)
        for python in keras:
            version = version_of(python, "keras")
            good &= run(f"Keras {version} reads", python, str(HERE / "keras_side.py"), "check", ours)
            theirs = f"{directory}/keras{version}"
            good &= run(f"Keras {version} makes", python, str(HERE / "keras_side.py"), "make", theirs, str(NETS))
            good &= run(f"Ronde reads Keras {version}", RONDE, "check", theirs)
    return 0 if good else 1


sys.exit(main())
