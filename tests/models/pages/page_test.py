"""A page shows the snippets of its program and no other C++; the program runs on two ranks.
Usage: page_test.py Horovod|Keras|PyTorch"""

import os
import pathlib
import re
import subprocess
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
REGION = re.compile(r"^ *// \[(?!end\])\w+\]\n(.*?)^ *// \[end\]\n", re.DOTALL | re.MULTILINE)


class Page:
    page = program = output = files = None  # where both lie; what a run prints, and leaves behind

    def test_page_and_program_agree(self):
        program = [textwrap.dedent(region) for region in REGION.findall((HERE / self.program).read_text())]
        page = re.findall(r"```cpp\n(.*?)```", (ROOT / self.page).read_text(), re.DOTALL)
        self.assertGreater(len(page), 8)
        for snippet in page:
            self.assertIn(snippet, program)
        for region in program:
            self.assertIn(region, page)

    def test_program_runs(self):
        command = os.environ["RONDE_PAGE_PROGRAM"]
        launcher = os.environ.get("RONDE_MPIEXEC")
        with tempfile.TemporaryDirectory() as directory:
            ranks = [launcher, "-n", "2"] if launcher else []
            result = subprocess.run([*ranks, command, directory], capture_output=True, text=True, timeout=100)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, self.output)
            self.assertLessEqual(self.files, {path.name for path in pathlib.Path(directory).iterdir()})


class Horovod(Page, unittest.TestCase):
    page, program = "distributed/horovod.md", "horovod_page.cpp"
    output = r"^\d+ of 500 are right\n$"
    files = {"net.safetensors", "checkpoint-1.h5", "checkpoint-2.h5", "timeline.json"}


class Keras(Page, unittest.TestCase):
    page, program = "models/keras.md", "keras_page.cpp"
    output = r"^$"
    files = {"best.h5", "net.keras", "weights.h5", "residual.keras"}


class PyTorch(Page, unittest.TestCase):
    page, program = "models/pytorch.md", "pytorch_page.cpp"
    output = r"^$"
    files = {"net.safetensors", "run.safetensors", "timeline.json"}


if __name__ == "__main__":
    unittest.main()
