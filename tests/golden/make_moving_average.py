"""Writes moving_average_kerasV/: optimizers with use_ema, and a net that was trained with one, as Keras V has them.

    python make_moving_average.py      # with Keras 3
"""
import json
import math
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

folder = "moving_average_keras" + keras.__version__
os.makedirs(folder, exist_ok=True)

keras.backend.set_floatx("float64")
if keras.backend.backend() == "jax":
    import jax

    jax.config.update("jax_enable_x64", True)

TRACES = {
    "sgd": {"class_name": "SGD", "config": {"learning_rate": 0.05, "momentum": 0.5}},
    "adam": {"class_name": "Adam", "config": {"learning_rate": 0.02, "ema_momentum": 0.8}},
    "adam_overwritten": {"class_name": "Adam", "config": {"learning_rate": 0.02, "ema_momentum": 0.9,
                                                          "ema_overwrite_frequency": 5}},
}


# One update for each three gradients.
ACCUMULATED = {
    "sgd": {"class_name": "SGD", "config": {"learning_rate": 0.05, "momentum": 0.5, "ema_momentum": 0.8,
                                            "gradient_accumulation_steps": 3}},
    "adam_overwritten": {"class_name": "Adam", "config": {"learning_rate": 0.02, "ema_momentum": 0.8,
                                                          "ema_overwrite_frequency": 1,
                                                          "gradient_accumulation_steps": 3}},
}


def trace(description):
    optimizer = keras.optimizers.get({**description, "config": {"use_ema": True, **description["config"]}})
    weight = keras.Variable(np.cos(np.arange(6.0)), dtype="float64")
    weights, averages = [], []
    for t in range(12):
        gradient = [math.sin(0.7 * i + 0.3 * t) * (1 + 0.1 * i) for i in range(6)]
        optimizer.apply([keras.ops.convert_to_tensor(np.array(gradient))], [weight])
        weights.append(np.array(weight).tolist())
        averages.append(np.array(optimizer._model_variables_moving_average[0]).tolist())
    return {**description, "weights": weights, "averages": averages}


for name, descriptions in {"traces": TRACES, "accumulated": ACCUMULATED}.items():
    with open(f"{folder}/{name}.json", "w") as file:
        json.dump({name: trace(description) for name, description in descriptions.items()}, file, indent=0)

keras.backend.set_floatx("float32")
keras.utils.set_random_seed(3)
layers = keras.layers
net = keras.Sequential([keras.Input((4,)), layers.Dense(5, activation="tanh"), layers.Dense(3, activation="softmax")])
rng = np.random.default_rng(0)
samples = rng.normal(size=(24, 4)).astype("float32")
labels = (samples.sum(1) > 0).astype("int32") + (samples[:, 0] > 0.5)
net.compile(keras.optimizers.Adam(0.05, use_ema=True, ema_momentum=0.7), "sparse_categorical_crossentropy",
            metrics=["accuracy"])


def train(model, epochs, callbacks=()):
    history = model.fit(samples, labels, epochs=epochs, batch_size=6, shuffle=False, verbose=0,
                        validation_data=(samples, labels), callbacks=list(callbacks)).history
    return {"history": history, "outputs": model.predict(samples, verbose=0).tolist()}


expected = {"inputs": samples.tolist(), "labels": labels.tolist(), "first": train(net, 2)}
net.save(folder + "/net.keras")
loaded = keras.models.load_model(folder + "/net.keras")
expected["again"] = train(loaded, 2)
expected["once_more"] = train(loaded, 2)
expected["swapped"] = train(keras.models.load_model(folder + "/net.keras"), 2, [keras.callbacks.SwapEMAWeights()])
with open(folder + "/net.json", "w") as file:
    json.dump(expected, file, indent=0)
