"""--help and --version, and wrong usage: one message for the whole job, before any work."""

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import unittest

import harness


class Usage(harness.ProgramTest):
    def test_help_prints_once(self):
        for ranks in (1, 2):
            result = self.train("--help", ranks=ranks, data=False)
            self.assertEqual(result.status, 0, result)
            self.assertEqual(result.out.count("--batch-size"), self.train("--help", data=False).out.count("--batch-size"))
            for option in ("--recipe", "--metrics-json", "--micro-batch", "--resume", "--scale-lr"):
                self.assertIn(option, result.out)

    def test_version_prints_once(self):
        for ranks in (1, 2):
            result = self.train("--version", ranks=ranks, data=False)
            self.assertEqual(result.status, 0, result)
            self.assertRegex(result.out, r"\Atrain_mnist \d+\.\d+\.\d+\n\Z")

    def in_a_window(self, columns, *command):
        """What it prints in a terminal so wide."""
        main, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 40, columns, 0, 0))
        with subprocess.Popen([str(word) for word in command], cwd=self.work, stdin=terminal, stdout=terminal,
                              env={"TERM": "xterm", "PATH": os.environ["PATH"]}) as process:
            os.close(terminal)
            printed = b""
            with contextlib.suppress(OSError):  # how a terminal says that all has been read
                while part := os.read(main, 65536):
                    printed += part
            os.close(main)
        self.assertEqual(process.returncode, 0)
        return printed.decode().replace("\r\n", "\n")

    def test_narrow_windows(self):
        for words in (["train_mnist", "--help"], ["ronde", "--help"], ["ronde", "help", "export"], ["ronde", "run", "--help"]):
            command = [harness.BIN / words[0], *words[1:]]
            whole = harness.execute(command, self.work).out
            for columns in (50, 80):
                shown = self.in_a_window(columns, *command)
                self.assertLessEqual(max(map(len, shown.splitlines())), columns)
                self.assertEqual(shown.split(), whole.split())
            self.assertEqual(self.in_a_window(400, *command), whole)
        options = ["--train-samples", "16", "--test-samples", "16", "--epochs", "1", "--verbose", "2"]
        shown = self.in_a_window(60, *self.command(*options)).splitlines()
        banner = shown[:next(i for i, line in enumerate(shown) if "data  " in line)]
        self.assertLessEqual(max(map(len, banner)), 60)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_output_that_is_lost(self):
        for option in ("--help", "--version"):
            result = harness.execute(["sh", "-c", f"{harness.BIN / self.program} {option} > /dev/full"], self.work)
            self.assertEqual(result.status, 74, result)
            self.assertIn("standard output could not be written", result.err)

    def test_help_wins_over_mistakes(self):
        self.assertEqual(self.train("--help", "--bogus").status, 0)

    def test_unknown_option(self):
        for ranks in (1, 2):
            result = self.train("--epoch", "3", ranks=ranks)
            self.assert_refused(result, 2, r"unknown option --epoch: did you mean --epochs\? .*--help")

    def test_unexpected_argument(self):
        self.assert_refused(self.train("mnist"), 2, "unexpected argument mnist")

    def test_missing_value(self):
        self.assert_refused(self.train("--epochs"), 2, "--epochs needs a value")

    def test_batch_size_zero(self):
        for ranks in (1, 2):
            result = self.train("--batch-size", "0", ranks=ranks)
            self.assert_refused(result, 2, "--batch-size 0: give a whole number from 1")

    def test_values_that_make_no_sense(self):
        for options, pattern in (
            (["--epochs", "many"], "--epochs many: give a whole number"),
            (["--epochs", "-1"], "--epochs -1: give a whole number"),
            (["--learning-rate", "nan"], "--learning-rate nan: give a number greater than 0"),
            (["--learning-rate=-0.1"], "--learning-rate -0.1: give a number"),
            (["--threads", "1.5"], "--threads 1.5: give a whole number"),
            (["--threads", "5000"], "--threads 5000: give a whole number from 1 to 4096"),
            (["--optimizer", "adam2"], "--optimizer adam2: give one of adadelta, adam"),
            (["--recipe", "mine"], "--recipe mine: give one of keras, tf2, estimator"),
            (["--batch-size", "8", "--global-batch-size", "8"], "contradict each other"),
            (["--dir", "run{epoch}"], r"--dir run\{epoch\}: braces are filled in, in names of checkpoints"),
            (["--dir", "a}"], r"--dir a\}: braces"),
            (["--timeline-steps", "9:3"], "--timeline-steps 9:3: give steps as 100:200, 100: or :200"),
            (["--save-steps", "often"], "--save-steps often: give a whole number from 1 to .*, or auto"),
            (["--mtbf", "60"], "--mtbf is for --save-steps auto"),
            (["--mtbf", "0"], "--mtbf 0: give a number greater than 0"),
            (["--non-finite", "ignore"], "--non-finite ignore: give one of abort, skip, rollback"),
            (["--checkpoint", "{foo}.h5"], r"--checkpoint \{foo\}.h5: there is no \{foo\} after an epoch: give epoch, "),
            (["--checkpoint", "{val_loss}.h5", "--recipe", "tf2"], r"there is no \{val_loss\}"),
            (["--keep", "2"], "--keep 2: checkpoint.h5 is one file: give --save-steps"),
        ):
            with self.subTest(options=options):
                self.assert_refused(self.train(*options), 2, pattern)

    def test_a_gpu_that_is_missing_is_named(self):
        # Of what a GPU needs, in a build that has its module and in one that has not.
        self.assert_refused(self.train("--device", "cuda"), 2, r"\[cuda\] missing (module|library|driver|device): ")

    def test_nothing_is_touched(self):
        self.train("--batch-size", "0", "--dir", "out", "--metrics-json", "m.json", ranks=2)
        self.assertEqual(harness.snapshot(self.work), {})


if __name__ == "__main__":
    harness.main()
