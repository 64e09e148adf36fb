"""report.html: well-formed, self-contained, and its numbers are those of metrics.json."""

import json
import re
import shutil
import unittest
import xml.etree.ElementTree as ElementTree

import harness
from tool_harness import ToolTest


def parse(path):
    """The page as a tree: it is written so that XML's stricter rules hold too."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text.split("\n", 1)[1])


def text_of(element):
    return re.sub(r"\s+", " ", "".join(element.itertext()).replace("\u00a0", " "))


def with_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


class ReportPage(ToolTest):
    def page(self):
        self.assertEqual(self.done("report", self.run_dir, "--output", "page.html"), "page.html\n")
        return parse(self.work / "page.html")

    def test_is_what_the_training_wrote(self):
        page = self.page()
        self.assertEqual((self.work / "page.html").read_bytes(), (self.run_dir / "report.html").read_bytes())
        accuracy = 100 * self.results["test"]["accuracy"]
        self.assertEqual(page.find("head/title").text, f"train_mnist, recipe tf2: {accuracy:.2f}\u00a0%")

    def test_from_the_logs_directory(self):
        self.done("report", self.run_dir / "logs", "--output", "page.html")
        self.assertEqual((self.work / "page.html").read_bytes(), (self.run_dir / "report.html").read_bytes())

    def test_loads_nothing(self):
        for element in self.page().iter():
            self.assertNotIn(element.tag, ("script", "link", "iframe", "object"))
            for name in ("src", "href"):
                if element.get(name):
                    self.assertTrue(element.get(name).startswith("data:image/png;base64,"))

    def test_numbers(self):
        page, results = self.page(), self.results
        figures = {text_of(figure.find("dt")): text_of(figure.find("dd")) for figure in with_class(page, "figure")}
        self.assertEqual(figures["Test accuracy"], f"{100 * results['test']['accuracy']:.2f} %")
        self.assertEqual(figures["Test loss"], f"{results['test']['loss']:.4f}")
        self.assertTrue(figures["Parameters"].startswith(f"{results['parameters']:,}"))
        self.assertIn(results["weights_sha256"], text_of(page))
        rows = [[text_of(cell) for cell in row] for row in with_class(page, "epochs")[0].find("tbody")]
        self.assertEqual([int(row[0]) for row in rows], [epoch["epoch"] for epoch in results["epochs"]])
        for row, epoch in zip(rows, results["epochs"]):
            self.assertEqual(row[1:3], [str(epoch["steps"]), str(epoch["samples"])])
            self.assertEqual(row[3:5], [f"{epoch['loss']:.4f}", f"{epoch['accuracy']:.4f}"])

    def test_confusion_matrix(self):
        rows = with_class(self.page(), "matrix")[0].find("tbody")
        counts = [[int(cell.text) for cell in row.findall("td")] for row in rows]
        self.assertEqual(sum(counts[i][i] for i in range(10)), self.results["test"]["correct"])
        self.assertEqual(sum(map(sum, counts)), self.results["test"]["count"])
        _, labels = harness.digits(128, 2)
        self.assertEqual([sum(row) for row in counts], [labels.count(label) for label in range(10)])

    def test_curves(self):
        charts = with_class(self.page(), "chart")
        titles = [chart.find("figcaption/h3").text for chart in charts]
        self.assertEqual(titles, ["Loss", "Accuracy", "Learning rate", "Speed"])
        for chart in charts:
            self.assertEqual(len(with_class(chart, "area")), len(self.results["epochs"]))

    def test_says_what_is_missing(self):
        self.assert_refused(self.ronde("report", "none"), 74, "none: no such directory")
        self.assert_refused(self.ronde("report", self.work), 74, "neither metrics.json nor training.csv")

    def test_output_needs_its_folder(self):
        self.assert_refused(self.ronde("report", self.run_dir, "--output", "nope/x.html"), 74,
                            "cannot write in nope: No such file or directory: make it, or give another --output")
        self.assertFalse((self.work / "nope").exists())
        self.assertEqual(self.done("report", self.run_dir, "--output", "x.html"), "x.html\n")

    def test_damaged_results(self):
        shutil.copytree(self.run_dir, self.work / "run")
        for name, content in (("metrics.json", "{"), ("metrics.json", json.dumps({"epochs": 1})),
                              ("logs/evaluation.json", "[1]")):
            (self.work / "run" / name).write_text(content)
            self.assert_refused(self.ronde("report", "run"), 65, name.split("/")[-1])
            shutil.copy(self.run_dir / name, self.work / "run" / name)
        self.done("report", "run")

    def test_of_a_table_alone(self):
        (self.work / "training.csv").write_text("epoch,accuracy,loss\r\n0,0.5,1.5\r\n1,0.75,0.5\r\n")
        self.done("report", ".")
        self.assertIn("75.00 %", text_of(parse(self.work / "report.html")))


if __name__ == "__main__":
    unittest.main()
