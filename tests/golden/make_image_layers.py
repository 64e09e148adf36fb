"""Writes image_layers_keras3.15.1.json: what Keras' layers make of given images, and their gradients.

    python3 make_image_layers.py OUTPUT.json      # with TensorFlow 2.21 (Keras 3.15.1)

float64, but for bilinear interpolation, which TensorFlow computes in float32. Element i of the images is sin(0.7 i +
0.1), of weight k of a layer sin(0.9 i + k + 1), of the gradient of the output cos(0.3 i).
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
import tensorflow as tf

keras.config.set_floatx("float64")


def cases():
    of = keras.layers
    yield of.SeparableConv2D(3, (3, 2), padding="same", depth_multiplier=2, activation="relu"), (2, 5, 4, 2)
    yield of.SeparableConv2D(2, 3, strides=2, use_bias=False), (1, 7, 6, 3)
    yield of.SeparableConv2D(2, 3, dilation_rate=2, activation="tanh"), (1, 6, 7, 2)
    yield of.Cropping2D(((1, 0), (0, 2))), (2, 4, 5, 2)
    yield of.Cropping2D((1, 2)), (1, 4, 6, 1)
    yield of.UpSampling2D((2, 3)), (2, 3, 2, 2)
    for size in (2, 2), (3, 4), (1, 2):
        yield of.UpSampling2D(size, interpolation="bilinear"), (2, 3, 4, 2)
    yield of.UpSampling2D(2, interpolation="bilinear"), (1, 1, 2, 1)
    for padding in "same", "valid":
        for kernel, strides in ((3, 2), 2), ((2, 3), (3, 1)), (2, 2), (4, 2), (5, (2, 3)), (3, 1):
            yield of.Conv2DTranspose(3, kernel, strides, padding), (2, 3, 4, 2)
    yield of.Conv2DTranspose(2, 3, 2, "same", activation="relu"), (1, 4, 3, 3)
    yield of.Conv2DTranspose(2, 3, 2, "same", activation="sigmoid", use_bias=False), (1, 4, 3, 3)


def waves(function, shape, step, phase=0.0):
    return function(np.arange(np.prod(shape)) * step + phase).reshape(shape)


def record(layer, shape):
    x = tf.constant(waves(np.sin, shape, 0.7, 0.1))
    layer.build(shape)
    layer.set_weights([waves(np.sin, w.shape, 0.9, k + 1) for k, w in enumerate(layer.weights)])
    variables = [w.value for w in layer.weights]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
    seed = tf.constant(waves(np.cos, y.shape, 0.3), y.dtype)
    gradients = tape.gradient(y, [x] + variables, seed)
    flat = [np.array(t, "float64").round(10).ravel().tolist() for t in [y] + gradients]
    return {"class_name": type(layer).__name__, "config": layer.get_config(), "shape": shape, "output_shape":
            list(y.shape), "output": flat[0], "gradients": flat[1:]}


def main():
    record_all = {"keras": keras.__version__, "layers": [record(*case) for case in cases()]}
    with open(sys.argv[1], "w") as file:  # a line for each
        file.write(json.dumps(record_all).replace('[{"', '[\n{"').replace('}, {"class_name"', '},\n{"class_name"') + "\n")


main()
