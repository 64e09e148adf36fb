"""Adds to optimizers_kerasV.json, V being the Keras that runs this, the traces that it lacks of those below."""
import json
import math
import pathlib

import keras
import numpy
import tensorflow as tf

keras.backend.set_floatx("float64")

TRACES = {
    "adamax": (keras.optimizers.Adamax, {"learning_rate": 0.01}),
    "adamax_other": (keras.optimizers.Adamax, {"learning_rate": 0.02, "beta_1": 0.8, "beta_2": 0.9, "clipvalue": 0.5}),
    "nadam": (keras.optimizers.Nadam, {"learning_rate": 0.01}),
    "nadam_other": (keras.optimizers.Nadam, {"learning_rate": 0.02, "beta_1": 0.8, "beta_2": 0.9, "global_clipnorm": 1.0}),
}


def trace(make, options):
    weight = tf.Variable([math.cos(i) for i in range(6)], dtype="float64")
    if hasattr(keras, "ops"):
        weight = keras.Variable(weight.numpy(), dtype="float64")
    optimizer = make(**options)
    steps = []
    for t in range(20):
        gradient = [math.sin(0.7 * i + 0.3 * t) * (1 + 0.1 * i) for i in range(6)]
        optimizer.apply_gradients([(tf.constant(gradient, dtype="float64"), weight)])
        steps.append(numpy.array(weight).tolist())
    return {"options": options, "steps": steps}


path = pathlib.Path(__file__).with_name(f"optimizers_keras{keras.__version__}.json")
golden = json.loads(path.read_text())
for name, (make, options) in TRACES.items():
    golden["traces"].setdefault(name, trace(make, options))
path.write_text(json.dumps(golden, indent=0))
