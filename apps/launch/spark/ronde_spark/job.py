"""What every rank of a job has to know; it travels to the tasks."""

import contextlib
import os
import pathlib
import secrets
import shutil
import socket
import tempfile
import time
from typing import NamedTuple, Optional, Tuple

from .outcome import RankResult, read_model
from .process import run_process


class Job(NamedTuple):
    command: Tuple[str, ...]
    size: int
    environment: dict
    directory: str  # of the results
    is_temporary: bool  # it is deleted at the end
    model: Optional[str]
    token: str
    says: str  # whose lines the driver shows: "rank0", "all", "none"

    @property
    def resumes(self):
        return "RONDE_RESUME" in self.environment

    def is_heard(self, rank):
        return self.says == "all" or (self.says == "rank0" and rank == 0)


def traces(job):
    """What a training leaves, with times: checkpoints, below the job's directory or where they are told to go, and from its
    first step on the mark that those of an earlier one do not count."""
    begin_of_name = job.environment.get("RONDE_CHECKPOINT", "").split("{")[0]
    told = pathlib.Path(os.path.dirname(os.path.join(job.directory, begin_of_name)))
    found = {}
    for path in (*pathlib.Path(job.directory).rglob("*"), *told.glob("*")):
        if path.name == ".new-run" or path.suffix in (".h5", ".keras"):
            with contextlib.suppress(FileNotFoundError):  # replaced at this moment
                found[path] = path.stat().st_mtime_ns
    return found


def continued(job, before):
    """The job to start after one that failed: to go on from its newest checkpoint, if it has left more than the traces that
    were there before. Else the newest would be that of an earlier run, whose model would come back."""
    if traces(job).items() <= before.items():
        return job
    return job._replace(environment={**job.environment, "RONDE_RESUME": "auto"})


def passed_on(environment):
    """What Ronde reads of the driver's own environment."""
    own = ("RONDE_RANK", "RONDE_WORLD_SIZE", "RONDE_RENDEZVOUS", "RONDE_HEARTBEAT")
    return {name: value for name, value in environment.items()
            if (name.startswith("RONDE_") and name not in own) or name == "HOROVOD_TIMELINE"}


def make_job(command, size, inherited, env, *, dir, timeline, checkpoint, model, says):
    """`inherited`: the driver's environment, over which `env` and the paths win."""
    environment = {**passed_on(inherited), **(env or {})}
    for name, value in (("RONDE_DIR", dir), ("RONDE_TIMELINE", timeline), ("RONDE_CHECKPOINT", checkpoint)):
        if value is not None:
            environment[name] = str(value)
    is_temporary = "RONDE_DIR" not in environment
    if is_temporary:
        environment["RONDE_DIR"] = os.path.join(tempfile.gettempdir(), f"ronde-spark-{secrets.token_hex(8)}")
    environment["RONDE_TOKEN"] = secrets.token_hex(16)
    return Job(tuple(str(word) for word in command), size, environment, environment["RONDE_DIR"], is_temporary, model,
               environment["RONDE_TOKEN"], says)


def run_rank(job, rank, rendezvous, say):
    """A rank from its start to its result."""
    begin = time.monotonic()
    # Without a directory for results rank 0 makes that of the job; the name is the same for all, as options must be.
    own = job.directory if rank == 0 else tempfile.mkdtemp(prefix="ronde-spark-")
    if rank == 0 and job.is_temporary:
        os.makedirs(own, mode=0o700)
    try:
        status, output = run_process(job.command, rank, job.size, rendezvous, job.environment,
                                     own if job.is_temporary else None, say)
        metrics, model = read_model(own, job.model) if rank == 0 and status == 0 else ({}, b"")
        return RankResult(rank, socket.gethostname(), status, time.monotonic() - begin, output, metrics, model)
    finally:
        if rank != 0 or job.is_temporary:
            shutil.rmtree(own, ignore_errors=True)
