#!/usr/bin/env python3
"""A training under a real Slurm of one node; see README.md. Needs Debian's slurm-wlm and munge, root, and Python's library."""

import argparse
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "apps"))
TEMPLATE = HERE.parents[3] / "apps/launch/slurm/ronde.sbatch"
LOOK, REST = 0.2, 5.0  # seconds
LONG_EPOCHS = 250  # half a minute at the least, so that it cannot be done before it is told that its time is up
LIMIT = 1500.0  # seconds until a job must have come to where it is waited for
RANKS = 2

CONFIGURATION = """
ClusterName=ronde
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=cheap Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """munged, slurmctld and slurmd of its own, in a directory of its own."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="ronde-slurm-"))
        self.daemons = []
        for name in ("state", "spool"):
            (self.dir / name).mkdir(mode=0o755)
        host = socket.gethostname().split(".")[0]
        (self.dir / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, dir=self.dir, ports=free_ports(2), cores=os.cpu_count()))
        (self.dir / "munge.key").write_bytes(secrets.token_bytes(1024))
        (self.dir / "munge.key").chmod(0o400)
        self.environment = {**os.environ, "SLURM_CONF": str(self.dir / "slurm.conf")}
        try:
            self._start("munged", "--foreground", "--force", "--key-file", self.dir / "munge.key", "--socket",
                        self.dir / "munge.socket", "--pid-file", self.dir / "munged.pid", "--log-file",
                        self.dir / "munged.log", "--seed-file", self.dir / "munged.seed")
            self._wait((self.dir / "munge.socket").exists)
            self._start("slurmctld", "-D", "-c")
            self._wait(lambda: "UP" in self.run("scontrol", "ping", check=False))
            self._start("slurmd", "-D", "-c", "-N", host)
            self._wait(lambda: "idle" in self.run("sinfo", "-h", "-o", "%t", check=False))
        except BaseException:
            self.close()
            raise

    def _start(self, *command):
        name = pathlib.Path(str(command[0])).name
        program = shutil.which(name) or f"/usr/sbin/{name}"
        with open(self.dir / f"{name}.out", "w") as output:
            self.daemons.append(subprocess.Popen([program, *map(str, command[1:])], stdout=output, stderr=output,
                                                 env=self.environment))

    def _wait(self, moment, limit=60.0):
        until = time.monotonic() + limit
        while not moment():
            if time.monotonic() > until or any(daemon.poll() is not None for daemon in self.daemons):
                logs = "\n".join(path.read_text()[-2000:] for path in self.dir.glob("*.out"))
                raise RuntimeError(f"Slurm did not start:\n{logs}")
            time.sleep(0.1)

    def run(self, *command, check=True):
        done = subprocess.run([str(word) for word in command], env=self.environment, text=True, capture_output=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stderr}")
        return done.stdout

    def field(self, job, name):
        found = re.search(rf"\b{name}=(\S+)", self.run("scontrol", "show", "job", job, "-d", check=False))
        return found.group(1) if found else ""

    def close(self):
        if len(self.daemons) == 3:
            self.run("scancel", "--signal=KILL", "--full", "--state=RUNNING", check=False)
            self.run("scancel", "--state=PENDING", check=False)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Training:
    """A job that runs the template."""

    def __init__(self, cluster, binaries, data, *, minutes=30, epochs=6, signal_before=None):
        self.cluster = cluster
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ronde-slurm-job-"))
        options = [f"--signal=B:USR1@{signal_before}"] if signal_before else []
        environment = {"RONDE_RUN_OPTIONS": "--allow-root", "PATH": f"{binaries}:{os.environ['PATH']}"}
        exported = ",".join(["NONE", *(f"{name}={value}" for name, value in environment.items())])
        self.begin = time.time()
        self.job = cluster.run(
            "sbatch", "--parsable", "--nodes=1", f"--ntasks={RANKS}", f"--ntasks-per-node={RANKS}",
            "--cpus-per-task=1", f"--time={minutes}", f"--chdir={self.work}", f"--output={self.work}/log",
            f"--export={exported}", *options, TEMPLATE, binaries / "train_mnist", "--data-dir", data, "--dir", "out",
            "--deterministic", "--threads", 1, "--verbose", 2, "--epochs", epochs, "--global-batch-size", 16,
            "--train-samples", 256, "--test-samples", 32, "--optimizer", "adam", "--save-steps", 4 if epochs < LONG_EPOCHS else 100,
            "--keep", 2).strip()

    @property
    def log(self):
        path = self.work / "log"
        return path.read_text() if path.exists() else ""

    def wait_for(self, moment, what):
        until, rested = time.monotonic() + LIMIT, 0
        while not moment():
            if time.monotonic() > until:
                raise TimeoutError(f"{what}:\n{self.log}\n{self.cluster.run('scontrol', 'show', 'job', self.job)}")
            # Slurm lets a job rest for two minutes after it was put back, until its node is clean: here, for some seconds.
            rested = rested + 1 if self.cluster.field(self.job, "Reason") == "BeginTime" else 0
            if rested > REST / LOOK:
                self.cluster.run("scontrol", "update", f"JobId={self.job}", "StartTime=now", check=False)
            time.sleep(LOOK)

    def wait_for_saves(self, count):
        self.wait_for(lambda: len(re.findall("saving model to", self.log)) >= count, f"{count} saves")

    def has_ended(self):
        """A job that is about to go back into the queue looks as if it had failed, for a moment."""
        for pause in (1.5, 0.0):
            if self.cluster.field(self.job, "JobState") not in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"):
                return False
            time.sleep(pause)
        return True

    def finish(self):
        self.wait_for(self.has_ended, "the end")
        state = self.cluster.field(self.job, "JobState")
        assert state == "COMPLETED", f"{self.log}\n{self.cluster.run('scontrol', 'show', 'job', self.job, '-d')}"
        self.seconds = time.time() - self.begin
        return json.loads((self.work / "out/metrics.json").read_text())["weights_sha256"]

    @property
    def restarts(self):
        return int(self.cluster.field(self.job, "Restarts") or 0)

    def close(self):
        self.cluster.run("scancel", self.job, check=False)
        shutil.rmtree(self.work, ignore_errors=True)


