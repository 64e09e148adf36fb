"""--device and what `ronde info` says of GPUs, with the module of a fake GPU and without any."""

import json
import os

import harness

MODULE = os.environ["RONDE_FAKE_MODULE"]
SMALL = ["--epochs", "1", "--train-samples", "32", "--test-samples", "16", "--batch-size", "8", "--seed", "5"]


class DeviceTest(harness.ProgramTest):
    def train_on(self, device, name, ranks=1, **env):
        result = self.train("--device", device, "--metrics-json", name, *SMALL, ranks=ranks, env=env)
        self.assertEqual(result.status, 0, result)
        return result.out, json.loads((self.work / name).read_text())

    def assert_same_but_for_rounding(self, run, expected):
        """All losses of the run; weights that differ would show in the test's."""
        losses = [[entry["loss"] for entry in of["epochs"]] + [of["test"]["loss"]] for of in (run, expected)]
        self.assertEqual(len(losses[0]), len(losses[1]))
        for loss, other in zip(*losses):
            self.assertAlmostEqual(loss, other, delta=2e-6 * other)

    def test_a_gpu_gives_the_losses_of_the_cpu(self):
        out, on_gpu = self.train_on("cuda", "gpu.json", RONDE_CUDA_MODULE=MODULE)
        self.assertRegex(out, r"device +cuda:0 Fake GPU, fake CUDA 0.0\n")
        self.assertEqual(on_gpu["device"], "cuda")
        _, on_cpu = self.train_on("cpu", "cpu.json", RONDE_BACKEND="cpu")
        self.assert_same_but_for_rounding(on_gpu, on_cpu)

    def test_numbers_that_are_not_finite_end_it_as_on_the_cpu(self):
        """Behind two returns to a file, with a graph by then."""
        said = []
        for device, env in (("cuda", {"RONDE_CUDA_MODULE": MODULE}), ("cpu", {"RONDE_BACKEND": "cpu"})):
            result = self.train("--device", device, *SMALL, "--optimizer", "sgd", "--learning-rate", "1e30", "--dir", device,
                                "--save-steps", "1", "--non-finite", "rollback", "--non-finite-limit", "3", env=env)
            self.assert_refused(result, 88, r"step 4 .* is not finite: rank 0: the loss of all 8 samples .* 3 times in a row")
            said.append([line.replace(f" {device}/", " ") for line in result.warnings + result.complaints])
        self.assertEqual(said[0], said[1])
        self.assertEqual(len(said[0]), 3)

    def test_auto_says_what_it_chose_and_why(self):
        out, run = self.train_on("auto", "a.json", RONDE_CUDA_MODULE=MODULE)
        self.assertRegex(out, r"device +cuda:0 Fake GPU, .*\(a GPU is usable\)")
        self.assertEqual(run["device"], "cuda")
        out, run = self.train_on("auto", "b.json", RONDE_CUDA_MODULE=MODULE, RONDE_FAKE_CUDA="no-driver")
        self.assertRegex(out, r"device +cpu, .*\(no GPU: there is no usable NVIDIA driver")
        self.assertEqual(run["device"], "cpu")

    def test_what_is_missing_is_named(self):
        for module, fake, part in (("/nowhere/libronde_cuda.so", "", "module"),
                                   (os.path.join(os.environ["RONDE_BIN"], "train_mnist"), "", "library"),
                                   (MODULE, "no-driver", "driver"), (MODULE, "no-device", "device")):
            with self.subTest(part=part):
                result = self.train("--device", "cuda", env={"RONDE_CUDA_MODULE": module, "RONDE_FAKE_CUDA": fake})
                self.assert_refused(result, 2, rf"\[cuda\] missing {part}: ")

    OLD = r"GPU {} \(Fake GPU, compute capability 7.0\) cannot be used: .* built for compute capability 9.0, do not run on it"

    def test_a_gpu_that_the_build_has_no_kernels_for_is_found_out_when_it_is_chosen(self):
        env = {"RONDE_CUDA_MODULE": MODULE, "RONDE_FAKE_CUDA": "no-kernels=0"}
        self.assert_refused(self.train("--device", "cuda", env=env), 2, r"\[cuda\] " + self.OLD.format(0))
        out, run = self.train_on("auto", "old.json", **env)
        self.assertRegex(out, r"device +cpu, .*\(no GPU: " + self.OLD.format(0))
        self.assertEqual(run["device"], "cpu")
        env["RONDE_FAKE_CUDA"] = "devices=2 no-kernels=1"  # of the second rank: none trains on a GPU
        out, run = self.train_on("auto", "one_is_old.json", ranks=2, **env)
        self.assertRegex(out, r"device +cpu, ")
        self.assertEqual(run["device"], "cpu")

    def test_info_says_which_gpus_cannot_be_used(self):
        tool = harness.BIN / "ronde"
        for fake, usable in (("devices=2 no-kernels=1", True), ("no-kernels=0", False)):
            env = {"RONDE_CUDA_MODULE": MODULE, "RONDE_FAKE_CUDA": fake}
            old = 1 if usable else 0
            self.assertRegex(harness.execute([tool, "info"], self.work, env).out,
                             rf"GPU +fake CUDA 0.0.*; {self.OLD.format(old)}")
            facts = json.loads(harness.execute([tool, "info", "--json"], self.work, env).out)["gpu"]
            self.assertEqual(facts["usable"], usable)
            self.assertRegex(facts["devices"][old]["problem"], self.OLD.format(old))
            self.assertEqual([device["problem"] == "" for device in facts["devices"]].count(True), int(usable))

    def test_each_rank_has_a_gpu(self):
        out, on_gpus = self.train_on("cuda", "gpus.json", ranks=2, RONDE_CUDA_MODULE=MODULE, RONDE_FAKE_CUDA="devices=2")
        self.assertRegex(out, r"device +cuda:0 Fake GPU, fake CUDA 0.0\n")
        _, on_cpus = self.train_on("cpu", "cpus.json", ranks=2, RONDE_BACKEND="cpu")
        self.assert_same_but_for_rounding(on_gpus, on_cpus)

    def test_several_ranks_need_nccl_and_a_gpu_each(self):
        for fake, problem in (("devices=2 no-nccl", r"\[cuda\] missing library: 2 ranks on GPUs need NCCL"),
                              ("devices=1", r"ranks 0 and 1 have the same GPU \(Fake GPU fake:0\)")):
            with self.subTest(fake=fake):
                env = {"RONDE_CUDA_MODULE": MODULE, "RONDE_FAKE_CUDA": fake}
                self.assert_refused(self.train("--device", "cuda", *SMALL, ranks=2, env=env), 2, problem)
        out, run = self.train_on("auto", "c.json", ranks=2, RONDE_CUDA_MODULE=MODULE, RONDE_FAKE_CUDA="devices=2 no-nccl")
        self.assertRegex(out, r"device +cpu, .*\(a GPU is there, but several ranks need NCCL")
        self.assertEqual(run["device"], "cpu")

    def test_info_lists_devices(self):
        env = {"RONDE_CUDA_MODULE": MODULE, "RONDE_FAKE_CUDA": "devices=2"}
        tool = harness.BIN / "ronde"
        self.assertRegex(harness.execute([tool, "info"], self.work, env).out,
                         r"GPU +fake CUDA 0.0, driver for CUDA 13.0; cuda:0 Fake GPU, 2 GiB.*; cuda:1 Fake GPU")
        facts = json.loads(harness.execute([tool, "info", "--json"], self.work, env).out)["gpu"]
        self.assertTrue(facts["usable"])
        self.assertEqual([device["name"] for device in facts["devices"]], ["Fake GPU"] * 2)


if __name__ == "__main__":
    harness.main()
