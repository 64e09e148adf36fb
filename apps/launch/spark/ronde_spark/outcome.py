"""What becomes of a rank, and of a job."""

import json
import pathlib
import re
from typing import NamedTuple


class RankResult(NamedTuple):
    rank: int
    host: str
    status: int  # as a shell has it: 128 + the signal's number
    seconds: float
    output: str  # the last lines
    metrics: dict = {}  # rank 0: what the run's metrics.json says
    model: bytes = b""  # rank 0: the file of the trained net


FINAL = (2, 65, 126, 127, 130)  # wrong usage, a bad file, no such program, interrupted


class RondeError(RuntimeError):
    """A rank that failed: its number, its exit status and its own words are in the message."""

    @property
    def is_final(self):
        """Whether starting again would end the same."""
        found = re.search(r"exit status (\d+)", str(self))
        return found is not None and int(found.group(1)) in FINAL


def describe_failure(result):
    """Why a rank failed: what it said itself, else its last words."""
    lines = [line for line in result.output.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("ronde: ") and not line.startswith("ronde: warning: ")]
    ending = f"signal {result.status - 128}" if result.status > 128 else f"exit status {result.status}"
    said = own[-1] if own else lines[-1] if lines else "no output"
    return f"rank {result.rank} on {result.host} ended with {ending}: {said}"


def is_culprit(result):
    """Whether this rank knows why. The others end with the same status, and say nothing."""
    return result.status != 0 and ("ronde: " in result.output.replace("ronde: warning: ", "") or result.status > 125)


def choose_failure(results):
    """Of those that failed the one to be named; None if none did."""
    failed = [result for result in results if result.status != 0]
    return next((result for result in failed if is_culprit(result)), failed[0] if failed else None)


def read_model(directory, model):
    """(metrics, bytes of the model) of a run; `model` names the file, else the run's metrics do."""
    directory = pathlib.Path(directory)
    path = directory / "metrics.json"
    metrics = json.loads(path.read_text()) if path.exists() else {}
    saved = sorted((directory / "saved_models").glob("*.h5")) if not model else []
    name = model or (saved[0] if saved else metrics.get("checkpoint", ""))
    if not name:
        return metrics, b""
    return metrics, next(place.read_bytes() for place in (directory / name, pathlib.Path(name)) if place.is_file())
