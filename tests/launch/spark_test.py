"""ronde_spark without Spark: its local mode, and the parts that the tasks of a stage are made of."""

import io
import os
import pathlib
import re
import socket
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/apps"), str(ROOT / "apps/launch/spark")]
import harness  # noqa: E402
import ronde_spark  # noqa: E402
from ronde_spark import log_channel, outcome  # noqa: E402
from ronde_spark.job import make_job  # noqa: E402

PROGRAM = """
echo "I am $RONDE_RANK of $RONDE_WORLD_SIZE, $PLACE"
if [ "$RONDE_RANK" = "$FAILING" ]; then echo "ronde: [rank $RONDE_RANK] data: torn" >&2; exit 65; fi
[ "$RONDE_RANK" != 1 ] || [ -z "$TRACE" ] || echo > "$RONDE_DIR/$TRACE"
if [ "$RONDE_RANK" = "$KILLED" ] && [ -z "$RONDE_RESUME" ]; then kill -9 $$; fi
[ "$RONDE_RANK" != 0 ] || printf weights > "$RONDE_DIR/net.bin"
"""


def run(np, log="rank0", max_restarts=0, **more):
    out = io.StringIO()
    runner = ronde_spark.RondeRunner(np, log=log, out=out, max_restarts=max_restarts)
    return runner.run("sh", "-c", PROGRAM, **more), out.getvalue()


class Local(unittest.TestCase):
    def test_results_and_output(self):
        results, shown = run(-3, env={"PLACE": "a b"}, model="net.bin")
        self.assertEqual([(result.rank, result.status) for result in results], [(0, 0), (1, 0), (2, 0)])
        self.assertEqual([result.model for result in results], [b"weights", b"", b""])
        self.assertRegex(shown, r"^\[rank 0 \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] I am 0 of 3, a b\n$")
        self.assertIn("I am 2 of 3", results[2].output)
        self.assertEqual(len(run(-3, log="all")[1].splitlines()), 3)
        self.assertEqual(run(-2, log="none")[1], "")

    def test_a_failing_rank_fails_the_job_with_its_message(self):
        with self.assertRaisesRegex(ronde_spark.RondeError, r"rank 2 on .* exit status 65: ronde: \[rank 2\] data: torn"):
            run(-3, env={"FAILING": "2"})
        with self.assertRaisesRegex(ronde_spark.RondeError, "rank 0 on .* exit status 127: .*no-such-program"):
            ronde_spark.RondeRunner(-1).run("no-such-program")

    def test_a_killed_rank_goes_on(self):
        with tempfile.TemporaryDirectory() as place:
            results, shown = run(-2, max_restarts=1, env={"KILLED": "1", "TRACE": "checkpoint.h5"}, dir=place)
            self.assertIn("rank 1 on", shown)
            self.assertIn("signal 9", shown)
            with self.assertRaisesRegex(ronde_spark.RondeError, "signal 9"):
                run(-2, env={"KILLED": "1"}, dir=place)
        self.assertEqual([result.status for result in results], [0, 0])

    def test_a_rank_that_is_killed_before_anything_was_trained(self):
        """An earlier run's checkpoint is no reason to go on: its model would be taken for that of this job."""
        with tempfile.TemporaryDirectory() as place:
            (pathlib.Path(place) / "checkpoint.h5").write_text("earlier")
            with self.assertRaisesRegex(ronde_spark.RondeError, "signal 9"):
                run(-2, max_restarts=1, env={"KILLED": "1"}, dir=place)
            results, shown = run(-2, max_restarts=1, env={"KILLED": "1", "TRACE": ".new-run"}, dir=place)
            self.assertEqual([result.status for result in results], [0, 0])
            self.assertIn("starts again from the newest checkpoint", shown)
            with tempfile.TemporaryDirectory() as other:
                run(-2, max_restarts=1, env={"KILLED": "1", "TRACE": f"../{pathlib.Path(other).name}/at-1.h5"}, dir=place,
                    checkpoint=f"{other}/at-{{epoch}}.h5")

    def test_wrong_np(self):
        with self.assertRaises(ValueError):
            ronde_spark.RondeRunner(0)


