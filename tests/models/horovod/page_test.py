"""distributed/horovod.md shows the snippets of horovod_page.cpp and no other C++; the program runs on two ranks."""

import os
import pathlib
import re
import subprocess
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "distributed" / "horovod.md"
REGION = re.compile(r"^ *// \[(?!end\])\w+\]\n(.*?)^ *// \[end\]\n", re.DOTALL | re.MULTILINE)


class Page(unittest.TestCase):
    def test_page_and_program_agree(self):
        program = [textwrap.dedent(region) for region in REGION.findall((HERE / "horovod_page.cpp").read_text())]
        page = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(), re.DOTALL)
        self.assertGreater(len(page), 8)
        for snippet in page:
            self.assertIn(snippet, program)
        for region in program:
            self.assertIn(region, page)

    def test_program_runs(self):
        command = os.environ["RONDE_HOROVOD_PROGRAM"]
        launcher = os.environ.get("RONDE_MPIEXEC")
        with tempfile.TemporaryDirectory() as directory:
            ranks = [launcher, "-n", "2"] if launcher else []
            result = subprocess.run([*ranks, command, directory], capture_output=True, text=True, timeout=100)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, r"^\d+ of 500 are right\n$")
            files = {path.name for path in pathlib.Path(directory).iterdir()}
            self.assertLessEqual({"net.safetensors", "checkpoint-1.h5", "checkpoint-2.h5", "timeline.json"}, files)


if __name__ == "__main__":
    unittest.main()
