"""`ronde`: each sub-command on a small trained model, and what it says when something is wrong."""

import gzip
import json
import os
import pathlib
import re
import socket
import struct
import unittest
import zipfile

import harness
from tool_harness import JPEG, ToolTest, bar, png

COMMANDS = ("info", "bench", "data", "summary", "evaluate", "predict", "inspect", "export", "report", "run")


class Usage(ToolTest):
    def test_help_lists_what_there_is(self):
        for ranks in (1, 2):
            out = self.done("--help", ranks=ranks)
            self.assertEqual(len(re.findall(r"^  evaluate ", out, re.MULTILINE)), 1, out)
            self.assertEqual(re.findall(r"^  ([a-z]+)  ", out, re.MULTILINE), list(COMMANDS))

    def test_help_of_each_command(self):
        for words in ((name,) for name in COMMANDS):
            self.assertIn("Usage: ronde " + " ".join(words), self.done(*words, "--help"))
        for name in ("get", "pack"):
            self.assertIn(f"Usage: ronde data {name}", self.done("data", name, "--help"))

    def test_look_of_help(self):
        """One with every version of CLI11."""
        self.assertEqual(self.done("data", "get", "--help"), """fetch a data set, pinned by SHA-256
Usage: ronde data get [OPTIONS] NAME

Arguments:
  NAME                    mnist|cifar10

Options:
  -h,--help               print this and exit
  --data-dir DIR          where to (default: $RONDE_DATA, else ~/.cache/ronde)

What is there already is left as it is.

  ronde data get cifar10
""")
        predict = self.done("predict", "--help")
        self.assertIn("\nUsage: ronde predict [OPTIONS] FILE IMAGE...\n", predict)
        self.assertIn("\n  IMAGE ...               pictures\n", predict)
        self.assertIn("\n  --samples,--test-samples N\n                          use the first N", self.done("evaluate", "--help"))

    def test_help_as_a_word(self):
        self.assertEqual(self.done("help"), self.done("--help"))
        self.assertEqual(self.done("help", "data", "pack"), self.done("data", "pack", "--help"))

    def test_no_command_shows_the_help(self):
        for words in ((), ("data",)):
            for ranks in (1, 2):
                result = self.ronde(*words, ranks=ranks)
                name = " ".join(("ronde", *words))
                speaker = "" if ranks == 1 else r"\[rank 0\] "  # for all, of whom none leaves before
                self.assert_refused(result, 2, f"ronde: {speaker}no command given: see `{name} --help`")
                self.assertEqual(result.err.count(self.done(*words, "--help")), 1, result)
                self.assertEqual(result.out, "")

    def test_version(self):
        self.assertRegex(self.done("--version"), r"\Aronde \d+\.\d+\.\d+\n\Z")

    def test_mistakes(self):
        for words, pattern in (
            (["evalute", "x"], "unknown command evalute: did you mean evaluate"),
            (["zzzzzz"], "unknown command zzzzzz: see"),
            (["data", "git", "mnist"], "unknown command git: did you mean get"),
            (["data", "get", "imagenet"], "imagenet: give one of mnist, cifar10"),
            (["summary"], "FILE is required: see `ronde summary --help`"),
            (["summary", "a", "b"], "unexpected argument b"),
            (["predict", "m.h5", "a.png", "--resiz"], "unknown option --resiz: did you mean --resize"),
            (["predict", "m.h5", "a.png", "--top", "0"], "--top 0: give a whole number"),
            (["predict", "m.h5", "a.png", "--scale", "1/0"], "--scale 1/0: give a number"),
            (["evaluate", "m.h5"], "--data is required"),
            (["evaluate", "m.h5", "--data"], "--data needs a value"),
            (["predict", "m.h5", "a.png", "--resize=maybe"], "--resize maybe: give true or false"),
            (["export", "m.h5", "out", "--to", "pdf"], "--to pdf: give one of onnx, safetensors, npz, keras, h5"),
        ):
            with self.subTest(words=words):
                self.assert_refused(self.ronde(*words), 2, pattern)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_output_that_is_lost(self):
        for words, redirection, status in (("info", "> /dev/full", 74), ("--version", "> /dev/full", 74),
                                           ("info --nothing", "> /dev/full", 2), ("info", ">&-", 0)):
            with self.subTest(words=words, redirection=redirection):
                result = harness.execute(["sh", "-c", f"{harness.BIN}/ronde {words} {redirection}"], self.work)
                self.assertEqual(result.status, status, result)
                self.assertEqual("standard output could not be written" in result.err, status == 74, result)

    def test_flags_that_are_off(self):
        self.assertTrue(self.done("info", "--json").startswith("{"))
        self.assertFalse(self.done("info", "--json=false").startswith("{"))

    def test_missing_files(self):
        for words in (["summary"], ["inspect"], ["evaluate", "--data", "mnist"], ["predict", "a.png"],
                      ["export", "--to", "npz", "out.npz"]):
            with self.subTest(words=words):
                self.assert_refused(self.ronde(words[0], "none.h5", *words[1:]), 74, "none.h5")


