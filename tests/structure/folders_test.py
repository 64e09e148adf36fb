"""Folders of a room include each other in one direction. Between rooms the compiler sees to that; here it does not."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def includes(home):
    """{folder: folders whose headers it includes}, of a room's private code in `home`."""
    found = {}
    for path in home.rglob("*"):
        if path.suffix not in SOURCE:
            continue
        folder = path.parent.relative_to(home)
        for name in INCLUDE.findall(path.read_text()):
            target = next((base / name for base in (home, path.parent) if (base / name).is_file()), None)
            if target is not None and target.parent != path.parent:
                found.setdefault(folder, set()).add(target.parent.relative_to(home))
    return found


def cycle(graph):
    """A way from a folder back to itself, or None."""
    done = set()

    def walk(folder, way):
        if folder in way:
            return [*way[way.index(folder):], folder]
        if folder in done:
            return None
        done.add(folder)
        for target in sorted(graph.get(folder, ())):
            if found := walk(target, [*way, folder]):
                return found
        return None

    return next((found for folder in sorted(graph) if (found := walk(folder, []))), None)


class Folders(unittest.TestCase):
    def test_cycles_are_found(self):
        self.assertIsNone(cycle({"a": {"b", "c"}, "b": {"c"}}))
        self.assertEqual(cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}), ["b", "c", "b"])

    def test_no_room_has_one(self):
        homes = [ROOT / room / "src" for room in ("core", "nn", "data", "distributed", "models")] + [ROOT / "apps"]
        graphs = {home: includes(home) for home in homes}
        self.assertIn(pathlib.Path("training"), graphs[ROOT / "models/src"])
        for home, graph in graphs.items():
            found = cycle(graph)
            self.assertIsNone(found, f"{home.relative_to(ROOT)}: {' -> '.join(map(str, found or []))}")


if __name__ == "__main__":
    unittest.main()
