"""Keras' part of the test of files; runs with Keras 2 (2.13 or later) and with Keras 3.

    keras_side.py check DIR         nets that Ronde wrote: do they predict the same here, and train on alike?
    keras_side.py make DIR COUNT    nets for Ronde, in every format this Keras writes, with what they predict
"""

import os
import pathlib
import random
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras  # noqa: E402
import numpy  # noqa: E402
from keras import layers  # noqa: E402

TOLERANCE = 1e-5
# The nets before them are of other kinds.
FIRST_DECODER, FIRST_APPLICATION, FIRST_SEVERAL = 20, 26, 30
FIRST_RECURRENT, FIRST_SERIES, FIRST_ATTENTION, FIRST_SEQUENCES = 36, 44, 48, 52
KERAS_3 = keras.__version__.startswith("3")
failures = []


def report(what, output, expected):
    difference = numpy.abs(output - expected).max()
    if output.shape != expected.shape or not difference <= TOLERANCE:
        failures.append(f"{what}: predictions differ by {difference}")


def inputs_of(net, rows):
    """Of a net with several inputs those, which lie in rows one behind the other."""
    if len(net.inputs) == 1:
        return rows
    sizes = [int(numpy.prod(x.shape[1:])) for x in net.inputs]
    parts = numpy.split(rows, numpy.cumsum(sizes)[:-1], axis=1)
    return [part.reshape((-1,) + tuple(x.shape[1:])) for part, x in zip(parts, net.inputs)]


def predict(net, inputs):
    """Several outputs as rows, too."""
    outputs = net.predict(inputs_of(net, inputs), verbose=0)
    if isinstance(outputs, dict):  # in the order of its names
        outputs = [outputs[name] for name in sorted(outputs)]
    return numpy.concatenate([y.reshape(len(y), -1) for y in outputs], axis=1) if isinstance(outputs, list) else outputs


def one_hot(labels, classes):
    return numpy.eye(classes, dtype="float32")[labels]


def targets_of(net, labels):
    targets = one_hot(labels, 5)
    if len(net.outputs) == 1:
        return targets
    targets = [targets if y.shape[-1] == 5 else numpy.zeros((len(labels),) + tuple(y.shape[1:]), "float32")
               for y in net.outputs]
    return dict(zip(sorted(net.output), targets)) if isinstance(net.output, dict) else targets


def check_refusal(path):
    """A net with functions of Keras 3: better no net than one of other functions with the same names."""
    try:
        keras.models.load_model(path)
        failures.append(f"{path}: was opened, though it has functions of Keras 3")
    except (TypeError, ValueError):
        pass


def check_net(path):
    io = numpy.load(path / "io.npz")
    if "keras3_only" in io and not KERAS_3:
        check_refusal(path / "net.h5")
        check_refusal(path / "net.keras")
        return
    for_tf2 = "has_attention" in io and not KERAS_3  # whose Keras describes such nets in its own way
    for name in ["tf2.h5", "tf2.keras"] if for_tf2 else ["net.h5", "net.keras"]:
        model = keras.models.load_model(path / name)
        report(path / name, predict(model, io["input"]), io["output"])
    for weight in model.weights:
        weight.assign(numpy.full(weight.shape, 0.5, "float32"))
    model.load_weights(path / "net.weights.h5")
    report(path / "net.weights.h5", predict(model, io["input"]), io["output"])
    if len(model.outputs) > 1:  # the losses of the outputs are understood
        model.evaluate(inputs_of(model, io["train_input"]), targets_of(model, io["labels"]), verbose=0)
    if "output_after_step" not in io:
        return
    for name in ["keras3.keras"] if KERAS_3 else ["tf2.h5", "tf2.keras"]:
        model = keras.models.load_model(path / name)
        if int(model.optimizer.iterations) != int(io["iterations"][0]):
            failures.append(f"{path / name}: the optimizer's state was not taken over")
        labels = one_hot(io["labels"], io["output"].shape[1])
        model.train_on_batch(io["train_input"], labels)
        report(f"{path / name} after one more step", predict(model, io["input"]), io["output_after_step"])


def activation(dice):
    return dice.choice(["linear", "relu", "elu", "gelu", "sigmoid", "tanh", "softmax", "silu" if KERAS_3 else "swish"])


