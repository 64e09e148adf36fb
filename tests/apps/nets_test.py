"""`ronde predict` and `ronde evaluate` of nets that are no classifiers of pictures in 0 ... 1: sigmoids, regressions,
nets that scale bytes themselves, nets without weights."""

import gzip
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


    def test_one_that_is_not_finite(self):
        result = self.ronde("predict", self.nets / "one_nan.h5", self.pictures[0], "--top", 3)
        self.assert_refused(result, 88, "one_nan.h5: says nan as output 1 of .*0/a.png")
        self.assertEqual(re.findall(r"^  output (\d) +(\S+)$", result.out, re.MULTILINE),
                         [("0", "2"), ("2", "-3"), ("1", "nan")])


class Scale(NetTest):
    """What a net sees of a byte."""

    def answers(self, net, *words, notes=0):
        return self.done("predict", self.nets / net, *self.pictures, *words, notes=notes)

    def loss(self, net, data, *words, notes=0):
        out = self.done("evaluate", self.nets / net, "--data", data, *words, notes=notes)
        return re.search(r"^Loss: (.*)$", out, re.MULTILINE)[1]

    def test_of_nets_that_scale_bytes(self):
        expected = self.answers("plain.h5")
        for net in ("bytes.h5", "deviations_of_bytes.h5", "shares_of_bytes.h5", "graph_of_bytes.h5"):
            self.assertEqual(self.answers(net, notes=1), expected)
            self.assertEqual(self.answers(net, "--scale", "1"), expected)
            self.assertNotEqual(self.answers(net, "--scale", "1/255"), expected)

    def test_of_nets_that_normalise(self):
        """What these expect is in 0 ... 1."""
        for net in ("normalized.h5", "deviations.h5"):
            self.assertEqual(self.answers(net), self.answers(net, "--scale", "1/255"))

    def test_of_data_for_nets_that_scale_bytes(self):
        bytes_table = self.table("bytes.csv", lambda pixels: pixels)
        expected = self.loss("plain.h5", "photos")
        for data in ("photos", bytes_table):
            self.assertEqual(self.loss("bytes.h5", data, notes=1), expected)
            self.assertNotEqual(self.loss("bytes.h5", data, "--scale", "1/255"), expected)
        shutil.copytree(self.data, self.work / "mnist")
        harness.write_idx(self.work / "mnist/t10k-labels-idx1-ubyte", [i % 3 for i in range(128)], (128,))  # three classes
        words = ("mnist", "--data-dir", "mnist")
        self.assertEqual(self.loss("bytes.h5", *words, notes=1), self.loss("plain.h5", *words))

    def test_of_packed_data_for_nets_that_scale_bytes(self):
        for name, words in (("small.ronde", ()), ("bytes.ronde", ("--scale", "1"))):
            self.done("data", "pack", "photos", name, "--grey", *words)
        self.assertEqual(self.loss("bytes.h5", "bytes.ronde", notes=1), self.loss("plain.h5", "small.ronde"))
        result = self.ronde("evaluate", self.nets / "bytes.h5", "--data", "small.ronde")
        self.assertEqual(len(result.warnings), 1, result)
        self.assertIn("those of small.ronde are scaled already: pack them with --scale 1", result.warnings[0])

    def test_of_tables(self):
        """Fractions are what the net sees; bytes stand for 0 ... 1."""
        floats = self.table("floats.csv", lambda pixels: [f"{value / 255:.9f}" for value in pixels])
        expected = self.loss("plain.h5", "photos")
        self.assertEqual(self.loss("plain.h5", floats), expected)
        self.assertEqual(self.loss("plain.h5", self.table("bytes.csv", lambda pixels: pixels)), expected)
        self.assertEqual(self.loss("plain.h5", self.table("floats.csv", lambda pixels: [v + 0.5 for v in pixels]),
                                   "--scale", "1/255", "--offset", str(-0.5 / 255)), expected)

    def test_of_packed_tables(self):
        floats = self.table("floats.csv", lambda pixels: [f"{value / 255:.9f}" for value in pixels])
        expected = self.loss("plain.h5", "photos")
        self.done("data", "pack", floats, "floats.ronde", "--size", "28x28x1")
        self.assertEqual(self.loss("plain.h5", "floats.ronde"), expected)
        self.done("data", "pack", floats, "half.ronde", "--size", "28x28x1", "--scale", "0.5")
        self.assertNotEqual(self.loss("plain.h5", "half.ronde"), expected)
        self.assertEqual(self.loss("plain.h5", "half.ronde"), self.loss("plain.h5", floats, "--scale", "0.5"))

    def test_of_packed_tables_that_are_no_pictures(self):
        self.table("rows.csv", lambda pixels: pixels)
        self.done("data", "pack", "rows.csv", "as_they_are.ronde")
        self.done("data", "pack", "rows.csv", "scaled.ronde", "--scale", "1/255")
        contents = [(self.work / name).read_bytes() for name in ("as_they_are.ronde", "scaled.ronde")]
        self.assertNotEqual(*contents)