class Training(harness.ProgramTest):
    def test_a_model_comes_back(self):
        runner = ronde_spark.RondeRunner(-2, out=io.StringIO())
        options = ["--epochs", "1", "--batch-size", "16", "--train-samples", "64", "--test-samples", "16", "--threads", "1"]
        results = runner.run(*self.command(*options), timeline=self.work / "run.json")
        self.assertEqual(results[0].model[:8], b"\x89HDF\r\n\x1a\n")
        self.assertEqual(results[0].metrics["world_size"], 2)
        self.assertGreater((self.work / "run.json").stat().st_size, 100)


    def test_a_rank_is_lost_before_the_first_step(self):
        """Of a job whose `dir` has the results of another."""
        options = ["--epochs", "1", "--batch-size", "16", "--train-samples", "64", "--test-samples", "16", "--threads", "1"]
        flaky = self.work / "flaky.sh"
        flaky.write_text(f'#!/bin/sh\nlost={self.work}/lost$RONDE_RANK\n[ -e $lost ] || {{ touch $lost; kill -9 $$; }}\nexec "$@"\n')
        flaky.chmod(0o755)
        runner = ronde_spark.RondeRunner(-2, out=io.StringIO(), max_restarts=1)
        runner.run(*self.command(*options), dir=self.work / "out")
        fresh = runner.run(*self.command(*options, "--seed", "1"), dir=self.work / "fresh")
        second = runner.run(flaky, *self.command(*options, "--seed", "1"), dir=self.work / "out")
        self.assertEqual(second[0].metrics["weights_sha256"], fresh[0].metrics["weights_sha256"])
        self.assertTrue((self.work / "lost0").exists())


class Parts(unittest.TestCase):
    def test_environment(self):
        inherited = {"RONDE_PRECISION": "float32", "RONDE_RANK": "7", "HOME": "/root", "HOROVOD_TIMELINE": "t.json",
                     "RONDE_DIR": "/old"}
        job = make_job(["p", 1], 2, inherited, {"A": "b"}, dir="/new", timeline=None, checkpoint=pathlib.Path("c.h5"),
                       model=None, says="rank0")
        self.assertEqual(job.command, ("p", "1"))
        self.assertEqual({**job.environment, "RONDE_TOKEN": ""},
                         {"RONDE_PRECISION": "float32", "HOROVOD_TIMELINE": "t.json", "RONDE_DIR": "/new", "A": "b",
                          "RONDE_CHECKPOINT": "c.h5", "RONDE_TOKEN": ""})
        self.assertEqual((job.is_heard(0), job.is_heard(1), job.is_temporary), (True, False, False))

    def test_who_is_named(self):
        def rank(number, status, output):
            return outcome.RankResult(number, "h", status, 0.0, output)

        silent, own, warned = rank(0, 74, ""), rank(2, 74, "ronde: [rank 2] disk"), rank(1, 74, "ronde: warning: slow")
        self.assertEqual(outcome.choose_failure([silent, warned, own]).rank, 2)
        self.assertEqual(outcome.choose_failure([rank(0, 0, "ronde: x"), warned]).rank, 1)
        self.assertIsNone(outcome.choose_failure([rank(0, 0, "")]))

    def test_strangers_are_not_heard(self):
        out = io.StringIO()
        server = log_channel.LogServer("127.0.0.1", "secret", out)
        friend, stranger = (log_channel.LogClient(server.address, token) for token in ("secret", "wrong"))
        friend.say("hello")
        stranger.say("listen")
        for client in (friend, stranger):
            client.close()
        deadline = time.monotonic() + 30
        while "hello" not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        server.close()
        self.assertEqual(out.getvalue(), "hello\n")
        gone = log_channel.LogClient(server.address, "secret")
        gone.say("nobody")  # costs the line, not the training


if __name__ == "__main__":
    harness.main()
