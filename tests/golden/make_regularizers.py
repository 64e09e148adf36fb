"""Writes regularized_net_kerasV.h5 and its _expected.json: a training with penalties of every kind.

    python3 make_regularizers.py FOLDER      # with TensorFlow 2.21 (Keras 3.15.1)

float64 throughout, from weights that are floats; so are all factors, since Keras rounds some of them. The file is the
model before it is trained; `end` has the weights that were trained after three epochs of batches of 4, 4 and 2 samples,
`losses` what fit showed, and `penalty` sum(model.losses) at the start. A frozen layer has a regularizer, too.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
from keras import layers
from keras.regularizers import L1, L1L2, L2

keras.config.set_floatx("float64")


def make_net():
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3, kernel_regularizer=L2(2**-7), bias_regularizer=L1(2**-6), name="conv"),
            layers.BatchNormalization(beta_regularizer=L2(2**-5), gamma_regularizer=L1L2(2**-7, 2**-6), name="norm"),
            layers.Activation("relu", name="relu"),
            layers.DepthwiseConv2D(2, depthwise_regularizer=L1(2**-8), bias_regularizer=L2(2**-7), name="depthwise"),
            layers.Conv2DTranspose(3, 2, kernel_regularizer=L1L2(2**-8, 2**-9), bias_regularizer=L2(2**-7), name="transpose"),
            layers.SeparableConv2D(4, 2, depthwise_regularizer=L2(2**-7), pointwise_regularizer=L1(2**-8),
                                   bias_regularizer=L2(2**-6), name="separable"),
            layers.LayerNormalization(beta_regularizer=L1(2**-6), gamma_regularizer=L2(2**-7), name="layer_norm"),
            layers.Flatten(name="flatten"),
            layers.Dense(5, activation="relu", kernel_regularizer=L2(1.0), trainable=False, name="frozen"),
            layers.Dense(3, activation="softmax", kernel_regularizer="l1", bias_regularizer=L1L2(0.0, 0.5), name="dense"),
        ]
    )


def main(folder):
    rng = np.random.default_rng(1)
    net = make_net()
    for weight in net.weights:
        value = rng.uniform(0.5, 1.5, weight.shape) if "variance" in weight.path else rng.normal(0, 0.4, weight.shape)
        weight.assign(value.astype("float32"))
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9, clipnorm=0.5)
    net.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    base = os.path.join(folder, "regularized_net_keras" + keras.__version__)
    optimizer.build(net.trainable_variables)
    net.save(base + ".h5")
    images, labels = rng.normal(0, 1, (16, 6, 6, 2)).astype("float32"), rng.integers(0, 3, 16)
    sample_weight = rng.uniform(0, 2, 6).astype("float32")
    train, test = (images[:10], labels[:10]), (images[10:], labels[10:])
    expected = {
        "images": images.ravel().tolist(),
        "labels": labels.tolist(),
        "sample_weight": sample_weight.tolist(),
        "penalty": float(sum(net.losses)),
        "evaluated": net.evaluate(*test, batch_size=4, verbose=0)[0],
        "evaluated_weighted": net.evaluate(*test, sample_weight=sample_weight, batch_size=4, verbose=0)[0],
    }
    history = net.fit(*train, batch_size=4, epochs=3, shuffle=False, validation_data=test, validation_batch_size=4,
                      verbose=0).history
    expected["losses"] = history["loss"]
    expected["val_losses"] = history["val_loss"]
    expected["end"] = [weight.numpy().ravel().tolist() for weight in net.trainable_weights]
    with open(base + "_expected.json", "w", encoding="utf-8") as file:
        json.dump(expected, file)
        file.write("\n")


main(sys.argv[1])
