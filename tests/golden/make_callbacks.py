"""Writes callbacks_kerasV.json: what Keras' callbacks do in scripted trainings.

    python3 make_callbacks.py OUTPUT.json      # with TensorFlow 2.15 (Keras 2.15.0) or 2.21 (Keras 3.15.1)

Every case says which callback with which options saw which logs; `result` is what Keras did. float64 throughout,
so that rates and the texts that carry them compare exactly.
"""
import contextlib
import io
import json
import math
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
import tensorflow as tf

KERAS2 = keras.__version__.startswith("2.")
(keras.backend if KERAS2 else keras.config).set_floatx("float64")

SCHEDULES = {
    "drop_by_tenth": lambda epoch, rate: rate if epoch < 2 else rate * 0.9,
    "inverse": lambda epoch, rate: 0.5 / (epoch + 1),
    "tiny": lambda epoch, rate: 1e-5 if epoch else 1e-4,
}


def new_model(rate=0.1, momentum=0.0):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(rate, momentum=momentum), "mse", metrics=["accuracy"])
    model.train_on_batch(np.zeros((1, 1)), np.zeros((1, 1)))  # names the metrics
    return model


def rate_of(model):
    return float(np.asarray(model.optimizer.learning_rate))


def run(case):
    """The hooks, as fit calls them. The only weight is the number of epochs done."""
    model = new_model(case["rate"])
    options = dict(case["options"])
    if "schedule" in options:
        options["schedule"] = SCHEDULES[options["schedule"]]
    path = None
    if case["callback"] == "CSVLogger":
        path = options["filename"] = os.path.join(tempfile.mkdtemp(), "a.csv")
        if "before" in case:
            with open(path, "w", newline="") as file:
                file.write(case["before"])
    callback = getattr(keras.callbacks, case["callback"])(**options)
    callback.set_model(model)
    callback.set_params({"epochs": len(case["epochs"]), "steps": 1, "verbose": 0})
    result = {"rates_at_begin": [], "rates_at_end": [], "logged": []}
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        model.stop_training = False
        callback.on_train_begin()
        for epoch, logs in enumerate(case["epochs"]):
            logs = dict(logs)
            callback.on_epoch_begin(epoch)
            result["rates_at_begin"].append(rate_of(model))
            model.set_weights([np.full((1, 1), epoch + 1.0)])
            callback.on_epoch_end(epoch, logs)
            result["rates_at_end"].append(rate_of(model))
            result["logged"].append(float(logs.get("learning_rate", logs.get("lr", math.nan))))
            if model.stop_training:
                break
        callback.on_train_end({})
    if any(math.isnan(rate) for rate in result["logged"]):
        del result["logged"]
    result["text"] = text.getvalue()
    result["epochs"] = len(result["rates_at_end"])
    result["weight"] = float(model.get_weights()[0][0, 0])
    for attribute in ("best", "wait", "cooldown_counter", "best_epoch"):
        value = getattr(callback, attribute, None)
        if value is not None and math.isfinite(value):
            result[attribute] = float(value)
    if path:
        with open(path, newline="") as file:
            result["file"] = file.read()
    return {**case, "result": result}


def losses(*values):
    return [{"loss": value + 0.5, "val_loss": value} for value in values]


def accuracies(*values):
    return [{"loss": 1.0, "val_accuracy": value} for value in values]


