"""Where options come from: a flag beats the environment, which beats a file, which beats the recipe."""

import os
import pathlib
import re

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]

SHORT = ["--recipe", "tf2", "--steps-per-epoch", "1", "--epochs", "1", "--batch-size", "8", "--test-samples", "16"]


class Options(harness.ProgramTest):
    def run_short(self, *options, env=None):
        result = self.train("--metrics-json", "metrics.json", *options, env=env)
        self.assert_trained(result)
        return self.metrics()

    def test_precedence(self):
        (self.work / "run.toml").write_text("# a comment\nglobal-batch-size = 3\nsteps-per-epoch = 1\nepochs = 1\n")
        base = ["--recipe", "tf2", "--test-samples", "16"]
        config = ["--config", "run.toml"]
        environment = {"RONDE_GLOBAL_BATCH_SIZE": "5"}
        self.assertEqual(self.run_short(*base, *config)["global_batch"], 3)
        self.assertEqual(self.run_short(*base, *config, env=environment)["global_batch"], 5)
        self.assertEqual(self.run_short(*base, *config, "--global-batch-size", "7", env=environment)["global_batch"], 7)

    def test_section_of_the_program(self):
        (self.work / "run.toml").write_text("seed = 3\n[train_mnist]  # ours\nseed = 4\n[train_cifar10]\nseed = 5\n")
        self.assertEqual(self.run_short(*SHORT, "--config", "run.toml")["seed"], 4)

    def test_lines_of_a_file(self):
        (self.work / "run.toml").write_text("; a comment\n\n  seed=4# of 'weights'\n\tdeterministic  # a flag\r\n"
                                            "metrics-json = 'my # metrics.json'  # quoted\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, r"run.toml:3: seed = 4# of 'weights': give a whole")
        (self.work / "run.toml").write_text((self.work / "run.toml").read_text().replace("4#", "4 #"))
        self.assert_trained(self.train(*SHORT, "--config", "run.toml"))
        metrics = self.metrics("my # metrics.json")
        self.assertEqual((metrics["seed"], metrics["deterministic"]), (4, True))

    def test_flag_in_the_environment(self):
        self.assertEqual(self.run_short(*SHORT)["deterministic"], False)
        self.assertEqual(self.run_short(*SHORT, env={"RONDE_DETERMINISTIC": "true"})["deterministic"], True)
        self.assert_refused(self.train(*SHORT, env={"RONDE_DOWNLOAD": "perhaps"}), 2, "RONDE_DOWNLOAD=perhaps: give true")

    def test_flag_with_a_value(self):
        self.assertEqual(self.run_short(*SHORT, "--deterministic=false")["deterministic"], False)
        self.assertEqual(self.run_short(*SHORT, "--deterministic", "--deterministic")["deterministic"], True)
        self.assertEqual(self.run_short(*SHORT, "--deterministic=off", env={"RONDE_DETERMINISTIC": "true"})["deterministic"],
                         False)
        self.assert_refused(self.train(*SHORT, "--deterministic=perhaps"), 2, "--deterministic=perhaps: give true")

    def test_autotune(self):
        result = self.train(*SHORT, "--autotune", "--threads", "1")
        self.assert_trained(result)
        self.assertIn("Autotune: 1 thread\n", result.out)
        self.assertIn("Autotune: the training was too short", self.train(*SHORT, "--autotune", "--threads", "2").out)
        self.assertNotIn("Autotune", self.train(*SHORT).out)

    def test_mistakes_name_their_source(self):
        self.assert_refused(self.train(env={"RONDE_EPOCHS": "x"}), 2, "RONDE_EPOCHS=x: give a whole number")
        (self.work / "run.toml").write_text("epochs = 0\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, "run.toml:1: epochs = 0: give a whole number")
        (self.work / "run.toml").write_text("seed = 1\n\nepocs = 1\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, "run.toml:3: unknown option epocs: did you mean epochs")
        (self.work / "run.toml").write_text("batch_size = 1\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, "unknown option batch_size: did you mean batch-size")
        self.assert_refused(self.train("--config", "."), 2, "--config .: is a directory")
        self.assert_refused(self.train("--config", "none.toml"), 2, "none.toml: No such file")
        self.assert_refused(self.train("--config", "/dev/zero"), 2, "--config /dev/zero: is a device")
        (self.work / "run.toml").write_text("seed = 1\n[train_mnist]\nseed = 2\n[train_cifar10]\nseed = 3\nseed = 4\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, "run.toml:6: seed is there already: run.toml:5")
        (self.work / "run.toml").write_text("config = other.toml\n")
        self.assert_refused(self.train("--config", "run.toml"), 2, "run.toml:1: a file of options names no other")
        (self.work / "run.toml").write_bytes(b"\xef\xbb\xbfepochs = 0\n")  # as some editors begin a file
        self.assert_refused(self.train("--config", "run.toml"), 2, "run.toml:1: epochs = 0: give a whole number")
        for lines, problem in (("[train_mnsit]\nepochs = 1\n", r"unknown section \[train_mnsit\]: did you mean \[train_mnist\]\?"),
                               ("[somebody_else]\n", r"unknown section .* named after a program: train_mnist, train_cifar10"),
                               ("[train_mnist\n", r"expected a section like \[train_mnist\]"),
                               ("= 3\n", "a name of an option is missing"), ("dir = 'out\n", "a quotation mark is missing"),
                               ("dir = 'a' b\n", "unexpected b")):
            (self.work / "run.toml").write_text("seed = 4\n" + lines)
            self.assert_refused(self.train("--config", "run.toml"), 2, r"run\.toml:2: " + problem)

    def test_pipes(self):
        """What <(...) of a shell makes; each rank of several would wait for a writer of its own."""
        (self.work / "run.toml").write_text("epochs = 0\n")
        os.mkfifo(self.work / "pipe")
        writer = ["sh", "-c", 'cat run.toml > pipe & exec "$@"', "sh"]
        alone = [str(word) for word in self.job("--config", "pipe")]
        self.assert_refused(harness.execute(writer + alone, self.work), 2, "pipe:1: epochs = 0: give a whole number")
        self.assert_refused(self.train("--config", "pipe", ranks=2), 2, "--config pipe: is a pipe.*: write them to a file")
        self.assert_refused(self.train("--config", "/dev/fd/77", ranks=2), 2,
                            r"/dev/fd/77: No such file.*: a launcher does not pass <\(...\) on")

    def test_variables_that_nothing_reads(self):
        wrong = {"RONDE_EPOCH": "1", "RONDE_SOMETHING": "else", "RONDE_ISA": "", "RONDE_RUN_OPTIONS": "--standby"}
        result = self.train(*SHORT, ranks=2, env=wrong)
        self.assert_trained(result, (r"RONDE_EPOCH is set, but nothing reads it: did you mean RONDE_EPOCHS\?$",
                                     r"RONDE_SOMETHING is set, but nothing reads it$"))

    def test_all_variables_are_known(self):
        known = set(re.findall(r'"(RONDE_[A-Z0-9_]+)"', (ROOT / "apps/common/environment.cpp").read_text()))
        options = {"RONDE_" + name[2:].replace("-", "_").upper()
                   for name in re.findall(r"--[a-z-]+", self.train("--help", data=False).out)}
        for folder in ("core", "nn", "data", "distributed", "models", "apps"):
            for path in (ROOT / folder).rglob("*.*"):
                if path.suffix not in (".cpp", ".h", ".cu", ".cuh"):
                    continue
                read = set(re.findall(r'"(RONDE_[A-Z0-9_]+)"', path.read_text()))
                self.assertEqual(read - known - options, set(), path)

    def test_data_directory_of_the_environment(self):
        result = self.train(*SHORT, data=False, env={"RONDE_DATA": str(self.data)})
        self.assert_trained(result)
        self.assertIn(str(self.data), result.out)

    def test_learning_rate_scales(self):
        self.assertAlmostEqual(self.run_short(*SHORT)["epochs"][0]["learning_rate"], 0.001)
        self.assertAlmostEqual(self.run_short(*SHORT, "--learning-rate", "0.5")["epochs"][0]["learning_rate"], 0.5)
        self.assertAlmostEqual(self.run_short(*SHORT, "--optimizer", "sgd")["epochs"][0]["learning_rate"], 0.01)
        globally = [word if word != "--batch-size" else "--global-batch-size" for word in SHORT]
        self.assertAlmostEqual(self.run_short(*globally)["epochs"][0]["learning_rate"], 0.001 * 8 / 128)
        self.assertAlmostEqual(
            self.run_short(*globally, "--scale-lr", "none")["epochs"][0]["learning_rate"], 0.001)

    def test_warmup_ends_at_the_scaled_rate(self):
        options = ["--recipe", "tf2", "--steps-per-epoch", "2", "--epochs", "3", "--global-batch-size", "512",
                   "--warmup-epochs", "2", "--train-samples", "32", "--test-samples", "16"]
        rates = [epoch["learning_rate"] for epoch in self.run_short(*options)["epochs"]]
        for rate, expected in zip(rates, (0.0025, 0.004, 0.004)):  # from 0.001 to 4 times that in 4 steps
            self.assertAlmostEqual(rate, expected, places=9)

    def test_subsets(self):
        metrics = self.run_short("--recipe", "tf2", "--epochs", "1", "--steps-per-epoch", "1", "--test-samples", "17")
        self.assertEqual(metrics["test"]["count"], 17)
        result = self.train(*SHORT, "--train-samples", "40", "--dir", "out")
        self.assertRegex(result.out, r"data  .*, 512 \+ 128 images from \S+.*; of these the first 40 \+ 16\n")
        self.assertIn("; of these the first 40 + 16<", (self.work / "out/report.html").read_text())
        self.assertNotIn("of these", self.train(*SHORT[:-2]).out)


if __name__ == "__main__":
    harness.main()
