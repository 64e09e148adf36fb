"""Writes metrics_keras3.15.1.json: what Keras' metrics make of weights of samples.

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 make_metrics.py OUTPUT.json      # with Keras 3.15.1

float64, but for the metrics that take float32 alone. `weighted`: a metric of given outputs, targets and weights, in
two batches. `accuracies`: what each name of an accuracy gives for outputs and targets of some shapes. `validations`:
after which epochs `fit` validates, counted from 0. `trained`: logs of `evaluate` and `fit` of nets whose `metrics` and
`weighted_metrics` are named.
"""
import json
import sys

import keras
import numpy as np

keras.config.set_floatx("float64")


def numbers(shape, seed, low=-3.0, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, shape).round(3)


def bits(shape, seed):
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(float)


def one_hot(count, classes, seed):
    return np.eye(classes)[np.random.default_rng(seed).integers(0, classes, count)]


def weighted_cases():
    p, hard = numbers((12, 3), 1, 0.0, 1.0), bits((12, 3), 2)
    for name in ("BinaryAccuracy", "Precision", "Recall", "TruePositives", "FalsePositives", "TrueNegatives",
                 "FalseNegatives"):
        yield name, {}, p, hard
    yield "BinaryAccuracy", {"threshold": 0.7}, p[:, :1], hard[:, :1]
    yield "Precision", {"top_k": 2, "class_id": 1}, p, hard
    scores, labels = numbers((12, 7), 3), np.random.default_rng(4).integers(0, 7, 12)
    yield "SparseTopKCategoricalAccuracy", {"k": 3}, scores, labels
    yield "TopKCategoricalAccuracy", {"k": 2}, scores, np.eye(7)[labels]
    yield "SparseCategoricalAccuracy", {}, scores, labels
    yield "CategoricalAccuracy", {}, scores, np.eye(7)[labels]
    yield "CategoricalAccuracy", {}, numbers((12, 2, 5, 3), 5), one_hot(120, 3, 6).reshape(12, 2, 5, 3)
    yield "BinaryAccuracy", {}, numbers((12, 2, 3, 1), 7, 0.0, 1.0), bits((12, 2, 3, 1), 8)
    for options in ({}, {"curve": "PR"}, {"num_thresholds": 11}, {"thresholds": [0.9, 0.2, 0.5]},
                    {"multi_label": True, "num_labels": 3}):
        yield "AUC", options, p, hard
    for average in ("micro", "macro", "weighted"):
        yield "F1Score", {"average": average}, p, one_hot(12, 3, 9)
    yield "FBetaScore", {"average": "macro", "beta": 2.0, "threshold": 0.4}, p, hard
    x, t = numbers((12, 3), 10), numbers((12, 3), 11)
    for name in ("RootMeanSquaredError", "MeanSquaredError", "MeanAbsoluteError", "LogCoshError"):
        yield name, {}, x, t
    yield "MeanSquaredError", {}, numbers((12, 2, 3), 12), numbers((12, 2, 3), 13)
    yield "BinaryCrossentropy", {"from_logits": True}, x, hard
    yield "SparseCategoricalCrossentropy", {}, p / p.sum(1, keepdims=True), labels % 3


def record_of(name, options, output, target):
    return {"name": name, "options": options, "shape": output.shape, "output": output.ravel().tolist(),
            "target_shape": target.shape, "target": target.ravel().tolist()}


def weighted_entry(name, options, output, target):
    single = "TopK" in name or "Score" in name or "top_k" in options  # all that these take
    dtype = "float32" if single else "float64"
    metric = getattr(keras.metrics, name)(dtype=dtype, **options)
    weights = numbers((12,), 14, 0.0, 3.0)
    weights[3] = 0.0
    for part in (slice(0, 5), slice(5, None)):
        metric.update_state(target[part], output[part].astype(dtype), sample_weight=weights[part].astype(dtype))
    return {**record_of(name, options, output, target), "weights": weights.tolist(), "value": float(metric.result())}


