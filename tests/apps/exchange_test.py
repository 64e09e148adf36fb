"""How ranks train together: --compression, --combine, --local-steps, --optimizer-state, --bucket-mb."""

import re

import harness

SHORT = ["--recipe", "tf2", "--steps-per-epoch", "3", "--epochs", "1", "--batch-size", "8", "--test-samples", "16",
         "--verbose", "2"]


class Exchange(harness.ProgramTest):
    def test_ways(self):
        for options, said, most in [
            (["--compression", "bf16"], "average, compression bf16", 0.51),
            (["--compression", "top-k:0.02"], "average, compression top-k(0.02)", 0.05),
            (["--compression", "power-sgd:2:0"], "average, compression power-sgd(2)", 0.2),
            (["--combine", "adasum"], "adasum", 1.01),
            (["--local-steps", "3:0", "--compression", "fp16"], "compression fp16, weights averaged every 3 steps", 1.01),
            (["--optimizer-state", "sharded", "--bucket-mb", "1"], "average, sharded optimizer state", 1.01),
        ]:
            result = self.train(*SHORT, *options, ranks=2)
            self.assert_trained(result)
            self.assertIn(said, result.out)
            sent, plain = map(float, re.search(r"per step: ([\d.]+) MB; plain sums: ([\d.]+) MB", result.out).groups())
            self.assertLessEqual(sent, most * plain, options)

    def test_clip_norm(self):
        clipped = ["--clip-norm", "1e-6", "--optimizer", "sgd", "--metrics-json", "metrics.json"]
        said, weights = [], []
        for options in (clipped, clipped[2:]):
            said.append(self.train(*SHORT, *options).out)
            weights.append(self.metrics()["weights_sha256"])
        self.assertIn("clip norm 1e-06", said[0])
        self.assertNotEqual(*weights)

    def test_mistakes(self):
        for options, problem in [
            (["--compression", "zip"], "--compression zip: give one of none, bf16"),
            (["--compression", "bf16:2"], "--compression bf16:2: give one of"),
            (["--compression", "top-k:0"], r"ratio must be in \(0, 1\], got 0"),
            (["--compression", "power-sgd:0"], "rank must be at least 1"),
            (["--combine", "sum"], "--combine sum: give one of average, adasum"),
            (["--local-steps", "0"], "period must be at least 1"),
            (["--local-steps", "4:x"], "--local-steps 4:x: give a number of steps"),
            (["--optimizer-state", "split"], "give one of replicated, sharded"),
            (["--clip-norm", "0"], "--clip-norm 0: give a number greater than 0"),
            (["--bucket-mb", "0"], "--bucket-mb 0: give a whole number"),
            (["--compression", "bf16", "--combine", "adasum"], "exclude each other"),
            (["--deterministic", "--local-steps", "2"], "--deterministic sums gradients in one fixed order"),
        ]:
            self.assert_refused(self.train(*options), 2, problem)


if __name__ == "__main__":
    harness.main()
