"""Writes transposed_keras3.15.1.json: Conv2DTranspose with output_padding and dilation_rate, as make_layers.py has layers.

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 python3 make_transposed.py OUTPUT.json      # with Keras 3.15.1
"""
import itertools
import json
import sys

import jax
import keras
import numpy as np

keras.config.set_floatx("float64")


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).round(3)


def cases():
    for padding, kernel in itertools.product(("valid", "same"), ((3, 2), (1, 4), (5, 3))):
        for strides, more in (1, 0), (2, (1, 0)), ((3, 2), (2, 1)), ((1, 3), (0, 0)):
            yield keras.layers.Conv2DTranspose(2, kernel, strides, padding, output_padding=more)
        for dilation in 2, (1, 3):
            for more in None, 0:
                yield keras.layers.Conv2DTranspose(2, kernel, 1, padding, output_padding=more, dilation_rate=dilation)
    yield keras.layers.Conv2DTranspose(2, 3, 2, "same", output_padding=1, activation="relu")
    yield keras.layers.Conv2DTranspose(2, 3, 1, dilation_rate=2, activation="softsign", use_bias=False)


def flat(array):
    return np.asarray(array, "float64").round(12).ravel().tolist()


def case(layer):
    x = numbers((1, 3, 4, 2), 4)
    layer.build(x.shape)
    weights = [numbers(w.shape, 10 + i) for i, w in enumerate(layer.weights)]
    layer.set_weights(weights)
    y = np.asarray(layer(x))
    seed = np.cos(0.3 * np.arange(y.size)).reshape(y.shape)

    def weighed(inputs, values):
        result, _ = layer.stateless_call(values, [], inputs)
        return (result * seed).sum()

    by_input, by_weights = jax.grad(weighed, argnums=(0, 1))(x, [w.value for w in layer.trainable_variables])
    config = layer.get_config()
    config["dtype"] = "float64"
    return {"class_name": type(layer).__name__, "config": config, "x": {"shape": x.shape, "values": flat(x)},
            "weights": [{"shape": w.shape, "values": flat(w)} for w in weights],
            "y": {"shape": y.shape, "values": flat(y)}, "gradients": [flat(g) for g in (by_input, *by_weights)]}


with open(sys.argv[1], "w", encoding="utf-8") as file:  # a line each
    file.write("[\n" + ",\n".join(json.dumps(case(layer)) for layer in cases()) + "\n]\n")
