"""Runs the programs as a user does, alone or under mpirun, on small data made here. Needs Python's library only."""

import gzip
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["RONDE_BIN"])
MPIEXEC = os.environ.get("RONDE_MPIEXEC", "")
TIMEOUT = 120
RANK = "${OMPI_COMM_WORLD_RANK-$PMI_RANK}"  # in a shell: as Open MPI or MPICH tells it


class Result:
    """What a job printed and how it ended."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    @property
    def complaints(self):
        """The lines that Ronde itself wrote to stderr, without warnings and notes."""
        return [line for line in self.err.splitlines()
                if line.startswith("ronde:") and not line.startswith(("ronde: warning: ", "ronde: note: "))]

    @property
    def notes(self):
        return [line for line in self.err.splitlines() if line.startswith("ronde: note: ")]

    @property
    def warnings(self):
        """But for those about the machine that the tests run on."""
        return [line for line in self._all_warnings() if not self._is_about_machine(line)]

    @property
    def machine_warnings(self):
        return [line for line in self._all_warnings() if self._is_about_machine(line)]

    def _all_warnings(self):
        return [line for line in self.err.splitlines() if line.startswith("ronde: warning: ")]

    @staticmethod
    def _is_about_machine(line):
        return "so they take turns" in line or "times as long as the others" in line

    def __str__(self):
        return f"exit status {self.status} after {self.seconds:.1f} s\n--- stdout\n{self.out}--- stderr\n{self.err}"


def execute(command, cwd, env=None):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("RONDE_") or key in ("RONDE_BACKEND", "RONDE_MPIEXEC")}
    environment.update(env or {})
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, text=True, capture_output=True,
                          errors="surrogateescape", timeout=TIMEOUT, check=False)
    return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


def children(pid):
    """Processes that this one started."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def ranks_of(mpirun):
    """Processes that it started, or MPICH's proxies did for it."""
    found = []
    for pid in children(mpirun):
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        found += children(pid) if name == "hydra_pmi_proxy" else [pid]
    return found


def is_mpich():
    """Whether MPIEXEC is MPICH's."""
    return "HYDRA" in subprocess.run([MPIEXEC, "--version"], capture_output=True, text=True, check=False).stdout


def write_idx(path, array, shape, magic=None):
    """u8 elements as an IDX file; with .gz compressed."""
    header = struct.pack(f">I{len(shape)}I", magic or 0x0800 + len(shape), *shape)
    data = header + bytes(array)
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


