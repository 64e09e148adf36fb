"""Writes operators_net_kerasV/: a net with operators of Python between its layers, as Keras V saves and computes it.

    python make_operators_net.py          # with Keras 3
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

keras.utils.set_random_seed(5)
images = keras.Input((4, 5, 3))
x = keras.applications.mobilenet_v2.preprocess_input(images)
x = keras.layers.Conv2D(4, 3, activation="relu")(x)
x = keras.layers.GlobalAveragePooling2D()(-(x / 255.0))
net = keras.Model(images, keras.layers.Dense(2)(2.0 * x + 1))
net.compile("sgd", "mse")
pixels = np.random.default_rng(1).integers(0, 256, (7, 4, 5, 3)).astype("float32")
folder = "operators_net_keras" + keras.__version__
os.makedirs(folder, exist_ok=True)
net.save(folder + "/net.keras")
np.savez(folder + "/io.npz", input=pixels, output=net.predict(pixels, verbose=0))
