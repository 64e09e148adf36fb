"""The tasks of a barrier stage, each of which runs a rank."""

import sys

from .job import run_rank
from .log_channel import LogClient
from .outcome import RankResult, RondeError, choose_failure, describe_failure, is_culprit
from .process import free_port

LOOPBACK = "127.0.0.1"


def _meeting_place(context):
    """Where rank 0 listens, for all tasks: on loopback if they share a machine."""
    hosts = [info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()]
    host = LOOPBACK if all(one == hosts[0] for one in hosts) else hosts[0]
    mine = str(free_port(host)) if context.partitionId() == 0 else ""
    return f"tcp://{host}:{context.allGather(mine)[0]}"


def run_task(job, log_address):
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    rank = context.partitionId()
    log = LogClient(log_address, job.token) if job.is_heard(rank) else None
    try:
        result = run_rank(job, rank, _meeting_place(context), log.say if log else lambda line: None)
    finally:
        if log:
            log.close()
    # Who knows why raises at once, which ends all tasks; the others wait for that, and for each other.
    if is_culprit(result):
        raise RondeError(describe_failure(result))
    short = [str(result.status), result.host, result.output.rpartition("\n")[2]]
    others = [RankResult(r, host, int(status), 0.0, output) for r, (status, host, output) in
              enumerate(text.split("\0") for text in context.allGather("\0".join(short)))]
    failure = choose_failure(others)
    if failure is not None:
        raise RondeError(describe_failure(failure))
    return result


def run_barrier(session, job, server):
    from pyspark import cloudpickle

    # This package travels with the tasks, so only the driver needs it. Results come back as plain tuples.
    package = sys.modules[__package__]
    cloudpickle.register_pickle_by_value(package)
    try:
        address = server.address
        tasks = session.sparkContext.parallelize(range(job.size), job.size).barrier()
        return [RankResult(*one) for one in tasks.mapPartitions(lambda _: [tuple(run_task(job, address))]).collect()]
    finally:
        cloudpickle.unregister_pickle_by_value(package)
