"""run --from results.json --plot drawing.svg: bars as long as speeds are, the ceiling at its place, names unharmed."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

RUN = pathlib.Path(__file__).resolve().parent / "run"
SVG = "{http://www.w3.org/2000/svg}"
NAME, ERROR = 'peer <&"> "two"', "no <module>\x1b[31m & no hope"


def row(name, speed, spread):
    return {"name": name, "version": f"{name} 1.2", "images_per_second": speed, "spread": spread, "gflops": 1.0,
            "import_s": 0.5, "first_step_s": 0.1, "rss_mb": 60}


def case(net, ceiling, rows):
    return {"net": net, "batch": 32, "threads": 2, "ranks": 1, "fma_peak": 100.0, "ceiling": ceiling, "rows": rows, "runs": {}}


RESULTS = {
    "title": "Training steps", "cpu": "Processor <9>", "date": "2026-01-02", "command": "tests/benchmarks/run --case mnist:32",
    "cases": [
        case("mnist", 5000.0, [row("ronde", 8000, [7000, 10000]), row("slow", 1000, [900, 1100]), row(NAME, 4000, [3900, 4100]),
                               {"name": "broken", "error": ERROR}]),
        case("cifar10", 600.0, [row("ronde", 300, [290, 310]), row("slow", 150, [140, 160])]),
    ],
}


def text_of(element):
    return "".join(element.itertext())


def with_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


def number(element, name):
    return float(element.get(name))


class Plot(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)
        self.svg = self.draw(RESULTS)

    def draw(self, results):
        (self.work / "results.json").write_text(json.dumps(results))
        drawn = self.work / "drawing.svg"
        done = subprocess.run([sys.executable, RUN, "--from", self.work / "results.json", "--plot", drawn],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return ElementTree.parse(drawn).getroot()

    def bars(self):
        """(length, left end) of each."""
        return [(number(group.find(f"{SVG}rect"), "width"), number(group.find(f"{SVG}rect"), "x"))
                for group in with_class(self.svg, "bar") if group.find(f"{SVG}rect") is not None]

    def test_lengths(self):
        bars = self.bars()
        self.assertEqual(len(bars), 5)
        for first, speeds in (0, [8000, 1000, 4000]), (3, [300, 150]):
            for (length, _), speed in zip(bars[first:], speeds):
                self.assertAlmostEqual(length / bars[first][0], speed / speeds[0], delta=0.002)

    def test_whiskers(self):
        whiskers = [re.match(r"M([\d.]+) [\d.]+H([\d.]+)", mark.get("d")) for mark in with_class(self.svg, "whisker")]
        (length, left), unit = self.bars()[0], 8000
        self.assertEqual(len(whiskers), 5)
        for end, speed in zip(whiskers[0].groups(), (7000, 10000)):
            self.assertAlmostEqual(float(end) - left, length * speed / unit, delta=1)

    def test_ceilings(self):
        lines = [group.find(f"{SVG}line") for group in with_class(self.svg, "ceiling")]
        bars = self.bars()
        for line, (length, left), share in zip(lines, (bars[0], bars[3]), (5000 / 8000, 600 / 300)):
            self.assertEqual(line.get("x1"), line.get("x2"))
            self.assertAlmostEqual(number(line, "x1") - left, length * share, delta=1)
        self.assertEqual([text_of(group).strip() for group in with_class(self.svg, "ceiling")],
                         ["ceiling 5,000", "ceiling 600"])

    def test_everything_is_inside(self):
        _, _, width, height = map(float, self.svg.get("viewBox").split())
        for element in self.svg.iter():
            for names, most in (("x", "x1", "x2"), width), (("y", "y1", "y2"), height):
                for name in names:
                    self.assertTrue(0 <= number(element, name) <= most if element.get(name) else True, element.attrib)

    def test_ratio_to_the_best_peer(self):
        ours = [text_of(group) for group in with_class(self.svg, "ours")]
        self.assertEqual(len(ours), 2)
        for text, ratio in zip(ours, ("2.00 ×", "2.00 ×")):
            self.assertIn(ratio, text)
        self.assertEqual(text_of(self.svg).count("the best peer"), 2)

    def test_texts(self):
        texts = [text_of(element) for element in self.svg.iter(f"{SVG}text")]
        for text in (NAME, "Processor <9>; 2026-01-02", RESULTS["command"], "mnist, batch 32, 2 threads"):
            self.assertIn(text, texts)
        self.assertEqual([text_of(text) for text in with_class(self.svg, "failed")], ["no <module>?[31m & no hope"])

    def test_nobody_ran(self):
        self.svg = self.draw({**RESULTS, "cases": [case("mnist", 0.0, [{"name": "ronde", "error": "no such file"}])]})
        self.assertEqual((self.bars(), with_class(self.svg, "ceiling")), ([], []))
        self.assertIn("no such file", text_of(self.svg))


if __name__ == "__main__":
    unittest.main()
