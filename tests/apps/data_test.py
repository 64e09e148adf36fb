"""Data that is missing, damaged or of the wrong kind: one line, the right exit status, previous files intact."""

import gzip
import os

import harness


class Data(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.bad = self.work / "bad"
        harness.write_mnist(self.bad, train=40, test=20)
        (self.work / "checkpoint.h5").write_bytes(b"of an earlier run")
        (self.work / "metrics.json").write_text("{}")

    def check(self, status, pattern, data=None):
        before = harness.snapshot(self.work)
        for ranks in (1, 2):
            result = self.train("--metrics-json", "metrics.json", ranks=ranks, data=data or self.bad)
            self.assert_refused(result, status, pattern)
            self.assertRegex(result.complaints[0], "--download, or .*--data-dir")  # what to do
            self.assertEqual(harness.snapshot(self.work), before)

    def test_no_data(self):
        self.check(74, "none", data=self.work / "none")

    def test_missing_file(self):
        (self.bad / "t10k-labels-idx1-ubyte").unlink()
        self.check(74, "t10k-labels")

    def test_truncated(self):
        path = self.bad / "train-labels-idx1-ubyte"
        path.write_bytes(path.read_bytes()[:-3])
        self.check(65, "train-labels-idx1-ubyte")

    def test_truncated_gzip(self):
        path = self.bad / "train-images-idx3-ubyte.gz"
        path.write_bytes(path.read_bytes()[:-100])
        self.check(65, "train-images-idx3-ubyte.gz")

    def test_wrong_magic(self):
        harness.write_idx(self.bad / "train-labels-idx1-ubyte", bytes(40), (40,), magic=0x12345678)
        self.check(65, "train-labels-idx1-ubyte")

    def test_wrong_count(self):
        harness.write_idx(self.bad / "train-labels-idx1-ubyte", bytes(39), (39,))
        self.check(65, "39 .*40|40 .*39")

    def test_label_out_of_range(self):
        labels = bytearray(40)
        labels[7] = 10
        harness.write_idx(self.bad / "train-labels-idx1-ubyte", labels, (40,))
        self.check(65, r"\b10\b")

    def test_empty_file(self):
        (self.bad / "train-labels-idx1-ubyte").write_bytes(b"")
        self.check(65, "train-labels-idx1-ubyte")

    def test_what_is_there_is_not_fetched(self):
        """In whatever form and place it is found: here no mirror could be reached."""
        places = {"right there": self.work / "a", "below": self.work / "b" / "mnist"}
        for place in places.values():
            harness.write_mnist(place, train=40, test=20)
            packed = place / "train-images-idx3-ubyte.gz"
            (place / "train-images-idx3-ubyte").write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()
        for name, root in (("mnist", self.work / "a"), ("mnist", self.work / "b"), ("cifar10", self.work / "c")):
            if name == "cifar10":
                harness.write_cifar10(root / "cifar-10-batches-bin")
            before = harness.snapshot(root)
            got = harness.execute([harness.BIN / "ronde", "data", "get", name, "--data-dir", root], self.work)
            self.assertEqual((got.status, got.err), (0, ""), got)
            self.assertIn(f" from {root}", got.out)
            self.assertEqual(harness.snapshot(root), before)
        self.assert_trained(self.train("--epochs", "1", "--download", data=self.work / "b"))

    def test_results_replace_nothing_but_files(self):
        """Root could even replace /dev/null."""
        os.mkfifo(self.work / "pipe")
        (self.work / "folder").mkdir()
        for option in ("--metrics-json", "--checkpoint"):
            for name in ("pipe", "folder"):
                result = self.train("--epochs", "1", option, name)
                self.assert_refused(result, 74, f"{name}: is no regular file, and is not replaced: name another")
                self.assertNotIn("Epoch", result.out)
        for name in ("pipe", "folder"):
            self.assert_refused(self.train("--epochs", "1", "--timeline", name), 74, f"cannot write the timeline {name}: ")
        pack = harness.execute([harness.BIN / "ronde", "data", "pack", "mnist", "pipe", "--data-dir", self.data], self.work)
        self.assert_refused(pack, 74, "pipe: is no regular file, and is not replaced")
        self.assertTrue((self.work / "pipe").is_fifo())

    def test_more_samples_than_there_are(self):
        for ranks in (1, 2):
            result = self.train("--epochs", "1", "--train-samples", "70000", "--test-samples", "129", ranks=ranks)
            self.assert_trained(result, [r"--train-samples 70,000: the data has 512 samples, and all of them are used$",
                                         r"--test-samples 129: the data has 128 samples, and all of them are used$"])

    def test_ranks_with_other_data(self):
        other = self.work / "other"
        harness.write_mnist(other, train=41, test=20)
        # The same options, so each rank finds its data through a link of its own.
        script = self.work / "rank.sh"
        script.write_text(f'#!/bin/sh\nexport RONDE_DATA="{self.work}/rank{harness.RANK}"\nexec "$@"\n')
        script.chmod(0o755)
        os.symlink(self.bad, self.work / "rank0")
        os.symlink(other, self.work / "rank1")
        command = [harness.MPIEXEC, "-np", 2, script, *self.command(data=False)]
        self.assert_refused(harness.execute(command, self.work), 65, "the data set differs between ranks: rank 1 .* 41")


if __name__ == "__main__":
    harness.main()
