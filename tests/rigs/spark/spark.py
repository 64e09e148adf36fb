#!/usr/bin/env python3
"""Ronde under a real Spark with two executors; see README.md. Needs PySpark and Java."""

import argparse
import hashlib
import io
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "apps"), str(HERE.parents[3] / "apps/launch/spark")]
OPTIONS = ("--epochs", 2, "--global-batch-size", 16, "--train-samples", 256, "--test-samples", 32, "--optimizer", "adam",
           "--deterministic", "--threads", 1, "--verbose", 2, "--save-steps", 4)
STAMPED = r"^\[rank 0 \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] "


class Rig:
    def __init__(self, binaries, data, work, np):
        import ronde_spark
        self.ronde, self.program, self.data, self.work, self.np = ronde_spark, binaries / "train_mnist", data, work, np

    def train(self, np, *more, log="rank0", **paths):
        """(results, what the driver showed)"""
        out = io.StringIO()
        runner = self.ronde.RondeRunner(np, log=log, out=out)
        begin = time.monotonic()
        results = runner.run(self.program, "--data-dir", self.data, *OPTIONS, *more, **paths)
        return results, out.getvalue(), time.monotonic() - begin

    def trains_with_the_bits_of_a_local_job(self):
        here, _, _ = self.train(-2)
        spark, shown, seconds = self.train(self.np, dir=self.work / "run", timeline=self.work / "run.json")
        assert [result.rank for result in spark] == list(range(self.np)), spark
        assert all(result.status == 0 for result in spark)
        weights = {job[0].metrics["weights_sha256"] for job in (here, spark)}
        assert len(weights) == 1, f"other weights on Spark: {weights}"
        saved = self.work / "run" / "checkpoint.h5"
        assert spark[0].model == saved.read_bytes() and not spark[1].model
        assert here[0].model, "no model without a directory"
        lines = shown.splitlines()
        assert all(re.match(STAMPED, line) for line in lines), shown
        assert any("Test accuracy" in line for line in lines), shown
        assert (self.work / "run.json").stat().st_size > 1000, "no timeline"
        return f"{seconds:.1f} s, model of {len(spark[0].model)} bytes, sha256 {hashlib.sha256(spark[0].model).hexdigest()[:12]}"

    def shows_all_ranks_and_passes_the_environment(self):
        out = io.StringIO()
        runner = self.ronde.RondeRunner(self.np, log="all", out=out)
        runner.run("sh", "-c", "echo rank $RONDE_RANK has $PLACE", env={"PLACE": "a b"})
        for rank in range(self.np):
            assert f"rank {rank} has a b" in out.getvalue(), out.getvalue()
        return f"{self.np} ranks"

    def a_rank_that_fails_fails_the_job(self):
        begin = time.monotonic()
        try:
            self.train(self.np, "--batch-size", 4)
        except self.ronde.RondeError as error:
            assert "contradict each other" in str(error) and "exit status 2" in str(error), error
        else:
            raise AssertionError("no error")
        script = 'sleep 1; [ $RONDE_RANK != 1 ] || { echo "ronde: [rank 1] data: torn" >&2; exit 65; }; sleep 600'
        try:
            self.ronde.RondeRunner(self.np).run("sh", "-c", script)
        except self.ronde.RondeError as error:
            assert re.search(r"rank 1 on .* exit status 65: ronde: \[rank 1\] data: torn", str(error)), error
        else:
            raise AssertionError("no error")
        return f"{time.monotonic() - begin:.0f} s"

    def a_killed_rank_goes_on_from_its_checkpoint(self):
        script = ('if [ $RONDE_RANK = 1 ] && [ ! -e {mark} ]; then touch {mark}; timeout -s KILL 3 "$@"; kill -9 $$; '
                  'else exec "$@"; fi').format(mark=self.work / "killed")
        expected, _, _ = self.train(-2, "--epochs", 20)
        out = io.StringIO()
        begin = time.monotonic()
        runner = self.ronde.RondeRunner(self.np, out=out, max_restarts=1)
        spark = runner.run("sh", "-c", script, "sh", self.program, "--data-dir", self.data, *OPTIONS, "--epochs", 20,
                           dir=self.work / "again")
        assert "resume        from" in out.getvalue(), out.getvalue()
        assert spark[0].metrics["weights_sha256"] == expected[0].metrics["weights_sha256"], "other weights"
        return f"{time.monotonic() - begin:.0f} s, weights bit-equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--np", type=int, default=2)
    arguments = parser.parse_args()
    os.environ.setdefault("RONDE_BIN", str(arguments.bin))
    os.environ.pop("PYTHONPATH", None)  # the executors get the package from the driver
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    import harness  # what makes the data
    import pyspark
    from pyspark.sql import SparkSession
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
    begin = time.monotonic()
    spark = (SparkSession.builder.master(arguments.master).config("spark.ui.enabled", "false")
             .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    print(f"Spark {pyspark.__version__}, {arguments.master}: up after {time.monotonic() - begin:.1f} s", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ronde-spark-rig-") as place:
        work = pathlib.Path(place)
        harness.write_mnist(work / "data", train=256, test=32)
        rig = Rig(arguments.bin, work / "data", work, arguments.np)
        for check in (rig.trains_with_the_bits_of_a_local_job, rig.shows_all_ranks_and_passes_the_environment,
                      rig.a_rank_that_fails_fails_the_job, rig.a_killed_rank_goes_on_from_its_checkpoint):
            name = check.__name__.replace("_", " ")
            try:
                print(f"{name}: {check()}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED {name}: {error}", flush=True)
    spark.stop()
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
