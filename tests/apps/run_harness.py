"""For tests of jobs that are interrupted: how to start one, and what the system sees of it."""

import os
import pathlib
import random
import re
import signal
import subprocess
import time

import harness

# 16 steps an epoch.
OPTIONS = ["--dir", "out", "--epochs", "2", "--global-batch-size", "16", "--train-samples", "256", "--test-samples",
           "16", "--verbose", "2", "--optimizer", "adam", "--threads", "1", "--deterministic"]
# Steps of a quarter of their time: what waits for something saves after each of them, or takes many.
SMALL = [*OPTIONS, "--global-batch-size", "4", "--train-samples", "32"]
SAVING = [*SMALL, "--save-steps", "1", "--keep", "3"]


def shared_memory_of(pid):
    """Where the supervisor told an mpirun to keep it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            variables = dict(line.split(b"=", 1) for line in environ.read().split(b"\0") if b"=" in line)
    except OSError:
        return None
    path = variables.get(b"OMPI_MCA_btl_vader_backing_directory")
    return path and path.decode()


def descendants(pid):
    try:
        own = harness.children(pid)
    except FileNotFoundError:
        return []
    return own + [other for child in own for other in descendants(child)]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Running:
    """A job in the background; `out` is what it has printed so far."""

    def __init__(self, command, work, **more):
        self.log = work.with_suffix(f".{random.random()}.log")
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RONDE_") or key == "RONDE_MPIEXEC"}
        with open(self.log, "w") as output:
            self.process = subprocess.Popen([str(word) for word in command], cwd=work, env={**environment, **more},
                                            stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    @property
    def out(self):
        return self.log.read_text()

    def wait_for(self, pattern, count=1):
        deadline = time.monotonic() + harness.TIMEOUT
        while len(re.findall(pattern, self.out)) < count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"no {pattern}:\n{self.out}")
            time.sleep(0.005)

    def finish(self):
        return self.process.wait(harness.TIMEOUT)

    def close(self):
        for pid in [*descendants(self.process.pid), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.log.unlink()


class Interrupted(harness.ProgramTest):
    def start(self, command, **more):
        job = Running(command, self.work, **more)
        self.addCleanup(job.close)
        return job

    def supervised(self, *words, ranks=2, run_options=()):
        return [harness.BIN / "ronde", "run", "-np", ranks, "--allow-root", *run_options, "--", *words]

    def weights(self):
        return self.metrics("out/metrics.json")["weights_sha256"]

    def undisturbed(self, *options):
        self.assert_trained(self.train(*(options or OPTIONS), ranks=2))
        found = self.weights()
        (self.work / "out").rename(self.work / "undisturbed")
        return found

    def kill_a_rank(self, job):
        """As soon as there is one."""
        mpirun, = harness.children(job.process.pid)
        deadline = time.monotonic() + harness.TIMEOUT
        while not (ranks := [pid for pid in harness.ranks_of(mpirun) if self.is_rank(pid)]):
            self.assertLess(time.monotonic(), deadline, job.out)
        os.kill(random.choice(ranks), signal.SIGKILL)

    def is_rank(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/exe") == str(harness.BIN / self.program)
        except OSError:
            return False

    def assert_gone(self, pids):
        deadline = time.monotonic() + 10
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual([pid for pid in pids if is_alive(pid)], [])

    def wait_for_steps(self, job, steps=3):
        """Until rank 0 has saved that often, which SAVING does after each step."""
        job.wait_for("saving model to", steps)
