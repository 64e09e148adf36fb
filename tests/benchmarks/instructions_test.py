"""instructions: what it says of counts that rose, fell or cannot be compared. Valgrind and ronde_bench are stand-ins."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

INSTRUCTIONS = pathlib.Path(__file__).resolve().parent / "instructions"
SKIP = 77
BENCH = """
    #!/bin/sh
    echo '{"build": "GNU 1.2 Release", "onednn": "3.4"}'
"""
VALGRIND = """
    #!/bin/sh
    [ "$1" != --version ] || { echo valgrind-5.6; exit 0; }
    [ "$RONDE_ISA" = avx2 ] && [ -z "$RONDE_CONV" ] || exit 3
    case $* in *mnist*) step=$MNIST ;; *) step=2000 ;; esac
    echo "==1== Collected : $step" >&2
"""


@unittest.skipUnless("avx2" in pathlib.Path("/proc/cpuinfo").read_text(), "counts are of AVX2")
class Instructions(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)
        self.file = self.work / "counts.json"
        self.program("build/tests/benchmarks/ronde_bench", BENCH)
        self.program("bin/valgrind", VALGRIND)
        self.ask(1000, "--update")

    def program(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
        path.chmod(0o700)

    def ask(self, mnist, *more, status=0, path=None):
        """What it says when a step of MNIST takes so many instructions."""
        environment = {**os.environ, "PATH": path or f"{self.work}/bin:{os.environ['PATH']}", "MNIST": str(mnist),
                       "RONDE_CONV": "direct"}
        done = subprocess.run([sys.executable, INSTRUCTIONS, "--build", self.work / "build", "--file", self.file, *more],
                              capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return done.stdout

    def test_writes_what_a_step_takes(self):
        remembered = json.loads(self.file.read_text())
        self.assertEqual(remembered["instructions_of_a_step"], {"mnist:4": 1000, "cifar10:2": 2000})
        self.assertEqual(remembered["made_with"], {"build": "GNU 1.2 Release", "oneDNN": "3.4", "valgrind": "valgrind-5.6"})

    def test_a_little_more_or_less_is_fine(self):
        for mnist, change in (1000, "+0.00 %"), (1049, "+4.90 %"), (951, "-4.90 %"):
            said = self.ask(mnist)
            self.assertIn(change, said)
            self.assertNotIn("--update", said)

    def test_more_fails(self):
        self.assertIn("find out why", self.ask(1060, status=1))

    def test_fewer_wants_to_be_remembered(self):
        self.assertIn("write it down with --update", self.ask(940))
        self.ask(940, "--update")
        self.assertIn("find out why", self.ask(1000, status=1))

    def test_other_tools_compare_nothing(self):
        for name, text in (("bin/valgrind", VALGRIND.replace("5.6", "7.8")), ("build/tests/benchmarks/ronde_bench",
                           BENCH.replace("GNU 1.2", "Clang 9"))):
            self.program(name, text)
            self.assertIn("nothing to compare: ", self.ask(2000, status=SKIP))

    def test_other_builds_compare_nothing(self):
        self.program("build/tests/benchmarks/ronde_bench", BENCH.replace("Release", "Debug with address"))
        for more in (), ("--update",):
            self.assertIn("not Release", self.ask(2000, *more, status=SKIP))

    def test_without_valgrind(self):
        (self.work / "bin/valgrind").unlink()
        self.assertIn("there is no valgrind", self.ask(2000, status=SKIP, path=f"{self.work}/bin"))


if __name__ == "__main__":
    unittest.main()
