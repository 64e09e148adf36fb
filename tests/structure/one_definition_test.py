"""A name means one type: two headers that define it, each for itself, compile and link, and who destroys what is up to
the linker."""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "nn", "data", "distributed", "models", "apps")
# At the beginning of a line stand namespaces and what lies directly in them.
NAMESPACE = re.compile(r"^namespace ?([\w: ]*)\{$|^\}  // namespace", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (?:RONDE_API |alignas\([^)]*\) )?(\w+)(?: final)?(?: :[^;\n]*)? \{",
                  re.MULTILINE)


def types_of(text):
    """{(namespace, name)} of what is defined in no anonymous namespace."""
    found, open_now = set(), []
    for match in sorted([*NAMESPACE.finditer(text), *TYPE.finditer(text)], key=lambda m: m.start()):
        if match.re is TYPE:
            if "" not in open_now:
                found.add(("::".join(open_now), match.group(1)))
        elif match.group(1) is None:
            open_now.pop()
        else:
            open_now.append(match.group(1).strip())
    return found


def defined_twice(files):
    places = {}
    for path in files:
        for name in types_of(path.read_text()):
            places.setdefault(name, []).append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


class OneDefinition(unittest.TestCase):
    def test_what_is_there_twice_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            texts = {"a.h": "namespace n::inline v0 {\nstruct Twice {\n};\nclass Once;\nnamespace {\nstruct Hidden {};\n}  // namespace\n"
                            "}  // namespace n::inline v0\n",
                     "b.h": "namespace n::inline v0 {\nclass RONDE_API Twice final : public Base {\n};\nnamespace {\nstruct Hidden {};\n"
                            "}  // namespace\nclass Once {\n};\n}  // namespace n::inline v0\nnamespace other {\nstruct Once {\n};\n"}
            for name, text in texts.items():
                pathlib.Path(folder, name).write_text(text)
            self.assertEqual(set(defined_twice(pathlib.Path(folder).glob("*.h"))), {("n::inline v0", "Twice")})

    def test_no_type_has_two_definitions(self):
        files = sorted(path for folder in FOLDERS for kind in ("*.h", "*.cpp", "*.cuh") for path in (ROOT / folder).rglob(kind))
        self.assertGreater(sum(len(types_of(path.read_text())) for path in files), 500)
        for (namespace, name), paths in defined_twice(files).items():
            with self.subTest(name=name):
                self.fail(f"{namespace}::{name} is defined in " + " and ".join(str(p.relative_to(ROOT)) for p in paths))


if __name__ == "__main__":
    unittest.main()