class Evaluate(NetTest):
    def test_targets_that_are_no_labels(self):
        for net, loss in (("sigmoid.h5", "binary_crossentropy"), ("regression.h5", "mean_squared_error")):
            for ranks in (1, 2):
                result = self.ronde("evaluate", self.nets / net, "--data", "photos", ranks=ranks)
                self.assert_refused(result, 65, rf"{net}: its loss, {loss}, wants targets of shape \(3,\) for each sample, "
                                                "but photos has class labels")

    def test_net_with_two_outputs(self):
        net = self.nets / "two_heads.h5"
        words = r"two_heads.h5: has 2 outputs \(policy, value\), expected one: "
        for ranks in (1, 2):
            self.assert_refused(self.ronde("evaluate", net, "--data", "photos", ranks=ranks), 65, words)
        self.assert_refused(self.ronde("predict", net, self.pictures[0]), 65, words)
        self.assertIn("policy (Dense)", self.done("summary", net))
        self.done("export", net, "out.onnx")

    def test_net_without_a_loss(self):
        result = self.ronde("evaluate", self.nets / "softmax.h5", "--data", "photos")
        self.assertEqual(result.status, 0, result)
        self.assertEqual(len(result.warnings), 1, result)
        self.assertIn("softmax.h5: has no loss that is known, so this is categorical_crossentropy", result.warnings[0])
        loss = float(re.search(r"^Loss: (.*)$", result.out, re.MULTILINE)[1])
        self.assertAlmostEqual(loss, -sum(map(math.log, SOFTMAX)) / 3, delta=1e-4)

    def test_net_without_weights(self):
        net = self.nets / "weightless.h5"
        self.assertIn("of 3)", self.done("evaluate", net, "--data", "photos"))
        means = [sum(PIXELS[0][28 * y + x] for y in range(14) for x in range(14 * right, 14 * right + 14)) / (255 * 196)
                 for right in (0, 1)]
        said = dict(re.findall(r"  (class \d) +([\d.]+) %", self.done("predict", net, self.pictures[0])))
        self.assertAlmostEqual(math.log(float(said["class 0"]) / float(said["class 1"])), means[0] - means[1], delta=1e-3)
        self.done("export", net, "out.onnx")

    def test_tables_by_any_ending(self):
        self.table("rows.csv", lambda pixels: pixels)
        text = (self.work / "rows.csv").read_bytes()
        (self.work / "OK.CSV").write_bytes(text)
        (self.work / "two.Csv.GZ").write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))
        plain = self.done("evaluate", self.nets / "plain.h5", "--data", "rows.csv")
        for name in ("OK.CSV", "two.Csv.GZ"):
            self.assertEqual(self.done("evaluate", self.nets / "plain.h5", "--data", name), plain.replace("rows.csv", name))


if __name__ == "__main__":
    harness.main()
