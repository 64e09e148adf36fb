"""Writes layers_kerasV.json: what layers of Keras make of given inputs.

    python3 make_layers.py OUTPUT.json      # with TensorFlow 2.15 (Keras 2.15.0) or 2.21 (Keras 3.15.1)

float64 throughout. Weights are in the order in which Keras has them.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
from keras import layers

KERAS2 = keras.__version__.startswith("2.")
(keras.backend if KERAS2 else keras.config).set_floatx("float64")


def numbers(shape, seed, low=-3.0, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, shape).round(3)


def cases():
    wide = numbers((3, 7), 1, -8.0, 8.0)
    for name in ("relu6", "mish") if KERAS2 else ("relu6", "mish", "hard_sigmoid", "hard_silu"):
        yield layers.Activation(name), wide
    images, rows = numbers((2, 3, 2, 4), 2), numbers((5, 4), 3)
    mean, variance = [0.5, -1.0, 2.0, 0.0], [1.5, 0.25, 4.0, 0.0]  # the last one is kept from dividing by zero
    for x in (images, rows):
        for invert in (False, True):
            yield layers.Normalization(invert=invert), x
            yield layers.Normalization(mean=mean, variance=variance, invert=invert), x
        yield layers.Normalization(axis=x.ndim - 1, mean=0.25, variance=9.0), x
        yield layers.LayerNormalization(), x
        yield layers.LayerNormalization(epsilon=0.1, center=False), x
        yield layers.LayerNormalization(epsilon=1e-6, scale=False), x
    for axis in ([-1], [2, 3], [-3, -2, -1], [1, 2, 3]):
        yield layers.LayerNormalization(axis=axis, epsilon=1e-2), images


def case(layer, x):
    layer.build(x.shape)
    weights = [numbers(w.shape, 10 + i, 0.5, 1.5) if len(w.shape) else np.array(7) for i, w in enumerate(layer.weights)]
    layer.set_weights(weights)
    if isinstance(layer, layers.Normalization):
        layer.finalize_state()
    config = layer.get_config()
    config["dtype"] = "float64"
    return {"class_name": type(layer).__name__, "config": config, "x": {"shape": x.shape, "values": x.ravel().tolist()},
            "weights": [{"shape": w.shape, "values": np.ravel(w).tolist()} for w in weights],
            "y": np.asarray(layer(x)).ravel().tolist()}


with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[\n" + ",\n".join(json.dumps(case(*c)) for c in cases()) + "\n]\n")
