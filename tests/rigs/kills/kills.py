#!/usr/bin/env python3
"""Kills ranks of supervised jobs at drawn steps; see README.md. Needs Python's library only."""

import argparse
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps"))
HANG_TIMEOUT = 5.0  # seconds; what is stopped is found by it
WAYS = {"KILL": signal.SIGKILL, "SEGV": signal.SIGSEGV, "ABRT": signal.SIGABRT, "exit": signal.SIGXCPU,  # see exit_on_signal.c
        "STOP": signal.SIGSTOP}
LIMIT = 600.0  # seconds; on a machine that does much else besides
RUN_OPTIONS = []  # of `ronde run`, for all jobs


def children(pid):
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def rank_of(pid):
    """None where the process is not there or no rank yet."""
    try:
        for variable in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(variable.split(b"=")[1])
    except OSError:
        pass
    return None


class Job:
    """A supervised run in a directory of its own."""

    def __init__(self, binaries, data, ranks, options=(), environment=None, hang_timeout=None):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ronde-kills-"))
        self.lines, self.steps = [], []  # (time of arrival, line); (time, step) of "step N begins"
        command = [binaries / "ronde", "run", "-np", ranks, "--hang-timeout", hang_timeout or HANG_TIMEOUT, "--allow-root", *RUN_OPTIONS, "--",
                   binaries / "train_mnist", "--data-dir", data, "--dir", self.work / "out", "--deterministic",
                   "--threads", 1, "--verbose", 2, *options]
        self.saves = 0
        self.begin = time.time()
        self.process = subprocess.Popen([str(word) for word in command], cwd=self.work, text=True,
                                        env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            now = time.time()
            self.lines.append((now, line))
            self.saves += "saving model to" in line
            if found := re.search(r"\] step (\d+) begins", line):
                self.steps.append((now, int(found.group(1))))

    @property
    def text(self):
        return "".join(line for _, line in list(self.lines))

    @property
    def starts(self):
        return len(re.findall(r"\] start \d+: ", self.text))

    def ranks(self):
        """Numbers of processes by rank, of those that train: spare ones have another mpirun."""
        started = re.findall(r"mpirun is process (\d+)", self.text)
        return {rank_of(pid): pid for pid in (children(int(started[-1])) if started else []) if rank_of(pid) is not None}

    def wait_for(self, moment):
        deadline = time.monotonic() + LIMIT
        while not moment():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > deadline:
                raise TimeoutError(self.text)
            time.sleep(0.002)
        return True

    def finish(self, limit=LIMIT):
        status = self.process.wait(limit)
        self.reader.join(limit)
        return status

    def weights(self):
        return json.loads((self.work / "out/metrics.json").read_text())["weights_sha256"]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.work, ignore_errors=True)


OPTIONS = ("--epochs", 2, "--global-batch-size", 32, "--train-samples", 256, "--test-samples", 32,
           "--optimizer", "adam", "--save-steps", 1, "--keep", 3)
STEPS = 16


def leftovers(job):
    """Processes of the job that still live, a moment after its end."""
    time.sleep(0.05)
    mark = str(job.work).encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def schedule(rng, number):
    """Draws (ranks, [(saves before it, rank, way)])."""
    ranks = rng.randint(2, 8)
    kills = 1 if number % 4 else 2
    return ranks, sorted((rng.randint(1, STEPS - 2), rng.randrange(ranks), rng.choice(list(WAYS)))
                         for _ in range(kills))


def run_schedule(binaries, data, ranks, kills, expected):
    """Returns the seconds from each kill to the next step; an AssertionError says what went wrong."""
    job = Job(binaries, data, ranks, OPTIONS)
    delays = []
    try:
        for saves, rank, way in kills:
            before = job.saves
            wanted = max(saves, before + 1)
            if not job.wait_for(lambda: job.saves >= wanted and rank in job.ranks()):
                break  # it was done before
            steps = len(job.steps)
            at = time.time()
            try:
                os.kill(job.ranks()[rank], WAYS[way])
            except (KeyError, ProcessLookupError):
                continue
            if job.wait_for(lambda: len(job.steps) > steps):
                delays.append((way, job.steps[steps][0] - at))
        status = job.finish()
        assert status == 0, f"status {status}\n{job.text}"
        assert job.weights() == expected, f"other weights\n{job.text}"
        assert not leftovers(job), f"left behind: {leftovers(job)}\n{job.text}"
    finally:
        job.close()
    return delays


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def report(delays):
    for what, chosen in (("kill to next step", [d for way, d in delays if way != "STOP"]),
                         (f"stop to next step, deadline {HANG_TIMEOUT:g} s", [d for way, d in delays if way == "STOP"])):
        if chosen:
            print(f"{what}: {len(chosen)} times, p50 {percentile(chosen, 0.5):.2f} s, "
                  f"p99 {percentile(chosen, 0.99):.2f} s, most {max(chosen):.2f} s", flush=True)