def image_layer(dice, channels, repeatable):
    """A layer and the number of channels it gives."""
    padding = dice.choice(["same", "valid"])
    size = dice.randint(1, 3), dice.randint(1, 3)
    kind = dice.randrange(7 if repeatable else 11)
    if kind <= 1:
        filters = 2 * dice.randint(1, 3)
        groups = 2 if channels % 2 == 0 and dice.random() < 0.3 and not repeatable else 1
        dilation = dice.choice([1, 1, 2])
        strides = 1 if dilation == 2 else (dice.randint(1, 2), dice.randint(1, 2))
        return layers.Conv2D(filters, size, strides, padding, dilation_rate=dilation, groups=groups,
                             activation=activation(dice), use_bias=dice.random() < 0.5), filters
    if kind == 2:
        multiplier = dice.randint(1, 2)
        return layers.DepthwiseConv2D(size, dice.randint(1, 2), padding, depth_multiplier=multiplier,
                                      activation=activation(dice)), channels * multiplier
    if kind == 3:
        return layers.MaxPooling2D(size, (dice.randint(1, 2), dice.randint(1, 2)), padding), channels
    if kind == 4:
        return layers.AveragePooling2D(size, padding=padding), channels
    if kind == 5:
        return layers.Activation(activation(dice)), channels
    if kind == 6:
        return layers.ZeroPadding2D(((dice.randint(0, 2), 1), (1, dice.randint(0, 2)))), channels
    if kind <= 8:
        return layers.BatchNormalization(momentum=0.8, center=dice.random() < 0.7, scale=dice.random() < 0.7), channels
    return dice.choice([layers.ReLU(max_value=2.0), layers.LeakyReLU(), layers.Softmax(),
                        layers.Dropout(0.3)]), channels


def sequential(dice, shape, repeatable):
    channels = shape[-1]
    net = keras.Sequential([keras.Input(shape)])
    for _ in range(dice.randint(3, 5)):
        layer, channels = image_layer(dice, channels, repeatable)
        net.add(layer)
    if dice.random() < 0.4:
        net.add(keras.Sequential([layers.Conv2D(3, 1, name="inner_convolution"), image_layer(dice, 3, repeatable)[0]]))
    net.add(dice.choice([layers.Flatten(), layers.GlobalAveragePooling2D(), layers.GlobalMaxPooling2D()]))
    net.add(layers.Dense(6, activation=activation(dice)))
    net.add(layers.Dense(5, activation="softmax"))
    return net


def functional(dice, shape):
    x = inputs = keras.Input(shape)
    x = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    shared = layers.Conv2D(4, 3, padding="same", name="shared")
    y = shared(shared(x))
    joined = dice.choice([layers.Add(), layers.Concatenate(), layers.Multiply(), layers.Average()])([x, y])
    z = layers.MaxPooling2D()(joined)
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.Flatten()(z)))


def decoder(dice, shape):
    padding = dice.choice(["same", "valid"])
    size = dice.randint(1, 4), dice.randint(1, 4)
    dilation = dice.choice([1, 1, 2])
    return keras.Sequential([
        keras.Input(shape),
        layers.SeparableConv2D(dice.randint(1, 6), dice.randint(1, 3), 1 if dilation == 2 else dice.randint(1, 2), padding,
                               dilation_rate=dilation, depth_multiplier=dice.choice([1, 2, 3]), activation=activation(dice),
                               use_bias=dice.random() < 0.5),
        layers.Conv2DTranspose(dice.randint(1, 6), size, (dice.randint(1, 3), dice.randint(1, 3)),
                               dice.choice(["same", "valid"]), activation=activation(dice), use_bias=dice.random() < 0.5),
        layers.Cropping2D(dice.choice([1, (0, 2), ((1, 0), (0, 2))])),
        layers.UpSampling2D(dice.choice([2, (1, 3)]), interpolation=dice.choice(["nearest", "bilinear"])),
        layers.Conv2D(4, 3, 2, activation="tanh"), layers.GlobalAveragePooling2D(),
        layers.Dense(5, activation="softmax")])


def application(dice, shape, repeatable):
    """As the nets of keras.applications are built: with what they normalise, squeeze and reshape."""
    x = inputs = keras.Input(shape)
    x = layers.Rescaling(0.5, 0.25)(x)
    x = layers.Normalization(**dice.choice([{}, {"mean": [0.3] * shape[-1], "variance": [0.7] * shape[-1]}]))(x)
    x = layers.Conv2D(6, 3, 2, "same", activation=dice.choice(["hard_silu", "mish"] if KERAS_3 else ["mish"]))(x)
    keeping = dice.random() < 0.5
    y = (layers.GlobalAveragePooling2D if keeping else layers.GlobalMaxPooling2D)(keepdims=keeping)(x)
    y = layers.Conv2D(6, 1, activation="relu6")(y if keeping else layers.Reshape((1, 1, -1))(y))
    if KERAS_3:
        y = layers.Activation("hard_sigmoid")((y - 3.0) * 0.5)
    y = layers.Multiply()([x, y])
    if not repeatable:
        y = layers.Dropout(0.2, noise_shape=(None, 1, 1, 1))(y)
    x = layers.Add()([x, y])
    x = layers.LayerNormalization(epsilon=1e-2, center=dice.random() < 0.5)(x)
    x = layers.Conv2D(4, 3, activation="relu6")(x)
    x = layers.LayerNormalization(axis=[1, 2, 3], scale=dice.random() < 0.5)(x)
    x = layers.GlobalAveragePooling1D(keepdims=True)(layers.Reshape((-1, 4))(x))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.Reshape((4,))(x)))


