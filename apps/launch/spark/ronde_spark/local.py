"""np=-k: k ranks on the driver's machine, without Spark."""

import concurrent.futures

from .job import run_rank
from .outcome import RondeError, choose_failure, describe_failure
from .process import free_port


def run_local(job, say):
    rendezvous = f"tcp://127.0.0.1:{free_port('127.0.0.1')}"

    def run_one(rank):
        return run_rank(job, rank, rendezvous, say if job.is_heard(rank) else lambda line: None)

    with concurrent.futures.ThreadPoolExecutor(job.size) as threads:
        results = list(threads.map(run_one, range(job.size)))
    failure = choose_failure(results)
    if failure is not None:
        raise RondeError(describe_failure(failure))
    return results
