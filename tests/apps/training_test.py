"""Each recipe learns, on any number of ranks, and the ranks stay equal."""

import re

import harness


class Training(harness.ProgramTest):
    def test_recipes_learn(self):
        for recipe, options in (("keras", ["--optimizer", "adam", "--learning-rate", "0.001"]), ("tf2", []),
                                ("estimator", []), ("fast", [])):
            for ranks in (1, 2):
                with self.subTest(recipe=recipe, ranks=ranks):
                    result = self.train("--recipe", recipe, "--epochs", "3", "--steps-per-epoch", "16",
                                        "--global-batch-size", "32", "--scale-lr", "none", *options,
                                        "--metrics-json", "metrics.json", ranks=ranks)
                    self.assert_trained(result)
                    self.assertGreater(self.metrics()["test"]["accuracy"], 0.9, result)

    def test_the_record_is_the_same_run_on_any_number_of_ranks(self):
        for ranks in (1, 2):
            result = self.train("--recipe", "fast", "--steps-per-epoch", "2", "--metrics-json", "metrics.json",
                                "--test-samples", "8", ranks=ranks)
            self.assert_trained(result)
            self.assertEqual(self.metrics()["global_batch"], 256)
            self.assertIn("optimizer     muon, learning rate 0.05\n", result.out)
            self.assertRegex(result.out, r"\nSeconds from data in memory to tested model: \d+\.\d\d\n")
            out = self.interrupted(lambda printed: "optimizer  " in printed, "--recipe", "fast", ranks=ranks)
            self.assertIn("140 steps", out)

    def test_same_numbers_on_any_number_of_ranks(self):
        losses = {}
        for ranks in (1, 2, 3, 4):
            self.assert_trained(self.train("--precision", "float64", "--train-samples", "50", "--test-samples", "13",
                                           "--global-batch-size", "11", "--epochs", "2", "--metrics-json",
                                           "metrics.json", ranks=ranks))
            metrics = self.metrics()
            losses[ranks] = [epoch[key] for epoch in metrics["epochs"] for key in ("loss", "val_loss", "accuracy")]
            self.assertEqual([epoch["samples"] for epoch in metrics["epochs"]], [50, 50])
        for ranks in (2, 3, 4):
            for one, other in zip(losses[1], losses[ranks]):
                self.assertAlmostEqual(one, other, delta=1e-9, msg=f"{ranks} ranks")

    def test_mixed_precision(self):
        losses = []
        for precision in ("float32", "mixed_bfloat16"):
            result = self.train("--precision", precision, "--train-samples", "48", "--test-samples", "16",
                                "--global-batch-size", "16", "--epochs", "2", "--dir", "out", "--metrics-json",
                                "metrics.json", ranks=2)
            self.assert_trained(result)
            self.assertRegex(result.out, rf"\n  precision +{precision}\b")
            metrics = self.metrics()
            self.assertEqual(metrics["precision"], precision)
            losses.append(metrics["epochs"][1]["loss"])
        self.assertNotEqual(losses[0], losses[1])
        self.assertAlmostEqual(losses[0], losses[1], delta=0.02 * losses[0])

    def test_deterministic(self):
        options = ["--deterministic", "--train-samples", "40", "--test-samples", "8", "--global-batch-size", "16",
                   "--epochs", "2", "--dir", "out", "--checkpoint", "at-{epoch}.h5"]
        hashes = []
        for ranks in (1, 2, 3):
            self.assert_trained(self.train(*options, ranks=ranks))
            metrics = self.metrics("out/metrics.json")
            self.assertTrue(metrics["deterministic"])
            hashes.append((metrics["weights_sha256"], [epoch["loss"] for epoch in metrics["epochs"]]))
        # Begun on three ranks, ended on two.
        self.assert_trained(self.train(*options, "--resume", "out/at-1.h5", ranks=2))
        metrics = self.metrics("out/metrics.json")
        hashes.append((metrics["weights_sha256"], [epoch["loss"] for epoch in metrics["epochs"]]))
        self.assertEqual(hashes, [hashes[0]] * 4)

    def test_more_ranks_than_samples(self):
        self.assert_trained(self.train("--train-samples", "3", "--test-samples", "2", "--epochs", "1", ranks=4))

    def test_weights_are_equal_on_all_ranks(self):
        result = self.train("--train-samples", "64", "--test-samples", "32", "--batch-size", "8", "--epochs", "2",
                            "--verbose", "2", "--metrics-json", "metrics.json", "--checkpoint", "at-{epoch}.h5",
                            ranks=3)
        self.assert_trained(result)
        hashes = re.findall(r"^Epoch \d: weights_sha256 ([0-9a-f]{64}) on all 3 ranks$", result.out, re.MULTILINE)
        self.assertEqual(len(set(hashes)), 2, result)
        self.assertEqual(hashes[-1], self.metrics()["weights_sha256"])

    def test_micro_batches_change_little(self):
        results = []
        for options in ([], ["--micro-batch", "5"]):
            self.assert_trained(self.train("--precision", "float64", "--train-samples", "64", "--test-samples", "16",
                                           "--epochs", "1", "--batch-size", "16", "--metrics-json", "metrics.json",
                                           *options))
            results.append(self.metrics()["epochs"][0]["loss"])
        self.assertAlmostEqual(results[0], results[1], delta=1e-9)

    def test_best_epoch_is_what_counts(self):
        self.assert_trained(self.train("--train-samples", "64", "--test-samples", "64", "--epochs", "4",
                                       "--batch-size", "8", "--optimizer", "sgd", "--learning-rate", "0.9",
                                       "--metrics-json", "metrics.json"))
        metrics = self.metrics()
        self.assertAlmostEqual(metrics["test"]["loss"], min(epoch["val_loss"] for epoch in metrics["epochs"]), places=5)

    def test_loss_that_is_not_finite(self):
        for ranks in (1, 2):
            result = self.train("--optimizer", "sgd", "--learning-rate", "1e30", "--train-samples", "64",
                                "--test-samples", "32", "--batch-size", "8", "--epochs", "2", ranks=ranks)
            self.assert_refused(result, 88, r"step [23] .* is not finite: rank \d: the loss of all \d+ samples.*learning rate")

    def test_a_rate_that_is_too_large_is_not_the_machine_s_fault(self):
        """Gradients that a float holds, but not their squares, are finite, and what they lead to is found."""
        for optimizer, rate in (("sgd", "1e7"), ("adam", "1e5"), ("rmsprop", "1e4"), ("adadelta", "1e7"), ("rmsprop", "1e12")):
            result = self.train("--optimizer", optimizer, "--learning-rate", rate, "--train-samples", "256",
                                "--test-samples", "32", "--batch-size", "32", "--epochs", "2")
            with self.subTest(optimizer=optimizer, rate=rate):
                self.assertIn(result.status, (0, 88), result)
                if result.status == 88:
                    self.assert_refused(result, 88, "is not finite: rank 0: .*: a smaller learning rate may help")

    def test_steps_that_are_not_finite_can_be_left_out(self):
        options = ["--optimizer", "sgd", "--learning-rate", "1e30", "--train-samples", "64", "--test-samples", "32",
                   "--batch-size", "8", "--epochs", "1", "--dir", "out", "--save-steps", "1"]
        for how, warning in (("skip", r"; skipped \(1 of 4\)"), ("rollback", r"; back to out/model-001-0000\d\.h5 \(step \d\)")):
            result = self.train(*options, "--non-finite", how, "--non-finite-limit", "4")
            self.assertEqual(result.status, 88, result)
            self.assertEqual(len(result.warnings), 3, result)
            self.assertRegex(result.warnings[0], warning)
            self.assertRegex(result.complaints[0], "4 times in a row")

    def test_weights_that_are_of_no_use(self):
        """As where every step after the first had to be left out."""
        result = self.train("--optimizer", "sgd", "--learning-rate", "1e30", "--train-samples", "64", "--test-samples", "32",
                            "--batch-size", "8", "--epochs", "1", "--dir", "out", "--non-finite", "skip")
        self.assertEqual(result.status, 88, result)
        self.assertRegex(result.complaints[0], "the test loss is not a finite number: these weights are of no use")
        metrics = self.metrics("out/metrics.json")
        self.assertEqual([metrics["status"], metrics["test"]["loss"]], ["failed", None])
        self.assertIn("The test loss is not a finite number after 1 epoch", (self.work / "out/report.html").read_text())

    def test_an_epoch_without_a_step_that_counts(self):
        """It has no mean: 0 would be a very good one."""
        result = self.train("--optimizer", "sgd", "--learning-rate", "1e30", "--train-samples", "64", "--test-samples", "32",
                            "--batch-size", "8", "--epochs", "2", "--dir", "out", "--non-finite", "skip",
                            "--non-finite-limit", "1000", "--verbose", "2")
        self.assertEqual(result.status, 88, result)
        self.assertRegex(result.out, r"8/8 - .* - loss: nan - accuracy: nan")
        self.assertNotIn("-nan", result.out)
        last = self.metrics("out/metrics.json")["epochs"][1]
        self.assertEqual([last["loss"], last["accuracy"]], [None, None])
        header, *rows = [line.split(",") for line in (self.work / "out/logs/training.csv").read_text().splitlines()]
        self.assertEqual({name: dict(zip(header, rows[1]))[name] for name in ("loss", "accuracy")},
                         {"loss": "nan", "accuracy": "nan"})

    def test_predictions(self):
        result = self.train("--recipe", "estimator", "--epochs", "1", "--steps-per-epoch", "4")
        self.assertEqual(len(re.findall(r"^Test image \d: predicted \d .* is \d$", result.out, re.MULTILINE)), 10, result)


if __name__ == "__main__":
    harness.main()
