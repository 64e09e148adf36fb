"""RondeRunner: the way in."""

import os
import re
import sys

from .job import continued, make_job, traces
from .local import run_local
from .log_channel import LogServer
from .outcome import RondeError

SAYS = ("rank0", "all", "none")


def _cause(error):
    """The rank's own words out of what Spark wraps around them."""
    found = re.search(r"RondeError: (rank \d+ on .*)", str(error))
    return found.group(1).strip() if found else None


class RondeRunner:
    """Runs a program on `np` tasks of Spark at the same time; np=-k: on k processes here, without Spark.

    `log`: whose output the driver shows, with rank and time: "rank0", "all" or "none".
    `max_restarts`: so often a job that has a `dir` is started again when a rank has failed, from its newest checkpoint;
    the driver has to see `dir` too, and starts a job that has left nothing there as it did at first.
    """

    def __init__(self, np, *, log="rank0", max_restarts=0, out=None):
        if np == 0 or log not in SAYS:
            raise ValueError(f"np must not be 0, and log is one of {', '.join(SAYS)}; got {np} and {log}")
        self._np, self._log, self._max_restarts, self._out = np, log, max_restarts, out or sys.stdout

    def run(self, program, *arguments, env=None, dir=None, timeline=None, checkpoint=None, model=None):
        """Returns a RankResult for each rank, in order; [0].model has the bytes of the trained net.

        `program` must be installed at the same path on all workers. `dir`: for checkpoints and results, where all
        of them see it; without it they are deleted, but for the model. `timeline`, `checkpoint`: as the trainers'
        options of that name. `model`: the file that is the net, for programs that do not say. Variables of the
        driver's environment that begin with RONDE_ are passed on; `env` adds to them. A rank that fails fails the
        job: RondeError has its message.
        """
        job = make_job((program, *arguments), abs(self._np), os.environ, env, dir=dir, timeline=timeline,
                       checkpoint=checkpoint, model=model, says=self._log)
        before = traces(job)
        attempt = self._run_here if self._np < 0 else self._run_on_spark
        for restarts_left in range(self._max_restarts if dir else 0, -1, -1):
            try:
                return attempt(job)
            except RondeError as error:
                if restarts_left == 0 or error.is_final:
                    raise
                job = continued(job, before)
                place = "from the newest checkpoint" if job.resumes else "from the beginning"
                self._say(f"ronde_spark: {error}: starts again {place}")

    def _say(self, line):
        print(line, file=self._out, flush=True)

    def _run_here(self, job):
        return run_local(job, self._say)

    def _run_on_spark(self, job):
        from pyspark.sql import SparkSession
        from .barrier import run_barrier

        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        slots = session.sparkContext.defaultParallelism
        if job.size > slots:
            raise ValueError(f"np={job.size}: this cluster runs {slots} tasks at a time, and all ranks must run at once")
        server = LogServer(session.conf.get("spark.driver.host"), job.token, self._out)
        try:
            return run_barrier(session, job, server)
        except Exception as error:
            cause = _cause(error)
            if cause is None:
                raise
            raise RondeError(cause) from error
        finally:
            server.close()