def digits(count, seed):
    """Images of ten classes that a net can learn: a bright bar whose place is the class, under noise."""
    rng = random.Random(seed)
    pixels, labels = bytearray(), bytearray()
    for _ in range(count):
        label = rng.randrange(10)
        image = bytearray(rng.randbytes(28 * 28))
        for i in range(28 * 28):
            image[i] //= 8
        row = 2 + 5 * (label // 2)
        for y in range(row, row + 4):
            for x in range(2 + 14 * (label % 2), 12 + 14 * (label % 2)):
                image[28 * y + x] = 255 - image[28 * y + x]
        pixels += image
        labels.append(label)
    return pixels, labels


def write_mnist(directory, train=512, test=128):
    """The four files of a small set in MNIST's form."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", train, 1), ("t10k", test, 2)):
        pixels, labels = digits(count, seed)
        write_idx(directory / f"{name}-images-idx3-ubyte.gz", pixels, (count, 28, 28))
        write_idx(directory / f"{name}-labels-idx1-ubyte", labels, (count,))


def pictures(count, seed):
    """CIFAR-10 records of ten classes that a net can learn: a patch whose place and colour are the class."""
    rng = random.Random(seed)
    records = bytearray()
    for _ in range(count):
        label = rng.randrange(10)
        planes = [bytearray(value // 4 for value in rng.randbytes(32 * 32)) for _ in range(3)]
        top, left, plane = 16 * (label % 2), 8 * (label // 3), planes[label % 3]
        for y in range(top, top + 16):
            plane[32 * y + left:32 * y + left + 8] = b"\xff" * 8
        records += bytes([label]) + b"".join(planes)
    return records


def write_cifar10(directory, per_file=32):
    """The six files of a small set in CIFAR-10's form."""
    directory.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
        (directory / f"{name}.bin").write_bytes(pictures(per_file, seed))


def cifar10_labels(path):
    return list(path.read_bytes()[::3073])


def snapshot(directory):
    """Names and contents of all files below."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*"))
            if path.is_file()}


class ProgramTest(unittest.TestCase):
    """Has a small data set in self.data and an empty working directory in self.work."""

    program = "train_mnist"

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ronde-data-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        cls.data = cls.shared / "mnist"
        write_mnist(cls.data)

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ronde-work-"))
        self.addCleanup(shutil.rmtree, self.work)

    def train(self, *options, ranks=1, env=None, data=None):
        """Runs the trainer in self.work; data=False gives it no --data-dir."""
        return execute(self.job(*options, ranks=ranks, data=data), self.work, env)

    def job(self, *options, ranks=1, data=None):
        command = self.command(*options, data=data)
        return [MPIEXEC, "-np", ranks, *command] if ranks > 1 else command

    def command(self, *options, data=None):
        place = [] if data is False else ["--data-dir", data or self.data]
        return [BIN / self.program, *place, *options]

    def interrupted(self, moment, *options, ranks=1, data=None):
        """Runs the trainer until moment(all it printed so far) is true, then kills a rank, as a machine that fails
        would; returns what it printed."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RONDE_")}
        log = self.work.with_suffix(".log")
        self.addCleanup(log.unlink, missing_ok=True)
        with open(log, "w") as output:
            job = subprocess.Popen([str(word) for word in self.job(*options, ranks=ranks, data=data)], cwd=self.work,
                                   env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + TIMEOUT
            while not moment(log.read_text()):
                self.assertIsNone(job.poll(), log.read_text())
                self.assertLess(time.monotonic(), deadline, log.read_text())
                time.sleep(0.002)
            victims = ranks_of(job.pid) if ranks > 1 else [job.pid]
            os.kill(random.choice(victims), signal.SIGKILL)
            job.wait(TIMEOUT)
        finally:
            job.kill()
            job.wait()
        return log.read_text()

    def train_apart(self, *option_lists, env=None):
        """One rank for each list of options, all of one job. (mpirun of Open MPI 5.0.7 crashes where it is given two programs.)"""
        cases = [f"{rank}) exec {shlex.join(map(str, self.command(*options)))};;" for rank, options in enumerate(option_lists)]
        script = f"case {RANK} in {' '.join(cases)} esac"
        return execute([MPIEXEC, "-np", len(option_lists), "sh", "-c", script], self.work, env)

    def assert_trained(self, result, warnings=()):
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.complaints, [], result)
        self.assertEqual(len(result.warnings), len(warnings), result)
        for warning, pattern in zip(result.warnings, warnings):
            self.assertRegex(warning, pattern)
        self.assertEqual(len(re.findall(r"^Test loss: \d+\.\d{4,}$", result.out, re.MULTILINE)), 1, result)
        self.assertEqual(len(re.findall(r"^Test accuracy: [01]\.\d{4,}$", result.out, re.MULTILINE)), 1, result)

    def assert_refused(self, result, status, pattern):
        """One line on stderr for the whole job, the right exit status, within seconds, and no results."""
        self.assertEqual(result.status, status, result)
        self.assertEqual(len(result.complaints), 1, result)
        self.assertRegex(result.complaints[0], pattern)
        self.assertNotIn("Test accuracy", result.out)
        self.assertLess(result.seconds, 30, result)

    def metrics(self, name="metrics.json"):
        return json.loads((self.work / name).read_text())


def main():
    unittest.main()