SEQUENCE = (3.0, 2.0, 2.5, 2.25, 2.0, 1.5, 1.75, 1.625, 1.5625, 1.5, 1.25, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0)
CASES = [
    ("ReduceLROnPlateau", {"patience": 2, "verbose": 1}, losses(*SEQUENCE)),
    ("ReduceLROnPlateau", {"patience": 1, "factor": 0.5, "cooldown": 2, "verbose": 1}, losses(*SEQUENCE)),
    ("ReduceLROnPlateau", {"patience": 1, "factor": 0.3, "min_lr": 0.005, "verbose": 1}, losses(*SEQUENCE)),
    ("ReduceLROnPlateau", {"patience": 2, "min_delta": 0.5, "verbose": 1}, losses(*SEQUENCE)),
    ("ReduceLROnPlateau", {"patience": 0, "verbose": 1}, losses(1.0, 2.0, 3.0, 0.5, 0.75)),
    ("ReduceLROnPlateau", {"monitor": "val_accuracy", "patience": 1, "factor": 0.25, "verbose": 1},
     accuracies(0.25, 0.5, 0.5, 0.75, 0.5, 0.5, 0.875)),
    ("ReduceLROnPlateau", {"monitor": "val_accuracy", "mode": "min", "patience": 2, "verbose": 0},
     accuracies(0.25, 0.5, 0.5, 0.75, 0.5, 0.5, 0.125)),
    ("ReduceLROnPlateau", {}, losses(*SEQUENCE)),
    ("ReduceLROnPlateau", {"patience": 1, "verbose": 1}, losses(1.0, math.nan, 2.0, 0.5)),
    ("EarlyStopping", {"verbose": 1}, losses(3.0, 2.0, 2.0, 1.0)),
    ("EarlyStopping", {"patience": 2, "verbose": 1}, losses(3.0, math.nan, math.nan, 1.0)),
    ("EarlyStopping", {"patience": 2, "verbose": 1}, losses(3.0, 2.0, 2.5, 1.0, 2.0, 1.5, 0.5)),
    ("EarlyStopping", {"patience": 3, "min_delta": 0.5}, losses(*SEQUENCE)),
    ("EarlyStopping", {"patience": 2, "min_delta": -0.5}, losses(3.0, 2.6, 2.4, 2.2, 2.0, 1.0)),
    ("EarlyStopping", {"patience": 2, "baseline": 1.0, "verbose": 1}, losses(3.0, 2.0, 1.5, 0.5, 0.25)),
    ("EarlyStopping", {"patience": 1, "baseline": 2.5, "verbose": 1}, losses(3.0, 2.0, 1.5, 1.75, 0.25)),
    ("EarlyStopping", {"start_from_epoch": 3, "patience": 1}, losses(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)),
    ("EarlyStopping", {"monitor": "val_accuracy", "patience": 1}, accuracies(0.25, 0.5, 0.625, 0.5, 0.75)),
    ("EarlyStopping", {"monitor": "val_accuracy", "mode": "min"}, accuracies(0.5, 0.25, 0.375, 0.1)),
    ("EarlyStopping", {"patience": 2, "restore_best_weights": True, "verbose": 1}, losses(3.0, 1.0, 2.0, 2.0, 0.5)),
    ("EarlyStopping", {"patience": 5, "restore_best_weights": True, "verbose": 1}, losses(3.0, 1.0, 2.0, 2.0)),
    ("EarlyStopping", {"patience": 0, "restore_best_weights": True, "baseline": 0.5, "verbose": 1},
     losses(1.0, 1.0, 2.0)),
    ("LearningRateScheduler", {"schedule": "drop_by_tenth", "verbose": 1}, losses(1, 1, 1, 1, 1)),
    ("LearningRateScheduler", {"schedule": "inverse", "verbose": 0}, losses(1, 1, 1)),
    ("LearningRateScheduler", {"schedule": "tiny", "verbose": 1}, losses(1, 1)),
    ("CSVLogger", {}, [{"loss": 0.5, "accuracy": 1.0, "val_loss": 1e-5, "learning_rate": 1e-4},
                       {"loss": 1e16, "accuracy": 0.1 + 0.2, "val_loss": math.nan},
                       {"loss": math.inf, "accuracy": 123456789.125, "val_loss": -1e-300, "extra": 1.0}]),
    ("CSVLogger", {"separator": ";"}, [{"loss": 0.5, "accuracy": 0.25}, {"loss": 0.25, "accuracy": 0.5, "val_loss": 1.0}]),
    ("CSVLogger", {"append": True}, [{"loss": 0.5, "val_loss": 0.25}], "epoch,loss,val_loss\r\n0,1.0,2.0\r\n"),
    ("CSVLogger", {"append": True}, [{"loss": 0.5, "val_loss": 0.25}]),
    ("CSVLogger", {}, [{"loss": 0.5, "val_a,\"b\"": 0.25}], "old\r\n"),
]