def undisturbed(binaries, data, options=OPTIONS, limit=LIMIT):
    job = Job(binaries, data, 2, options)
    try:
        status = job.finish(limit)
        assert status == 0 and job.starts == 1, job.text
        return job.weights(), time.time() - job.begin
    finally:
        job.close()


def run_schedules(binaries, data, chosen):
    expected, _ = undisturbed(binaries, data)
    delays, failed = [], 0
    begin = time.monotonic()
    done = 0
    try:
        for ranks, kills in chosen:
            try:
                delays += run_schedule(binaries, data, ranks, kills, expected)
            except (AssertionError, TimeoutError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED: np {ranks}, {kills}: {error}", flush=True)
            done += 1
            if done % 50 == 0:
                print(f"... {done} schedules, {failed} failed, {time.monotonic() - begin:.0f} s", flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{done} schedules, {len(delays)} kills, {failed} failed, all others bit-equal; "
          f"{time.monotonic() - begin:.0f} s")
    report(delays)
    return failed


def run_many(binaries, data, kills, ranks, pause):
    """Kills of one job, `pause` seconds apart; with figures for the share of time that was not lost."""
    options = ("--epochs", 2 + kills * 3 // 8, *OPTIONS[2:])  # 8 steps each; a kill costs two or three
    expected, plain = undisturbed(binaries, data, options, 20 * LIMIT)
    rng = random.Random(1)
    job = Job(binaries, data, ranks, options)
    delays = []
    try:
        for _ in range(kills):
            seen = job.saves
            # Who never gets to writing a file gets no further, and gives up.
            if not job.wait_for(lambda: job.saves > seen + 1 and len(job.ranks()) == ranks):
                break
            time.sleep(pause)
            steps_seen, at = len(job.steps), time.time()
            victims = job.ranks()
            if not victims:
                continue
            os.kill(rng.choice(list(victims.values())), signal.SIGKILL)
            if job.wait_for(lambda: len(job.steps) > steps_seen):
                delays.append(("KILL", job.steps[steps_seen][0] - at))
        status = job.finish(20 * LIMIT)
        took = time.time() - job.begin
        same = status == 0 and job.weights() == expected
        print(f"{len(delays)} kills inside one job of {ranks} ranks: status {status}, weights "
              f"{'bit-equal' if same else 'OTHERS'}; {took:.0f} s, undisturbed {plain:.0f} s (2 ranks)")
        report(delays)
        return 0 if same else 1
    finally:
        job.close()


def run_alarms(binaries, data, seconds, ranks=16, deadline=10.0):
    """Starts jobs one after the other for so long; each alarm is one too many."""
    begin, alarms, jobs, interrupted = time.monotonic(), 0, 0, False
    while time.monotonic() - begin < seconds and not interrupted:
        job = Job(binaries, data, ranks, ("--epochs", 1000, *OPTIONS[2:10], "--max-seconds", min(60, seconds)),
                  hang_timeout=deadline)
        try:
            status = job.finish()
            jobs += 1
            if "watchdog:" in job.text or status not in (0, 75):
                alarms += 1
                print(job.text, flush=True)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            job.close()
    print(f"np {ranks} on {os.cpu_count()} cores, deadline {deadline:g} s: {jobs} jobs in "
          f"{time.monotonic() - begin:.0f} s, {alarms} false alarms")
    return alarms


class Heartbeats:
    """The newest step that any rank has begun, from the memory that the ranks share with their supervisor."""

    SLOT, STEP = 64, 16  # bytes; see ronde/distributed/heartbeat.h

    def __init__(self, supervisor):
        self.folder = pathlib.Path(f"/proc/{supervisor}/fd")

    def step(self):
        """With --standby each set of ranks has its own memory, and sets come and go."""
        newest = 0
        for path in self.folder.iterdir():
            try:
                if "ronde-heartbeat" not in os.readlink(path):
                    continue
                with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
                    newest = max(newest, *(struct.unpack_from("<q", memory, at + self.STEP)[0]
                                           for at in range(0, len(memory), self.SLOT)))
            except OSError:
                pass  # gone meanwhile
        return newest


def run_soak(binaries, data, seconds, mtbf, ranks, seed):
    """Kills a rank every so often; lost is the time from each kill until the job begins a step that it had not begun before."""
    options = ("--epochs", 10**6, *OPTIONS[2:10], "--save-steps", "auto", "--mtbf", mtbf, "--keep", 3)
    job = Job(binaries, data, ranks, options)
    rng = random.Random(seed)
    lost = []
    try:
        if not job.wait_for(lambda: job.steps):
            raise AssertionError(job.text)
        beats = Heartbeats(job.process.pid)
        begin = time.monotonic()
        next_kill = begin + rng.expovariate(1.0 / mtbf)
        while time.monotonic() < begin + seconds:
            if time.monotonic() < next_kill or len(job.ranks()) < ranks:
                time.sleep(0.02)
                continue
            reached, at = beats.step(), time.monotonic()
            os.kill(rng.choice(list(job.ranks().values())), signal.SIGKILL)
            if not job.wait_for(lambda: beats.step() > reached):
                raise AssertionError(job.text)
            lost.append(time.monotonic() - at)
            next_kill = time.monotonic() + rng.expovariate(1.0 / mtbf)
        wall, reached = time.monotonic() - begin, beats.step()
        job.process.send_signal(signal.SIGTERM)
        status = job.finish()
        assert status == 75, f"status {status}\n{job.text}"
    finally:
        job.close()
    print(f"np {ranks}, {wall:.0f} s, {reached} steps, {len(lost)} kills, one in {wall / max(1, len(lost)):.0f} s: "
          f"{sum(lost):.1f} s lost (p50 {percentile(lost, 0.5):.2f} s, most {max(lost, default=0):.2f} s), "
          f"{100 * (1 - sum(lost) / wall):.2f} % of the time not lost")
    return 0


FAST = [(2, [(2, 1, "KILL")]), (3, [(2, 0, "STOP"), (5, 2, "exit")])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--schedules", type=int)
    parser.add_argument("--ranks", type=int, help="instead of 2 to 8")
    parser.add_argument("--many", type=int)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--alarms", type=float)
    parser.add_argument("--hang-timeout", type=float, default=HANG_TIMEOUT,
                        help="more where other work takes the machine's cores (default %(default)g)")
    parser.add_argument("--soak", type=float)
    parser.add_argument("--mtbf", type=float, default=60.0)
    parser.add_argument("--standby", action="store_true", help="with spare ranks")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    globals()["HANG_TIMEOUT"] = arguments.hang_timeout
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background jobs ignore the first otherwise
        signal.signal(number, signal.default_int_handler)
    RUN_OPTIONS.extend(["--standby"] if arguments.standby else [])
    os.environ.setdefault("RONDE_BIN", str(arguments.bin))
    import harness  # what makes the data
    data = pathlib.Path(tempfile.mkdtemp(prefix="ronde-kills-data-"))
    try:
        harness.write_mnist(data, train=256, test=32)
        source = pathlib.Path(__file__).with_name("exit_on_signal.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", data / "exit_on_signal.so", source], check=True)
        os.environ["LD_PRELOAD"] = str(data / "exit_on_signal.so")
        if arguments.many:
            return run_many(arguments.bin, data, arguments.many, arguments.ranks or 4, arguments.pause)
        if arguments.alarms:
            return run_alarms(arguments.bin, data, arguments.alarms, deadline=max(10.0, arguments.hang_timeout))
        if arguments.soak:
            return run_soak(arguments.bin, data, arguments.soak, arguments.mtbf, arguments.ranks or 4, arguments.seed)
        rng = random.Random(arguments.seed)
        chosen = FAST
        if arguments.schedules:
            chosen = [schedule(rng, number) for number in range(arguments.schedules)]
        if arguments.ranks:
            chosen = [(arguments.ranks, [(saves, rank % arguments.ranks, way) for saves, rank, way in kills])
                      for _, kills in chosen]
        return run_schedules(arguments.bin, data, chosen)
    finally:
        shutil.rmtree(data)


if __name__ == "__main__":
    sys.exit(min(1, main()))
