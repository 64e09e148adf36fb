#!/usr/bin/env python3
"""Trains with each way to send fewer bytes, beside plain sums; see README.md. Needs Python's library only."""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps"))
WAYS = {  # options, and how much of plain sums' accuracy may be missing
    "--compression bf16": 1, "--compression fp16": 1, "--compression top-k:0.01": 2, "--compression power-sgd:4": 2,
    "--combine adasum": 1, "--local-steps 8": 1, "--optimizer-state sharded": 0}
CONTROL = "--compression top-k:0.00001"  # twelve of 1.2 million gradients: it has to be found
SMALL = ("--epochs", 3, "--batch-size", 16, "--optimizer", "adam", "--learning-rate", "0.001")
MNIST = ("--batch-size", 64, "--optimizer", "adam")


class Rig:
    def __init__(self, arguments, work):
        self.arguments, self.work = arguments, work
        self.common = ["--scale-lr", "none", "--threads", 1, "--seed", arguments.seed]
        if arguments.mnist:
            self.common += [*MNIST, "--epochs", arguments.epochs]
        else:
            os.environ["RONDE_BIN"] = str(arguments.bin)
            import harness  # which looks at the variable
            harness.write_mnist(work / "data", train=256, test=128)
            self.common += ["--data-dir", work / "data", *SMALL]

    def train(self, way):
        """Test accuracy, MB sent per update (nothing is said of plain sums), and the weights' SHA-256."""
        metrics = self.work / "metrics.json"
        command = [self.arguments.mpiexec, "-np", self.arguments.ranks, self.arguments.bin / "train_mnist", *self.common,
                   *way.split(), "--dir", self.work / "out", "--metrics-json", metrics]
        done = subprocess.run([str(word) for word in command], cwd=self.work, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
        sent = re.search(r"per step: ([\d.]+) MB", done.stdout)
        report = json.loads(metrics.read_text())
        return report["test"]["accuracy"], sent.group(1) if sent else "", report["weights_sha256"]

    def run(self):
        """The number of ways that fall behind."""
        problems = 0
        whole, _, weights = self.train("")
        print("| way | MB sent per update | test accuracy | than plain sums |\n|---|---|---|---|")
        print(f"| plain sums | | {whole:.4f} | |", flush=True)
        margin = self.arguments.margin if self.arguments.mnist else 0.05
        for way, weight in [*WAYS.items(), (CONTROL, 2)]:
            accuracy, sent, own = self.train(way)
            is_behind = accuracy < whole - weight * margin or (weight == 0 and own != weights)
            is_wrong = is_behind != (way == CONTROL)
            problems += is_wrong
            remark = " (the control)" if way == CONTROL else ""
            print(f"| `{way}`{remark} | {sent} | {accuracy:.4f} | {accuracy - whole:+.4f}{' WRONG' if is_wrong else ''} |", flush=True)
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path, help="directory of train_mnist")
    parser.add_argument("--mnist", action="store_true", help="the real data, instead of small data made here: minutes")
    parser.add_argument("--epochs", type=int, default=2, help="with --mnist")
    parser.add_argument("--margin", type=float, default=0.005, help="with --mnist: the accuracy that may be missing")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpiexec", default=os.environ.get("RONDE_MPIEXEC") or "mpirun")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    work = pathlib.Path(tempfile.mkdtemp(prefix="ronde-convergence-"))
    try:
        sys.exit(1 if Rig(arguments, work).run() else 0)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
