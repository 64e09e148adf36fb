"""Writes augmenting_net_kerasV/: a net that augments its pictures itself, as Keras V saves and computes it.

    python make_augmenting_net.py          # with Keras 3
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

keras.utils.set_random_seed(7)
layers = keras.layers
net = keras.Sequential([
    keras.Input((4, 5, 3)),
    layers.RandomFlip("horizontal"),
    layers.RandomRotation(0.1),
    layers.RandomZoom(0.2),
    layers.RandomTranslation(0.1, 0.1),
    layers.RandomContrast(0.2),
    layers.RandomBrightness(0.2),
    layers.GaussianNoise(0.1),
    layers.Conv2D(4, 3, activation="relu"),
    layers.SpatialDropout2D(0.4),
    layers.GaussianDropout(0.3),
    layers.GlobalAveragePooling2D(),
    layers.Dense(3, activation="softmax"),
])
net.compile("sgd", "sparse_categorical_crossentropy")
pixels = np.random.default_rng(1).normal(size=(7, 4, 5, 3)).astype("float32")
folder = "augmenting_net_keras" + keras.__version__
os.makedirs(folder, exist_ok=True)
net.save(folder + "/net.keras")
np.savez(folder + "/io.npz", input=pixels, output=net.predict(pixels, verbose=0))
