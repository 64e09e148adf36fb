"""Jobs that are interrupted: signals, time limits, ranks that hang or die, alone, under mpirun and `ronde run`."""

import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time

import harness
from run_harness import OPTIONS, SAVING, SMALL, Interrupted, descendants, shared_memory_of

KILLED = r"(signal 9 \(Killed\)|failed \(exit status 9\))"  # as mpirun of Open MPI says of a rank, or MPICH's


def told(job):
    """Who is told to save: mpirun passes it on. MPICH's then says at times that all is done; so a rank is told."""
    return harness.ranks_of(job.process.pid)[0] if harness.is_mpich() else job.process.pid


class Signals(Interrupted):
    def test_mpirun_passes_on_what_saves(self):
        expected = self.undisturbed()
        job = self.start(self.job(*OPTIONS, ranks=2))
        job.wait_for("Epoch 1/2")
        os.kill(told(job), signal.SIGUSR1)
        deadline = time.monotonic() + harness.TIMEOUT
        while not (self.work / "out/on-signal.h5").exists():
            self.assertIsNone(job.process.poll(), job.out)
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        os.kill(told(job), signal.SIGUSR2)
        self.assertEqual(job.finish(), 75, job.out)
        self.assertEqual(len(re.findall(r"^ronde: ", job.out, re.MULTILINE)), 1, job.out)
        self.assertRegex(job.out, r"ronde: \[rank 0\] \[fit\] told to end by a signal: saved out/on-signal.h5 after "
                                  r"\d+ steps?; start it again to go on")
        result = self.train(*OPTIONS, "--resume", "auto", ranks=2)
        self.assert_trained(result)
        self.assertIn("from out/on-signal.h5", result.out)
        self.assertEqual(self.weights(), expected)

    def test_alone(self):
        job = self.start(self.command(*OPTIONS))
        job.wait_for("Epoch 1/2")
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.finish(), 75, job.out)

    def test_ctrl_c_saves(self):
        expected = self.undisturbed()
        job = self.start(self.command(*OPTIONS))
        job.wait_for("Epoch 1/2")
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.finish(), 130, job.out)
        self.assertIn("\nCtrl-C: saving after this step; again to end at once\n", job.out)
        self.assertRegex(job.out, r"\nronde: \[fit\] interrupted: saved out/on-signal.h5 after \d+ steps?; start it again")
        result = self.train(*OPTIONS, "--resume", "auto")
        self.assert_trained(result)
        self.assertIn("from out/on-signal.h5", result.out)
        self.assertEqual(self.weights(), expected)

    def test_second_ctrl_c_ends_at_once(self):
        job = self.start(self.command("--epochs", "1000", "--batch-size", "512", "--audit-steps", "1", "--verbose", "2"))
        job.wait_for("Epoch 1/1000")
        job.process.send_signal(signal.SIGINT)
        job.wait_for("Ctrl-C: saving")
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.finish(), -signal.SIGINT, job.out)  # a shell says 130
        self.assertFalse((self.work / "on-signal.h5").exists())

    def test_time_limit(self):
        result = self.train(*OPTIONS, "--epochs", "1000", "--max-seconds", "8", ranks=2)
        self.assertEqual(result.status, 75, result)
        self.assertRegex(result.err, "the time is nearly up: saved out/on-signal.h5")
        self.assertLess(result.seconds, 60)
        for later in ([], ["--max-seconds", "1000"]):  # the earlier of the two counts
            soon = {"SLURM_JOB_END_TIME": str(int(time.time()) + 3)}
            result = self.train(*OPTIONS, "--epochs", "1000", "--resume", "auto", *later, env=soon)
            self.assertEqual(result.status, 75, result)


