"""--timeline: one valid file with all ranks and threads, and what is left of it when ranks are killed."""

import collections
import gzip
import json
import os
import random
import re
import signal
import subprocess
import time

import harness

# One operation does these layers, so they have one row.
IMAGE_LAYERS = "conv2d + conv2d_1 + max_pooling2d + dropout"
SMALL = ("--train-samples", "256", "--test-samples", "64", "--epochs", "1", "--batch-size", "32", "--threads", "1")


class Timelines(harness.ProgramTest):
    def trained(self, *options, **how):
        """Warnings are for others to check: there are more ranks than cores on some machines."""
        result = self.train(*SMALL, *options, **how)
        self.assertEqual(result.status, 0, result)
        return result

    def load(self, name):
        data = (self.work / name).read_bytes()
        return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)

    def rows(self, timeline):
        """Complete events by (rank, thread)."""
        rows = collections.defaultdict(list)
        for event in timeline["traceEvents"]:
            if event["ph"] == "X":
                rows[event["pid"], event["tid"]].append(event)
        return rows

    def row_of_training(self, rows, rank):
        found = [events for (pid, _), events in rows.items() if pid == rank and any(e["cat"] == "step" for e in events)]
        self.assertEqual(len(found), 1)
        return found[0]

    def assert_well_formed(self, timeline):
        """In each row events are in order, and nest."""
        for events in self.rows(timeline).values():
            last, ends = float("-inf"), []
            for event in events:
                begin, end = event["ts"], event["ts"] + event["dur"]
                self.assertGreaterEqual(begin, last)
                last = begin
                while ends and ends[-1] <= begin + 0.0005:
                    ends.pop()
                if ends:
                    self.assertLessEqual(end, ends[-1] + 0.0015, event)
                ends.append(end)

    def test_all_ranks_and_threads(self):
        (self.work / "out").mkdir()
        result = self.trained("--timeline", "out/t.json", "--checkpoint", "a.h5", ranks=2)
        self.assertIn("Timeline: out/t.json", result.out)
        self.assertEqual(os.listdir(self.work / "out"), ["t.json"])
        timeline = self.load("out/t.json")
        self.assert_well_formed(timeline)
        names = collections.defaultdict(set)
        for event in timeline["traceEvents"]:
            if event["ph"] == "M":
                names[event["pid"], event["name"]].add(event["args"]["name"])
        for rank in (0, 1):
            self.assertRegex(" ".join(names[rank, "process_name"]), rf"^rank {rank} \(.+\)$")
            self.assertLessEqual({"main", "communication", "loader"}, names[rank, "thread_name"])
        self.assertIn("checkpoint writer", names[0, "thread_name"])
        self.assertEqual(timeline["otherData"]["events lost"], 0)
        rows = self.rows(timeline)
        numbers = [row for _, row in rows]
        self.assertEqual(len(set(numbers)), len(numbers), "Perfetto would show two rows as one")
        self.assertTrue({0, 1}.isdisjoint(numbers), "Perfetto would take them for the processes 0 and 1")
        for rank in (0, 1):
            events = collections.Counter((e["cat"], e["name"]) for e in self.row_of_training(rows, rank))
            self.assertEqual(events["step", "step"], 4)
            self.assertEqual(events["optimizer", "update weights"], 4)
            for layer in (IMAGE_LAYERS, "dense + dropout_1", "dense_1"):
                self.assertGreaterEqual(events["forward", layer], 4)
                self.assertGreaterEqual(events["backward", layer], 4)
            for event in (("loader", "wait for batch"), ("wait", "wait for gradients"), ("evaluation", "evaluation")):
                self.assertGreaterEqual(events[event], 1, event)

    def test_ranks_are_aligned(self):
        """An all-reduce ends nowhere before it has begun everywhere."""
        self.trained("--timeline", "t.json", ranks=3)
        timeline = self.load("t.json")
        tolerance = timeline["otherData"]["clocks agree within microseconds"] + 1
        by_rank = collections.defaultdict(list)
        for (rank, _), events in sorted(self.rows(timeline).items()):
            by_rank[rank] += [e for e in events if e["name"] == "allreduce" and "bucket" in e.get("args", {})]
        self.assertEqual(set(by_rank), {0, 1, 2})
        for events in by_rank.values():
            events.sort(key=lambda e: e["ts"])  # who waits for an operation may run it, so they are on several rows
        self.assertEqual(len({len(events) for events in by_rank.values()}), 1)
        for reductions in zip(*by_rank.values()):
            self.assertEqual(len({e["args"]["bucket"] for e in reductions}), 1)
            self.assertLessEqual(max(e["ts"] for e in reductions),
                                 min(e["ts"] + e["dur"] for e in reductions) + tolerance)

    def test_buckets_leave_during_backward(self):
        self.trained("--micro-batch", "32", "--timeline", "t.json", ranks=2)
        rows = self.rows(self.load("t.json"))
        for rank in (0, 1):
            training = self.row_of_training(rows, rank)
            passes = [e for e in training if e["name"] == "backward" and e["cat"] == "backward"]
            first = [e for e in training if e["name"] == "launch bucket" and e["args"]["bucket"] == 0]
            self.assertEqual(len(passes), 4)
            self.assertEqual(len(first), 4)
            for backward, launch in zip(passes, first):
                end = backward["ts"] + backward["dur"]
                self.assertLess(backward["ts"], launch["ts"])
                self.assertLess(launch["ts"], end)
                behind = [e for e in training if e["cat"] == "backward" and launch["ts"] < e["ts"] < end]
                self.assertIn(IMAGE_LAYERS, [e["name"] for e in behind], "nothing was left to hide it behind")

    def test_window_and_zip(self):
        self.trained("--timeline", "t.json.gz", "--timeline-steps", "2:3", ranks=2)
        timeline = self.load("t.json.gz")
        self.assert_well_formed(timeline)
        for rank in (0, 1):
            training = self.row_of_training(self.rows(timeline), rank)
            self.assertEqual([e["args"]["step"] for e in training if e["name"] == "step"], [2, 3])

    def test_limit_of_size(self):
        self.trained("--batch-size", "1", "--timeline", "t.json", "--timeline-mb", "1", ranks=2)
        self.assertLessEqual((self.work / "t.json").stat().st_size, 1 << 20)
        timeline = self.load("t.json")
        self.assert_well_formed(timeline)
        self.assertIn("limit of", timeline["otherData"].get("recording ended early", "limit of"))

    def test_environment(self):
        for variable in ("RONDE_TIMELINE", "HOROVOD_TIMELINE"):
            self.trained(env={variable: "e.json"})
            self.assertGreater(len(self.load("e.json")["traceEvents"]), 50)
            (self.work / "e.json").unlink()
        self.trained(env={"HOROVOD_TIMELINE": "DYNAMIC"})
        self.assertFalse((self.work / "DYNAMIC").exists())

    def test_place_that_cannot_be_written(self):
        for ranks in (1, 2):
            self.assert_refused(self.train(*SMALL, "--timeline", "/proc/none/t.json", ranks=ranks), 74, "cannot write in /proc/none: .*--timeline")

    def test_killed_at_any_moment(self):
        """Whatever parts there are, each is a timeline by itself."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RONDE_")}
        for _ in range(4):
            job = subprocess.Popen([str(word) for word in self.job(*SMALL, "--epochs", "50", "--verbose", "0",
                                                                   "--timeline", "k.json", ranks=2)],
                                   cwd=self.work, env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + harness.TIMEOUT
            while not (self.work / "k.rank0.json").exists() and job.poll() is None:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            time.sleep(random.random() * 0.5)
            for victim in harness.ranks_of(job.pid) if job.poll() is None else []:
                os.kill(victim, signal.SIGKILL)
            job.kill()
            job.wait()
            parts = [name for name in os.listdir(self.work) if name.startswith("k.") and name.endswith(".json")]
            self.assertGreaterEqual(len(parts), 1)
            for name in parts:
                self.assertIsInstance(self.load(name)["traceEvents"], list)
                (self.work / name).unlink()

    def test_report(self):
        self.trained("--timeline", "t.json", "--dir", "d", ranks=2)
        page = (self.work / "d/report.html").read_text()
        for text in ("A training step", "waiting for other ranks", "Slowest layers", "conv2d_1"):
            self.assertIn(text, page)
        again = harness.execute([harness.BIN / "ronde", "report", "d", "--output", "again.html"], self.work)
        self.assertEqual(again.status, 0, again)
        self.assertEqual((self.work / "again.html").read_text(), page)
        before = (self.work / "t.json").read_bytes()
        for words, status in (("report", "t.json"), 0), (("report", "--typo"), 2), ((), 2):  # none writes one of its own
            summary = harness.execute([harness.BIN / "ronde", *words], self.work, {"RONDE_TIMELINE": "t.json"})
            self.assertEqual(summary.status, status, summary)
            self.assertEqual((self.work / "t.json").read_bytes(), before)
        summary = harness.execute([harness.BIN / "ronde", "report", "t.json"], self.work)
        self.assertEqual(summary.status, 0, summary)
        self.assertRegex(summary.out, r"(?m)^ +0 +4 +\d")
        self.assertRegex(summary.out, r"slowest rank: [01], with")
        self.assertRegex(summary.out, r"communication: .* hidden behind computation")
        self.assertRegex(summary.out, rf"(?m)^  {re.escape(IMAGE_LAYERS)} +\d")
        (self.work / "other.json").write_text("{}")
        other = harness.execute([harness.BIN / "ronde", "report", "other.json"], self.work)
        self.assertEqual(other.status, 65, other)
        self.assertRegex(other.err, "ronde: other.json: is no timeline")


if __name__ == "__main__":
    harness.main()
