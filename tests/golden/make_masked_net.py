"""Writes masked_net_kerasV/: a net of words, index 0 of which is masked, and sequence_net_kerasV/: one of layers of
sequences, in files.

    KERAS_BACKEND=tensorflow python3 make_masked_net.py DIRECTORY      # with Keras 2.15.0 and with 3.15.1
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import keras

layers = keras.layers
STEPS = 7


def array(values):
    return {"shape": list(values.shape), "values": np.asarray(values, "float64").round(8).ravel().tolist()}


def masked_net():
    """Everything that makes masks of masks, hands them on or looks at them."""
    words, numbers = keras.Input((STEPS,), dtype="int32", name="words"), keras.Input((STEPS, 2), name="numbers")
    x = layers.Embedding(9, 4, mask_zero=True)(words)
    x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 3)(x, x)]))
    x = layers.Dropout(0.0)(layers.Dense(5, activation="tanh")(x))
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True))(x)
    of_words = layers.Concatenate()([layers.LSTM(3, go_backwards=True)(x), layers.GlobalAveragePooling1D()(x)])
    y = layers.Masking(0.5)(numbers)
    of_numbers = layers.SimpleRNN(4)(layers.LSTM(3, return_sequences=True)(y))
    return keras.Model([words, numbers], layers.Dense(3, activation="softmax")(layers.Concatenate()([of_words, of_numbers])))


def sequence_net():
    """Attentions of one list, with masks and without, of which the first has a scalar for its only weight."""
    steps, numbers = keras.Input((6, 4), name="steps"), keras.Input((STEPS, 2), name="numbers")
    x = layers.Attention(use_scale=True)([steps, steps], use_causal_mask=True)
    x = layers.SeparableConv1D(4, 3, padding="same", depth_multiplier=2, activation="relu")(x)
    x = layers.DepthwiseConv1D(2, depth_multiplier=2, dilation_rate=2)(x)
    y = layers.Masking(0.5)(numbers)
    y = layers.AdditiveAttention()([layers.Dense(8)(y), layers.Dense(8)(y)], use_causal_mask=True)
    y = layers.Attention(score_mode="concat", use_scale=True)([y, x])
    y = layers.Attention()([x, layers.AdditiveAttention(use_scale=False)([x, y]), x])
    y = layers.Dot((2, -1), normalize=True)([y, layers.RepeatVector(5)(layers.LSTM(8)(y))])
    y = layers.Dense(3)(layers.Flatten()(layers.Permute((2, 1))(y)))
    of_x = layers.Dense(3)(layers.Flatten()(x))
    cosine = layers.Dot(1, normalize=True)([y, of_x])
    return keras.Model([steps, numbers], layers.Dense(3, activation="softmax")(layers.Concatenate()([y, of_x, cosine])))


def masked_inputs():
    dice = np.random.default_rng(3)
    words, numbers = dice.integers(0, 9, (12, STEPS)), dice.uniform(-1.0, 1.0, (12, STEPS, 2)).round(3)
    numbers[dice.uniform(size=(12, STEPS)) < 0.4] = 0.5
    for i, length in enumerate(dice.integers(1, STEPS + 1, 12)):
        words[i, 0] = 1 + i % 8  # an average of no words would be a division by 0
        words[i, length:] = 0
    return [words.astype("int32"), numbers.astype("float32")]


def sequence_inputs():
    steps = np.random.default_rng(5).uniform(-1.0, 1.0, (12, 6, 4)).round(3)
    return [steps.astype("float32"), masked_inputs()[1]]


def make(name, net, x, optimizer):
    keras.utils.set_random_seed(1)
    target = pathlib.Path(sys.argv[1]) / f"{name}_keras{keras.__version__}"
    target.mkdir(parents=True, exist_ok=True)
    model, labels = net(), np.arange(8) % 3
    model.compile(optimizer, "sparse_categorical_crossentropy")
    for _ in range(3):
        model.train_on_batch([part[:8] for part in x], labels)
    io = {"inputs": [array(part) for part in x], "output": array(model.predict(x, verbose=0)), "labels": labels.tolist()}
    model.save(target / "net.keras")
    model.save(target / "net.h5")
    model.save_weights(target / "net.weights.h5")
    model.train_on_batch([part[:8] for part in x], labels)
    io["output_after_step"] = array(model.predict(x, verbose=0))
    (target / "net.json").write_text(json.dumps(io) + "\n", encoding="utf-8")


# Where it does not compile a net, Keras 3 squares the gradients of a word that comes again one by one, in Adam.
make("masked_net", masked_net, masked_inputs(), keras.optimizers.SGD(0.1, momentum=0.9))
make("sequence_net", sequence_net, sequence_inputs(), keras.optimizers.Adam(0.01))