class Info(ToolTest):
    def test_names_every_part(self):
        out = self.done("info", env={"RONDE_DATA": str(self.shared)})
        for name in ("backends", "oneDNN", "MPI", "HDF5", "ranks", "cores", "memory", "data", "MNIST", "CIFAR-10"):
            self.assertRegex(out, rf"(?m)^  {name} +\S")
        self.assertRegex(out, r"HDF5 +\d+\.\d+\.\d+")
        self.assertRegex(out, r"MNIST +found")
        self.assertRegex(out, r"CIFAR-10 +not found: `ronde data get cifar10`")

    def test_knows_the_ranks(self):
        out = self.done("info", ranks=2)
        self.assertRegex(out, r"ranks +2 \(mpi\)")
        self.assertIn("MPI_THREAD_", out)
        rows = re.findall(r"(?m)^ +(\d) +(\S+) +(\d) +([\d,-]+) +(\d+)", out)
        self.assertEqual([row[0] for row in rows], ["0", "1"], out)
        self.assertEqual({row[1] for row in rows}, {socket.gethostname()})

    def facts(self, **options):
        return json.loads(self.done("info", "--json", **options))

    def test_says_what_this_process_sees(self):
        facts = self.facts()
        machine = facts["machine"]
        self.assertEqual(machine["cores"], sorted(os.sched_getaffinity(0)))
        self.assertEqual(machine["host"], socket.gethostname())
        self.assertEqual(machine["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertEqual({network["name"] for network in machine["networks"]},
                         {name for _, name in socket.if_nameindex()})
        if os.path.isdir("/dev/shm"):
            disk = os.statvfs("/dev/shm")
            self.assertEqual(machine["shared_memory_bytes"], disk.f_blocks * disk.f_frsize)
        self.assertEqual(facts["world"]["size"], 1)
        self.assertEqual(len(facts["ranks"]), 1)

    def test_affinity_and_threads(self):
        core = max(os.sched_getaffinity(0))
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        facts = self.facts()
        self.assertEqual(facts["machine"]["cores"], [core])
        self.assertEqual(facts["ranks"][0]["threads"], 1)
        self.assertEqual(facts["crowded"], [])
        facts = self.facts(env={"RONDE_THREADS": "3"})
        self.assertEqual(facts["ranks"][0]["threads"], 3)
        self.assertEqual(facts["crowded"],
                         [{"host": socket.gethostname(), "ranks": [0], "threads": 3, "cores": 1}])
        self.assertRegex(self.done("info", env={"RONDE_THREADS": "3"}), "warning: .* 3 threads in all share 1 core")

    def test_instruction_set_is_the_chosen_one(self):
        self.assertEqual(self.facts(env={"RONDE_ISA": "portable"})["build"]["instruction_set"], "portable")
        self.assertIn("kernels for portable", self.done("info", env={"RONDE_ISA": "portable"}))


class Bench(ToolTest):
    def test_one_rank(self):
        facts = json.loads(self.done("bench", "--quick", "--json"))
        self.assertEqual(facts["ranks"], 1)
        self.assertEqual(facts["allreduce"], [])
        self.assertEqual([speed["net"] for speed in facts["training"]], ["MNIST", "CIFAR-10"])
        for number in (facts["fma_peak_gflops"], facts["memory_gb_per_second"],
                       *(speed["images_per_second_alone"] for speed in facts["training"])):
            self.assertGreater(number, 0)

    def test_ranks(self):
        facts = json.loads(self.done("bench", "--quick", "--json", ranks=2))
        self.assertEqual(facts["ranks"], 2)
        curve = facts["allreduce"]
        self.assertEqual([point["bytes"] for point in curve], sorted({point["bytes"] for point in curve}))
        for point in curve:
            self.assertAlmostEqual(point["gb_per_second"], point["bytes"] / point["seconds"] * 1e-9, places=6)
        for speed in facts["training"]:
            self.assertAlmostEqual(speed["efficiency"],
                                   speed["images_per_second"] / speed["images_per_second_alone"], places=6)
            self.assertTrue(0 < speed["expected_efficiency"] <= 1, speed)

    def test_text(self):
        out = self.done("bench", "--quick", ranks=2)
        for pattern in (r"ronde bench: 2 ranks on 1 node", r"multiply-add peak +\S+ GF/s", r"memory +\S+ GB/s",
                        r"4\.8 MB +\S+ [um]s", r"MNIST +128 +[\d,]+ ", r"CIFAR-10 +32 +[\d,]+ "):
            self.assertRegex(out, pattern)


class Model(ToolTest):
    def test_summary(self):
        out = self.done("summary", self.model)
        self.assertIn(f"Total params: {self.results['parameters']}", out)
        self.assertIn("Conv2D", out)

    def test_inspect(self):
        out = self.done("inspect", self.model)
        self.assertIn(f"{self.model}: good\n", out)
        self.assertIn(self.results["weights_sha256"], out)
        for pattern in (r"checked +SHA-256 of the whole file", r"epoch +2 finished", r"step +32\b", r"seed +0", r"optimizer +Adam, 32 steps",
                        r"kernel +\(3, 3, 1, 32\) +f32 +1,152",
                        f"{self.results['parameters']:,} values"):
            self.assertRegex(out, pattern)

    def test_inspect_says_damaged(self):
        good = self.model.read_bytes()
        for name, content in (("flipped", good[:5000] + bytes([good[5000] ^ 1]) + good[5001:]), ("cut", good[:20000]),
                              ("empty", b""), ("text.h5", b"hello\n" * 100), ("zip.npz", b"PK\3\4 no zip at all"),
                              ("begin", b"?" + good[1:])):
            with self.subTest(name=name):
                result = self.ronde("inspect", self.write(name, content))
                self.assertEqual(result.out, f"{self.work / name}: damaged\n")
                self.assert_refused(result, 65, name)

    def test_inspect_of_other_files(self):
        for path, kind in ((self.run_dir / "metrics.json", "JSON, as a run's metrics.json"),
                           (self.write("text", b"hello\n" * 100), "another file")):
            result = self.ronde("inspect", path)
            self.assert_refused(result, 65, f"{path}: is no model file, but {kind}")
            self.assertEqual(result.out, f"{path}: no model file\n")
            self.assert_refused(self.ronde("summary", path), 65, f"{path}: is no model file, but {kind}")

    def test_inspect_of_a_packed_data_set(self):
        self.done("data", "pack", self.pictures_by_class(60), "photos.ronde", "--grey")
        out = self.done("inspect", "photos.ronde")
        self.assertIn("photos.ronde: good\n", out)
        for pattern in (r"samples +60\n", r"inputs +\(28, 28, 1\), u8\n", r"targets +\(\), i32\n",
                        r"classes +10: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"):
            self.assertRegex(out, pattern)
        self.assert_refused(self.ronde("summary", "photos.ronde"), 65, "is no model file, but a data set made by `ronde data pack`")
        content = bytearray((self.work / "photos.ronde").read_bytes())
        content[-500] ^= 1
        self.write("bad.ronde", bytes(content))
        result = self.ronde("inspect", "bad.ronde")
        self.assert_refused(result, 65, "bad.ronde")
        self.assertEqual(result.out, "bad.ronde: damaged\n")

    def test_the_folder_of_a_run(self):
        self.write("run/checkpoint.h5", self.model.read_bytes())
        self.assertIn("run/checkpoint.h5: good\n", self.done("inspect", "run"))
        for words in (["summary", "run"], ["evaluate", "run", "--data", "photos"], ["export", "run", "out.npz"]):
            self.pictures_by_class(20)
            self.done(*words)
        self.write("run/on-signal.h5", self.model.read_bytes())
        self.write("run/saved_models/net.h5", self.model.read_bytes())
        hint = "run: is a folder: name the model file in it: run/checkpoint.h5, run/on-signal.h5, run/saved_models/net.h5"
        for command in ("inspect", "summary"):
            self.assert_refused(self.ronde(command, "run"), 74, hint)
            self.assert_refused(self.ronde(command, "photos"), 74, "photos: is a folder without a model file")

    def test_weights_alone_are_no_net(self):
        for ending in ("onnx", "safetensors", "npz"):
            out = self.work / f"out.{ending}"
            self.done("export", self.model, out)
            for words in (["summary", out], ["evaluate", out, "--data", self.data], ["predict", out, out],
                          ["export", out, "again.npz"]):
                self.assert_refused(self.ronde(*words), 65, "is written .* not read" if ending == "onnx" else "holds weights and no net")
        result = self.ronde("inspect", self.work / "out.onnx")
        self.assert_refused(result, 65, "ONNX is written .* not read")
        self.assertEqual(result.out, f"{self.work / 'out.onnx'}: no model file\n")  # not: damaged

    def test_damaged_files_are_refused_by_all(self):
        good = self.model.read_bytes()
        bad = self.write("model.h5", good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])
        for words in (["summary", bad], ["evaluate", bad, "--data", self.data], ["predict", bad, bad],
                      ["export", bad, "out.npz"]):
            self.assert_refused(self.ronde(*words), 65, "model.h5")
        self.assertFalse((self.work / "out.npz").exists())

    def test_export(self):
        self.assertEqual(self.done("export", self.model, "--to", "npz", "out.npz"), "out.npz\n")
        names = zipfile.ZipFile(self.work / "out.npz").namelist()
        self.assertIn("dense/kernel.npy", [name.lstrip("/") for name in names])

        self.done("export", self.model, "--to", "safetensors", "--names", "torch", "out.bin")
        content = (self.work / "out.bin").read_bytes()
        header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
        self.assertEqual(header["conv2d.weight"]["shape"], [32, 1, 3, 3])

        self.done("export", self.model, "out.onnx")
        self.assertIn(b"Conv", (self.work / "out.onnx").read_bytes())

        self.done("export", self.model, "out.safetensors")
        for name in ("out.npz", "out.safetensors"):
            self.assertIn(f"{self.results['parameters']:,} values", self.done("inspect", name))
            content = bytearray((self.work / name).read_bytes())
            content[len(content) // 2] ^= 4  # in the middle of some weight
            self.assert_refused(self.ronde("inspect", self.write("bad-" + name, bytes(content))), 65, "bad-" + name)

    def size(self, name):
        return (self.work / name).stat().st_size

    def test_export_turns_kerases_files_into_each_other(self):
        def facts(name):
            return [line for line in self.done("inspect", name).splitlines()
                    if re.match(" *(net|epoch|step|seed|optimizer|SHA-256)", line)]

        self.assertEqual(self.done("export", self.model, "out.keras"), "out.keras\n")
        self.assertIn("config.json", zipfile.ZipFile(self.work / "out.keras").namelist())
        self.done("export", "out.keras", "--to", "h5", "again.h5")
        self.assertEqual((self.work / "again.h5").read_bytes()[:4], b"\x89HDF")
        self.assertGreaterEqual(len(facts(self.model)), 5)
        self.assertEqual(facts("again.h5"), facts(self.model))
        self.done("export", self.model, "state.keras", "--optimizer-state", "keras3")
        slots = 2 * 4 * self.results["parameters"]  # Adadelta's, once more
        self.assertGreater(self.size("state.keras"), self.size("out.keras") + slots)
        self.assertEqual(facts("state.keras"), facts("out.keras"))
        self.assertEqual(facts("out.keras")[:-1], facts(self.model)[:-1])  # but for the hash, of names too
        self.assert_refused(self.ronde("export", self.model, "o.h5", "--optimizer-state", "keras3"), 2, "from .h5")
        self.assert_refused(self.ronde("export", self.model, "o.onnx", "--optimizer-state", "tf2"), 2,
                            "o.onnx: --optimizer-state is for Keras' files")
        result = self.ronde("export", self.model, "--to", "keras", "out.h5")
        self.assert_refused(result, 2, "out.h5: --to keras writes a file that ends in .keras")
        self.assertFalse((self.work / "out.h5").exists())

    def test_export_needs_a_format(self):
        result = self.ronde("export", self.model, "out.pdf")
        self.assert_refused(result, 2, "out.pdf: give --to onnx, safetensors or npz, or a file [*].h5 or [*].keras")


class Predict(ToolTest):
    def answers(self, out):
        """For each picture the answers, as (class, percent)."""
        found = {}
        for line in out.splitlines():
            if not line.startswith("  "):
                found[pathlib.Path(line).name] = []
            else:
                name, percent = re.match(r"  (.*?) +([\d.]+) %", line).groups()
                found[list(found)[-1]].append((name, float(percent)))
        return found

    def test_all_kinds_of_files(self):
        grey, colours = bar(7), b"".join(bytes([v] * 3) for v in bar(7))
        files = [self.write("a.png", png(grey, 28, 28)), self.write("b.png", png(colours, 28, 28, 3)),
                 self.write("c.raw", grey), self.write("d.jpg", JPEG)]
        found = self.answers(self.done("predict", self.model, *files))
        self.assertEqual(list(found), ["a.png", "b.png", "c.raw", "d.jpg"])
        for name, answers in found.items():
            self.assertEqual(len(answers), 5)
            self.assertEqual(answers[0][0], "class 0" if name == "d.jpg" else "class 7")
            self.assertEqual(answers, sorted(answers, key=lambda a: -a[1]))
        self.assertEqual(found["a.png"], found["b.png"])
        self.assertEqual(found["a.png"], found["c.raw"])

    def test_all_answers_together_are_sure(self):
        answers = self.answers(self.done("predict", self.model, self.write("a.png", png(bar(3), 28, 28)), "--top", 20))
        self.assertEqual(len(answers["a.png"]), 10)
        self.assertAlmostEqual(sum(percent for _, percent in answers["a.png"]), 100, delta=0.06)

    def test_bars(self):
        image = self.write("a.png", png(bar(3), 28, 28))
        for locale, block in (("C", "#"), ("de_DE.UTF-8", "\u2588")):
            first = self.done("predict", self.model, image, env={"LC_ALL": locale}).splitlines()[1]
            percent = float(re.search(r"([\d.]+) %", first)[1])
            self.assertAlmostEqual(first.count(block), 0.3 * percent, delta=0.51)

    def test_class_names(self):
        image = self.write("a.png", png(bar(7), 28, 28))
        names = [f"name {i}" for i in range(10)]
        self.write("names.txt", "\n".join(names).encode())
        for wanted, expected in ((",".join(names), "name 7"), ("names.txt", "name 7"), ("mnist", "7"),
                                 ("fashion-mnist", "Sneaker"), ("cifar10", "horse")):
            answers = self.answers(self.done("predict", self.model, image, "--classes", wanted))
            self.assertEqual(answers["a.png"][0][0], expected)
        for wanted, status, pattern in (("a,b", 2, "2 names, but the net has 10"), ("none.txt", 74, "none.txt")):
            self.assert_refused(self.ronde("predict", self.model, image, "--classes", wanted), status, pattern)

    def test_wrong_size(self):
        rows = [bytes(v for v in bar(7)[28 * y:28 * y + 28] for _ in range(2)) for y in range(28)]
        image = self.write("big.png", png(b"".join(row * 2 for row in rows), 56, 56))
        result = self.ronde("predict", self.model, image)
        self.assert_refused(result, 65, r"big.png: is 56 x 56 .* the net takes 28 x 28: .*--resize")
        self.assertEqual(self.answers(self.done("predict", self.model, image, "--resize"))["big.png"][0][0], "class 7")

    def test_dark_on_light(self):
        image = self.write("a.png", png(bytes(255 - v for v in bar(7)), 28, 28))
        answers = self.answers(self.done("predict", self.model, image, "--scale", "-1/255", "--offset", 1))
        self.assertEqual(answers["a.png"][0][0], "class 7")

    def test_what_is_no_picture(self):
        good = self.write("good.png", png(bar(1), 28, 28))
        for name, content in (("cut.png", good.read_bytes()[:60]), ("text.txt", b"hello"), ("short.raw", bytes(783))):
            result = self.ronde("predict", self.model, good, self.write(name, content))
            self.assert_refused(result, 65, name)
            self.assertEqual(result.out, "")
        self.assert_refused(self.ronde("predict", self.model, "none.png"), 74, "none.png")


class DataGet(ToolTest):
    def test_leaves_what_is_there(self):
        harness.write_mnist(self.work / "all/mnist", train=40, test=20)
        for path in (self.work / "all/mnist").glob("*-ubyte"):
            path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        before = harness.snapshot(self.work)
        self.assertIn("40 + 20 images", self.done("data", "get", "mnist", "--data-dir", "all"))
        self.assertEqual(harness.snapshot(self.work), before)


class DataPack(ToolTest):
    def test_known_set(self):
        out = self.done("data", "pack", "mnist", "mnist.ronde", "--data-dir", self.data, "--split", "test")
        self.assertEqual(out, "mnist.ronde: 128 samples of shape (28, 28, 1), u8\n")

    def test_resizes(self):
        out = self.done("data", "pack", self.pictures_by_class(10), "small.ronde", "--size", "14x14x1")
        self.assertIn("10 samples of shape (14, 14, 1)", out)

    def test_leaves_nothing_half_done(self):
        folder = self.pictures_by_class(10)
        (next(folder.rglob("*.png"))).write_bytes(b"no picture")
        self.assert_refused(self.ronde("data", "pack", folder, "bad.ronde"), 65, "png")
        self.assertEqual([path.name for path in self.work.iterdir()], ["photos"])


if __name__ == "__main__":
    harness.main()