class Recorder(keras.callbacks.Callback):
    """Every hook of fit that Ronde has, with its number and the keys of its logs."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def add(self, hook, number, logs):
        self.calls.append([hook, number, list((logs or {}).keys())])

    def on_train_begin(self, logs=None): self.add("on_train_begin", None, logs)
    def on_train_end(self, logs=None): self.add("on_train_end", None, logs)
    def on_epoch_begin(self, epoch, logs=None): self.add("on_epoch_begin", epoch, logs)
    def on_epoch_end(self, epoch, logs=None): self.add("on_epoch_end", epoch, logs)
    def on_train_batch_begin(self, batch, logs=None): self.add("on_train_batch_begin", batch, logs)
    def on_train_batch_end(self, batch, logs=None): self.add("on_train_batch_end", batch, logs)
    def on_test_begin(self, logs=None): self.add("on_test_begin", None, logs)
    def on_test_end(self, logs=None): self.add("on_test_end", None, logs)


def fit(callbacks, targets, epochs=2):
    """6 samples in batches of 2, with validation."""
    model = new_model()
    inputs = np.ones((6, 1))
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        history = model.fit(inputs, np.array(targets).reshape(6, 1), batch_size=2, epochs=epochs, shuffle=False,
                            verbose=0, validation_data=(inputs, inputs), callbacks=callbacks)
    return history, text.getvalue()


def hooks():
    recorder = Recorder()
    history, _ = fit([recorder], [0.5] * 6)
    return {"calls": recorder.calls, "history_keys": sorted(history.history), "history_epochs": history.epoch}


def hooks_with_nan():
    recorder = Recorder()
    history, text = fit([keras.callbacks.TerminateOnNaN(), recorder], [0.5, 0.5, math.nan, 0.5, 0.5, 0.5], 3)
    return {"calls": recorder.calls, "text": text, "history_epochs": history.epoch}


def tensorboard_tags():
    """[run, tag, step, plugin] of everything that the callback writes. (Keras 3.15.1 with update_freq leaves out most of
    what belongs to an epoch: for that the file of Keras 2.15.0 is the reference.)"""
    (keras.backend if KERAS2 else keras.config).set_floatx("float32")
    inputs, labels = np.ones((6, 6, 6, 1), "float32"), np.arange(6) % 3
    result = {}
    for name, options in {
        "epochs": {"histogram_freq": 2},
        "batches": {"histogram_freq": 2, "update_freq": 2, "write_steps_per_second": True},
    }.items():
        keras.backend.clear_session()
        layers = keras.layers
        model = keras.Sequential([keras.Input((6, 6, 1)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
        directory = tempfile.mkdtemp()
        board = keras.callbacks.TensorBoard(directory, **options)
        model.fit(inputs, labels, batch_size=2, epochs=3, verbose=0, validation_data=(inputs, labels), callbacks=[board])
        result[name] = events_below(directory)
    return result


def events_below(directory):
    events = set()
    for run_name in sorted(os.listdir(directory)):
        for file in os.listdir(os.path.join(directory, run_name)):
            if "tfevents" not in file:
                continue
            for record in tf.data.TFRecordDataset(os.path.join(directory, run_name, file)):
                event = tf.compat.v1.Event.FromString(record.numpy())
                for value in event.summary.value:
                    events.add((run_name, value.tag, event.step, value.metadata.plugin_data.plugin_name))
    return sorted(events)


def event_bytes():
    """Records as TensorFlow itself frames and encodes them, in hex."""
    Event, Summary = tf.compat.v1.Event, tf.compat.v1.Summary
    scalar = Summary(value=[Summary.Value(tag="epoch_loss", simple_value=0.25)])
    histogram = tf.compat.v1.HistogramProto(
        min=-1.0, max=2.0, num=3.0, sum=1.5, sum_squares=5.25, bucket_limit=[0.0, 1.0, 2.0], bucket=[1.0, 1.0, 1.0])
    image = Summary.Image(height=2, width=3, colorspace=1, encoded_image_string=b"\x89PNG\x00\xff")
    text = Summary.Value(tag="note", metadata=tf.compat.v1.SummaryMetadata(
        plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="text")),
        tensor=tf.make_tensor_proto(["a | b"], dtype=tf.string))
    log = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    time = 1700000000.0
    events = {
        "file_version": Event(wall_time=time, file_version="brain.Event:2"),
        "scalar": Event(wall_time=time, step=3, summary=scalar),
        "scalar_step_0": Event(wall_time=time, step=0, summary=scalar),
        "scalar_large_step": Event(wall_time=time, step=123456789012, summary=scalar),
        "histogram": Event(wall_time=time, step=1, summary=Summary(value=[Summary.Value(tag="w/histogram", histo=histogram)])),
        "image": Event(wall_time=time, step=2, summary=Summary(value=[Summary.Value(tag="samples/0", image=image)])),
        "text": Event(wall_time=time, step=4, summary=Summary(value=[text])),
        "restart": Event(wall_time=time, step=7, session_log=log),
    }
    result = {}
    for name, event in events.items():
        path = os.path.join(tempfile.mkdtemp(), "record")
        with tf.io.TFRecordWriter(path) as writer:
            writer.write(event.SerializeToString())
        with open(path, "rb") as file:
            result[name] = file.read().hex()
    return result


def histograms():
    """tf.summary.histogram of a few tensors: rows of (left, right, count)."""
    result = []
    for values in ([0.0, 1.0, 2.0, 3.0], [0.5], [2.0, 2.0, 2.0], [-1.5, -0.25, 0.0, 0.125, 7.0, 7.0], list(np.sin(np.arange(100.0)))):
        directory = tempfile.mkdtemp()
        with tf.summary.create_file_writer(directory).as_default():
            tf.summary.histogram("h", tf.constant(values, tf.float64), step=0)
        for file in os.listdir(directory):
            for record in tf.data.TFRecordDataset(os.path.join(directory, file)):
                event = tf.compat.v1.Event.FromString(record.numpy())
                for value in event.summary.value:
                    result.append({"values": [float(v) for v in values], "buckets": tf.make_ndarray(value.tensor).tolist()})
    return result


def without_nan(value):
    """JSON has no numbers for NaN and infinity: texts."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    return value


def main():
    cases = []
    for callback, options, epochs, *before in CASES:
        case = {"callback": callback, "options": options, "rate": 0.1, "epochs": epochs}
        if before:
            case["before"] = before[0]
        cases.append(run(case))
    content = {"keras": keras.__version__, "cases": cases, "hooks": hooks(), "hooks_with_nan": hooks_with_nan(),
               "tensorboard": tensorboard_tags()}
    if not KERAS2:
        content.update(event_bytes=event_bytes(), histograms=histograms())
    text = json.dumps(without_nan(content), separators=(",", ":"))
    text = text.replace('{"callback"', '\n{"callback"').replace('"hooks', '\n"hooks')
    with open(sys.argv[1], "w") as file:
        file.write(text + "\n")


main()
