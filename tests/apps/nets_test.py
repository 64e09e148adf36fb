"""`ronde predict` and `ronde evaluate` of nets that are no classifiers: sigmoids, regressions."""

import math
import os
import pathlib
import random
import re
import shutil
import tempfile

import harness
from tool_harness import png

SCORES = (2, 1, -3)  # of most of the nets, whatever they see
SOFTMAX = [math.exp(score) / sum(map(math.exp, SCORES)) for score in SCORES]
SIGMOID = [1 / (1 + math.exp(-score)) for score in SCORES]
PIXELS = [random.Random(seed).randbytes(784) for seed in range(3)]


class NetTest(harness.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nets = pathlib.Path(tempfile.mkdtemp(prefix="ronde-nets-"))
        cls.addClassCleanup(shutil.rmtree, cls.nets)
        made = harness.execute([os.environ["RONDE_MAKE_NETS"], cls.nets], cls.nets)
        assert made.status == 0, made

    def setUp(self):
        super().setUp()
        self.pictures = []
        for label, pixels in enumerate(PIXELS):
            path = self.work / f"photos/{label}/a.png"
            path.parent.mkdir(parents=True)
            path.write_bytes(png(pixels, 28, 28))
            self.pictures.append(path)

    def ronde(self, *words, ranks=1):
        launcher = [harness.MPIEXEC, "-np", ranks] if ranks > 1 else []
        return harness.execute([*launcher, harness.BIN / "ronde", *words], self.work)

    def done(self, *words, notes=0):
        result = self.ronde(*words)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(len(result.complaints), 0, result)
        self.assertEqual(len(result.notes), notes, result)
        return result.out

    def table(self, name, values):
        rows = [",".join([str(label), *map(str, values(pixels))]) for label, pixels in enumerate(PIXELS)]
        (self.work / name).write_text("\n".join(rows) + "\n")
        return name


class Meaning(NetTest):
    """What outputs are shown as."""

    def said(self, net, *words):
        """The heading behind the picture's name, and the answers by name."""
        head, *lines = self.done("predict", self.nets / net, self.pictures[0], *words).splitlines()
        self.assertTrue(head.startswith(str(self.pictures[0])), head)
        answers = {}
        for line in lines:
            name, value, percent = re.match(r"  (\S+ \d) +(\S+)( %)?", line).groups()
            answers[name] = float(value) / 100 if percent else float(value)
        return head[len(str(self.pictures[0])):], answers

    def check(self, net, heading, name, values, delta=1e-4):
        head, answers = self.said(net)
        self.assertEqual(head, heading)
        self.assertEqual(list(answers), [f"{name} {i}" for i in range(3)])
        for got, expected in zip(answers.values(), values):
            self.assertAlmostEqual(got, expected, delta=delta)

    def test_classes(self):
        self.check("softmax.h5", "", "class", SOFTMAX)
        self.check("logits.h5", "", "class", SOFTMAX)

    def test_independent_probabilities(self):
        self.check("sigmoid.h5", ": independent probabilities", "output", SIGMOID)
        self.check("sigmoid_logits.h5", ": independent probabilities", "output", SIGMOID)

    def test_values(self):
        for net in ("regression.h5", "unknown.h5"):
            self.check(net, ": values", "output", SCORES, delta=0)
        self.assertEqual(self.said("regression.h5", "--top", 2)[1], {"output 0": 2, "output 1": 1})
        self.assertIn("  size   1\n", re.sub(" +", lambda m: m[0][:3], self.done(
            "predict", self.nets / "regression.h5", self.pictures[0], "--classes", "weight,size,age")))

    def test_what_is_not_finite(self):
        for net in ("softmax.h5", "sigmoid.h5", "regression.h5"):
            result = self.ronde("predict", self.nets / net, *self.pictures, "--scale", "1e308")
            self.assert_refused(result, 88, f"{net}: says nan as (class|output) 0 of .*0/a.png, which is no finite number")
            self.assertEqual(len(re.findall(r"^  \S+ \d +nan$", result.out, re.MULTILINE)), 9, result)
            self.assertNotIn("%", result.out)


if __name__ == "__main__":
    harness.main()
