"""Who can reach a job: no rank of one machine listens on a network, and several machines say which one is theirs."""

import ipaddress
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
import harness  # noqa: E402

LISTEN = "0A"
OPTIONS = ["--epochs", "1000", "--batch-size", "16", "--train-samples", "64", "--test-samples", "16", "--threads", "1",
           "--verbose", "2", "--dir", "out"]


def address(text):
    """Of /proc/net/tcp: words of the host's byte order."""
    words = [text[i:i + 8] for i in range(0, len(text), 8)]
    return ipaddress.ip_address(b"".join(bytes.fromhex(word)[::-1] for word in words))


def listeners(pid):
    """Addresses that the process listens at."""
    inodes = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(entry)))
        except OSError:
            pass
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and fields[9] in inodes:
                found.append(address(fields[1].split(":")[0]))
    return found


def descendants(pid):
    return [other for child in harness.children(pid) for other in [child, *descendants(child)]]


def ranks_of(pid):
    return [child for child in descendants(pid) if pathlib.Path(f"/proc/{child}/comm").read_text() == "train_mnist\n"]


class Exposure(harness.ProgramTest):
    def start(self, command, **more):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RONDE_") and key != "OMPI_MCA_btl"}
        with open(self.work / "log", "a") as log:
            job = subprocess.Popen([str(word) for word in command], cwd=self.work, env={**environment, **more}, stdout=log,
                                   stderr=log)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        return job

    def wait_for_training(self):
        log = self.work / "log"
        deadline = time.monotonic() + harness.TIMEOUT
        while "Epoch 2/" not in log.read_text():
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.02)

    @unittest.skipIf(harness.is_mpich(), "MPICH's mpiexec listens, and its ranks inherit that")
    def test_supervised_ranks_listen_nowhere(self):
        job = self.start([harness.BIN / "ronde", "run", "-np", 2, "--allow-root", "--grace", 0, "--",
                          *self.command(*OPTIONS)])
        self.wait_for_training()
        ranks = ranks_of(job.pid)
        self.assertEqual(len(ranks), 2)
        self.assertEqual([listeners(pid) for pid in [job.pid, *ranks]], [[], [], []])

    def test_ranks_without_mpi_listen_on_no_public_address(self):
        meeting = {"RONDE_WORLD_SIZE": "2", "RONDE_RENDEZVOUS": f"file:{self.work}/meeting"}
        first = self.start(self.command(*OPTIONS), RONDE_RANK="0", **meeting)
        deadline = time.monotonic() + harness.TIMEOUT
        while not (found := listeners(first.pid)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)
        self.assertTrue(all(one.is_private for one in found), found)
        second = self.start(self.command(*OPTIONS), RONDE_RANK="1", **meeting)
        self.wait_for_training()
        for pid in (first.pid, second.pid):
            self.assertTrue(all(one.is_loopback for one in listeners(pid)), listeners(pid))

    @unittest.skipIf(harness.is_mpich(), "MPICH is for one machine: tests/apps/run_test.py")
    def test_several_machines_need_a_private_network(self):
        def run(*options):
            return harness.execute([harness.BIN / "ronde", "run", "-np", 2, "--allow-root", *options, "--", "true"], self.work)

        far = "192.0.2.1:1,192.0.2.2:1"  # addresses for documentation
        for options, words in (((), "needs --iface"), (("--iface", "no-such-if"), "no such interface or network"),
                               (("--iface", "198.51.100.0/24"), "there are")):
            result = run("--hosts", far, *options)
            self.assertEqual(result.status, 2, result)
            self.assertIn(words, result.err)
        self.assertEqual(run("--hosts", "localhost:2").status, 0)


if __name__ == "__main__":
    harness.main()
