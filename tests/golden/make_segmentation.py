"""Writes segmentation_kerasV.json: a net that says of each pixel what it shows, before and after two epochs of `fit`.

    python make_segmentation.py          # with Keras 3
"""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

keras.config.set_floatx("float64")
layers = keras.layers
rng = np.random.default_rng(5)
images = rng.normal(size=(6, 4, 5, 2))
labels = (images[..., 0] > 0.3).astype("int32") + (images[..., 1] > 0).astype("int32")


def numbers(array):
    return [float(number) for number in np.asarray(array).ravel()]


def weights(net):
    return [numbers(weight) for weight in net.get_weights()]


def case(classes, activation, loss, metrics, targets, **fit):
    keras.utils.set_random_seed(11)
    net = keras.Sequential([keras.Input((4, 5, 2)), layers.Conv2D(classes, 3, padding="same", activation=activation)])
    net.compile(keras.optimizers.SGD(0.5), loss, metrics=metrics)
    result = {"classes": classes, "activation": activation, "loss": loss, "metrics": metrics,
              "target_shape": list(targets.shape[1:]), "targets": numbers(targets), "start": weights(net),
              "evaluated": net.evaluate(images, targets, verbose=0, return_dict=True)}
    history = net.fit(images, targets, batch_size=4, epochs=2, shuffle=False, verbose=0, **fit).history
    return {**result, **{key: numbers(value) for key, value in fit.items()}, "history": history, "end": weights(net)}


one_hot = np.eye(3)[labels]
shows = (labels > 0).astype("float64")
sparse = "sparse_categorical_crossentropy"
print(json.dumps({"images": numbers(images), "cases": [
    case(3, "softmax", sparse, ["accuracy", "sparse_categorical_accuracy", sparse], labels),
    case(3, "softmax", sparse, ["accuracy"], labels[..., None]),
    case(3, "softmax", "categorical_crossentropy", ["accuracy", "categorical_accuracy"], one_hot),
    case(3, "linear", "mean_squared_error", ["accuracy", "mean_absolute_error"], one_hot),
    case(3, "softplus", "categorical_crossentropy", ["accuracy"], one_hot),
    case(1, "sigmoid", "binary_crossentropy", ["accuracy", "binary_accuracy", "Precision", "Recall"], shows),
    case(1, "sigmoid", "binary_crossentropy", ["accuracy", "AUC"], shows[..., None]),
    case(3, "softmax", sparse, ["accuracy"], labels, sample_weight=np.array([1.0, 0.5, 2.0, 0.0, 3.0, 1.0]).reshape(6, 1, 1)),
]}), file=open(f"segmentation_keras{keras.__version__}.json", "w"))