def rank_processes(job):
    """Processes of the job's ranks."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            variables = (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if f"SLURM_JOB_ID={job}".encode() in variables and any(v.startswith(b"OMPI_COMM_WORLD_RANK=") for v in variables):
            found.append(int(entry.name))
    return found


def undisturbed(make):
    job = make()
    return job, job.finish()


def put_back_by_hand(cluster, make):
    job = make()
    job.wait_for_saves(2)
    cluster.run("scancel", "--batch", "--signal=USR1", job.job)
    return job, job.finish()


def preempted(cluster, make):
    job = make()
    job.wait_for_saves(2)
    urgent = cluster.run("sbatch", "--parsable", "--partition=urgent", f"--ntasks={os.cpu_count()}",
                         "--output=/dev/null", "--wrap=sleep 1").strip()
    job.wait_for(lambda: cluster.field(urgent, "JobState") == "COMPLETED", "the urgent job")
    return job, job.finish()


def killed_rank(cluster, make):
    job = make()
    job.wait_for_saves(2)
    os.kill(rank_processes(job.job)[0], signal.SIGKILL)
    return job, job.finish()


def out_of_time(_, make):
    job = make(minutes=1, epochs=LONG_EPOCHS, signal_before=30)
    return job, job.finish()


def check(cluster, name, run, make, expected):
    job, weights = run(cluster, make)
    try:
        ends = job.log.count("saved out/on-signal.h5")
        starts = len(re.findall(r"\] start \d+: ", job.log))
        same = "bit-equal" if weights == expected else "OTHERS"
        print(f"{name}: {job.seconds:.0f} s, {starts} starts, {ends} ended by a signal with 75, put back by Slurm "
              f"{job.restarts} times, weights {same}", flush=True)
        assert weights == expected and starts >= 2, job.log
    finally:
        job.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--only", help="one of: signal, preempt, kill, time")
    arguments = parser.parse_args()
    os.environ.setdefault("RONDE_BIN", str(arguments.bin))
    import harness  # what makes the data
    data = pathlib.Path(tempfile.mkdtemp(prefix="ronde-slurm-data-"))
    begin = time.monotonic()
    cluster = Cluster()
    print(f"Slurm of one node with {os.cpu_count()} cores is up after {time.monotonic() - begin:.1f} s", flush=True)
    try:
        harness.write_mnist(data, train=256, test=32)
        make = lambda **more: Training(cluster, arguments.bin, data, **more)
        cases = {"signal": ("told by a signal", put_back_by_hand), "preempt": ("preempted", preempted),
                 "kill": ("a rank killed", killed_rank), "time": ("out of time", out_of_time)}
        chosen = [arguments.only] if arguments.only else list(cases)
        expected = {}
        for key in chosen:
            name, run = cases[key]
            epochs = LONG_EPOCHS if key == "time" else 6
            if epochs not in expected:
                job, expected[epochs] = undisturbed(lambda: make(epochs=epochs))
                print(f"undisturbed, {epochs} epochs: {job.seconds:.0f} s", flush=True)
                job.close()
            check(cluster, name, run, make, expected[epochs])
    finally:
        cluster.close()
        shutil.rmtree(data)


if __name__ == "__main__":
    main()
