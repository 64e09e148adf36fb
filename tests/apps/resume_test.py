"""A run that was killed goes on with --resume as if nothing had happened; and what happens when it cannot."""

import gzip
import json
import os
import random
import re
import shutil
import subprocess

import harness

# Four steps an epoch; all 12 test samples of CIFAR-10.
CIFAR10 = ["--dir", "out", "--epochs", "3", "--global-batch-size", "16", "--test-samples", "12", "--verbose", "2"]
MNIST = ["--train-samples", "64", *CIFAR10, "--optimizer", "adam"]


class Resume(harness.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cifar = cls.shared / "cifar-10-batches-bin"
        harness.write_cifar10(cls.cifar, per_file=12)

    def finished(self, *options, ranks=1, data=None, warnings=()):
        result = self.train(*options, ranks=ranks, data=data)
        self.assert_trained(result, warnings)
        return self.metrics("out/metrics.json"), result

    def out_of_the_way(self):
        (self.work / "out").rename(self.work / f"undisturbed{len(list(self.work.iterdir()))}")

    def check(self, *options, ranks=1, data=None):
        """Kills the job about when it saves, goes on, and compares with the run that nobody disturbed."""
        undisturbed, _ = self.finished(*options, ranks=ranks, data=data)
        rows = (self.work / "out/logs/training.csv").read_text()
        self.out_of_the_way()
        saves = random.randint(1, 11 if "--save-steps" in options else 2)
        self.interrupted(lambda printed: printed.count("saving model to") >= saves, *options, ranks=ranks, data=data)
        resumed, result = self.finished(*options, "--resume", "auto", ranks=ranks, data=data)
        # The very first file may not have been written yet.
        self.assertRegex(result.out, r"resume +(from out/\S+\.h5, after \d epochs? and \d+ steps? in all|no checkpoint)")
        self.assertEqual(resumed["weights_sha256"], undisturbed["weights_sha256"], result)
        self.assertEqual((self.work / "out/logs/training.csv").read_text(), rows)
        for key in ("epoch", "steps", "samples", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate"):
            self.assertEqual([epoch.get(key) for epoch in resumed["epochs"]],
                             [epoch.get(key) for epoch in undisturbed["epochs"]], key)
        self.assertEqual(resumed["test"], undisturbed["test"])

    def test_killed_anywhere(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                self.check(*MNIST, "--save-steps", "1", ranks=ranks)
                self.out_of_the_way()

    def test_as_often_as_it_pays(self):
        options = ["--train-samples", "96", "--epochs", "1", "--batch-size", "4", "--test-samples", "16", "--dir", "out",
                   "--save-steps", "auto", "--mtbf", "60", "--verbose", "2"]
        undisturbed, result = self.finished(*options)
        self.assertIn("saving model to out/model-001-00020.h5", result.out)
        (self.work / "out/checkpoint.h5").unlink()
        resumed, result = self.finished(*options, "--resume", "auto")
        self.assertRegex(result.out, r"resume +from out/model-001-\d+\.h5, after 0 epochs")
        self.assertEqual(resumed["weights_sha256"], undisturbed["weights_sha256"], result)

    def test_train_cifar10(self):
        self.program = "train_cifar10"
        self.check(*CIFAR10, data=self.cifar)

    def test_estimator_goes_on_by_itself(self):
        options = ["--recipe", "estimator", *MNIST, "--save-steps", "1"]
        undisturbed, _ = self.finished(*options)
        self.out_of_the_way()
        self.interrupted(lambda printed: printed.count("saving model to") >= 5, *options)
        resumed, result = self.finished(*options)
        self.assertIn("resume  ", result.out)
        self.assertEqual(resumed["weights_sha256"], undisturbed["weights_sha256"], result)
        again, result = self.finished(*options)  # all steps are done
        self.assertRegex(result.out, r"resume +from out/model-003-00004\.h5, .* 12 steps in all")
        self.assertEqual(again["weights_sha256"], undisturbed["weights_sha256"])
        self.assertEqual(again["epochs"], resumed["epochs"])

    def test_nothing_to_go_on_from(self):
        metrics, result = self.finished(*MNIST, "--resume", "auto")
        self.assertRegex(result.out, "resume +no checkpoint found: a new run")
        self.assertEqual([epoch["epoch"] for epoch in metrics["epochs"]], [1, 2, 3])

    def test_damaged_checkpoint_is_passed_over(self):
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        undisturbed, _ = self.finished(*pattern)
        for name, change in (("at-3.h5", lambda data: data[:-100]), ("at-2.h5", lambda data: data[:9000] + b"?" + data[9001:])):
            path = self.work / "out" / name
            path.write_bytes(change(path.read_bytes()))
        damaged = {name: (self.work / "out" / name).read_bytes() for name in ("at-2.h5", "at-3.h5")}
        resumed, result = self.finished(*pattern, "--resume", "auto", warnings=[
            r"out/at-2\.h5: .*SHA-256.*: passed over$", r"out/at-3\.h5: .*: passed over$"])
        self.assertEqual(sorted(result.notes), [f"ronde: note: out/at-{epoch}.h5: kept as out/at-{epoch}.h5.damaged" for epoch in (2, 3)])
        self.assertRegex(result.out, "resume +from out/at-1.h5, after 1 epoch and 4 steps")
        self.assertEqual(resumed["weights_sha256"], undisturbed["weights_sha256"])
        for name, content in damaged.items():
            self.assertEqual((self.work / "out" / f"{name}.damaged").read_bytes(), content)
        (self.work / "out/at-3.h5").write_text("hello")
        _, result = self.finished(*pattern, "--resume", "auto", warnings=[r"out/at-3\.h5: .*: passed over$"])
        self.assertEqual(result.notes, ["ronde: note: out/at-3.h5: kept as out/at-3.h5.2.damaged"])
        self.finished(*pattern, "--resume", "auto")

    def test_the_only_checkpoint_is_damaged(self):
        self.finished(*MNIST)
        path = self.work / "out/checkpoint.h5"
        path.write_bytes(path.read_bytes()[:-100])
        content = path.read_bytes()
        _, result = self.finished(*MNIST, "--resume", "auto", warnings=[r"out/checkpoint\.h5: .*: passed over$"])
        self.assertEqual(result.notes, ["ronde: note: out/checkpoint.h5: kept as out/checkpoint.h5.damaged"])
        self.assertIn("no checkpoint found: a new run", result.out)
        self.assertEqual((self.work / "out/checkpoint.h5.damaged").read_bytes(), content)

    def test_not_from_an_earlier_run(self):
        """Which left more epochs behind, at the same place, than the new run has made so far."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                self.finished(*pattern, ranks=ranks)
                _, result = self.finished(*pattern, "--seed", "1", "--epochs", "1", ranks=ranks)
                self.assertIn("resume        no: a new run; out/at-3.h5 is of an earlier one\n", result.out)
                _, result = self.finished(*pattern, "--seed", "1", "--resume", "auto", ranks=ranks, warnings=[
                    r"2 checkpoints are of an earlier run, as out/\.new-run says: passed over"])
                self.assertIn("from out/at-1.h5, after 1 epoch and 4 steps", result.out)
                _, result = self.finished(*pattern, "--seed", "1", "--resume", "auto", ranks=ranks)
                self.assertIn("from out/at-3.h5, after 3 epochs and 12 steps", result.out)
                self.out_of_the_way()

    def test_an_earlier_run_is_known_by_names(self):
        """A copy, or a backup that came back, has any times. A name counts until the new run has written its file."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        out, kept, odd = self.work / "out", self.work / "kept", r"line end:\n\\n.h5"
        self.finished(*pattern)
        shutil.copy(out / "at-3.h5", out / "line end:\n\\n.h5")
        self.finished(*pattern, "--seed", "1", "--epochs", "1")
        self.assertEqual((out / ".new-run").read_text().splitlines()[1:], ["at-2.h5", "at-3.h5", odd])
        shutil.copytree(out, kept)
        for mark, file in ((1_000_000_000, 1_100_000_000), (1_100_000_000, 1_000_000_000)):
            shutil.copytree(kept, out, dirs_exist_ok=True)
            for path in out.glob("at-*.h5"):
                os.utime(path, (file, file))
            os.utime(out / ".new-run", (mark, mark))
            _, result = self.finished(*pattern, "--seed", "1", "--epochs", "2", "--resume", "auto", warnings=["2 checkpoints are of"])
            self.assertIn("from out/at-1.h5, after 1 epoch and 4 steps", result.out)
            self.assertEqual((out / ".new-run").read_text().splitlines()[1:], ["at-3.h5", odd])

    def test_a_file_that_is_taken_for_an_earlier_one_is_written_again(self):
        """What a kill between the file and its name costs."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        whole, _ = self.finished(*pattern)
        self.finished(*pattern)
        mark = self.work / "out/.new-run"
        title = mark.read_text()
        self.assertEqual(len(title.splitlines()), 1)
        mark.write_text(title + "at-1.h5\nat-2.h5\nat-3.h5\n")
        again, result = self.finished(*pattern, "--resume", "auto", warnings=["3 checkpoints are of an earlier run"])
        self.assertIn("no checkpoint found: a new run", result.out)
        self.assertEqual([again["weights_sha256"], mark.read_text()], [whole["weights_sha256"], title])

    def test_a_mark_of_times(self):
        """As Ronde 0.1 left it."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        self.finished(*pattern)
        os.utime(self.work / "out/at-3.h5", (1_000_000_000, 1_000_000_000))
        mark = self.work / "out/.new-run"
        mark.write_text("Checkpoints older than this file are of an earlier run: --resume auto passes them over.\n")
        os.utime(mark, (1_100_000_000, 1_100_000_000))
        _, result = self.finished(*pattern, "--resume", "auto", warnings=["1 checkpoint is of an earlier run"])
        self.assertIn("from out/at-2.h5, after 2 epochs", result.out)

    def test_one_file_holds_the_best_epoch(self):
        """Which need not be the last: what that means is said, at the end and when the run goes on."""
        options = [*MNIST, "--learning-rate", "0.5"]  # so much that it only gets worse
        metrics, result = self.finished(*options)
        best = min(metrics["epochs"], key=lambda epoch: epoch["val_loss"])["epoch"]
        self.assertLess(best, 3)
        self.assertRegex(result.out, rf"\nTested weights: of epoch {best}, the best val_loss \(out/checkpoint\.h5\)\n"
                                     r"Test loss: \S+\nTest accuracy: \S+\n\Z")
        again, result = self.finished(*options, "--resume", "auto")
        epochs = {1: "epochs 2 to 3 are", 2: "epoch 3 is"}[best]
        self.assertRegex(result.out, rf"resume .* after {best} epochs? and \d+ steps in all; {epochs} trained again\n")
        self.assertEqual(again["weights_sha256"], metrics["weights_sha256"])

    def test_the_rate_is_the_run_s(self):
        self.finished(*MNIST, "--warmup-epochs", "2", "--epochs", "1")
        for ranks in (1, 2):
            for options, what in ((["--learning-rate", "0.5"], "learning rate 0.000125, this one has 0.0625"),
                                  (["--warmup-epochs", "1"], "warmup epochs 2, this one has 1")):
                result = self.train(*MNIST, "--warmup-epochs", "2", *options, "--resume", "auto", ranks=ranks)
                self.assert_refused(result, 2, f"cannot resume: the run to go on with has {what}: give the same")
        self.finished(*MNIST, "--warmup-epochs", "2", "--resume", "auto")

    def test_the_data_are_the_run_s(self):
        """Other pictures or labels, as many of them; their place and form may change."""
        moved, other, labels = (self.work / name for name in ("moved", "other", "labels"))
        for place in (moved, other, labels):
            harness.write_mnist(place)
        packed = moved / "train-images-idx3-ubyte.gz"
        (moved / "train-images-idx3-ubyte").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
        pixels, classes = harness.digits(512, 1)
        harness.write_idx(other / "train-images-idx3-ubyte.gz", bytes(255 - value for value in pixels), (512, 28, 28))
        harness.write_idx(labels / "train-labels-idx1-ubyte", classes[1:] + classes[:1], (512,))
        self.finished(*MNIST, "--epochs", "1")
        before = harness.snapshot(self.work)
        for ranks in (1, 2):
            for data in (other, labels):
                result = self.train(*MNIST, "--resume", "auto", ranks=ranks, data=data)
                self.assert_refused(result, 2, "cannot resume: the run to go on with has training data with hash "
                                               "[0-9a-f]{16}, this one has [0-9a-f]{16}: give the same")
                self.assertEqual(harness.snapshot(self.work), before)
        self.assert_trained(self.train(*MNIST, "--resume", "auto", data=moved))

    def test_a_refusal_leaves_everything_as_it_was(self):
        self.finished(*MNIST, "--checkpoint", "at-{epoch}.h5")
        (self.work / "out/at-3.h5").unlink()  # so that logs have more epochs than the file to go on from
        damaged = self.work / "out/at-2.h5"
        damaged.write_bytes(damaged.read_bytes()[:-100])
        before = harness.snapshot(self.work)
        for ranks in (1, 2):
            for options, status, pattern in (
                (["--learning-rate", "0.5", "--resume", "auto"], 2, "cannot resume: .*learning rate"),
                (["--seed", "1", "--resume", "out/at-1.h5"], 2, "cannot resume: .*seed 0, this one has 1"),
                (["--resume", "nosuch.h5"], 74, "nosuch.h5: cannot be read: No such file"),
                (["--resume", "nosuch.h5", "--dir", "new"], 74, "nosuch.h5: cannot be read: No such file"),
            ):
                with self.subTest(ranks=ranks, options=options):
                    result = self.train(*MNIST, "--checkpoint", "at-{epoch}.h5", *options, ranks=ranks)
                    self.assert_refused(result, status, pattern)
                    self.assertTrue(harness.snapshot(self.work) == before)
        self.assertFalse((self.work / "new").exists())

    def test_a_new_run_that_is_refused_ends_no_earlier_one(self):
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        self.finished(*pattern, "--epochs", "2")
        (self.work / "out/at-3.h5").mkdir()
        before = harness.snapshot(self.work)
        for ranks in (1, 2):
            self.assert_refused(self.train(*pattern, "--seed", "1", ranks=ranks), 74, "at-3.h5: is no regular file")
            self.assertTrue(harness.snapshot(self.work) == before, ranks)
        (self.work / "out/at-3.h5").rmdir()
        _, result = self.finished(*pattern, "--resume", "auto")
        self.assertIn("from out/at-2.h5, after 2 epochs and 8 steps", result.out)

    def test_a_file_of_another_run(self):
        """Makes the run that goes on from it a new one in its own --dir: no curve mixes the two."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                base, _ = self.finished(*pattern, ranks=ranks)
                (self.work / "out").rename(self.work / "base")
                self.finished(*pattern, "--seed", "7", ranks=ranks)
                metrics, result = self.finished(*pattern, "--epochs", "2", "--resume", "base/at-1.h5", ranks=ranks)
                self.assertIn("from base/at-1.h5, after 1 epoch and 4 steps in all; out/at-3.h5 is of another run\n", result.out)
                self.assertEqual([(epoch["epoch"], epoch["loss"]) for epoch in metrics["epochs"]], [(2, base["epochs"][1]["loss"])])
                rows = (self.work / "out/logs/training.csv").read_text().splitlines()
                self.assertEqual([row.split(",")[0] for row in rows], ["epoch", "1"])
                metrics, result = self.finished(*pattern, "--resume", "auto", ranks=ranks, warnings=["1 checkpoint is of an earlier run, as out/.new-run says"])
                self.assertIn("from out/at-2.h5, after 2 epochs and 8 steps", result.out)
                self.assertEqual(metrics["weights_sha256"], base["weights_sha256"])
                self.assertEqual([epoch["epoch"] for epoch in metrics["epochs"]], [2, 3])
                self.out_of_the_way()
                shutil.rmtree(self.work / "base")

    def test_a_file_of_the_run_before(self):
        """Which lies in --dir, but behind whose run another has begun."""
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5"]
        first, _ = self.finished(*pattern)
        self.finished(*pattern, "--seed", "1", "--epochs", "2")  # leaves at-3.h5
        again, result = self.finished(*pattern, "--resume", "out/at-3.h5")
        self.assertIn("after 3 epochs and 12 steps in all; out/at-2.h5 is of another run\n", result.out)
        self.assertEqual([again["weights_sha256"], again["epochs"]], [first["weights_sha256"], []])

    def test_times_are_those_of_the_whole_run(self):
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.h5", "--save-steps", "1", "--keep", "12"]
        times = ("train_seconds", "images_per_second")
        whole, _ = self.finished(*pattern)
        again, _ = self.finished(*pattern, "--resume", "out/at-3.h5")  # all is done
        self.assertEqual(again["epochs"], whole["epochs"])
        for key in times:
            self.assertAlmostEqual(again[key], whole[key], places=6)
        self.assertGreater(whole["images_per_second"], 0)
        # Within the second epoch, of which three steps were done.
        resumed, _ = self.finished(*pattern, "--resume", "out/model-002-00003.h5")
        self.assertEqual(resumed["epochs"][0], whole["epochs"][0])
        second = [run["epochs"][1]["seconds"] for run in (resumed, whole)]
        self.assertGreater(second[0], 0.75 * second[1])
        self.assertAlmostEqual(resumed["train_seconds"], sum(epoch["seconds"] for epoch in resumed["epochs"]), places=6)
        self.assertGreater(resumed["images_per_second"], 0)

    def test_times_of_an_epoch_that_was_killed(self):
        """Are known as of its last checkpoint, also when the recipe saves by itself."""
        for options in (["--save-steps", "1"], ["--recipe", "estimator", "--save-steps", "1"]):
            with self.subTest(options=options):
                job = ["--train-samples", "400", *CIFAR10, "--global-batch-size", "4", "--epochs", "1", *options]
                self.interrupted(lambda printed: printed.count("saving model to") >= 20, *job)
                killed = self.metrics("out/metrics.json")
                part = killed["unfinished_epoch"]
                self.assertEqual([killed["status"], killed["epochs"], part["epoch"]], ["running", [], 1])
                self.assertGreaterEqual(part["steps"], 10)
                self.assertEqual(killed["train_seconds"], part["seconds"])
                resumed, result = self.finished(*job, "--resume", "auto")
                steps = int(re.search(r"resume +from .* (\d+) steps in all", result.out)[1])
                before = part["seconds"] * steps / part["steps"]
                shares = json.loads((self.work / "out/logs/evaluation.json").read_text())["times"]
                after = sum(share["seconds"] for share in shares if share["what"] == "training")
                self.assertAlmostEqual(resumed["epochs"][0]["seconds"], before + after, places=6)
                self.assertNotIn("unfinished_epoch", resumed)
                self.out_of_the_way()

    def test_keras_archives(self):
        pattern = [*MNIST, "--checkpoint", "at-{epoch}.keras"]
        undisturbed, _ = self.finished(*pattern)
        (self.work / "out/at-3.keras").unlink()
        resumed, result = self.finished(*pattern, "--resume", "auto")
        self.assertIn("from out/at-2.keras, after 2 epochs and 8 steps", result.out)
        self.assertEqual(resumed["weights_sha256"], undisturbed["weights_sha256"])

    def test_a_folder_whose_name_is_not_utf8(self):
        """Checkpoints keep its bytes: of those that the first job wrote, the second deletes what --keep does not."""
        for options, left in ((["--save-steps", "1", "--keep", "2"], 2), (["--recipe", "estimator", "--save-steps", "1", "--keep", "2"], 2),
                              (["--checkpoint", "c\udcff-{epoch}.h5", "--keep", "2"], 0)):
            with self.subTest(options=options):
                job = [*MNIST, "--dir", "out\udcff", *options]
                self.assert_trained(self.train(*job, "--epochs", "2"))
                self.assert_trained(self.train(*job, "--epochs", "3", "--resume", "auto"))
                self.assertEqual(len(list((self.work / "out\udcff").glob("model-*.h5"))), left)
                names = [path.name for path in (self.work / "out\udcff").glob("c*.h5")]
                self.assertEqual(len(self.metrics("out\udcff/metrics.json")["epochs"]), 3)
                if "--checkpoint" in options:
                    self.assertEqual(sorted(names), ["c\udcff-2.h5", "c\udcff-3.h5"])
                shutil.rmtree(self.work / "out\udcff")

    def test_the_folder_of_a_run(self):
        undisturbed, _ = self.finished(*MNIST)
        resumed, result = self.finished(*MNIST, "--dir", "other", "--resume", "out")
        self.assertRegex(result.out, "resume +from out/checkpoint.h5, after")
        self.assertEqual(self.metrics("other/metrics.json")["weights_sha256"], undisturbed["weights_sha256"])
        self.finished(*MNIST, "--dir", "many", "--checkpoint", "at-{epoch}.h5")
        (self.work / "empty").mkdir()
        for folder, pattern in (("many", "many: is a folder: name the model file in it: many/at-1.h5, many/at-2.h5, many/at-3.h5"),
                                ("empty", "empty: is a folder without a model file")):
            self.assert_refused(self.train(*MNIST, "--resume", folder), 74, pattern)

    def test_from_a_file(self):
        self.finished(*MNIST, "--checkpoint", "at-{epoch}.h5")
        undisturbed = self.metrics("out/metrics.json")
        self.assert_trained(self.train(*MNIST, "--dir", "other", "--resume", "out/at-1.h5"))
        self.assertEqual(self.metrics("other/metrics.json")["weights_sha256"], undisturbed["weights_sha256"])

    def test_files_it_cannot_go_on_from(self):
        self.finished(*MNIST, "--checkpoint", "at.h5")
        (self.work / "text.h5").write_text("hello")
        before = harness.snapshot(self.work)
        for ranks in (1, 2):
            for options, status, pattern in (
                (["--resume", "none.h5"], 74, "none.h5"),
                (["--resume", "text.h5"], 65, "text.h5"),
                (["--resume", "out/at.h5", "--recipe", "estimator"], 65, r"out/at\.h5: .*(conv2d|dense).*\d+, \d+"),
                (["--resume", "out/at.h5", "--global-batch-size", "8"], 2, "cannot resume: .*global_batch 16"),
            ):
                with self.subTest(ranks=ranks, options=options):
                    self.assert_refused(self.train(*MNIST, *options, ranks=ranks), status, pattern)
        after = harness.snapshot(self.work)
        self.assertEqual({name: after[name] for name in before if name.endswith(".h5")},
                         {name: before[name] for name in before if name.endswith(".h5")})

    def test_file_of_another_program(self):
        self.finished(*MNIST)
        self.program = "train_cifar10"
        self.assert_refused(self.train(*CIFAR10, "--dir", "cifar", "--resume", "out/checkpoint.h5", data=self.cifar), 65,
                            "out/checkpoint.h5: is of another net: has 4 layers with weights, this net has 6")

    def test_disk_full(self):
        """No file may grow over 12 MB: checkpoints fail as on a full disk. The one before stays as it was."""
        script = self.work / "small.sh"
        script.write_text('#!/bin/sh\ntrap "" XFSZ\nulimit -f 24000\nexec "$@"\n')
        script.chmod(0o755)
        self.finished(*MNIST)
        before = (self.work / "out/checkpoint.h5").read_bytes()
        for ranks in (1, 2):
            command = self.job(*MNIST, "--checkpoint", "checkpoint.h5", ranks=ranks)
            command.insert(0 if ranks == 1 else 3, script)
            result = harness.execute(command, self.work, {"OMPI_MCA_btl_vader_segment_size": "4194304"})  # a file, too
            self.assertEqual(result.status, 74, result)
            self.assertRegex(result.out, r"Test loss: [0-9.]+\nTest accuracy: [0-9.]+\n$")
            self.assertEqual(len(result.warnings), 4, result)
            patterns = [r"out/checkpoint\.h5: .*; training goes on, earlier"] * 2 + [r"out/checkpoint\.h5: .*; earlier", "could not be written"]
            for warning, pattern in zip(result.warnings, patterns):
                self.assertRegex(warning, pattern)
            self.assertEqual(len(result.complaints), 1, result)
            self.assertRegex(result.complaints[0], r"out/checkpoint\.h5: the training's last checkpoint could not be written$")
            self.assertEqual((self.work / "out/checkpoint.h5").read_bytes(), before)
            self.assertEqual([path.name for path in (self.work / "out").glob("*.h5*")], ["checkpoint.h5"])
            metrics = self.metrics("out/metrics.json")
            self.assertEqual([len(metrics["epochs"]), metrics["status"], metrics["test"]["count"]], [3, "failed", 12])

    def test_disk_full_from_the_start(self):
        """Not even the results' file could be written: they are printed."""
        for options in ([], ["--metrics-json", "m.json"]):
            limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "sh"]
            result = harness.execute(limited + self.command("--train-samples", "64", "--epochs", "2", *options), self.work)
            self.assertEqual(result.status, 74, result)
            self.assertRegex(result.out, r"Test loss: [0-9.]+\nTest accuracy: [0-9.]+\n$")
            self.assertEqual(len(result.complaints), 1, result)
        self.program = "train_cifar10"
        options = ["--epochs", "1", "--steps-per-epoch", "2", "--test-samples", "12", "--threads", "1"]
        result = harness.execute(limited + self.command(*options, data=self.cifar), self.work)
        self.assertEqual(result.status, 74, result)
        self.assertNotIn("Saved trained model", result.out)
        self.assertRegex(result.out, r"Test loss: [0-9.]+\nTest accuracy: [0-9.]+\n$")

    def test_what_has_the_name_of_a_checkpoint_to_come(self):
        """Is said before the first step, not when the epoch is done and lost."""
        options = [*MNIST, "--checkpoint", "at-{epoch}.h5", "--resume", "auto"]
        self.finished(*options)
        (self.work / "out/at-2.h5").unlink()
        (self.work / "out/at-3.h5").unlink()
        (self.work / "out/at-3.h5").mkdir()
        for ranks in (1, 2):
            result = self.train(*options, ranks=ranks)
            self.assertEqual(result.status, 74, result)
            self.assertRegex(result.complaints[0], r"out/at-3\.h5: is no regular file, and is not replaced")
            self.assertNotIn("Epoch 2/3", result.out)
        (self.work / "out/at-3.h5").rmdir()
        (self.work / "out/at-best.h5").symlink_to("at-1.h5")  # which no epoch is called
        self.assert_trained(self.train(*options))

    def test_results_of_a_run_that_ends_in_its_first_epoch(self):
        endless = self.command("--recipe", "tf2", "--steps-per-epoch", "100000", "--dir", "out")
        with subprocess.Popen([str(word) for word in endless], cwd=self.work, stdout=subprocess.PIPE, text=True) as job:
            for line in job.stdout:
                if line.startswith("Epoch 1/"):
                    break
            job.terminate()
            job.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(job.returncode, 75)
        metrics = self.metrics("out/metrics.json")
        self.assertEqual([metrics["status"], metrics["epochs"], metrics["weights_sha256"]], ["saved", [], None])
        self.assertEqual(metrics["unfinished_epoch"]["epoch"], 1)
        self.assertGreater(metrics["unfinished_epoch"]["steps"], 0)
        self.assertGreater(metrics["train_seconds"], 0)
        self.assertGreater(metrics["peak_rss_bytes"], 0)


if __name__ == "__main__":
    harness.main()
