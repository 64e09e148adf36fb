"""The real TensorBoard reads what the TensorBoard callback wrote: its event reader, and its server over HTTP.

Needs Python's tensorboard; exits with 77 (skipped) where that is missing. RONDE_WRITE_EVENTS names the program."""

import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

try:
    from tensorboard.backend.event_processing import plugin_event_accumulator
    from tensorboard.plugins.graph import keras_util
    from tensorboard.util import tensor_util
except ImportError as error:
    print(f"SKIPPED: Python's tensorboard is not installed ({error}), so no event file was read by TensorBoard itself")
    sys.exit(77)

SCALARS = {
    "train": {"epoch_loss": [0, 1, 2, 3], "epoch_accuracy": [0, 1, 2, 3], "epoch_learning_rate": [0, 1, 2, 3],
              "epoch_images_per_second": [0, 1, 2, 3], "epoch_steps_per_second": [0, 1, 2, 3],
              "batch_loss": list(range(2, 25, 2)), "batch_accuracy": list(range(2, 25, 2)),
              "batch_learning_rate": list(range(2, 25, 2)), "batch_steps_per_second": list(range(2, 25, 2))},
    "validation": {"epoch_loss": [0, 1, 2, 3], "epoch_accuracy": [0, 1, 2, 3],
                   "evaluation_loss_vs_iterations": [6, 12, 18, 24], "evaluation_accuracy_vs_iterations": [6, 12, 18, 24]},
}
WEIGHTS = {"conv2d/kernel": 36, "conv2d/bias": 4, "dense/kernel": 48, "dense/bias": 3}


def setUpModule():
    global folder, history
    folder = tempfile.TemporaryDirectory()
    text = subprocess.run([os.environ["RONDE_WRITE_EVENTS"], folder.name], check=True, capture_output=True, text=True).stdout
    history = {line.split()[0]: [float(value) for value in line.split()[1:]] for line in text.splitlines()}


def tearDownModule():
    folder.cleanup()


class Reader(unittest.TestCase):
    def run_of(self, name):
        # 0: everything, not a sample
        path = os.path.join(folder.name, name)
        return plugin_event_accumulator.EventAccumulator(path, size_guidance={"tensors": 0}).Reload()

    def scalars(self, run, tag):
        return {event.step: float(tensor_util.make_ndarray(event.tensor_proto)) for event in run.Tensors(tag)}

    def test_scalars(self):
        for name, tags in SCALARS.items():
            run = self.run_of(name)
            for tag, steps in tags.items():
                # Every step once, in order: what the interrupted run wrote is gone.
                self.assertEqual([event.step for event in run.Tensors(tag)], steps, f"{name} {tag}")
                self.assertNotIn(99.0, self.scalars(run, tag).values(), f"{name} {tag}")
            prefix = "val_" if name == "validation" else ""
            for key in ("loss", "accuracy"):
                written = self.scalars(run, f"epoch_{key}")
                for epoch, value in enumerate(history[prefix + key]):
                    self.assertAlmostEqual(written[epoch], value, delta=1e-6 * max(1.0, abs(value)))

    def test_histograms(self):
        run = self.run_of("train")
        for weight, count in WEIGHTS.items():
            events = run.Tensors(f"{weight}/histogram")
            self.assertEqual([event.step for event in events], [0, 1, 2, 3])
            for event in events:
                buckets = tensor_util.make_ndarray(event.tensor_proto)  # left, right, count
                self.assertEqual(buckets.shape, (30, 3))
                self.assertEqual(buckets[:, 2].sum(), count)
                self.assertTrue((buckets[1:, 0] == buckets[:-1, 1]).all())

    def test_images(self):
        run = self.run_of("train")
        for i in range(2):
            width, height, png = run.Tensors(f"samples/{i}")[-1].tensor_proto.string_val
            self.assertEqual((width, height), (b"6", b"6"))
            self.assertEqual(struct.unpack(">II", png[16:24]), (6, 6))  # PNG's own header

    def test_graph(self):
        text = self.run_of("train").Tensors("keras")[-1].tensor_proto.string_val[0]
        nodes = keras_util.keras_model_to_graph_def(json.loads(text)).node
        self.assertTrue({b"Conv2D", b"Dense"} <= {node.attr["keras_class"].s for node in nodes}, nodes)

    def test_text(self):
        self.assertEqual(self.run_of("notes").Tensors("note")[0].tensor_proto.string_val[0], b"**written** by hand")


class Server(unittest.TestCase):
    """TensorBoard as a person starts it, with its fast loader where that is installed."""

    def setUp(self):
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", folder.name, "--host", "127.0.0.1", "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop)
        self.url = ""
        for line in self.process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.url = found[0]
                break
        self.assertTrue(self.url, "TensorBoard did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()

    def get(self, path):
        with urllib.request.urlopen(f"{self.url}/data/{path}", timeout=30) as reply:
            return json.load(reply)

    def test_serves_every_curve(self):
        for _ in range(200):  # it loads in the background
            if set(self.get("runs")) == {"train", "validation", "notes"}:
                break
            time.sleep(0.1)
        for run, tags in SCALARS.items():
            for tag, steps in tags.items():
                curve = self.get(f"plugin/scalars/scalars?run={run}&tag={tag}")
                self.assertEqual([point[1] for point in curve], steps, f"{run} {tag}")
        self.assertEqual(len(self.get("plugin/images/images?run=train&tag=samples/1&sample=0")), 1)
        self.assertEqual(len(self.get("plugin/histograms/histograms?run=train&tag=dense/kernel/histogram")), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2, testRunner=unittest.TextTestRunner(stream=io.TextIOWrapper(sys.stdout.buffer), verbosity=2))
