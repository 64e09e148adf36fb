"""A public header brings what it names of the standard library. The compiler does not see that: it compiles them with
the library's most common headers at hand."""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("core", "nn", "data", "distributed", "models")
INCLUDE = re.compile(r"^#include <([^>]+)>", re.MULTILINE)
NAME = re.compile(r"\bstd::(\w+)")
COMMENT = re.compile(r"//.*")

# The names that each header promises, of those in use.
HEADERS = {
    "algorithm": "find max min",
    "array": "array",
    "atomic": "atomic memory_order_relaxed",
    "bit": "bit_cast",
    "cmath": "cos exp log sqrt",
    "concepts": "derived_from integral same_as signed_integral unsigned_integral",
    "cstddef": "size_t",
    "cstdint": "int32_t int64_t uint16_t uint32_t uint64_t uint8_t",
    "cstdio": "FILE",
    "cstring": "memcpy size_t strerror",
    "exception": "exception",
    "functional": "function",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "numbers": "numbers",
    "optional": "nullopt optional",
    "set": "set",
    "span": "span",
    "stdexcept": "exception runtime_error",
    "string": "string to_string",
    "string_view": "string_view",
    "type_traits": "common_type_t conditional_t is_const_v is_integral_v is_pointer_v is_same_v is_trivially_copyable_v "
                   "remove_const_t remove_reference_t",
    "typeinfo": "type_info",
    "utility": "declval exchange forward move pair",
    "variant": "get_if holds_alternative monostate variant",
    "vector": "vector",
}


def reached(header, tree):
    """The standard headers that come with a header of `tree`."""
    found, seen, ahead = set(), set(), [header]
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        if path := tree.get(name):
            ahead += INCLUDE.findall(path.read_text())
        else:
            found.add(name)
    return found


def missing(tree):
    """[(header, name, the standard headers that have it)] of names without one of those."""
    places = {}
    for header, names in HEADERS.items():
        for name in names.split():
            places.setdefault(name, set()).add(header)
    found = []
    for header, path in sorted(tree.items()):
        names = set(NAME.findall(COMMENT.sub("", path.read_text())))
        brought = reached(header, tree) if names else set()
        found += [(header, name, places.get(name)) for name in sorted(names)
                  if not places.get(name, set()) & brought]
    return found


def public_headers():
    return {str(path.relative_to(home)): path for room in ROOMS for home in [ROOT / room / "include"]
            for path in home.rglob("*.h")}


class StandardHeaders(unittest.TestCase):
    def test_what_is_missing_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = {name: pathlib.Path(folder, name) for name in ("a.h", "b.h")}
            tree["a.h"].write_text("#include <b.h>\n#include <vector>\nstd::vector<std::string> f();  // no std::map\n"
                                   "std::span<int> g();\n")
            tree["b.h"].write_text("#include <string>\nstd::unheard_of x;\n")
            self.assertEqual(missing(tree), [("a.h", "span", {"span"}), ("b.h", "unheard_of", None)])

    def test_public_headers_bring_what_they_name(self):
        tree = public_headers()
        self.assertGreater(len(tree), 100)
        for header, name, places in missing(tree):
            with self.subTest(header=header):
                self.fail(f"{header} names std::{name} without " + (f"<{' or '.join(sorted(places))}>" if places else
                                                                    "a header that this test knows: add it to HEADERS"))


if __name__ == "__main__":
    unittest.main()
