"""Writes several_parts_kerasV/: a net with two inputs and three outputs, as Keras V saves and trains it.

    python make_several_parts.py          # with tf.keras 2.15, then with Keras 3
"""
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

V3 = keras.__version__[0] == "3"
keras.utils.set_random_seed(7)
layers = keras.layers
board, clocks = keras.Input((6, 6, 2), name="board"), keras.Input((3,), name="clocks")
body = layers.Conv2D(4, 3, activation="relu", name="conv")(board)
body = layers.Concatenate(name="both")([layers.Flatten(name="flat")(body), layers.Dense(5, name="times")(clocks)])
hidden = layers.Dense(8, activation="relu", name="hidden")(body)
policy = layers.Dense(4, activation="softmax", name="policy")(hidden)
value = layers.Dense(1, activation="tanh", name="value")(layers.Concatenate(name="seen")([hidden, policy]))
net = keras.Model([board, clocks], [policy, value, hidden])

rng = np.random.default_rng(3)
inputs = [rng.normal(size=(12, 6, 6, 2)).astype("float32"), rng.normal(size=(12, 3)).astype("float32")]
moves = rng.integers(0, 4, 12).astype("int32")
results = rng.normal(size=(12, 1)).astype("float32")

accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")  # of the name alone Keras 2 makes another here
losses = ["sparse_categorical_crossentropy", "mse", None]
net.compile(optimizer=keras.optimizers.SGD(0.05), loss=losses, loss_weights=[1.0, 0.5, 0.0] if V3 else [1.0, 0.5, None],
            metrics=[[accuracy], ["mae"], []])

name = f"several_parts_keras{keras.__version__}"
os.makedirs(name, exist_ok=True)
if V3:  # before the .h5, behind which Keras 3 would leave the optimizer out
    net.save(f"{name}/net.keras")
net.save(f"{name}/net.h5")
outputs = net.predict(inputs, verbose=0)
history = net.fit(inputs, [moves, results, np.zeros((12, 8), "float32")], batch_size=12, epochs=4, shuffle=False, verbose=0)
with open(f"{name}/net.json", "w") as file:
    json.dump({"board": inputs[0].ravel().tolist(), "clocks": inputs[1].ravel().tolist(), "moves": moves.tolist(),
               "results": results.ravel().tolist(), "policy": outputs[0].ravel().tolist(),
               "value": outputs[1].ravel().tolist(), "hidden": outputs[2].ravel().tolist(),
               "names": list(net.output_names), "layers": [layer.name for layer in net.layers],
               "history": {key: [float(x) for x in values] for key, values in history.history.items()}}, file)
    file.write("\n")
