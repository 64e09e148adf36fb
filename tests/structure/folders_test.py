"""Folders of a room include each other in one direction. Between rooms the compiler sees to that; here it does not."""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def includes(home):
    """{folder: folders whose headers it includes}, of a room's private code in `home`. A name in quotes that is no
    file there is an error: what it includes would go unseen."""
    found = {}
    for path in home.rglob("*"):
        if path.suffix not in SOURCE:
            continue
        folder = path.parent.relative_to(home)
        for name in INCLUDE.findall(path.read_text()):
            target = next((base / name for base in (home, path.parent) if (base / name).is_file()), None)
            if target is None:
                raise FileNotFoundError(f"{path}: includes {name}, which is not in {home}")
            if target.parent != path.parent:
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

    def test_includes_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            for name in ("a", "a/inner", "b"):
                (home / name).mkdir()
            (home / "top.h").write_text('#include "a/a.h"\n')
            (home / "a/a.h").write_text('#pragma once\n#include "b/b.h"\n#include <a/inner/c.h>\n')
            (home / "a/inner/c.h").write_text('// #include "b/b.h"\n')
            (home / "a/inner/d.cu").write_text('#include "c.h"\n  #include "a/a.h"\n')
            (home / "b/b.h").touch()
            top, a, inner, b = map(pathlib.Path, (".", "a", "a/inner", "b"))
            self.assertEqual(includes(home), {top: {a}, a: {b}, inner: {a}})
            (home / "b/b.h").write_text('#include "b/other.h"\n')
            with self.assertRaisesRegex(FileNotFoundError, "b.h: includes b/other.h"):
                includes(home)

    def test_no_room_has_one(self):
        homes = [ROOT / room / "src" for room in ("core", "nn", "data", "distributed", "models")] + [ROOT / "apps"]
        for home in homes:
            with self.subTest(room=home.relative_to(ROOT)):
                graph = includes(home)
                self.assertEqual(bool(graph), any(path.is_dir() for path in home.iterdir()), "nothing was read")
                found = cycle(graph)
                self.assertIsNone(found, " -> ".join(map(str, found or [])))


if __name__ == "__main__":
    unittest.main()
