"""train_cifar10: the recipe's arithmetic, what it leaves in --dir, what it prints, and data it cannot use."""

import re
import tarfile

import harness

SHORT = ["--epochs", "2", "--test-samples", "24"]


class Cifar10(harness.ProgramTest):
    program = "train_cifar10"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data = cls.shared / "cifar-10-batches-bin"
        harness.write_cifar10(cls.data, per_file=32)

    def names(self, directory="out"):
        return [re.sub(r"events\.out\.tfevents.*", "events", name) for name in harness.snapshot(self.work / directory)]

    def test_all_that_a_run_makes(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                result = self.train(*SHORT, "--dir", f"out{ranks}", ranks=ranks)
                self.assert_trained(result)
                self.assertEqual(self.names(f"out{ranks}"), [
                    "checkpoint-1.h5", "checkpoint-2.h5", "logs/evaluation.json", "logs/train/events",
                    "logs/training.csv", "logs/validation/events", "metrics.json", "report.html",
                    "saved_models/keras_cifar10_trained_model.h5"])
                self.assertEqual(list(harness.snapshot(self.work)), list(
                    f"out{ranks}/{name}" for name in harness.snapshot(self.work / f"out{ranks}")))
                self.check_metrics(self.metrics(f"out{ranks}/metrics.json"), ranks)
                self.check_predictions(result)
            for path in self.work.glob("*"):
                harness.shutil.rmtree(path)

    def check_metrics(self, metrics, ranks):
        for key, value in {"program": "train_cifar10", "recipe": "keras", "world_size": ranks, "parameters": 1250858,
                           "global_batch": 32 * ranks, "status": "finished", "precision": "float32", "seed": 0,
                           "checkpoint": f"out{ranks}/checkpoint-2.h5"}.items():
            self.assertEqual(metrics[key], value, key)
        # As many steps on every rank whatever their number: they share as many passes as there are ranks.
        self.assertEqual([epoch["steps"] for epoch in metrics["epochs"]], [5, 5])
        self.assertEqual([epoch["samples"] for epoch in metrics["epochs"]], [160 * ranks] * 2)
        for epoch, steps in zip(metrics["epochs"], (5, 10)):
            self.assertAlmostEqual(epoch["learning_rate"], 1e-4 * ranks / (1 + 1e-6 * steps), places=12)
            self.assertIn("val_accuracy", epoch)
        self.assertEqual(metrics["test"]["count"], 24)
        self.assertRegex(metrics["weights_sha256"], r"\A[0-9a-f]{64}\Z")

    def check_predictions(self, result):
        names = "airplane|automobile|bird|cat|deer|dog|frog|horse|ship|truck"
        lines = re.findall(rf"^Test image (\d+): predicted (?:{names}) with probability [01]\.\d+, is ({names})$",
                           result.out, re.MULTILINE)
        self.assertEqual([int(number) for number, _ in lines], list(range(20)), result)
        truth = [names.split("|")[label] for label in harness.cifar10_labels(self.data / "test_batch.bin")]
        self.assertEqual([name for _, name in lines], truth[:20])
        self.assertRegex(result.out, r"\nTest loss: \d+\.\d+\nTest accuracy: [01]\.\d+\n\Z")

    def test_the_record(self):
        for ranks in (1, 2):
            result = self.train("--recipe", "fast", "--epochs", "1", "--train-samples", "24", "--test-samples", "4",
                                "--global-batch-size", "12", "--scale-lr", "none", "--dir", "out", ranks=ranks)
            self.assert_trained(result)
            self.assertEqual([name for name in self.names() if name.endswith(".h5")], ["saved_models/cifar10_fast.h5"])
            metrics = self.metrics("out/metrics.json")
            # Two steps: the rate falls to 0 in a straight line, in the optimizer's groups.
            self.assertEqual((metrics["recipe"], metrics["parameters"], metrics["epochs"][0]["steps"]),
                             ("fast", 1973944, 2))
            self.assertIn("augmentation  shifts up to 2 pixels, alternating horizontal flips\n", result.out)
            self.assertRegex(result.out, r"\nSeconds from data in memory to tested model: \d+\.\d\d\n")

    def test_the_record_in_mixed_precision(self):
        self.assert_trained(self.train("--recipe", "fast", "--precision", "mixed_bfloat16", "--epochs", "1",
                                       "--train-samples", "24", "--test-samples", "4", "--global-batch-size", "12"))

    def test_ranks_share_the_epochs(self):
        for ranks, options, pattern in ((1, [], "100 epochs of one pass over the data"),
                                        (1, ["--global-batch-size", "64"], "50 epochs of 2 passes over the data"),
                                        (2, [], "50 epochs of 2 passes over the data"),
                                        (3, [], "34 epochs of 3 passes over the data")):
            out = self.interrupted(lambda printed: "Epoch 1/" in printed, *options, ranks=ranks)
            self.assertIn(pattern, out)

    def test_learns(self):
        result = self.train("--epochs", "6", "--optimizer", "adam", "--learning-rate", "0.002", "--no-augmentation",
                            "--batch-size", "16", "--metrics-json", "metrics.json", "--checkpoint", "best.h5")
        self.assert_trained(result)
        self.assertGreater(self.metrics()["test"]["accuracy"], 0.5, result)

    def test_augmentation_depends_on_the_sample_only(self):
        losses = {}
        for ranks, options in ((1, []), (2, []), (1, ["--no-augmentation"])):
            self.assert_trained(self.train("--precision", "float64", "--train-samples", "24", "--test-samples", "8",
                                           "--epochs", "1", "--global-batch-size", "7", "--checkpoint", "best.h5",
                                           "--metrics-json", "metrics.json", *options, ranks=ranks))
            losses[ranks, bool(options)] = self.metrics()["epochs"][0]["loss"]
        self.assertAlmostEqual(losses[1, False], losses[2, False], delta=1e-9)
        self.assertGreater(abs(losses[1, False] - losses[1, True]), 1e-6)

    def test_archive_as_it_is(self):
        archive = self.work / "cifar-10-binary.tar.gz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
            tar.add(self.data, "cifar-10-batches-bin")
        result = self.train("--epochs", "1", "--steps-per-epoch", "1", "--test-samples", "20", data=self.work)
        self.assert_trained(result)
        self.assertIn(str(archive), result.out)
        archive.write_bytes(archive.read_bytes()[:-5000])
        before = harness.snapshot(self.work)
        self.assert_refused(self.train("--dir", ".", data=self.work), 65, "cifar-10-binary.tar.gz")
        self.assertEqual({name: before[name] for name in before if name.endswith(".h5")},
                         {name: data for name, data in harness.snapshot(self.work).items() if name.endswith(".h5")})

    def test_data_it_cannot_use(self):
        bad = self.work / "bad"
        harness.write_cifar10(bad, per_file=4)
        batch = bad / "data_batch_3.bin"
        whole = batch.read_bytes()
        for content, pattern in ((whole[:-1], r"data_batch_3\.bin"), (whole[:2 * 3073], r"data_batch_3\.bin"),
                                 (b"\x0a" + whole[1:], r"\b10\b")):
            batch.write_bytes(content)
            for ranks in (1, 2):
                self.assert_refused(self.train(data=bad, ranks=ranks), 65, pattern)
        batch.unlink()
        self.assert_refused(self.train(data=bad), 74, r"data_batch_3\.bin.*--download.*cifar-10-binary\.tar\.gz.*--data-dir")
        self.assertEqual([path.name for path in self.work.iterdir()], ["bad"])


if __name__ == "__main__":
    harness.main()