def several(dice, rows):
    """Two inputs, two or three outputs."""
    picture, vector = keras.Input((3, 4, 2), name="picture"), keras.Input((rows - 24,), name="vector")
    features = layers.Conv2D(3, 2, activation=activation(dice), name="features")(picture)
    body = layers.Dense(6, activation="tanh")(layers.Concatenate()([vector, layers.Flatten()(features)]))
    classes = layers.Dense(5, activation="softmax", name="classes")(body)
    numbers = layers.Dense(2, name="numbers")(layers.Concatenate()([dice.choice([vector, classes]), body]))
    outputs = dice.choice([[classes, numbers], [numbers, classes, features], {"a": classes, "b": numbers}])
    return keras.Model([picture, vector], outputs)


def conv1d(dice):
    dilation = dice.choice([1, 1, 2])
    return layers.Conv1D(dice.randint(1, 6), dice.randint(1, 4), 1 if dilation == 2 else dice.randint(1, 2),
                         dice.choice(["valid", "same", "causal"]), dilation_rate=dilation, activation=activation(dice),
                         use_bias=dice.random() < 0.5)


def series(dice, shape):
    pooling = dice.choice([layers.MaxPooling1D, layers.AveragePooling1D])
    return keras.Sequential([
        keras.Input(shape), conv1d(dice), pooling(dice.randint(1, 3), padding=dice.choice(["same", "valid"])),
        layers.ZeroPadding1D((dice.randint(0, 2), 2)),
        layers.Conv1DTranspose(dice.randint(1, 6), dice.randint(1, 4), dice.randint(1, 3), dice.choice(["same", "valid"]),
                               activation=activation(dice)),
        layers.Cropping1D(dice.choice([1, (0, 1)])), layers.UpSampling1D(dice.randint(1, 3)), layers.SpatialDropout1D(0.0),
        conv1d(dice), dice.choice([layers.GlobalAveragePooling1D(), layers.GlobalMaxPooling1D(), layers.Flatten()]),
        layers.Dense(5, activation="softmax")])


def attention_encoder(dice, shape, repeatable):
    """Self- and cross-attention, with arguments by place and by name."""
    def attention():
        return layers.MultiHeadAttention(dice.randint(1, 3), dice.randint(1, 4), dice.choice([None, 1, 3]), output_shape=6,
                                         dropout=0.0 if repeatable else 0.25, use_bias=dice.random() < 0.5)
    inputs = keras.Input(shape)
    x = layers.Dense(6, activation="tanh")(inputs)
    y = attention()(x, x, use_causal_mask=True) if dice.random() < 0.5 else attention()(query=x, value=x)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    memory = layers.Reshape((shape[0] // 2, 2 * shape[1]))(inputs)
    y = attention()(x, memory) if dice.random() < 0.5 else attention()(x, memory, key=layers.Dense(3)(memory))
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(layers.Add()([x, y])))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def sequences(dice, shape):
    """Attentions without heads, and what else makes sequences of sequences."""
    def coin():
        return dice.random() < 0.5
    inputs = keras.Input(shape)
    attention = layers.Attention(use_scale=coin(), score_mode=dice.choice(["dot", "concat"]))
    query = attention([inputs, inputs], use_causal_mask=True) if coin() else attention([inputs, inputs])
    dilation = dice.choice([1, 1, 2])
    x = layers.SeparableConv1D(dice.randint(1, 6), dice.randint(1, 4), 1 if dilation == 2 else dice.randint(1, 2),
                               dice.choice(["same", "valid"]), dilation_rate=dilation, depth_multiplier=dice.randint(1, 2),
                               activation=activation(dice), use_bias=coin())(inputs)
    x = layers.DepthwiseConv1D(dice.randint(1, 3), dice.randint(1, 2), dice.choice(["same", "valid"]),
                               depth_multiplier=dice.randint(1, 2), activation=activation(dice), use_bias=coin())(x)
    attention = layers.AdditiveAttention(use_scale=coin())
    given = [layers.Dense(4, activation="tanh")(query), layers.Dense(4)(x), layers.Dense(4)(x)]
    y = attention(given, use_causal_mask=True) if coin() else attention(given)
    same = layers.RepeatVector(3)(layers.GlobalAveragePooling1D()(y))
    y = layers.Permute((2, 1))(layers.Dot(dice.choice([2, (2, -1)]), normalize=coin())([y, same]))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.Flatten()(y)))