def trained_cases():
    """units, activation, loss, targets, metrics, weighted_metrics, weights"""
    labels = np.random.default_rng(1).integers(0, 3, 10)
    of_classes = {"class_weight": {0: 1.0, 1: 2.5, 2: 0.25}}
    of_samples = {"sample_weight": numbers((10,), 6, 0.0, 3.0)}
    sparse = "sparse_categorical_crossentropy"
    yield (3, "softmax", sparse, labels, ["accuracy"],
           ["accuracy", sparse, {"class_name": "SparseTopKCategoricalAccuracy", "config": {"k": 2}}], of_classes)
    yield (3, "softmax", "categorical_crossentropy", np.eye(3)[labels], [],
           ["accuracy", "TruePositives", "AUC"], of_samples)
    yield (1, "sigmoid", "binary_crossentropy", bits((10, 1), 2), ["accuracy", "Precision", "mse", "mse"],
           ["accuracy", "accuracy", "mae", "mae", "mae", "AUC", "Precision"], of_samples)
    yield 2, "sigmoid", "mean_squared_error", numbers((10, 2), 7, 0.0, 1.0), ["mae"], ["mae", "mse"], {}
    # Weights of some classes; the last of targets that are nearest to two of them, or to none.
    yield 3, "softmax", sparse, labels, [], ["accuracy"], {"class_weight": {2: 4.0}}
    yield 3, "softmax", "categorical_crossentropy", np.eye(3)[labels], [], ["accuracy"], {"class_weight": {0: 0.0}}
    yield 1, "sigmoid", "binary_crossentropy", bits((10, 1), 2), [], ["accuracy"], {"class_weight": {1: 3.0}}
    ratings = np.array([0.5, 1.5, 2.5, -1.0, -0.5, -4.2, 4.0, 7.0, 0.49, 2.51])[:, None]
    yield 1, "linear", "mean_squared_error", ratings, [], ["mae"], {"class_weight": {4: 0.5, 2: 3.0, 0: 2.0, 1: 9.0}}
    yield 1, "linear", "mean_squared_error", ratings.round().astype("int32"), [], ["mae"], {"class_weight": {7: 5.0}}


def trained_entry(units, activation, loss, target, metrics, weighted, weights):
    x = numbers((10, 2), 3)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units, activation=activation)])
    start = [numbers((2, units), 4), numbers((units,), 5)]
    model.set_weights(start)
    model.compile(keras.optimizers.SGD(0.1), loss, metrics=[keras.metrics.get(m) if isinstance(m, dict) else m
                                                            for m in metrics],
                  weighted_metrics=[keras.metrics.get(m) if isinstance(m, dict) else m for m in weighted])
    logs = {}
    samples = weights.get("sample_weight")
    for key, given in (("evaluated", samples), ("evaluated_without", None)):
        logs[key] = {name: float(value) for name, value in model.evaluate(
            x, target, batch_size=4, verbose=0, sample_weight=given, return_dict=True).items()}
    history = model.fit(x, target, batch_size=4, epochs=2, shuffle=False, verbose=0, **weights).history
    of = {key: value if isinstance(value, dict) else value.tolist() for key, value in weights.items()}
    return {"units": units, "activation": activation, "loss": loss, **of, "metrics": metrics, "weighted": weighted,
            "inputs": x.ravel().tolist(), "target_shape": target.shape, "is_integer": target.dtype.kind == "i",
            "target": target.ravel().tolist(),
            "start": [values.ravel().tolist() for values in start], **logs,
            "history": {name: [float(value) for value in values] for name, values in history.items()}}


