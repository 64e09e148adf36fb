"""`pack` and `check`, as far as they can be tried without a GPU: on a build that was packed and went elsewhere."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "apps"))
import harness  # noqa: E402

BUILD = pathlib.Path(os.environ["RONDE_BUILD"])


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="ronde-gpu-"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        harness.write_mnist(cls.work / "data/mnist")
        harness.write_cifar10(cls.work / "data/cifar-10-batches-bin")
        packed = subprocess.run([HERE / "pack", "--cifar10", "20", BUILD, cls.work / "packed"], text=True,
                                env={**os.environ, "RONDE_DATA": str(cls.work / "data")}, capture_output=True, check=False)
        assert packed.returncode == 0, packed.stderr
        cls.complaints = packed.stderr
        cls.archive = cls.work / "packed/ronde-gpu.tar.gz"
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.work)
        (cls.work / "ronde-gpu").rename(cls.work / "elsewhere")
        cls.tree = cls.work / "elsewhere"

    def check(self, *words, build=None, data="data", **env):
        """Without RONDE_CUDA_MODULE. Results go to a folder of the test's own."""
        self.out = self.work / self.id().split(".")[-1]
        self.out.mkdir(exist_ok=True)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RONDE_")}
        environment.update({"OUT": str(self.out), "RONDE_DATA": str(self.work / data), **env})
        done = subprocess.run([HERE / "check", *words, build or self.tree], text=True, env=environment, cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def rows(self, file="RESULTS.md"):
        lines = (self.out / file).read_text().splitlines()
        return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| ")][1:]

    def test_without_a_gpu_the_driver_is_missing(self):
        if not (BUILD / "libronde_cuda.so").exists():
            self.assertIn("NO libronde_cuda.so", self.complaints)
            status, out = self.check("--only", "info")
            self.assertEqual(status, 2, out)
            self.assertIn("it was built without CUDA", out)
            return
        status, out = self.check("--only", "info,oracle", build=self.archive)
        self.assertNotIn("missing module", out)
        self.assertEqual([path.name for path in sorted(self.out.iterdir())], ["RESULTS-logs.tar.gz", "RESULTS.md"])
        if "GPU            none" in out:
            self.assertEqual(status, 1, out)
            self.assertRegex(out, r"missing (driver: .*libcuda\.so\.1|device: )")
            failed = [row[1] for row in self.rows() if row[0] == "FAILED"]
            self.assertEqual(len(failed), 3, out)

    def test_a_rehearsal_comes_to_its_end(self):
        results = self.work / "rehearsal.md"
        status, out = self.check("--rehearse", RONDE_GPU_RESULTS=str(results))
        self.assertEqual(status, 0, out)
        listed = subprocess.run([HERE / "check", "--list"], text=True, capture_output=True, check=True).stdout
        phases = [line.split("\t")[0] for line in listed.splitlines()]
        self.assertEqual([line.split()[1].rstrip(":") for line in out.splitlines() if line.startswith("-----")], phases)
        page = results.read_text()
        self.assertNotIn("FAILED", page)
        self.assertNotIn("Under way", page)
        self.assertNotIn(str(self.work), page)
        self.assertRegex(page, r"measured \| mnist-float32 .* images/s of the last of 2 epochs")
        # A second call goes on behind it.
        status, out = self.check("--rehearse", "--only", "info", "--append", results, RONDE_GPU_RESULTS=str(results))
        self.assertEqual(status, 0, out)
        self.assertTrue(results.read_text().startswith(page))
        self.assertEqual(results.read_text().count("\n## "), 2)
        with tarfile.open(self.work / "rehearsal-logs.tar.gz") as logs:
            self.assertIn("logs/ranks.log", logs.getnames())

    def test_what_is_cut_or_missing_is_said(self):
        results = self.work / "cut.md"
        status, out = self.check("--rehearse", "--only", "mnist,cifar10", data="packed/data/cifar-10-batches-bin",
                                 RONDE_GPU_RESULTS=str(results))
        self.assertEqual(status, 0, out)
        self.assertIn("left out mnist: no MNIST in " + str(self.work), out)
        self.assertIn("a cut of the 50,000 + 10,000: unknown data in CIFAR-10's form, 100 + 20 images", out)

    def test_a_phase_ends_when_its_time_is_over(self):
        results = self.work / "late.md"
        status, out = self.check("--rehearse", "--limit", "1", "--only", "equal", RONDE_GPU_RESULTS=str(results))
        self.assertEqual(status, 1, out)
        self.assertIn("ended: the 1 s of its phase were over", results.read_text())

    def test_a_budget_is_for_all_and_the_next_call_goes_on(self):
        results = self.work / "budget.md"
        status, out = self.check("--rehearse", "--budget", "14", "--only", "info,equal,tf32", RONDE_GPU_RESULTS=str(results))
        first = [line.split()[1].rstrip(":") for line in out.splitlines() if line.startswith("-----")]
        left_out = [row[1] for row in self.rows(results) if row[0] == "left out"]
        self.assertEqual(first + ",".join(left_out).split(",") if left_out else first, ["info", "equal", "tf32"], out)
        self.assertIn("tf32", "".join(left_out), out)
        # The page is enough: a borrowed machine may not have the logs of the call before.
        (self.work / "budget-logs.tar.gz").unlink()
        # Phases' own seconds are a GPU's: a machine with other work may take more.
        status, out = self.check("--rehearse", "--budget", "200", "--limit", "180", "--only", "info,equal,tf32",
                                 "--append", results, RONDE_GPU_RESULTS=str(results))
        self.assertEqual(status, 0, out)
        second = [line.split()[1].rstrip(":") for line in out.splitlines() if line.startswith("-----")]
        self.assertEqual(first + second, ["info", "equal", "tf32"], out)
        # Each phase has its seconds there.
        words = (HERE / "phases.sh").read_text().split("budgeted=(")[1].split(")")[0].split('"')[1::2]
        listed = subprocess.run([HERE / "check", "--list"], text=True, capture_output=True, check=True).stdout
        self.assertEqual(sorted(word.split()[0] for word in words), sorted(line.split("\t")[0] for line in listed.splitlines()))

    def test_wrong_usage(self):
        for words, complaint in ((["--only", "inof"], "no phase inof"), (["--fast"], "no option --fast"),
                                 (["--budget", "soon"], "a number of seconds")):
            status, out = self.check(*words)
            self.assertEqual(status, 2, out)
            self.assertIn(complaint, out)


class KernelTimesTest(unittest.TestCase):
    def test_a_step_is_a_replay_of_the_graph_with_most_launches(self):
        lines, now = [], 0

        def launch(begin, took, graph, node, blocks, moved, name):
            lines.append(f"{begin}\t{begin + took}\t{graph}\t{node}\t{blocks}\t{moved}\t{name}")

        for trial in range(30):
            launch(now + 100 * trial, 50, 0, 0, 1, 0, f"trial{trial}")
        launch(now + 5000, 10, 3, 31, 1, 0, "another_graph")
        for step in range(4):
            now = 10000 + 20000 * step
            launch(now, 500, 0, 0, 0, 2560, "copy")
            launch(now + 1500, 4000, 7, 71, 132, 0, "void ronde::v0::cuda::(anonymous namespace)::pool<float>(int)")
            launch(now + 2000 + 700 * step, 2000, 7, 72, 4, 0, "beside")  # sometimes it ends behind the one before
            launch(now + 7000, 3000, 7, 73, 9, 0, "update")
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "trace"
            trace.write_text("".join(f"{line}\n" for line in reversed(lines)))
            done = subprocess.run([sys.executable, HERE / "kernel_times.py", trace], text=True, capture_output=True,
                                  check=True)
        self.assertEqual(done.stdout.splitlines(), [
            "4 launches a step, 20.0 us from step to step, of which 7.5 us with something under way; 3 steps",
            "     0.0     0.50 us     0.00 us before          2560 B  copy",
            "     1.5     4.00 us     1.00 us before      132 blocks  pool<float>(int)",
            "     3.4     2.00 us     0.00 us before        4 blocks  beside",
            "     7.0     3.00 us     1.50 us before        9 blocks  update",
        ])


if __name__ == "__main__":
    unittest.main()
