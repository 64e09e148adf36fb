"""Writes losses_kerasV.json: what Keras' losses and metrics are of given outputs and targets.

    python3 make_losses.py OUTPUT.json      # with TensorFlow 2.15 (Keras 2.15.0) or 2.21 (Keras 3.15.1)

float64 throughout. `loss` holds the losses of the samples: of a loss that Keras gives for each vector, their mean.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np

KERAS2 = keras.__version__.startswith("2.")
(keras.backend if KERAS2 else keras.config).set_floatx("float64")


def numbers(shape, seed, low=-3.0, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, shape).round(3)


def distributions(shape, seed):
    rows = np.random.default_rng(seed).uniform(0.1, 1.0, shape)
    return rows / rows.sum(-1, keepdims=True)


def bits(shape, seed):
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(float)


def loss_cases():
    shapes = ((5, 4), (3, 2, 4), (6, 1))
    for shape in shapes:
        x, t = numbers(shape, 1), numbers(shape, 2)
        for name in ("MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "LogCosh"):
            yield name, {}, x, t
        for delta in (1.0, 0.3):
            yield "Huber", {"delta": delta}, x, t
        yield "MeanSquaredLogarithmicError", {}, abs(x), abs(t)
        yield "Poisson", {}, abs(x), abs(t).round()
        p, hard = numbers(shape, 3, 0.01, 0.99), bits(shape, 4)
        for smoothing in (0.0, 0.2):
            yield "BinaryCrossentropy", {"label_smoothing": smoothing}, p, hard
            yield "BinaryCrossentropy", {"label_smoothing": smoothing, "from_logits": True}, x, hard
    for shape in shapes[:2]:
        yield "CosineSimilarity", {}, numbers(shape, 1), numbers(shape, 2)
        yield "KLDivergence", {}, distributions(shape, 5), distributions(shape, 6)
    yield "LogCosh", {}, numbers((3, 2), 7, -400.0, 400.0), numbers((3, 2), 8)
    yield "CosineSimilarity", {}, np.zeros((2, 3)), numbers((2, 3), 8)


def metric_cases():
    p, hard = numbers((12, 3), 1, 0.0, 1.0), bits((12, 3), 2)
    for name in ("BinaryAccuracy", "Precision", "Recall"):
        yield name, {}, p, hard
        yield name, {"threshold" if name == "BinaryAccuracy" else "thresholds": 0.7}, p, hard
        yield name, {}, p * 0.4, hard  # never says yes
    yield "BinaryAccuracy", {}, p[:, :1], hard[:, :1]
    scores, labels = numbers((12, 7), 3), np.random.default_rng(4).integers(0, 7, 12)
    for k in (1, 3, 5):
        yield "SparseTopKCategoricalAccuracy", {"k": k}, scores, labels
        yield "TopKCategoricalAccuracy", {"k": k}, scores, np.eye(7)[labels]
    yield "SparseCategoricalAccuracy", {}, scores, labels
    yield "CategoricalAccuracy", {}, scores, np.eye(7)[labels]
    for options in ({}, {"num_thresholds": 11}, {"num_thresholds": 2}, {"thresholds": [0.9, 0.2, 0.5]}):
        for curve in ("ROC", "PR"):
            for summation in ("interpolation", "minoring", "majoring"):
                yield "AUC", {"curve": curve, "summation_method": summation, **options}, p, hard
    yield "AUC", {"from_logits": True}, scores, bits((12, 7), 5)
    yield "AUC", {}, p[:, :1], np.ones((12, 1))
    yield "AUC", {"curve": "PR"}, p[:, :1], np.zeros((12, 1))
    yield "AUC", {"num_thresholds": 11}, p.round(1), hard  # on the thresholds, 0 and 1 among them
    for name in ("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives"):
        for options in ({}, {"thresholds": 0.7}):
            yield name, options, p, hard
    for name in ("Precision", "Recall"):
        for options in ({"class_id": 1}, {"top_k": 2}, {"top_k": 1, "class_id": 2}, {"top_k": 2, "thresholds": 0.7},
                        {"top_k": 3}):
            yield name, options, p, hard
        yield name, {"top_k": 2}, p.round(1), hard  # equal outputs
        yield name, {"top_k": 2}, scores, np.eye(7)[labels]  # outputs below 0
    for curve in ("ROC", "PR"):
        yield "AUC", {"multi_label": True, "num_labels": 3, "curve": curve}, p, hard
    q, often = numbers((12, 4), 10, 0.0, 1.0), np.eye(4)[np.random.default_rng(11).choice(4, 12, p=(0.6, 0.3, 0.1, 0))]
    for average in ("micro", "macro", "weighted"):
        yield "F1Score", {"average": average}, q, often
        yield "FBetaScore", {"average": average, "beta": 2.0, "threshold": 0.4}, p, hard
        yield "F1Score", {"average": average}, q.round(1), often  # some rows have the largest twice
    x, t = numbers((12, 3), 5), numbers((12, 3), 6)
    for name in ("RootMeanSquaredError", "MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError",
                 "LogCoshError"):
        yield name, {}, x, t
    yield "BinaryCrossentropy", {"from_logits": True}, x, hard
    yield "KLDivergence", {}, distributions((12, 3), 7), distributions((12, 3), 8)
    yield "SparseCategoricalCrossentropy", {}, distributions((12, 7), 9), labels


def loss_entry(name, options, output, target):
    loss = getattr(keras.losses, name)(reduction="none" if KERAS2 else None, **options)
    values = np.asarray(loss(target, output))
    return {"name": name, "options": options, "shape": output.shape, "output": output.ravel().tolist(),
            "target": target.ravel().tolist(), "loss": values.reshape(len(output), -1).mean(1).tolist()}


def metric_entry(name, options, output, target):
    keras.backend.clear_session()  # else the second one is precision_1
    single = "TopK" in name or "Score" in name or "top_k" in options  # all that these take
    dtype = "float32" if single else "float64"
    metric = getattr(keras.metrics, name)(dtype=dtype, **options)
    for part in (slice(0, 5), slice(5, None)):
        metric.update_state(target[part], output[part].astype(dtype))
    return {"name": name, "options": options, "shape": output.shape, "output": output.ravel().tolist(),
            "target_shape": target.shape, "target": target.ravel().tolist(), "value": float(metric.result()),
            "shown_as": metric.name}


def weight_cases():
    """One epoch of `fit` in batches of 4, in order, SGD at 0.1; weights by class, by sample."""
    classes = {0: 1.0, 1: 2.5, 2: 0.25}
    labels = np.random.default_rng(1).integers(0, 3, 10)
    yield 3, "softmax", "sparse_categorical_crossentropy", labels, {"class_weight": classes}
    yield 3, "softmax", "categorical_crossentropy", np.eye(3)[labels], {"class_weight": classes}
    yield 1, "sigmoid", "binary_crossentropy", bits((10, 1), 2), {"class_weight": {0: 0.5, 1: 3.0}}
    samples = {"sample_weight": numbers((10,), 6, 0.0, 3.0)}
    yield 3, "softmax", "sparse_categorical_crossentropy", labels, samples
    yield 1, "sigmoid", "binary_crossentropy", bits((10, 1), 2), samples
    yield 2, "sigmoid", "mean_squared_error", numbers((10, 2), 7, 0.0, 1.0), samples
    # Without weights: sigmoids that round to 0 and 1, and crossentropies of what the other function made.
    yield 1, "sigmoid", "binary_crossentropy", bits((10, 1), 2), {}, 20.0
    yield 3, "softmax", "binary_crossentropy", bits((10, 3), 8), {}
    yield 3, "sigmoid", "categorical_crossentropy", np.eye(3)[labels], {}
    yield 3, "sigmoid", "sparse_categorical_crossentropy", labels, {}


def weight_entry(units, activation, loss, target, weights, scale=1.0):
    x = scale * numbers((10, 2), 3)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units, activation=activation)])
    start = [numbers((2, units), 4), numbers((units,), 5)]
    model.set_weights(start)
    model.compile(keras.optimizers.SGD(0.1), loss)
    # Of four, so that each batch counts as many.
    before = model.evaluate(x[:8], target[:8], batch_size=4, verbose=0,
                            sample_weight=weights.get("sample_weight", np.ones(10))[:8])
    shown = model.fit(x, target, batch_size=4, shuffle=False, verbose=0, **weights)
    of = {key: list(value.values() if isinstance(value, dict) else value.tolist()) for key, value in weights.items()}
    return {"units": units, "activation": activation, "loss": loss, **of,
            "inputs": x.ravel().tolist(), "target_shape": target.shape, "target": target.ravel().tolist(),
            "start": [values.ravel().tolist() for values in start],
            "end": [values.ravel().tolist() for values in model.get_weights()],
            "evaluated_8": float(before), "shown_loss": float(shown.history["loss"][0])}


def main():
    record = {"keras": keras.__version__, "losses": [loss_entry(*case) for case in loss_cases()],
              "metrics": [metric_entry(*case) for case in metric_cases()],
              "weights": [weight_entry(*case) for case in weight_cases()]}
    with open(sys.argv[1], "w") as file:  # a line for each case
        file.write(json.dumps(record).replace('[{"', '[\n{"').replace('}, {"', '},\n{"') + "\n")


main()
