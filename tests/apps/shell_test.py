"""Completion and man pages know every command and option that the programs have."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness

APPS = pathlib.Path(__file__).resolve().parents[2] / "apps"
PAGES = harness.BIN.parent / "apps/man"
COMMANDS = (("info",), ("bench",), ("data", "get"), ("data", "pack"), ("summary",), ("evaluate",), ("predict",), ("inspect",),
            ("export",), ("report",), ("run",))


def output(*command):
    environment = {**os.environ, "PATH": f"{harness.BIN}:{os.environ['PATH']}"}
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, check=True, timeout=60,
                          env=environment).stdout


def options_of(*command):
    text = output(harness.BIN / command[0], *command[1:], "--help")
    return re.findall(r"^ +(?:-[a-z],)?(--[a-z-]+)", text, re.MULTILINE)


class ManPages(unittest.TestCase):
    def page(self, name):
        return (PAGES / f"{name}.1").read_text().replace("\\-", "-")

    def test_tool(self):
        page = self.page("ronde")
        for command in COMMANDS:
            self.assertIn(" ".join(command), page)
            for option in options_of("ronde", *command):
                self.assertIn(option, page, command)

    def test_trainers(self):
        for trainer in ("train_mnist", "train_cifar10"):
            for option in options_of(trainer):
                self.assertRegex(self.page(trainer), rf"(?m)^\.BI (-[a-z],)?{option} ")


@unittest.skipUnless(shutil.which("bash"), "needs bash")
class Bash(unittest.TestCase):
    def complete(self, line):
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        script = f"source {APPS}/shell/ronde.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; " \
                 "__ronde_complete; printf '%s\\n' \"${COMPREPLY[@]}\""
        return output("bash", "-c", script).split()

    def test_commands(self):
        self.assertEqual(self.complete("ronde "),
                         ["info", "bench", "data", "summary", "evaluate", "predict", "inspect", "export", "report", "run"])
        self.assertEqual(self.complete("ronde ev"), ["evaluate"])
        self.assertEqual(self.complete("ronde data "), ["get", "pack"])
        self.assertEqual(self.complete("ronde data get "), ["mnist", "cifar10"])

    def test_options(self):
        for command in COMMANDS:
            self.assertEqual(self.complete(" ".join(("ronde", *command, "--"))), options_of("ronde", *command))
        self.assertEqual(self.complete("train_mnist --epo"), ["--epochs"])
        self.assertEqual(self.complete("ronde evaluate model.h5 --spl"), ["--split"])

    def test_values(self):
        self.assertEqual(self.complete("ronde export m.h5 --to "), ["onnx", "safetensors", "npz", "keras", "h5"])
        self.assertEqual(self.complete("ronde predict m.h5 --classes c"), ["cifar10"])
        self.assertEqual(self.complete("train_mnist --optimizer ada"), ["adadelta", "adam", "adamw"])
        self.assertEqual(self.complete("ronde evaluate m.h5 --split "), ["train", "test"])

    def test_files(self):
        os.chdir(APPS)
        self.assertIn("README.md", self.complete("ronde summary READ"))


if __name__ == "__main__":
    unittest.main()
