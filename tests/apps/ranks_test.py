"""Ranks that disagree: the job ends at once and says which rank and why."""

import os
import shutil
import signal
import subprocess
import unittest

import harness


class Ranks(harness.ProgramTest):
    def test_other_value(self):
        result = self.train_apart(["--epochs", "2"], ["--epochs", "3"])
        self.assert_refused(result, 2, "rank 1 was started with --epochs 3, rank 0 with --epochs 2: .*same options")

    def test_option_on_one_rank_only(self):
        result = self.train_apart(["--seed", "1"], [], ["--seed", "1"])
        self.assert_refused(result, 2, "rank 1 was started without --seed, rank 0 with --seed 1")

    def test_mistake_on_one_rank_only(self):
        result = self.train_apart([], ["--batch-size", "0"])
        self.assert_refused(result, 2, r"\[rank 1\].*--batch-size 0")

    def test_same_options_in_another_order(self):
        options = [["--epochs", "1"], ["--train-samples", "32"], ["--test-samples", "32"]]
        forth = sum(options, [])
        back = sum(reversed(options), [])
        self.assert_trained(self.train_apart(forth, back))

    def test_what_ranks_did_before_a_hang_lies_in_the_folder_of_the_run(self):
        command = self.job("--dir", "out", "--epochs", "100000", "--train-samples", "64", "--test-samples", "16",
                           "--batch-size", "16", "--hang-timeout", "0.5", ranks=2)
        with subprocess.Popen([str(word) for word in command], cwd=self.work, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            for line in job.stdout:
                if line.startswith("Epoch 2/"):
                    break
            os.kill(harness.ranks_of(job.pid)[1], signal.SIGSTOP)
            errors = job.communicate()[1]
        self.assertEqual(job.returncode, 86, errors)
        self.assertTrue(list((self.work / "out").glob("ronde-flight-rank-*.txt")), errors)

    def test_one_rank_without_data(self):
        script = self.work / "rank.sh"
        script.write_text(f'#!/bin/sh\n[ "{harness.RANK}" = 1 ] && export RONDE_DATA=/nowhere\nexec "$@"\n')
        script.chmod(0o755)
        command = [harness.MPIEXEC, "-np", 2, script, *self.command(data=False)]
        result = harness.execute(command, self.work, {"RONDE_DATA": str(self.data)})
        self.assert_refused(result, 74, r"\[rank 1\].*/nowhere")

    def train_with(self, shell, *options, ranks=2):
        """Each rank runs these lines of shell first."""
        script = self.work / "rank.sh"
        script.write_text(f'#!/bin/sh\n{shell}\nexec "$@"\n')
        script.chmod(0o755)
        return harness.execute([harness.MPIEXEC, "-np", ranks, script, *self.command(*options)], self.work)

    def test_other_kernels(self):
        shell = f'export RONDE_ISA=portable; [ "{harness.RANK}" = 1 ] && unset RONDE_ISA'
        options = ("--epochs", "1", "--train-samples", "32", "--test-samples", "32")
        facts = harness.execute([harness.BIN / "ronde", "info", "--json"], self.work)
        if '"instruction_set": "portable"' in facts.out or '"onednn": ""' in facts.out:
            self.skipTest("this machine has one kind of kernels only")
        self.assert_refused(self.train_with(shell, "--deterministic", *options), 2,
                            r"same kernels on all ranks.* on rank 1 .*, portable, .* on rank 0 .*RONDE_ISA")
        self.assert_trained(self.train_with(shell, *options))

    @unittest.skipUnless(shutil.which("taskset"), "needs taskset")
    def test_more_threads_than_cores_is_said_once(self):
        core = min(os.sched_getaffinity(0))
        result = harness.execute([harness.MPIEXEC, "-np", 2, "taskset", "-c", core,
                                  *self.command("--epochs", "2", "--train-samples", "32", "--test-samples", "32")],
                                 self.work)
        self.assert_trained(result)
        self.assertEqual(len(result.machine_warnings), 1, result)
        self.assertRegex(result.machine_warnings[0],
                         r": 2 ranks with 2 threads in all share 1 core, .*start at most 1 there")


if __name__ == "__main__":
    harness.main()
