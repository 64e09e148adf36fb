"""One rank: a process that is told who it is by its environment, and whose lines are passed on."""

import collections
import ctypes
import os
import signal
import socket
import subprocess
import time

KEPT_LINES = 50
PR_SET_PDEATHSIG = 1


def stamp(seconds):
    """"2026-11-21 20:15:01.250", local time."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))}.{int(seconds * 1000) % 1000:03d}"


def prefixed(rank, line, seconds):
    return f"[rank {rank} {stamp(seconds)}] {line}"


def free_port(host):
    with socket.socket() as one:
        one.bind((host, 0))
        return one.getsockname()[1]


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_process(command, rank, size, rendezvous, environment, directory, say):
    """Runs a rank to its end; returns (status, last lines). `say` gets each line."""
    told = {"RONDE_RANK": str(rank), "RONDE_WORLD_SIZE": str(size), "RONDE_RENDEZVOUS": rendezvous}
    last = collections.deque(maxlen=KEPT_LINES)
    try:
        process = subprocess.Popen(command, cwd=directory, env={**os.environ, **environment, **told},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", preexec_fn=_die_with_parent)
    except OSError as error:
        return 127, f"ronde: cannot start {command[0]}: {error.strerror}"
    with process:
        for line in process.stdout:
            line = line.rstrip("\n")
            last.append(line)
            say(prefixed(rank, line, time.time()))
    status = process.returncode
    return (128 - status if status < 0 else status), "\n".join(last)
