"""What a run writes: where, by whom, and how."""

import fcntl
import os
import re
import shutil
import subprocess
import unittest

import harness

SHORT = ["--train-samples", "64", "--test-samples", "32", "--batch-size", "16", "--epochs", "2"]


class Outputs(harness.ProgramTest):
    def test_default_checkpoint(self):
        self.assert_trained(self.train(*SHORT))
        self.assertEqual(list(harness.snapshot(self.work)), ["checkpoint.h5"])

    def test_directories_are_made(self):
        self.assert_trained(self.train(*SHORT, "--dir", "a/b", "--log-dir", "c/d", "--metrics-json", "a/m.json"))
        self.assertEqual([name for name in harness.snapshot(self.work) if "tfevents" not in name],
                         ["a/b/checkpoint.h5", "a/b/metrics.json", "a/b/report.html", "a/m.json", "c/d/evaluation.json",
                          "c/d/training.csv"])
        self.assertEqual(self.metrics("a/b/metrics.json"), self.metrics("a/m.json"))
        lines = (self.work / "c/d/training.csv").read_bytes().decode().split("\r\n")
        self.assertEqual(lines[0], "epoch,accuracy,loss,val_accuracy,val_loss")
        self.assertEqual([line.split(",")[0] for line in lines[1:3]], ["0", "1"])

    def test_a_file_s_folder_is_not_made(self):
        """Of what is not in --dir: it is more likely a typing error."""
        for option, name in (("--metrics-json", "nope/m.json"), ("--timeline", "nope/t.json"), ("--metrics-json", "out/a/m.json")):
            result = self.train(*SHORT, "--dir", "out", option, name)
            folder = name.rsplit("/", 1)[0]
            self.assert_refused(result, 74, f"cannot write in {folder}: No such file or directory: make it, or give another {option}")
            self.assertEqual(list(self.work.iterdir()), [])
        self.assert_trained(self.train(*SHORT, "--dir", "out", "--metrics-json", self.work / "out/m.json",
                                       "--timeline", "out/t.json"))

    def test_two_outputs_are_two_files(self):
        """Else one would replace the other."""
        (self.work / "q").mkdir()
        (self.work / "link").symlink_to("q")
        before = sorted(self.work.rglob("*"))
        for options, problem in (
                (["--checkpoint", "a.h5", "--metrics-json", "a.h5"], "--checkpoint and --metrics-json would be one file, a.h5"),
                (["--dir", "q", "--checkpoint", "report.html.h5/../report.h5", "--timeline", "./q/report.h5"],
                 "--checkpoint and --timeline would be one file, ./q/report.h5"),
                (["--dir", "x", "--metrics-json", "x/logs/training.csv"],
                 "--metrics-json and the logs of --dir would be one file, x/logs/training.csv"),
                (["--log-dir", "x", "--timeline", "x/evaluation.json"],
                 "--timeline and the logs of --log-dir would be one file, x/evaluation.json"),
                (["--metrics-json", "q.json", "--timeline", "q.json"], "--timeline and --metrics-json would be one file, q.json"),
                (["--dir", "x1", "--timeline", "x1/metrics.json"],
                 "--timeline and the metrics of --dir would be one file, x1/metrics.json"),
                (["--dir", "q", "--metrics-json", "link/report.html"],
                 "the report of --dir and --metrics-json would be one file, link/report.html"),
                (["--timeline", "checkpoint.h5"], "the recipe's checkpoint and --timeline would be one file, checkpoint.h5")):
            for ranks in (1, 2):
                with self.subTest(options=options, ranks=ranks):
                    result = self.train(*SHORT, *options, ranks=ranks)
                    self.assert_refused(result, 2, re.escape(problem + ": give each its own"))
                    self.assertEqual(sorted(self.work.rglob("*")), before)
        self.assert_trained(self.train(*SHORT, "--dir", "q", "--metrics-json", self.work / "link/metrics.json"))

    def test_a_file_that_may_not_grow(self):
        """As where a quota ends: an error like others, not a signal that ends the program."""
        limited = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"]
        job = harness.execute([*limited, *self.command(*SHORT, "--dir", "g")], self.work)
        self.assertEqual(job.status, 74, job)
        self.assertIn("File too large", job.err)
        timed = harness.execute([*limited, *self.command("--recipe", "tf2", *SHORT, "--steps-per-epoch", "1", "--timeline", "t.json")],
                                self.work)
        self.assertEqual((timed.status, len(timed.complaints)), (74, 1), timed)
        self.assertRegex(timed.complaints[0], "t.json.*: File too large")
        pack = harness.execute([*limited, harness.BIN / "ronde", "data", "pack", "mnist", "packed", "--data-dir", self.data],
                               self.work)
        self.assert_refused(pack, 74, "packed")
        self.assert_trained(self.train(*SHORT))
        export = harness.execute([*limited, harness.BIN / "ronde", "export", "checkpoint.h5", "--to", "npz", "m.npz"], self.work)
        self.assert_refused(export, 74, "m.npz")

    def test_two_jobs_in_one_directory_are_told(self):
        (self.work / "out").mkdir()
        told = ["warning: out: another job writes here too"]
        held = os.open(self.work / "out", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)  # as a job does
        for ranks in (1, 2):
            self.assert_trained(self.train(*SHORT, "--dir", "out", ranks=ranks), told)
        os.close(held)
        self.assert_trained(self.train(*SHORT, "--dir", "out"))

        endless = self.job(*SHORT, "--epochs", "100000", "--dir", "out")
        with subprocess.Popen([str(word) for word in endless], cwd=self.work, stdout=subprocess.PIPE, text=True) as first:
            for line in first.stdout:
                if line.startswith("Epoch 2/"):
                    break
            self.assert_trained(self.train(*SHORT, "--dir", "out"), told)
            first.kill()

    def test_a_directory_that_is_open_to_all_is_told(self):
        for mode, warned in ((0o777, True), (0o1777, False)):
            (self.work / f"{mode:o}").mkdir()
            (self.work / f"{mode:o}").chmod(mode)
            self.assert_trained(self.train(*SHORT, "--dir", f"{mode:o}"),
                                [rf"{mode:o}: every user of this machine may replace the files in it: chmod o-w, or \+t"] * warned)

    def test_checkpoint_pattern(self):
        self.assert_trained(self.train(*SHORT, "--checkpoint", "at-{epoch:02d}.h5"))
        self.assertEqual(list(harness.snapshot(self.work)), ["at-01.h5", "at-02.h5"])

    def test_a_wrong_checkpoint_pattern_is_said_before_any_work(self):
        for pattern, problem in (("m.txt", "m.txt: .txt is another format"), ("m{epoch:x}.h5", 'unknown format "x"'),
                                 ("m{epoch.h5", "m{epoch.h5")):
            for ranks in (1, 2):
                result = self.train(*SHORT, "--checkpoint", pattern, ranks=ranks)
                self.assert_refused(result, 2, re.escape(problem))
                self.assertEqual(result.out, "")

    def test_step_checkpoints_keep_the_last(self):
        self.assert_trained(self.train("--recipe", "estimator", *SHORT, "--save-steps", "1", "--keep", "3"))
        self.assertEqual(list(harness.snapshot(self.work)),
                         ["model-002-00002.h5", "model-002-00003.h5", "model-002-00004.h5"])

    def test_directory_that_cannot_be_written(self):
        (self.work / "file").write_text("in the way")
        before = harness.snapshot(self.work)
        for option in (["--dir", "file/sub"], ["--log-dir", "file/sub"], ["--metrics-json", "file/m.json"],
                       ["--checkpoint", "file/c.h5"], ["--dir", "/proc/none"], ["--dir", "/proc"], ["--metrics-json", "/proc/m.json"],
                       ["--timeline", "/proc/t.json"]):
            for ranks in (1, 2):
                with self.subTest(option=option, ranks=ranks):
                    self.assert_refused(self.train(*SHORT, *option, ranks=ranks), 74, f"cannot write in .*{option[0]}")
        self.assertEqual(harness.snapshot(self.work), before)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_directory_without_permission(self):
        (self.work / "closed").mkdir(mode=0o555)
        self.assert_refused(self.train(*SHORT, "--dir", "closed"), 74, "cannot write in closed: Permission denied")

    def test_metrics(self):
        self.assert_trained(self.train(*SHORT, "--metrics-json", "metrics.json", "--seed", "3", ranks=2))
        metrics = self.metrics()
        self.assertEqual(set(metrics), {
            "program", "version", "recipe", "world_size", "threads", "device", "precision", "deterministic", "seed",
            "parameters", "global_batch", "status", "epochs", "test", "train_seconds", "images_per_second",
            "peak_rss_bytes", "weights_sha256", "checkpoint"})
        self.assertEqual(set(metrics["epochs"][0]), {
            "epoch", "steps", "samples", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "seconds",
            "images_per_second"})
        self.assertEqual(set(metrics["test"]), {"loss", "accuracy", "correct", "count"})
        for key, value in {"program": "train_mnist", "recipe": "keras", "world_size": 2, "device": "cpu",
                           "precision": "float32", "deterministic": False, "seed": 3, "parameters": 1199882,
                           "global_batch": 32, "status": "finished", "checkpoint": "checkpoint.h5"}.items():
            self.assertEqual(metrics[key], value, key)
        self.assertEqual([epoch["epoch"] for epoch in metrics["epochs"]], [1, 2])
        self.assertEqual([epoch["steps"] for epoch in metrics["epochs"]], [2, 2])
        self.assertEqual([epoch["samples"] for epoch in metrics["epochs"]], [64, 64])
        self.assertAlmostEqual(metrics["epochs"][0]["learning_rate"], 0.2)
        self.assertEqual(metrics["test"]["count"], 32)
        self.assertEqual(metrics["test"]["accuracy"], metrics["test"]["correct"] / 32)
        self.assertGreater(metrics["images_per_second"], 0)
        self.assertGreater(metrics["peak_rss_bytes"], 1 << 20)
        self.assertRegex(metrics["weights_sha256"], r"\A[0-9a-f]{64}\Z")

    def test_verbosity(self):
        silent = self.train(*SHORT, "--verbose", "0")
        self.assertRegex(silent.out, r"\ATest loss: \d+\.\d+\nTest accuracy: \d\.\d+\n\Z")
        for ranks in (1, 2):  # no terminal here, so a line an epoch, under mpirun too
            lines = self.train("--global-batch-size", "16", *SHORT[:4], "--epochs", "2", ranks=ranks)
            self.assertEqual(len(re.findall(r"^4/4 - .*loss: .*val_accuracy: ", lines.out, re.MULTILINE)), 2, lines)
            self.assertNotIn("[==", lines.out)
        bar = self.train(*SHORT, "--verbose", "1")
        self.assertIn("4/4 [==============================]", bar.out)

    def test_banner(self):
        out = self.train(*SHORT, ranks=2).out
        for pattern in (r"device +cpu, backend \w+", r"ranks +2 .*thread", r"precision +float32",
                        r"global batch +32", re.escape(str(self.data))):
            self.assertEqual(len(re.findall(pattern, out)), 1, f"{pattern}\n{out}")

    @unittest.skipIf(shutil.which("strace") is None, "no strace")
    def test_only_rank_0_writes(self):
        trace = self.work / "trace"
        trace.mkdir()
        script = self.work / "traced.sh"
        script.write_text(
            f'#!/bin/sh\nexec strace -f -qq -e trace=open,openat,creat,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat '
            f'-o "{trace}/{harness.RANK}" "$@"\n')
        script.chmod(0o755)
        command = [harness.MPIEXEC, "-np", 3, script,
                   *self.command(*SHORT, "--dir", "out", "--log-dir", "logs", "--save-steps", "1", "--keep", "1",
                                 "--metrics-json", "m.json")]
        self.assert_trained(harness.execute(command, self.work))

        def writes(rank):
            """Calls that change something under the working directory, relative paths included."""
            found = []
            for line in (trace / str(rank)).read_text().splitlines():
                paths = re.findall(r'"([^"]*)"', line)
                inside = [path for path in paths if not path.startswith("/") or path.startswith(str(self.work))]
                changes = "O_RDONLY" not in line and re.search(r"\b(openat?|creat)\(", line) or re.search(
                    r"\b(rename|mkdir|unlink)\w*\(", line)
                if inside and changes:
                    found.append(line)
            return found

        self.assertTrue(any("checkpoint.h5" in line for line in writes(0)))
        self.assertTrue(any("training.csv" in line for line in writes(0)))
        self.assertEqual(writes(1) + writes(2), [])


if __name__ == "__main__":
    harness.main()
