"""Writes KIND_kerasV.json: what layers of Keras make of given inputs, and their gradients.

    python3 make_layers.py KIND OUTPUT.json      # with TensorFlow 2.15 (Keras 2.15.0) or 2.21 (Keras 3.15.1)

KIND is "layers", or "series": those of sequences.

float64 throughout, but for bilinear interpolation, which TensorFlow computes in float32. Weights are in the order in which
Keras has them. Element i of the gradient of the output is cos(0.3 i).
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

KERAS2 = keras.__version__.startswith("2.")
(keras.backend if KERAS2 else keras.config).set_floatx("float64")


def numbers(shape, seed, low=-3.0, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, shape).round(3)


def elementwise_cases():
    wide = numbers((3, 7), 1, -8.0, 8.0)
    for name in ("relu6", "mish") if KERAS2 else ("relu6", "mish", "hard_sigmoid", "hard_silu"):
        yield layers.Activation(name), wide
    yield layers.ELU(), wide
    yield layers.ELU(alpha=0.25), wide
    images = numbers((2, 3, 2, 4), 6)
    for axes in None, [1], [1, 2], [1, 3], [1, 2, 3]:
        yield layers.PReLU(shared_axes=axes), images
    yield layers.PReLU(shared_axes=1), numbers((4, 3), 7)


def normalizing_cases():
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
    for x in (images, rows, numbers((2, 5, 6), 8)):
        for groups in 1, 2, -1:
            yield layers.GroupNormalization(groups), x
        yield layers.GroupNormalization(2, axis=x.ndim - 1, epsilon=0.1, scale=False), x
        yield layers.GroupNormalization(2, center=False), x
        yield layers.UnitNormalization(), x
        yield layers.UnitNormalization(axis=x.ndim - 1), x
        if not KERAS2:
            yield layers.RMSNormalization(), x
            yield layers.RMSNormalization(axis=x.ndim - 1, epsilon=0.1), x
    for axis in (1, [1, 2], [-1, 1], [3, 2, 1]):
        yield layers.UnitNormalization(axis=axis), images


def image_cases():
    def images(*shape):
        return numbers(shape, 4, -1.0, 1.0)

    yield layers.SeparableConv2D(3, (3, 2), padding="same", depth_multiplier=2, activation="relu"), images(2, 5, 4, 2)
    yield layers.SeparableConv2D(2, 3, strides=2, use_bias=False), images(1, 7, 6, 3)
    yield layers.SeparableConv2D(2, 3, dilation_rate=2, activation="tanh"), images(1, 6, 7, 2)
    yield layers.Cropping2D(((1, 0), (0, 2))), images(2, 4, 5, 2)
    yield layers.Cropping2D((1, 2)), images(1, 4, 6, 1)
    yield layers.UpSampling2D((2, 3)), images(2, 3, 2, 2)
    for size in (2, 2), (3, 4), (1, 2):
        yield layers.UpSampling2D(size, interpolation="bilinear"), images(2, 3, 4, 2)
    yield layers.UpSampling2D(2, interpolation="bilinear"), images(1, 1, 2, 1)
    for padding in "same", "valid":
        for kernel, strides in ((3, 2), 2), ((2, 3), (3, 1)), (2, 2), (4, 2), (5, (2, 3)), (3, 1):
            yield layers.Conv2DTranspose(3, kernel, strides, padding), images(2, 3, 4, 2)
    yield layers.Conv2DTranspose(2, 3, 2, "same", activation="relu"), images(1, 4, 3, 3)
    yield layers.Conv2DTranspose(2, 3, 2, "same", activation="sigmoid", use_bias=False), images(1, 4, 3, 3)


def series_cases():
    def series(*shape):
        return numbers(shape, 5, -1.0, 1.0)

    for padding in "valid", "same", "causal":
        yield layers.Conv1D(3, 4, 2, padding, activation="relu"), series(2, 7, 2)
        yield layers.Conv1D(2, 3, dilation_rate=2, padding=padding, use_bias=False), series(2, 6, 3)
        yield layers.Conv1D(4, 1, padding=padding, activation="tanh"), series(1, 3, 2)
    for padding in "valid", "same":
        for kernel, strides in (3, 2), (2, 3), (4, 1):
            yield layers.Conv1DTranspose(3, kernel, strides, padding, activation="relu"), series(2, 4, 2)
        for pool, strides in (2, None), (3, 1), (3, 2):
            yield layers.MaxPooling1D(pool, strides, padding), series(2, 7, 2)
            yield layers.AveragePooling1D(pool, strides, padding), series(2, 7, 2)
    for keepdims in False, True:
        yield layers.GlobalMaxPooling1D(keepdims=keepdims), series(3, 5, 2)
        yield layers.GlobalAveragePooling1D(keepdims=keepdims), series(3, 5, 2)
    yield layers.ZeroPadding1D((2, 0)), series(2, 3, 2)
    yield layers.ZeroPadding1D(1), series(2, 3, 2)
    yield layers.Cropping1D((2, 1)), series(2, 5, 2)
    yield layers.Cropping1D((0, 3)), series(1, 4, 3)
    yield layers.UpSampling1D(3), series(2, 3, 2)
    yield layers.UpSampling1D(1), series(2, 3, 2)
    yield layers.RepeatVector(3), numbers((2, 4), 6)
    for dims in (2, 1), (3, 1, 2), (1, 3, 2):
        yield layers.Permute(dims), numbers((2, 3, 4, 5)[: len(dims) + 1], 7)
    for padding in "valid", "same":
        yield layers.DepthwiseConv1D(4, 2, padding, depth_multiplier=2, activation="relu"), series(2, 7, 3)
        yield layers.DepthwiseConv1D(3, dilation_rate=2, padding=padding, use_bias=False), series(2, 6, 2)
        yield layers.SeparableConv1D(3, 4, 2, padding, depth_multiplier=2, activation="relu"), series(2, 7, 2)
        yield layers.SeparableConv1D(2, 3, dilation_rate=2, padding=padding, use_bias=False), series(2, 6, 3)
    if KERAS2:
        yield layers.SeparableConv1D(3, 3, 2, "causal", activation="tanh"), series(2, 7, 2)
        yield layers.SeparableConv1D(3, 2, dilation_rate=3, padding="causal"), series(1, 7, 2)


def flat(array):
    return np.asarray(array, "float64").round(12).ravel().tolist()


def case(layer, x):
    layer.build(x.shape)
    weights = [numbers(w.shape, 10 + i, 0.5, 1.5) if len(w.shape) else np.array(7) for i, w in enumerate(layer.weights)]
    layer.set_weights(weights)
    if isinstance(layer, layers.Normalization):
        layer.finalize_state()
    config = layer.get_config()
    config["dtype"] = "float64"
    inputs, trained = tf.constant(x), [w if KERAS2 else w.value for w in layer.trainable_weights]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = layer(inputs)
    gradients = tape.gradient(y, [inputs] + trained, tf.cast(np.cos(0.3 * np.arange(tf.size(y))).reshape(y.shape), y.dtype))
    return {"class_name": type(layer).__name__, "config": config, "x": {"shape": x.shape, "values": flat(x)},
            "weights": [{"shape": w.shape, "values": flat(w)} for w in weights],
            "y": {"shape": list(y.shape), "values": flat(y)}, "gradients": [flat(g) for g in gradients]}


kind, output = sys.argv[1:]
cases = [*elementwise_cases(), *normalizing_cases(), *image_cases()] if kind == "layers" else series_cases()
with open(output, "w", encoding="utf-8") as file:  # a line each
    file.write("[\n" + ",\n".join(json.dumps(case(*c)) for c in cases) + "\n]\n")