class Supervised(Interrupted):
    def test_children_that_the_system_collects(self):
        """Started by a program that ignores SIGCHLD: how mpirun and uploads end is seen nevertheless."""
        deaf = ["sh", "-c", 'trap "" CHLD; exec "$@"', "sh"]
        job = self.start([*deaf, *self.supervised(*self.command(*OPTIONS))])
        self.assertEqual(job.finish(), 0, job.out)
        result = harness.execute([*deaf, *self.command(*OPTIONS, "--upload", "false {file}", "--upload-timeout", "1")], self.work)
        self.assertRegex(result.err, "not uploaded: .*false: exit status 1")

    def test_killed_rank(self):
        expected = self.undisturbed(*SAVING)
        job = self.start(self.supervised(*self.command(*SAVING)))
        self.wait_for_steps(job)
        mpirun, = harness.children(job.process.pid)
        os.kill(random.choice(harness.ranks_of(mpirun)), signal.SIGKILL)
        job.wait_for(r"\] step \d+ begins", 2)
        mpirun, = harness.children(job.process.pid)
        os.kill(mpirun, signal.SIGKILL)  # mpirun itself, too
        self.assertEqual(job.finish(), 0, job.out)
        self.assertEqual(self.weights(), expected, job.out)
        self.assertRegex(job.out, r"start 1 ended after .* s in step \d+: " + KILLED)
        self.assertRegex(job.out, r"\] done, after 2 restarts")

    def test_files_of_an_earlier_run(self):
        """They are newer in steps, lie where this run saves, and are not its own, however early it fails."""
        expected = self.undisturbed(*SAVING)
        self.assert_trained(self.train(*SAVING, "--epochs", "3", "--seed", "1"))
        job = self.start(self.supervised(*self.command(*SAVING)))
        job.wait_for("start 1: ")
        self.kill_a_rank(job)  # which has not come to its first step, and perhaps to no statement of its own
        job.wait_for("start 2: ")
        self.wait_for_steps(job)
        self.kill_a_rank(job)
        self.assertEqual(job.finish(), 0, job.out)
        self.assertRegex(job.out, r"start 1 ended after .* in step 0: " + KILLED)
        self.assertRegex(job.out, r"resume +no: a new run; out/\S+ is of an earlier one")
        self.assertRegex(job.out, r"warning: \d+ checkpoints? (is|are) of an earlier run, as out/.new-run says")
        self.assertEqual(self.weights(), expected, job.out)

    def test_spare_ranks_take_over(self):
        options = [*SAVING, "--epochs", "1"]
        expected = self.undisturbed(*options)
        temporary = self.work / "t"
        temporary.mkdir()
        job = self.start(self.supervised(*self.command(*options), run_options=("--standby",)), TMPDIR=str(temporary))
        self.wait_for_steps(job)
        mpirun = int(re.search(r"mpirun is process (\d+)", job.out).group(1))
        everyone = descendants(job.process.pid)
        memory = {shared_memory_of(pid) for pid in everyone} - {None}
        self.assertEqual(len(memory), 2, "one for the ranks, one for those that stand by")
        os.kill(random.choice(harness.ranks_of(mpirun)), signal.SIGKILL)
        self.assertEqual(job.finish(), 0, job.out)
        self.assertRegex(job.out, r"start 2: 2 ranks of .*, which stood by, mpirun is process")
        self.assertEqual(self.weights(), expected, job.out)
        self.assert_gone(everyone)
        self.assertEqual(os.listdir(temporary), [], "files of mpirun are left")
        self.assertEqual([path for path in memory if os.path.exists(path)], [])

    def test_spare_ranks_that_die_are_replaced(self):
        job = self.start(self.supervised(*self.command(*SAVING, "--epochs", "1000"), run_options=("--standby",)))
        self.wait_for_steps(job)
        first, = map(int, re.findall(r"mpirun is process (\d+)", job.out))
        os.kill(self.spare_of(job, first), signal.SIGKILL)
        job.wait_for(f"the ranks that stood by are lost: {KILLED}: others will")
        self.spare_of(job, first)
        os.kill(random.choice(harness.ranks_of(first)), signal.SIGKILL)
        job.wait_for("start 2: 2 ranks of .*, which stood by")
        job.process.terminate()
        self.assertEqual(job.finish(), 75, job.out)

    def spare_of(self, job, first):
        """Its mpirun, once it has ranks; those whose mpirun was killed are children of the supervisor too."""
        deadline = time.monotonic() + harness.TIMEOUT
        while time.monotonic() < deadline:
            for pid in harness.children(job.process.pid):
                if pid != first and sum(map(self.is_rank, descendants(pid))) == 2:
                    return pid
        raise AssertionError(job.out)

    def test_orphans_are_collected(self):
        """Of a program that starts others in the background, all along a start that may take weeks."""
        own = self.script('(sleep 0.5 &)\n(sleep 0.1 &)\necho begun\nwhile [ ! -e end ]; do sleep 0.1; done\n')
        job = self.start(self.supervised(own, ranks=1))
        job.wait_for("begun")
        deadline = time.monotonic() + harness.TIMEOUT / 4
        while len(harness.children(job.process.pid)) > 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(harness.children(job.process.pid)), 1, "mpirun")
        (self.work / "end").touch()
        self.assertEqual(job.finish(), 0, job.out)

    def test_told_to_save_while_a_rank_starts(self):
        """That one does not listen yet: it would die."""
        own = self.script(f'[ {harness.RANK} = 0 ] || while [ -e own.sh ]; do sleep 0.1; done\nexec "$@"\n')
        job = self.start(self.supervised(own, *self.command(*SAVING, "--epochs", "1")))
        job.wait_for("start 1")
        for _ in range(15):
            time.sleep(0.1)
            job.process.send_signal(signal.SIGUSR1)
        job.wait_for(r"told to save \(SIGUSR1\), which not all ranks listen for")
        own.unlink()
        self.assertEqual(job.finish(), 0, job.out)
        self.assertNotIn("start 2", job.out)

    def test_told_to_end(self):
        job = self.start(self.supervised(*self.command(*SAVING)))
        self.wait_for_steps(job)
        job.process.terminate()
        self.assertEqual(job.finish(), 75, job.out)
        self.assertIn("saved out/on-signal.h5", job.out)
        self.assertNotIn("start 2", job.out)

    def test_told_to_end_under_a_launcher_that_would_die_of_it(self):
        """As MPICH's does, and a shell: the ranks are told themselves."""
        launcher = self.script('"$LAUNCHER" "$@" &\nwait $!\n')
        job = self.start(self.supervised(*self.command(*SAVING)), RONDE_MPIEXEC=str(launcher), LAUNCHER=harness.MPIEXEC)
        self.wait_for_steps(job)
        job.process.terminate()
        self.assertEqual(job.finish(), 75, job.out)
        self.assertIn("saved out/on-signal.h5", job.out)

    def test_settings_of_all_launchers(self):
        """Each reads its own; what the user has set stays."""
        wanted = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                  "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
                  "PMIX_MCA_gds": "^shmem"}
        job = self.start(self.supervised("true"), RONDE_MPIEXEC=str(self.script("env\n")), UCX_TLS="tcp",
                         **dict.fromkeys(wanted, ""))
        self.assertEqual(job.finish(), 0, job.out)
        for name, value in {**wanted, "UCX_TLS": "tcp"}.items():
            self.assertIn(f"\n{name}={value}\n", job.out)

    def test_told_twice_in_one_breath(self):
        """As by `timeout`, which signals its child, and then its process group with the child in it."""
        job = self.start(self.supervised(*self.command(*SAVING, "--epochs", "1000")))
        self.wait_for_steps(job)
        os.kill(job.process.pid, signal.SIGTERM)
        os.killpg(job.process.pid, signal.SIGTERM)
        self.assertEqual(job.finish(), 75, job.out)

    def test_told_to_end_before_anything_was_saved(self):
        job = self.start(self.supervised("sleep", "1000"))
        job.wait_for("start 1")
        job.process.terminate()
        self.assertEqual(job.finish(), 75, job.out)
        self.assertIn("; what was not saved before is lost\n", job.out)

    def test_quit_is_as_good(self):
        """Ctrl-\\ of a terminal, which would leave mpirun's files behind."""
        temporary = self.work / "t"
        temporary.mkdir()
        job = self.start(self.supervised(*self.command(*SAVING)), TMPDIR=str(temporary))
        self.wait_for_steps(job)
        job.process.send_signal(signal.SIGQUIT)
        self.assertEqual(job.finish(), 75, job.out)
        self.assertIn("saved out/on-signal.h5", job.out)
        self.assertEqual(os.listdir(temporary), [])

    def test_told_to_end_and_cannot_save(self):
        """Whoever starts it again for a 75 would believe that nothing is lost."""
        job = self.start(self.supervised(*self.command(*SAVING, "--epochs", "1000")))
        self.wait_for_steps(job)
        (self.work / "out/on-signal.h5").mkdir()
        job.process.terminate()
        self.assertEqual(job.finish(), 74, job.out)
        self.assertIn("could not be saved: out/on-signal.h5", job.out)
        self.assertNotIn("start 2", job.out)

    def test_what_is_ignored_stays_so(self):
        """nohup, and shells that start it in the background, want it to outlive the terminal; whatever libraries catch."""
        job = self.start(["sh", "-c", 'trap "" HUP INT QUIT; exec "$@"', "sh", *self.supervised(*self.command(*SAVING))],
                         LD_PRELOAD=os.environ["RONDE_CATCHES_HANGUP"])
        self.wait_for_steps(job)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            job.process.send_signal(number)
        self.assertEqual(job.finish(), 0, job.out)
        self.assertNotIn("told to end", job.out)

    def test_nobody_reads_its_output(self):
        """As in `ronde run ... | head`: mpirun would fail again and again; and no files are left."""
        words = [str(word) for word in self.supervised(*self.command(*SAVING, "--epochs", "1000"))]
        for errors in (subprocess.STDOUT, open(self.work / "errors", "w+")):
            temporary = pathlib.Path(tempfile.mkdtemp(dir=self.work))
            job = subprocess.Popen(words, cwd=self.work, env={**os.environ, "TMPDIR": str(temporary)},
                                   stdout=subprocess.PIPE, stderr=errors)
            self.addCleanup(lambda job=job: (job.kill(), job.wait()))
            while b"saving model to" not in job.stdout.readline():
                self.assertIsNone(job.poll())
            everyone = descendants(job.pid)
            job.stdout.close()
            self.assertGreater(job.wait(harness.TIMEOUT), 0)  # mpirun's, at times of a crash
            self.assert_gone(everyone)
            self.assertEqual(os.listdir(temporary), [], "files of mpirun are left")
        with errors:
            errors.seek(0)
            self.assertRegex(errors.read(), r"start 1 ended .*\n.*gives up: nobody reads any more what the ranks print\n$")

    def test_no_process_is_left_behind(self):
        job = self.start(self.supervised(*self.command(*SAVING, "--epochs", "1000"),
                                         run_options=("--hang-timeout", "2")), TMPDIR=str(self.work))
        self.wait_for_steps(job)
        everyone = descendants(job.process.pid)
        self.assertEqual(len(everyone), 4 if harness.is_mpich() else 3)  # with mpirun, or mpiexec and its proxy
        os.kill(everyone[-1], signal.SIGSTOP)  # it cannot see that the others go
        time.sleep(1.0)
        job.process.kill()
        job.process.wait()
        self.assert_gone(everyone)

    def script(self, text):
        path = self.work / "own.sh"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def test_words_of_the_program_stay(self):
        """A start that told of itself is gone on from; what --resume means to this program is its own affair."""
        own = self.script(f'echo "$* after $RONDE_RESUME" >> words; {harness.BIN / "ronde"} info > /dev/null; exit 1\n')
        job = harness.execute(self.supervised(own, "--resume", "data.bin", "--x", "1", ranks=1,
                                              run_options=("--max-restarts", "1")), self.work)
        self.assertEqual(job.status, 1, job)
        self.assertEqual((self.work / "words").read_text().splitlines(),
                         ["--resume data.bin --x 1 after ", "--resume data.bin --x 1 after auto"])

    def test_goes_on_from_its_own_files(self):
        """Not again from the one that the first start was told to begin with."""
        self.assert_trained(self.train(*SAVING, "--epochs", "1", "--dir", "first", ranks=2))
        options = [*SAVING, "--resume", "first/checkpoint.h5"]
        expected = self.undisturbed(*options)
        job = self.start(self.supervised(*self.command(*options)))
        self.wait_for_steps(job)
        self.kill_a_rank(job)
        self.assertEqual(job.finish(), 0, job.out)
        self.assertEqual(re.findall(r"resume +from (\w+)/", job.out), ["first", "out"], job.out)
        self.assertEqual(self.weights(), expected, job.out)

    def test_begins_with_the_same_file_again(self):
        """Where it had saved nothing; the file may be named by the environment as well."""
        options = [*SMALL, "--steps-per-epoch", "50"]  # none of which ends before its rank is killed
        self.assert_trained(self.train(*options, "--epochs", "1", "--dir", "first", ranks=2))
        expected = self.undisturbed(*options, "--resume", "first/checkpoint.h5")
        for words, more in ((["--resume", "first/checkpoint.h5"], {}), ([], {"RONDE_RESUME": "first/checkpoint.h5"})):
            job = self.start(self.supervised(*self.command(*options, *words)), **more)
            job.wait_for(r"\] step \d+ begins")
            self.kill_a_rank(job)
            self.assertEqual(job.finish(), 0, job.out)
            self.assertEqual(re.findall(r"resume +from (\w+)/", job.out), ["first", "first"], job.out)
            self.assertEqual(self.weights(), expected, job.out)
            (self.work / "out").rename(self.work / f"out-{len(words)}")

    def test_deadline_of_hangs(self):
        """Of the environment, unless the option says something else."""
        own = self.script('echo "deadline: $RONDE_HANG_TIMEOUT"\n')
        for options, more, expected in (((), {}, ""), ((), {"RONDE_HANG_TIMEOUT": "1800"}, "1800"),
                                        (("--hang-timeout", "7"), {"RONDE_HANG_TIMEOUT": "1800"}, "7")):
            job = harness.execute(self.supervised(own, ranks=1, run_options=options), self.work, more)
            self.assertEqual(job.status, 0, job)
            self.assertIn(f"deadline: {expected}\n", job.out)

    def test_deadline_of_the_program(self):
        """The supervisor gives the ranks as long as they give themselves."""
        (self.work / "settings").write_text("hang-timeout = 4\n")  # a busy disk takes a second
        for options, more, hangs in ((("--config", "settings"), {}, True),
                                     (("--hang-timeout", "0"), {"RONDE_HANG_TIMEOUT": "1"}, False)):
            job = self.start(self.supervised(*self.command(*SAVING, *options), ranks=1,
                                             run_options=("--max-restarts", "0")), **more)
            self.wait_for_steps(job)
            rank, = [pid for pid in descendants(job.process.pid) if self.is_rank(pid)]
            os.kill(rank, signal.SIGSTOP)
            if not hangs:
                time.sleep(9)
                os.kill(rank, signal.SIGCONT)
            self.assertEqual(job.finish(), 137 if hangs else 0, job.out)
            self.assertEqual("the job hangs" in job.out, hangs, job.out)

    def test_mpirun_that_does_not_end(self):
        """As when a rank is killed while it connects to it: its ranks have ended, and it waits for ever."""
        launcher = self.script("[ -e started ] && exit 0\ntouch started\nsleep 2.5\nmkfifo silent\nread nothing < silent\n")
        job = harness.execute(self.supervised("sleep", "2.5"), self.work, {"RONDE_MPIEXEC": str(launcher)})
        self.assertEqual(job.status, 0, job)
        self.assertIn("the job hangs: mpirun has not ended after its ranks have: it is killed", job.err)

    def test_variables_for_other_machines(self):
        """All that are ours; mpirun takes the values from its environment."""
        launcher = self.script('echo "$@" > words\n')
        far = ("--hosts", "192.0.2.1:1,192.0.2.2:1", "--iface", "127.0.0.0/8")  # addresses for documentation
        job = harness.execute(self.supervised("true", run_options=far), self.work, {
            "RONDE_MPIEXEC": str(launcher), "RONDE_THREADS": "3", "RONDE_TOKEN": "secret", "RONDE_HANG_TIMEOUT": "9",
            "RONDE_HEARTBEAT": "/nowhere"})
        self.assertEqual(job.status, 0, job)
        words = (self.work / "words").read_text().split()
        names = [name for option, name in zip(words, words[1:]) if option == "-x" and name != "RONDE_BACKEND"]
        self.assertEqual(names, ["RONDE_HANG_TIMEOUT", "RONDE_IFACE", "RONDE_MPIEXEC", "RONDE_THREADS", "RONDE_TOKEN"])
        self.assertNotIn("secret", words)

    def test_mpich_is_for_one_machine(self):
        """Its mpiexec has other options, and other ways to keep ranks from listening everywhere."""
        launcher = self.script('[ "$1" = --version ] && exec echo "HYDRA build details:"\necho "$@" > words\n')
        far = self.supervised("true", run_options=("--hosts", "192.0.2.1:1,192.0.2.2:1", "--iface", "127.0.0.0/8"))
        job = harness.execute(far, self.work, {"RONDE_MPIEXEC": str(launcher)})
        self.assertEqual(job.status, 2, job)
        self.assertEqual(job.err, f"ronde: --hosts with several machines wants Open MPI's mpirun, but {launcher} is MPICH's: "
                                  "start the ranks with it, without `ronde run`\n")
        here = self.supervised("true", run_options=("--hosts", "localhost:2"))
        self.assertEqual(harness.execute(here, self.work, {"RONDE_MPIEXEC": str(launcher)}).status, 0)
        words = (self.work / "words").read_text()
        self.assertRegex(words, r"^-np 2 --host localhost:2 \S*true\n$")

    def test_no_launcher(self):
        for more, launcher in (({"PATH": "/nonexistent", "RONDE_MPIEXEC": ""}, "mpirun"), ({"RONDE_MPIEXEC": "/no/mpirun"}, "/no/mpirun")):
            job = harness.execute(self.supervised(harness.BIN / self.program, run_options=()), self.work, more)
            self.assertEqual(job.status, 2, job)
            self.assertEqual(job.err, f"ronde: {launcher}: not found: apt-get install openmpi-bin, or name one in RONDE_MPIEXEC\n")

    def test_what_cannot_help_is_not_tried_again(self):
        wrong = harness.execute(self.supervised(*self.command("--epochs", "none")), self.work)
        self.assertEqual(wrong.status, 2, wrong)
        self.assertNotIn("start 2", wrong.err)
        missing = harness.execute(self.supervised("/nowhere/program"), self.work)
        self.assertEqual(missing.status, 2, missing)
        self.assertEqual(missing.err, "ronde: /nowhere/program: no such program: ronde run -np 4 -- PROGRAM ARGUMENT...\n")
        (self.work / "script").write_text("#!/bin/sh\n")
        plain = harness.execute(self.supervised("./script"), self.work)
        self.assertEqual(plain.status, 2, plain)
        self.assertEqual(plain.err, "ronde: ./script: not executable: chmod +x ./script\n")
        for text, problem in (("no program\n", "Exec format error"), ("#!/no/interpreter\n", "No such file or directory")):
            (self.work / "script").write_text(text)
            (self.work / "script").chmod(0o700)
            odd = harness.execute(self.supervised("./script"), self.work)
            self.assertEqual(odd.status, 2, odd)
            self.assertIn(f"ronde: ./script: the system cannot execute it: {problem}: is it for another", odd.err)
        two = harness.execute(self.supervised("echo", "a", ":", "b"), self.work)
        self.assertEqual(two.status, 2, two)
        self.assertEqual(two.err, "ronde: an argument ':': mpirun takes it for the beginning of another program\n")
        nameless = harness.execute(self.supervised("no-such-program"), self.work)
        self.assertEqual(nameless.status, 2, nameless)
        self.assertIn("no-such-program: no such program beside `ronde` or in $PATH", nameless.err)
        failing = harness.execute(self.supervised("sh", "-c", "exit 3", run_options=("--max-restarts", "1")), self.work)
        self.assertEqual(failing.status, 3, failing)
        self.assertEqual(len(re.findall(r"\] start \d: ", failing.err)), 2, failing)
        nothing = harness.execute([harness.BIN / "ronde", "run", "-np", 2], self.work)
        self.assertEqual(nothing.status, 2)
        self.assertIn("no program given", nothing.err)
        for options, problem in (
                (("--np", "65537"), "--np 65537: give a whole number from 1 to 65536 (`ronde run --help`)"),
                (("--grace", "-1"), "--grace -1: give a number greater than 0, or 0 for at once (`ronde run --help`)"),
                (("--hosts", "nofile/x"), '--hosts nofile/x: no such file, with lines "a slots=4"')):
            job = harness.execute(self.supervised("/nowhere/program", run_options=options), self.work)
            self.assertEqual((job.status, job.err), (2, f"ronde: {problem}\n"), job)
        if os.geteuid() == 0:
            root = harness.execute([harness.BIN / "ronde", "run", "true"], self.work)
            self.assertEqual(root.status, 2)
            self.assertIn("--allow-root", root.err)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs, and theirs, ignore
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    harness.main()
