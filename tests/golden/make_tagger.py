"""Writes tagger_kerasV/: a net that gives a class for each word of a sentence, the rest of which is masked, in files.

    KERAS_BACKEND=tensorflow python3 make_tagger.py DIRECTORY      # with Keras 2.15.0 and with 3.15.1
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
    words = keras.Input((STEPS,), dtype="int32", name="words")
    x = layers.Embedding(9, 4, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    x = layers.TimeDistributed(layers.Dense(5, activation="tanh"))(x)
    return keras.Model(words, layers.Dense(3, activation="softmax")(x))


def sentences():
    dice = np.random.default_rng(3)
    words = dice.integers(1, 9, (12, STEPS))
    for i, length in enumerate(dice.integers(1, STEPS + 1, 12)):
        words[i, length:] = 0
    return words.astype("int32")


keras.utils.set_random_seed(1)
target = pathlib.Path(sys.argv[1]) / f"tagger_keras{keras.__version__}"
target.mkdir(parents=True, exist_ok=True)
model, x = net(), sentences()
labels, weights = x[:8] * 5 % 3, np.arange(1.0, 9.0) / 4
model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"],
              weighted_metrics=["sparse_categorical_crossentropy"])
for _ in range(3):
    model.train_on_batch(x[:8], labels)
io = {"inputs": [array(x)], "output": array(model.predict(x, verbose=0)), "labels": array(labels)}
io["evaluation"] = model.evaluate(x[:8], labels, batch_size=5, verbose=0, return_dict=True)
io["weights"] = weights.tolist()
of_steps = np.repeat(weights[:, None], STEPS, 1)  # Keras 3 does not multiply those of samples by a mask
io["weighted_evaluation"] = model.evaluate(x[:8], labels, batch_size=5, sample_weight=of_steps, verbose=0, return_dict=True)
model.save(target / "net.keras")
model.save(target / "net.h5")
model.save_weights(target / "net.weights.h5")
model.train_on_batch(x[:8], labels)
io["output_after_step"] = array(model.predict(x, verbose=0))
(target / "net.json").write_text(json.dumps(io) + "\n", encoding="utf-8")