def accuracy_cases():
    """names, outputs, targets: what each name means for outputs of this shape"""
    any_accuracy = ("accuracy", "acc", "binary_accuracy", "BinaryAccuracy")
    sparse = ("sparse_categorical_accuracy", "SparseCategoricalAccuracy")
    one_hot_rows = ("categorical_accuracy", "CategoricalAccuracy")
    p = numbers((12, 1), 20, 0.0, 1.0)
    p[4] = 0.5
    for target in (bits((12, 1), 21), bits((12, 1), 22).astype("int32"), 2.0 * bits((12, 1), 23),
                   numbers((12, 1), 24, 0.0, 1.0), np.random.default_rng(25).integers(0, 3, (12, 1))):
        yield any_accuracy + sparse + one_hot_rows, p, target
        yield any_accuracy + sparse, p, target[:, 0]
    scores, labels = numbers((12, 3), 26), np.random.default_rng(27).integers(0, 3, 12)
    yield any_accuracy[:2] + sparse, scores, labels
    yield any_accuracy[:2] + sparse, scores, labels[:, None]
    yield any_accuracy[:2] + one_hot_rows, scores, np.eye(3)[labels]
    yield any_accuracy + one_hot_rows, scores, bits((12, 3), 28)  # of several labels
    yield any_accuracy + one_hot_rows, scores, numbers((12, 3), 29)
    pixels = numbers((4, 2, 3, 1), 30, 0.0, 1.0)
    for target in (bits((4, 2, 3, 1), 31), np.random.default_rng(32).integers(0, 3, (4, 2, 3, 1))):
        yield any_accuracy + sparse + one_hot_rows, pixels, target
        yield any_accuracy + sparse, pixels, target[..., 0]
    yield any_accuracy[:2] + one_hot_rows, numbers((4, 2, 3, 3), 33), one_hot(24, 3, 34).reshape(4, 2, 3, 3)
    yield any_accuracy[:2] + sparse, numbers((4, 2, 3, 3), 33), np.random.default_rng(35).integers(0, 3, (4, 2, 3))
    yield any_accuracy[:2] + sparse, numbers((4, 2, 3, 3), 33), np.random.default_rng(35).integers(0, 3, (4, 2, 3, 1))


def accuracy_entry(names, output, target):
    model = keras.Sequential([keras.Input(output.shape[1:]), keras.layers.Activation("linear")])
    values = {}
    for name in names:
        of_its_name = name if name.islower() else getattr(keras.metrics, name)()
        model.compile(loss=lambda wanted, given: keras.ops.sum(0.0 * given), metrics=[of_its_name])
        (value,) = (value for key, value in model.evaluate(output, target, verbose=0, return_dict=True).items()
                    if key != "loss")
        values[name] = float(value)
    return {"values": values, "shape": output.shape, "output": output.ravel().tolist(), "target_shape": target.shape,
            "is_integer": target.dtype.kind == "i", "target": target.ravel().tolist()}


def validation_entry(freq, epochs, initial_epoch):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    validated = []
    spy = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: validated.append(epoch) if "val_loss" in logs else None)
    x, y = numbers((4, 2), 40), numbers((4, 1), 41)
    model.fit(x, y, epochs=epochs, initial_epoch=initial_epoch, validation_data=(x, y), validation_freq=freq,
              callbacks=[spy], verbose=0)
    return {"validation_freq": freq, "epochs": epochs, "initial_epoch": initial_epoch, "validated": validated}


def main():
    record = {"keras": keras.__version__, "weighted": [weighted_entry(*case) for case in weighted_cases()],
              "accuracies": [accuracy_entry(*case) for case in accuracy_cases()],
              "validations": [validation_entry(*case) for case in (
                  (2, 5, 0), ([1], 3, 0), ([2, 3, 7], 5, 0), ([4, 1, 4], 5, 2), ([], 2, 0), ([9], 2, 0))],
              "trained": [trained_entry(*case) for case in trained_cases()]}
    with open(sys.argv[1], "w") as file:  # a line for each case
        file.write(json.dumps(record).replace('[{"', '[\n{"').replace('}, {"', '},\n{"') + "\n")


main()
