"""Writes recurrent_kerasV.json: LSTM, GRU, SimpleRNN and Bidirectional, as make_layers.py has layers.

    python3 make_recurrent.py OUTPUT.json      # with TensorFlow 2.15 (Keras 2.15.0) or 2.21 (Keras 3.15.1)
"""
import itertools
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


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).round(3)


def cases():
    """Layers and the shapes of their inputs."""
    gated = layers.LSTM, layers.GRU
    for kind, sequences, backwards in itertools.product((*gated, layers.SimpleRNN), (False, True), (False, True)):
        yield kind(3, return_sequences=sequences, go_backwards=backwards), (2, 4, 5)
    for kind in *gated, layers.SimpleRNN:
        yield kind(2, use_bias=False, activation="softsign"), (3, 3, 1)
        yield kind(1, activation="relu", return_sequences=True), (1, 1, 1)
        yield kind(5, activation=None, unroll=True), (1, 5, 2)
        yield layers.Bidirectional(kind(3)), (2, 3, 4)
        yield layers.Bidirectional(kind(2, use_bias=False, return_sequences=True)), (2, 4, 3)
        for mode in "sum", "mul", "ave":
            yield layers.Bidirectional(kind(2, return_sequences=mode != "mul"), merge_mode=mode), (1, 3, 2)
    for kind in gated:
        yield kind(2, activation="elu", recurrent_activation="softmax", return_sequences=True), (2, 3, 2)
        yield kind(2, recurrent_activation=None, implementation=1), (2, 3, 2)
    for biased, sequences in itertools.product((False, True), (False, True)):
        yield layers.GRU(3, reset_after=False, use_bias=biased, return_sequences=sequences), (2, 4, 2)
    yield layers.Bidirectional(layers.GRU(2, reset_after=False, return_sequences=True)), (2, 3, 2)
    yield layers.TimeDistributed(layers.Dense(2, activation="tanh")), (2, 3, 4)
    yield layers.TimeDistributed(layers.Conv2D(2, 2, activation="relu")), (2, 2, 3, 4, 1)
    yield layers.TimeDistributed(layers.GRU(2)), (2, 3, 2, 4)
    yield layers.TimeDistributed(layers.Bidirectional(layers.LSTM(1, return_sequences=True))), (1, 2, 3, 2)
    # The first one goes backwards, and another kind of layer ahead.
    yield layers.Bidirectional(layers.LSTM(2, go_backwards=True, return_sequences=True),
                               backward_layer=layers.SimpleRNN(3, return_sequences=True)), (2, 4, 2)
    yield layers.Bidirectional(layers.GRU(2), backward_layer=layers.LSTM(2, go_backwards=True), merge_mode="sum"), (1, 4, 3)


def masked_cases():
    """Nets whose first layer leaves out the steps that are zeros (or -0.5), in front and behind."""
    kinds = layers.LSTM, layers.GRU, layers.SimpleRNN
    for kind, sequences, backwards in itertools.product(kinds, (False, True), (False, True)):
        yield [layers.Masking(), kind(3, return_sequences=sequences, go_backwards=backwards)], (3, 4, 2)
    for kind, sequences in itertools.product(kinds, (False, True)):
        yield [layers.Masking(), layers.Bidirectional(kind(2, return_sequences=sequences))], (3, 5, 2)
    for kind, sequences in itertools.product(kinds, (False, True)):
        yield [layers.Masking(), kind(2, return_sequences=sequences, zero_output_for_mask=True)], (3, 4, 2)
    yield [layers.Masking(), layers.Bidirectional(layers.GRU(2, zero_output_for_mask=True))], (3, 4, 2)
    yield [layers.Masking(-0.5), layers.Dense(2), layers.LSTM(2, return_sequences=True), layers.GRU(2)], (3, 5, 1)
    yield [layers.Masking(), layers.GRU(2, return_sequences=True), layers.ReLU(), layers.GlobalAveragePooling1D()], (3, 5, 1)
    yield [layers.Masking(), layers.TimeDistributed(layers.Dense(3, activation="tanh")), layers.GRU(2)], (3, 4, 2)
    if not KERAS2:  # there it is an error
        yield [layers.Masking(), layers.LSTM(2, return_sequences=True), layers.Conv1D(3, 2), layers.GlobalAveragePooling1D()], (3, 5, 1)


def flat(array):
    return np.asarray(array, "float64").round(12).ravel().tolist()


def masked(parts, shape):
    value = parts[0].mask_value
    x = numbers(shape, 4)
    x[0, 0], x[0, -1], x[1, 1:3], x[2, -2:] = value, value, value, value
    return case(keras.Sequential(parts), x)


def case(layer, x):
    layer.build(x.shape)
    weights = [numbers(w.shape, 10 + i) for i, w in enumerate(layer.weights)]
    layer.set_weights(weights)
    inputs, trained = tf.constant(x), [w if KERAS2 else w.value for w in layer.trainable_weights]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y = layer(inputs)
    gradients = tape.gradient(y, [inputs] + trained, tf.constant(np.cos(0.3 * np.arange(tf.size(y))).reshape(y.shape)))
    return {"class_name": type(layer).__name__, "config": layer.get_config(), "x": {"shape": x.shape, "values": flat(x)},
            "weights": [{"shape": w.shape, "values": flat(w)} for w in weights],
            "y": {"shape": list(y.shape), "values": flat(y)}, "gradients": [flat(g) for g in gradients]}


with open(sys.argv[1], "w", encoding="utf-8") as file:  # a line each
    all_of_them = [case(layer, numbers(shape, 4)) for layer, shape in cases()] + [masked(*c) for c in masked_cases()]
    file.write("[\n" + ",\n".join(json.dumps(c, default=dict) for c in all_of_them) + "\n]\n")
