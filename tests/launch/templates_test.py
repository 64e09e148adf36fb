"""The templates of apps/launch: the batch script under a Slurm that is not there, the MPIJob against its schema."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAUNCH = ROOT / "apps/launch"
sys.path.insert(0, str(ROOT / "tests/apps"))
import harness  # noqa: E402

# Of kubeflow.org/v2beta1 (mpi-operator, pkg/apis/kubeflow/v2beta1/types.go).
SPEC = {"slotsPerWorker", "runLauncherAsWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath",
        "launcherCreationPolicy", "mpiImplementation"}
RUN_POLICY = {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit", "schedulingPolicy",
              "suspend", "managedBy"}
CONTAINER = {"name", "image", "command", "args", "env", "resources", "volumeMounts", "securityContext", "imagePullPolicy"}
POD = {"containers", "volumes", "securityContext", "terminationGracePeriodSeconds", "restartPolicy", "nodeSelector"}
SBATCH = {"--job-name", "--nodes", "--ntasks-per-node", "--cpus-per-task", "--time", "--signal", "--requeue",
          "--open-mode", "--output"}


def help_of(*words):
    return harness.execute([harness.BIN / words[0], *words[1:], "--help"], "/").out


class BatchScript(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.work = pathlib.Path(place.name)

    def fake(self, name, body):
        path = self.work / name
        path.write_text(f"#!/bin/bash\necho \"{name} $*\" >> '{self.work}/calls'\n{body}\n")
        path.chmod(0o700)

    def start(self, ronde, nodes=1):
        self.fake("ronde", ronde)
        self.fake("scontrol", "[ $1 != show ] || printf 'n1\\nn2\\n'; [ $1 != requeue ] || kill $PPID")
        environment = {"PATH": f"{self.work}:/usr/bin:/bin", "SLURM_JOB_ID": "17", "SLURM_NTASKS": "4",
                       "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_CPUS_PER_TASK": "2",
                       "RONDE_RUN_OPTIONS": "--iface ib0"}
        return subprocess.Popen(["bash", LAUNCH / "slurm/ronde.sbatch", "train", "--dir", "a b"], env=environment)

    def calls(self):
        path = self.work / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def test_header(self):
        text = (LAUNCH / "slurm/ronde.sbatch").read_text()
        options = re.findall(r"^#SBATCH (--[a-z-]+)", text, re.MULTILINE)
        self.assertEqual(set(options), SBATCH)
        self.assertLess(text.rindex("#SBATCH"), text.index("set -u"), "sbatch reads no further than the first command")

    def test_status_is_passed_on(self):
        self.assertEqual(self.start("exit 3").wait(30), 3)
        self.assertEqual(self.calls(), ["ronde run -np 4 --iface ib0 -- train --dir a b --resume auto"])

    def test_several_nodes(self):
        self.assertEqual(self.start("exit 0", nodes=2).wait(30), 0)
        self.assertIn("ronde run -np 4 --hosts n1:2,n2:2 --iface ib0 -- train --dir a b --resume auto", self.calls())

    def test_signals_save_and_put_the_job_back(self):
        for number in (signal.SIGUSR1, signal.SIGTERM):
            (self.work / "calls").unlink(missing_ok=True)
            job = self.start("sleep 60 & trap \"kill $!; exit 75\" TERM; wait")
            while not self.calls():
                time.sleep(0.01)
            time.sleep(0.2)  # until its trap is set
            job.send_signal(number)
            self.assertEqual(job.wait(30), -signal.SIGTERM)  # by Slurm
            self.assertEqual(self.calls()[1:], ["scontrol requeue 17"])


class MpiJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("no PyYAML (python3-yaml)")
        cls.job = yaml.safe_load((LAUNCH / "kubernetes/mpijob.yaml").read_text())

    def test_fields(self):
        self.assertEqual((self.job["apiVersion"], self.job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        spec = self.job["spec"]
        self.assertLessEqual(set(spec), SPEC)
        self.assertLessEqual(set(spec["runPolicy"]), RUN_POLICY)
        self.assertIn(spec["runPolicy"]["cleanPodPolicy"], ("None", "Running", "All"))
        self.assertIn(spec["launcherCreationPolicy"], ("AtStartup", "WaitForWorkersReady"))
        self.assertEqual(set(spec["mpiReplicaSpecs"]), {"Launcher", "Worker"})

    def test_pods(self):
        for role, replica in self.job["spec"]["mpiReplicaSpecs"].items():
            self.assertLessEqual(set(replica), {"replicas", "restartPolicy", "template"}, role)
            self.assertIn(replica.get("restartPolicy", "Never"), ("Never", "OnFailure"))
            pod = replica["template"]["spec"]
            self.assertLessEqual(set(pod), POD, role)
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            volumes = {volume["name"] for volume in pod["volumes"]}
            for container in pod["containers"]:
                self.assertLessEqual(set(container), CONTAINER, role)
                self.assertTrue(all(isinstance(word, str) for word in container["command"] + container["args"]))
                self.assertLessEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)
                self.assertNotEqual(container["securityContext"]["runAsUser"], 0)

    def test_the_launchers_command_exists(self):
        spec = self.job["spec"]
        launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
        words = launcher["command"] + launcher["args"]
        middle = words.index("--")
        for options, text in ((words[2:middle], help_of("ronde", "run") + " -np "),
                              (words[middle + 2:], help_of(words[middle + 1]))):
            for option in (word for word in options if word.startswith("-")):
                self.assertRegex(text, rf"(^|[\s,]){option}\s", option)
        self.assertEqual(int(words[words.index("-np") + 1]),
                         spec["slotsPerWorker"] * spec["mpiReplicaSpecs"]["Worker"]["replicas"])


class Image(unittest.TestCase):
    def test_what_it_copies_is_there(self):
        text = (LAUNCH / "docker/Dockerfile").read_text().replace("\\\n", " ")
        instructions = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
        self.assertLessEqual(set(instructions), {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "CMD"})
        for sources in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", text, re.MULTILINE):
            for source in sources.split():
                self.assertTrue((ROOT / source).exists(), source)
        self.assertLess(text.index("useradd"), text.index("USER mpiuser"))

    def test_hosts_example_is_read(self):
        result = harness.execute([harness.BIN / "ronde", "run", "-np", 9, "--allow-root", "--hosts",
                                  LAUNCH / "openmpi/hosts", "--", "true"], "/")
        self.assertIn("has places for 8", result.err)


if __name__ == "__main__":
    harness.main()
