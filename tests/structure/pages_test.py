"""Links of the pages lead to files and headings that are there, files that they name are where they say, and what users
of Keras look for by name is found."""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`((?:core|nn|data|distributed|models|apps|tests|third_party)/[\w./-]+\.(?:cpp|h|py|md|json|npz))\b")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CLASS = re.compile(r"^class RONDE_API (\w+) : public (\w+)", re.MULTILINE)
UNNAMED = {"Cifar10FastFreeze", "TrainingOnly"}  # a record's, and what stands for a layer of a file
KINDS = ("Module", "Loss", "Metric", "Optimizer", "LearningRateSchedule", "Callback")


def pages():
    """All pages, but for those of build folders."""
    return [path for path in ROOT.rglob("*.md") if not path.relative_to(ROOT).parts[0].startswith(("build", "."))]


def anchors(page):
    """What a link may have behind the '#', made as GitHub makes it of headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def broken_links(page):
    """Those of a page that lead nowhere."""
    found = []
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def missing_files(page):
    """Files of ours that a page names, headers as they are included, and that are not there."""
    roots = [page.parent, ROOT, *ROOT.glob("*/include/ronde")]
    return [name for name in FILE.findall(page.read_text()) if not any((root / name).exists() for root in roots)]


def classes_of_kinds():
    """Names of the public classes that derive from one of KINDS, and that no other derives from."""
    headers = "".join(path.read_text() for room in ("nn", "models") for path in (ROOT / room / "include").rglob("*.h"))
    bases = dict(CLASS.findall(headers))

    def kind(name):
        return name if name not in bases else kind(bases[name])

    return {name for name in bases if kind(name) in KINDS} - set(bases.values()) - UNNAMED


class Links(unittest.TestCase):
    def test_broken_ones_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("# A `b`, c\n[1](page.md#a-b-c) [2](#a) [3](x.md)\n`[4](y.md)` [5](https://a.b/c#d)\n")
            self.assertEqual(broken_links(page), ["#a", "x.md"])

    def test_they_lead_somewhere(self):
        self.assertGreater(len(pages()), 40)
        for page in pages():
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(broken_links(page), [])
                self.assertEqual(missing_files(page), [])


class KerasPage(unittest.TestCase):
    def test_it_names_what_there_is(self):
        page = (ROOT / "models/keras.md").read_text()
        found = classes_of_kinds()
        self.assertGreater(len(found), 80)
        self.assertEqual([name for name in sorted(found) if not re.search(rf"\b{name}\b", page)], [])


if __name__ == "__main__":
    unittest.main()