def recurrent(dice, shape):
    net = keras.Sequential([keras.Input(shape)])
    for sequences in True, True, False:
        kind = dice.choice([layers.LSTM, layers.GRU, layers.SimpleRNN])
        more = {"reset_after": dice.random() < 0.5} if kind is layers.GRU else {}
        layer = kind(dice.randint(1, 5), activation=dice.choice(["tanh", "tanh", "relu", "softsign"]),
                     use_bias=dice.random() < 0.8, return_sequences=sequences, **more)
        mode = dice.choice(["concat", "sum", "mul", "ave", None])
        layer.go_backwards = mode is None and dice.random() < 0.5
        net.add(layer if mode is None else layers.Bidirectional(layer, mode))
    net.add(layers.Dense(5, activation="softmax"))
    return net


def make_net(path, seed):
    dice = random.Random(seed)
    keras.utils.set_random_seed(seed)
    is_decoder = FIRST_DECODER <= seed < FIRST_APPLICATION
    repeatable = is_decoder or seed >= FIRST_RECURRENT or (seed % 2 == 0 and seed < FIRST_SEVERAL)
    shape = (dice.randint(12, 16), dice.randint(12, 16), dice.randint(1, 4))
    if seed >= FIRST_SEQUENCES:
        shape = (dice.randint(12, 16), shape[2])
        net = sequences(dice, shape)
    elif seed >= FIRST_ATTENTION:
        repeatable = seed % 2 == 0
        shape = (2 * dice.randint(2, 4), dice.randint(1, 4))
        net = attention_encoder(dice, shape, repeatable)
    elif seed >= FIRST_SERIES:
        shape = (dice.randint(20, 27), shape[2])
        net = series(dice, shape)
    elif seed >= FIRST_RECURRENT:
        shape = (dice.randint(1, 6), dice.randint(1, 4))
        net = recurrent(dice, shape)
    elif seed >= FIRST_SEVERAL:
        shape = (24 + dice.randint(1, 4),)
        net = several(dice, shape[0])
    elif seed >= FIRST_APPLICATION:
        net = application(dice, shape, repeatable)
    elif is_decoder:
        net = decoder(dice, shape)
    else:
        net = functional(dice, shape) if seed % 5 == 4 else sequential(dice, shape, repeatable)
    optimizer = dice.choice([
        keras.optimizers.Adam(0.01, amsgrad=True), keras.optimizers.AdamW(0.01),
        keras.optimizers.RMSprop(0.003, momentum=0.5, centered=True),
        keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True), keras.optimizers.SGD(0.1),
        keras.optimizers.Adadelta(0.5), keras.optimizers.Adagrad(0.02)])
    losses = ["categorical_crossentropy" if y.shape[-1] == 5 else "mse" for y in net.outputs]
    metrics = [["accuracy"] if loss != "mse" else [] for loss in losses]
    single = len(losses) == 1
    if not single and isinstance(net.output, dict):
        losses, metrics = dict(zip(sorted(net.output), losses)), dict(zip(sorted(net.output), metrics))
    net.compile(optimizer, losses[0] if single else losses, metrics=metrics[0] if single else metrics)
    images = numpy.random.default_rng(seed).normal(0, 0.5, (23,) + shape).astype("float32")
    labels = (numpy.arange(8) * 3 % 5).astype("int32")
    groups = any(getattr(layer, "groups", 1) > 1 for layer in net.layers)
    for _ in range(0 if groups else 3):  # TensorFlow has no gradient of grouped convolutions on a CPU
        net.train_on_batch(inputs_of(net, images[:8]), targets_of(net, labels))
    io = {"input": images[:7], "output": predict(net, images[:7]),
          "iterations": numpy.array([int(net.optimizer.iterations)])}
    path.mkdir(parents=True)
    net.save(path / "net.keras")  # first: saving an .h5 makes Keras 3.15 forget the optimizer in later files
    net.save(path / "net.h5")
    net.save_weights(path / "net.weights.h5")
    if not KERAS_3:
        net.save_weights(path / "legacy_weights.h5")
    if repeatable:
        io["train_input"], io["labels"] = images[8:16], labels
        net.train_on_batch(io["train_input"], targets_of(net, labels))
        io["output_after_step"] = predict(net, images[:7])
    numpy.savez(path / "io.npz", **io)


def main():
    warnings.simplefilter("ignore")
    command, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "check":
        for path in sorted(directory.iterdir()):
            try:
                check_net(path)
            except Exception as error:  # the other nets are to be checked, too
                failures.append(f"{path}: {type(error).__name__}: {str(error)[:2000]}")
    else:
        for seed in range(int(sys.argv[3])):
            make_net(directory / str(seed), seed)
    print(*failures, sep="\n")
    sys.exit(1 if failures else 0)


main()
