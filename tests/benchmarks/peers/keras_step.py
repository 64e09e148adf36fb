"""A training step of the reference nets in Keras on TensorFlow; the batch is a tensor already."""

import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"
begin = time.perf_counter()
import keras
import tensorflow

import_seconds = time.perf_counter() - begin

from keras import layers
from measure import arguments, report


def conv(filters, padding="valid"):
    return layers.Conv2D(filters, 3, padding=padding, activation="relu")


def block(x, filters, stride):
    """Two 3x3 convolutions beside a shortcut, as in models/cifar_resnet.h."""
    y = layers.Conv2D(filters, 3, stride, "same")(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(y))
    shortcut = layers.Conv2D(filters, 1, stride, "same")(x) if stride > 1 else x
    return layers.ReLU()(layers.Add()([shortcut, y]))


def resnet20():
    x = keras.Input((32, 32, 3))
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(x)))
    for filters, stride in 3 * [(16, 1)] + [(32, 2)] + 2 * [(32, 1)] + [(64, 2)] + 2 * [(64, 1)]:
        y = block(y, filters, stride)
    return keras.Model(x, layers.Dense(10)(layers.GlobalAveragePooling2D()(y)))


def normalised(x, filters, kernel, stride):
    """As in models/resnet.h: no bias, padding on both sides."""
    x = layers.ZeroPadding2D(kernel // 2)(x) if kernel > 1 and stride > 1 else x
    padding = "valid" if stride > 1 else "same"
    x = layers.Conv2D(filters, kernel, stride, padding, use_bias=False)(x)
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)


def resnet18():
    x = keras.Input((32, 32, 3))
    y = layers.ReLU()(normalised(x, 64, 3, 1))
    for filters, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
        shortcut = normalised(y, filters, 1, stride) if stride > 1 else y
        z = normalised(layers.ReLU()(normalised(y, filters, 3, stride)), filters, 3, 1)
        y = layers.ReLU()(layers.Add()([shortcut, z]))
    return keras.Model(x, layers.Dense(10)(layers.GlobalAveragePooling2D()(y)))


def is_file(name):
    return "." in name


def net_of(name):
    if is_file(name):
        return keras.saving.load_model(name, compile=False)
    if name in ("lstm", "gru"):
        kind = {"lstm": layers.LSTM, "gru": layers.GRU}[name]
        return keras.Sequential([keras.Input((50, 64)), kind(128), layers.Dense(10)])
    if name.startswith("resnet"):
        return {"resnet20": resnet20, "resnet18": resnet18}[name]()
    if name == "mnist":
        return keras.Sequential([keras.Input((28, 28, 1)), conv(32), conv(64), layers.MaxPooling2D(),
                                 layers.Dropout(0.25), layers.Flatten(), layers.Dense(128, activation="relu"),
                                 layers.Dropout(0.5), layers.Dense(10)])
    return keras.Sequential([keras.Input((32, 32, 3)), conv(32, "same"), conv(32), layers.MaxPooling2D(),
                             layers.Dropout(0.25), conv(64, "same"), conv(64), layers.MaxPooling2D(),
                             layers.Dropout(0.25), layers.Flatten(), layers.Dense(512, activation="relu"),
                             layers.Dropout(0.5), layers.Dense(10)])


def optimizer_of(name):
    if name == "mnist":
        return keras.optimizers.Adam(1e-3)
    return keras.optimizers.RMSprop(1e-4) if name == "cifar10" else keras.optimizers.SGD(0.01, momentum=0.9)


def main():
    options = arguments(["graph", "fit", "jit"])
    tensorflow.config.threading.set_intra_op_parallelism_threads(options.threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    net, jit = net_of(options.net), options.mode == "jit"
    net.compile(optimizer_of(options.net),
                keras.losses.SparseCategoricalCrossentropy(from_logits=not is_file(options.net)), jit_compile=jit)
    batches = 20 if options.mode == "fit" else 1
    count = options.batch * batches
    images = tensorflow.random.uniform((count, *net.input_shape[1:]))
    labels = tensorflow.random.uniform((count,), maxval=10, dtype=tensorflow.int32)
    train = tensorflow.function(lambda x, y: net.train_step((x, y)), jit_compile=jit)
    infer = tensorflow.function(lambda x: net(x, training=False), jit_compile=jit)
    arrays = images.numpy(), labels.numpy()

    def step():
        if options.evaluate:
            infer(images)[0, 0].numpy()
        elif options.mode == "fit":
            net.fit(*arrays, batch_size=options.batch, verbose=0)
        else:
            train(images, labels)
            net.optimizer.iterations.numpy()  # waits for the step

    report(options, step, count, import_seconds,
           f"Keras {keras.__version__} on TensorFlow {tensorflow.__version__}")


main()
