"""`ronde evaluate`: counts that agree with the training, with other sources of the same pictures, and with `ronde predict`."""

import json
import pathlib
import re
import shutil

import harness
from tool_harness import ToolTest, png


class Evaluate(ToolTest):
    def check(self, out, right, count):
        self.assertIn(f"({right:,} of {count:,})", out)
        rows = re.findall(r"^  (\S+) +([\d.]+) % +(\d+) +(\d+)$", out, re.MULTILINE)
        self.assertEqual(len(rows), 10, out)
        self.assertEqual(sum(int(row[2]) for row in rows), right)
        self.assertEqual(sum(int(row[3]) for row in rows), count)
        for _, share, part, whole in rows:
            self.assertAlmostEqual(float(share), 100 * int(part) / int(whole) if int(whole) else 0, delta=0.006)

    def test_agrees_with_the_training(self):
        test = self.results["test"]
        outputs = [self.done("evaluate", self.model, "--data", "mnist", "--data-dir", self.data, ranks=ranks)
                   for ranks in (1, 2)]
        self.assertEqual(outputs[0], outputs[1])
        self.check(outputs[0], test["correct"], test["count"])
        self.assertIn(f"Loss: {test['loss']:.4f}\nAccuracy: {test['accuracy']:.4f} ", outputs[0])

    def test_first_samples(self):
        for option in ("--samples", "--test-samples"):  # as the trainers call it
            out = self.done("evaluate", self.model, "--data", "mnist", "--data-dir", self.data, option, 5)
            self.assertIn("of 5)", out)
            self.assertRegex(out, r"(?m)^.*, test part, the first 5$")
            self.assertRegex(out, r"(?m)^  \d +- +0 +0$")  # a class without samples has no accuracy

    def test_other_sources(self):
        """Folders, tables and packed files of the same pictures give the same counts."""
        folder = self.pictures_by_class()
        plain = self.done("evaluate", self.model, "--data", "mnist", "--data-dir", self.data, "--samples", 60)
        right = int(re.search(r"\((\d+) of 60\)", plain)[1])
        self.check(self.done("evaluate", self.model, "--data", folder), right, 60)

        self.assertIn("(28, 28, 1)", self.done("data", "pack", folder, "photos.ronde", "--grey"))
        self.check(self.done("evaluate", self.model, "--data", "photos.ronde", ranks=2), right, 60)

        pixels, labels = harness.digits(128, 2)
        rows = [",".join(map(str, [label, *pixels[784 * i:784 * (i + 1)]])) for i, label in enumerate(labels[:60])]
        table = self.write("photos.csv", "\n".join(rows).encode())
        self.check(self.done("evaluate", self.model, "--data", table), right, 60)
        self.done("data", "pack", table, "table.ronde", "--size", "28x28x1")
        self.check(self.done("evaluate", self.model, "--data", "table.ronde"), right, 60)

    def test_pictures_of_another_size(self):
        for label in range(10):
            self.write(f"photos/{label}/a.png", png(bytes(40 * 30), 40, 30))
        for ranks in (1, 2):
            result = self.ronde("evaluate", self.model, "--data", "photos", ranks=ranks)
            self.assert_refused(result, 65, r"\(30, 40, 1\), the net takes \(28, 28, 1\): .*--resize")
        self.assertIn("of 10)", self.done("evaluate", self.model, "--data", "photos", "--resize"))
        self.done("data", "pack", "photos", "photos.ronde", "--grey")
        result = self.ronde("evaluate", self.model, "--data", "photos.ronde")
        self.assert_refused(result, 65, r"photos.ronde: samples are \(30, 40, 1\), the net takes \(28, 28, 1\)")
        self.assertNotIn("--resize", result.err)  # which is for folders

    def test_options_of_other_data(self):
        """An option that would do nothing is refused: nobody should think that it did."""
        folder, table = self.pictures_by_class(10), self.write("a.csv", b"0,1\n1,2\n")
        for data, words in (("mnist", ["--scale", "1"]), ("mnist", ["--resize"]), ("mnist", ["--label-column", "last"]),
                            (folder, ["--split", "train"]), (folder, ["--data-dir", self.data]),
                            (table, ["--resize"]), (self.model, ["--scale", "1"])):
            result = self.ronde("evaluate", self.model, "--data", data, *words)
            self.assert_refused(result, 2, rf"{words[0]}: .*{pathlib.Path(data).name} is .*, for which it means nothing")
        result = self.ronde("data", "pack", "mnist", "m.ronde", "--data-dir", self.data, "--size", "14x14")
        self.assert_refused(result, 2, "--size: mnist is a set of its own form")
        self.assertFalse((self.work / "m.ronde").exists())

    def test_a_loss_that_is_not_finite_is_warned_about(self):
        self.done("data", "pack", self.write("big.csv", b"1" + 784 * b",3e38" + b"\n"), "big.ronde", "--size", "28x28x1",
                  "--scale", "1")
        result = self.ronde("evaluate", self.model, "--data", "big.ronde")
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.warnings, [f"ronde: warning: {self.model}: its loss on these data is no finite number"])

    def test_too_many_classes(self):
        for label in range(11):
            self.write(f"photos/{label:02}/a.png", png(bytes(784), 28, 28))
        result = self.ronde("evaluate", self.model, "--data", "photos")
        self.assert_refused(result, 2, "label 10, but the net has 10 outputs")

    def test_no_such_data(self):
        result = self.ronde("evaluate", self.model, "--data", "nowhere")
        self.assert_refused(result, 74, "nowhere: no such folder or file")

    def test_damaged_pack(self):
        self.done("data", "pack", self.pictures_by_class(20), "photos.ronde", "--grey")
        path = self.work / "photos.ronde"
        content = bytearray(path.read_bytes())
        content[-500] ^= 1
        path.write_bytes(content)
        self.assert_refused(self.ronde("evaluate", self.model, "--data", path), 65, "photos.ronde")

    def answers(self, folder):
        """What `ronde predict` takes each picture of each class for: (class, answer) and how often."""
        files = sorted(folder.rglob("*.png"))
        said = re.findall(r"^  class (\d)", self.done("predict", self.model, *files, "--top", 1), re.MULTILINE)
        self.assertEqual(len(said), len(files))
        counts = {}
        for file, answer in zip(files, said):
            key = int(file.parent.name), int(answer)
            counts[key] = counts.get(key, 0) + 1
        return counts

    def test_confusion(self):
        folder = self.pictures_by_class()
        counts = self.answers(folder)
        matrix = [[counts.get((label, said), 0) for said in range(10)] for label in range(10)]
        plain = self.done("evaluate", self.model, "--data", folder)
        found = json.loads(self.done("evaluate", self.model, "--data", folder, "--json", ranks=2))
        self.assertEqual(found["confusion"], matrix)
        right = sum(matrix[label][label] for label in range(10))
        self.assertEqual((found["correct"], found["count"]), (right, 60))
        self.assertEqual(found["accuracy"], right / 60)
        self.assertIn(f"Loss: {found['loss']:.4f}\n", plain)
        self.assertEqual((found["file"], found["world_size"]), (str(self.model), 2))
        for label, one in enumerate(found["classes"]):
            expected = {"name": str(label), "accuracy": matrix[label][label] / sum(matrix[label]),
                        "correct": matrix[label][label], "count": sum(matrix[label])}
            self.assertEqual(one, expected)
        out = self.done("evaluate", self.model, "--data", folder, "--confusion")
        self.assertTrue(out.startswith(plain))
        rows = [line.split() for line in out[len(plain):].strip().splitlines()]
        self.assertEqual(rows[0], ["class", "\\", "answer", *map(str, range(10))])
        self.assertEqual([list(map(int, row[1:])) for row in rows[1:]], matrix)

    def test_a_class_without_samples(self):
        found = json.loads(self.done("evaluate", self.model, "--data", "mnist", "--data-dir", self.data, "--samples", 1,
                                     "--json"))
        self.assertEqual(sum(one["count"] for one in found["classes"]), 1)
        self.assertEqual([one["accuracy"] for one in found["classes"]].count(None), 9)

    def test_fashion_mnist(self):
        """In a folder of its own, or right where --data-dir says; its classes are clothes only when it is the original."""
        shutil.copytree(self.data, self.work / "sets/fashion-mnist")
        for place in ("sets", "sets/fashion-mnist"):
            out = self.done("evaluate", self.model, "--data", "fashion-mnist", "--data-dir", place)
            self.assertIn(f"from {place.split('/')[0]}/fashion-mnist", out)
            self.check(out, self.results["test"]["correct"], 128)
        out = self.done("data", "pack", "fashion-mnist", "f.ronde", "--data-dir", "sets", "--split", "test")
        self.assertIn("128 samples", out)


if __name__ == "__main__":
    harness.main()
