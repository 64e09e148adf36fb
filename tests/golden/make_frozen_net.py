"""Writes frozen_net_kerasV/: a net with a frozen one in it whose last layer is trained, as Keras V saves and trains it.

    python make_frozen_net.py          # with Keras 3
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

keras.utils.set_random_seed(3)
layers = keras.layers
inputs = keras.Input((4,))
x = layers.Dense(4, activation="tanh", name="first")(inputs)
x = layers.BatchNormalization(name="norm")(x)
base = keras.Model(inputs, layers.Dense(4, activation="tanh", name="last")(x), name="base")
images = keras.Input((4,))
net = keras.Model(images, layers.Dense(3, activation="softmax", name="head")(base(images)))

rng = np.random.default_rng(0)
samples = rng.normal(size=(12, 4)).astype("float32")
labels = (samples.sum(1) > 0).astype("int32") + (samples[:, 0] > 0.5)
base.get_layer("norm").set_weights(
    [rng.normal(size=4) * 0.1 + 1, rng.normal(size=4) * 0.1, rng.normal(size=4) * 0.3, rng.normal(size=4) ** 2 + 0.5])
base.trainable = False
base.layers[-1].trainable = True
net.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])


def train(model):
    model.fit(samples, labels, epochs=1, batch_size=6, shuffle=False, verbose=0)
    return model.predict(samples, verbose=0)


output = train(net)
folder = "frozen_net_keras" + keras.__version__
os.makedirs(folder, exist_ok=True)
net.save(folder + "/net.keras")
net.save(folder + "/net.h5")
np.savez(folder + "/io.npz", input=samples, label=labels.astype("int32"), output=output,
         output_after_epoch=train(keras.models.load_model(folder + "/net.keras")))
