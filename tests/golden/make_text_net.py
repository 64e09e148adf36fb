"""Writes text_net_kerasV.h5 and text_net_kerasV_expected.h5: a net on words, as Keras V saves and computes it.

    python make_text_net.py          # with tf.keras 2.15, then with Keras 3
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import h5py
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
layers = keras.layers
net = keras.Sequential([
    keras.Input((6,)),
    layers.Embedding(50, 4),
    layers.GlobalAveragePooling1D(),
    layers.BatchNormalization(synchronized=True),
    layers.Dense(5, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
net.compile(optimizer=keras.optimizers.Adam(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
rng = np.random.default_rng(3)
words = rng.integers(0, 50, (11, 6)).astype("float32")
labels = rng.integers(0, 3, 11).astype("int32")
net.fit(words, labels, batch_size=6, epochs=4, verbose=0)  # 8 steps

name = "text_net_keras" + keras.__version__
net.save(name + ".h5")
loss, accuracy = net.evaluate(words, labels, verbose=0)
with tf.GradientTape() as tape:
    value = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, net(words, training=False)))
gradients = tape.gradient(value, [w.value if hasattr(w, "path") else w  # Keras 3 wraps its variables
                                 for w in net.trainable_weights])
with h5py.File(name + "_expected.h5", "w") as file:
    file["input"] = words
    file["label"] = labels
    file["output"] = net.predict(words, verbose=0)
    file["loss"] = np.float64(loss)
    file["accuracy"] = np.float64(accuracy)
    for i, gradient in enumerate(gradients):
        file["gradient/%02d" % i] = tf.convert_to_tensor(gradient).numpy()
