"""Writes masked_net_kerasV/: a net of words, index 0 of which is masked, in files.

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


def net():
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


def inputs():
    dice = np.random.default_rng(3)
    words, numbers = dice.integers(0, 9, (12, STEPS)), dice.uniform(-1.0, 1.0, (12, STEPS, 2)).round(3)
    numbers[dice.uniform(size=(12, STEPS)) < 0.4] = 0.5
    for i, length in enumerate(dice.integers(1, STEPS + 1, 12)):
        words[i, 0] = 1 + i % 8  # an average of no words would be a division by 0
        words[i, length:] = 0
    return [words.astype("int32"), numbers.astype("float32")]


keras.utils.set_random_seed(1)
target = pathlib.Path(sys.argv[1]) / f"masked_net_keras{keras.__version__}"
target.mkdir(parents=True, exist_ok=True)
model, x, labels = net(), inputs(), np.arange(8) % 3
# Where it does not compile a net, Keras 3 squares the gradients of a word that comes again one by one, in Adam.
model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
for _ in range(3):
    model.train_on_batch([part[:8] for part in x], labels)
io = {"inputs": [array(part) for part in x], "output": array(model.predict(x, verbose=0)), "labels": labels.tolist()}
model.save(target / "net.keras")
model.save(target / "net.h5")
model.save_weights(target / "net.weights.h5")
model.train_on_batch([part[:8] for part in x], labels)
io["output_after_step"] = array(model.predict(x, verbose=0))
(target / "net.json").write_text(json.dumps(io) + "\n", encoding="utf-8")
