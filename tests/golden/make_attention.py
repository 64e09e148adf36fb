"""Writes attention_kerasV.json (layers as make_layers.py has them, with several inputs) and attention_kerasV/ (a net of
MultiHeadAttentions in files).

    KERAS_BACKEND=tensorflow python3 make_attention.py DIRECTORY      # with Keras 2.15.0 and with 3.15.1
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

import keras

layers = keras.layers
VERSION = keras.__version__


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape).round(3)


def cases():
    """Options of a layer, shapes of its inputs, whether it is called with a causal mask."""
    x, memory, keys = (2, 4, 3), (2, 5, 2), (2, 5, 4)
    yield {"num_heads": 2, "key_dim": 3}, [x], False
    yield {"num_heads": 1, "key_dim": 1, "use_bias": False}, [x], False
    yield {"num_heads": 3, "key_dim": 2, "value_dim": 4}, [x], True
    yield {"num_heads": 2, "key_dim": 4, "output_shape": 5, "use_bias": False}, [x], True
    yield {"num_heads": 2, "key_dim": 3}, [x, memory], False
    yield {"num_heads": 2, "key_dim": 2, "value_dim": 1, "output_shape": [2, 3]}, [x, memory, keys], False
    yield {"num_heads": 2, "key_dim": 2}, [x, memory], True
    yield {"num_heads": 2, "key_dim": 2}, [memory, x], True
    yield {"num_heads": 2, "key_dim": 2, "attention_axes": 1, "dropout": 0.5}, [x, memory, keys], True


def dot_cases():
    """Options of a Dot, shapes of its inputs."""
    for normalize in False, True:
        for axes in 1, -1, (1, 1):
            yield {"axes": axes, "normalize": normalize}, [(3, 4), (3, 4)]
        yield {"axes": 2, "normalize": normalize}, [(2, 3, 4), (2, 5, 4)]
        yield {"axes": 1, "normalize": normalize}, [(2, 3, 4), (2, 3)]
        yield {"axes": (1, -1), "normalize": normalize}, [(2, 4), (2, 3, 4)]
        yield {"axes": (2, 1), "normalize": normalize}, [(2, 3, 4), (2, 4, 5)]
        yield {"axes": (-1, 1), "normalize": normalize}, [(2, 3, 2, 4), (2, 4, 3)]
        yield {"axes": (2, 1), "normalize": normalize}, [(2, 3, 2, 2), (2, 2, 2, 3)]


def masked_cases():
    """Inputs behind a Masking: options, shapes, whether it is called with a causal mask."""
    x, memory, keys = (2, 4, 3), (2, 5, 2), (2, 5, 4)
    yield {"num_heads": 2, "key_dim": 4}, [x], False
    yield {"num_heads": 2, "key_dim": 4, "value_dim": 3}, [x], True
    yield {"num_heads": 2, "key_dim": 1, "output_shape": 2}, [x, memory], False
    yield {"num_heads": 1, "key_dim": 4}, [memory, x, x], True


def dense_attention_cases():
    """Layers, options, shapes, whether called with a causal mask, whether behind a Masking."""
    x, memory, keys = (2, 4, 3), (2, 5, 3), (2, 5, 3)
    for name, options in [(layers.Attention, {}), (layers.Attention, {"use_scale": True}),
                          (layers.Attention, {"score_mode": "concat"}),
                          (layers.Attention, {"use_scale": True, "score_mode": "concat", "dropout": 0.5}),
                          (layers.AdditiveAttention, {}), (layers.AdditiveAttention, {"use_scale": False, "dropout": 0.5})]:
        yield name, options, [x, memory], False
        yield name, options, [x, memory, keys], True
        yield name, options, [memory, x], False, True
        yield name, options, [x, memory, keys], True, True
    yield layers.Attention, {}, [x, (2, 5, 2), keys], False


def flat(array):
    return np.asarray(array, "float64").round(12).ravel().tolist()


def array(values):
    return {"shape": list(values.shape), "values": flat(values)}


def case(layer_class, options, shapes, causal=None, masked=False):
    """Masked, the result is times the query's mask: of what it leaves out, Keras 2 and 3 make different numbers."""
    layer, masking = layer_class(**options), layers.Masking()
    inputs = [tf.Variable(numbers(shape, i)) for i, shape in enumerate(shapes)]
    for x in inputs if masked else []:
        x[0, -1].assign(0 * x[0, -1])
        x[1, 2].assign(0 * x[1, 2])

    def call():
        taken = [masking(x) if masked else tf.convert_to_tensor(x) for x in inputs]
        given = {} if causal is None else {"use_causal_mask": causal}
        if layer_class is layers.MultiHeadAttention:
            y = layer(taken[0], *taken[1:] or taken, **given)
        else:
            y = layer(taken, **given)
        return y * tf.cast(masking.compute_mask(inputs[0]), y.dtype)[..., None] if masked else y

    call()
    for i, weight in enumerate(layer.weights):
        weight.assign(numbers(weight.shape, 10 + i))
    with tf.GradientTape() as tape:
        y = call()
        seed = np.cos(0.3 * np.arange(y.numpy().size)).reshape(y.shape)
        total = tf.reduce_sum(y * seed)
    weights = [getattr(w, "value", w) if VERSION >= "3" else w for w in layer.trainable_variables]
    gradients = tape.gradient(total, inputs + weights)
    # Keys that say nothing of the numbers are one Keras' alone.
    config = {key: value for key, value in layer.get_config().items() if key not in ("dtype", "name")}
    return {"class_name": layer_class.__name__, "config": json.loads(json.dumps(config, default=list)),
            "use_causal_mask": causal, "masked": masked,
            "inputs": [array(x.numpy()) for x in inputs], "weights": [array(np.asarray(w)) for w in layer.weights],
            "y": array(y.numpy()), "gradients": [flat(g) for g in gradients]}


def encoder():
    """Self-attention, causal too, and cross-attention with and without a key, all arguments by place or by name."""
    x, memory = keras.Input((6, 4), name="x"), keras.Input((5, 3), name="memory")
    y = layers.MultiHeadAttention(2, 3, value_dim=5, name="within")(x, x, use_causal_mask=True)
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    across = layers.MultiHeadAttention(2, 2, output_shape=7, use_bias=False)
    y = across(y, memory)
    named = layers.MultiHeadAttention(1, 3, kernel_regularizer=keras.regularizers.L2(0.01))
    y = named(query=y, value=memory, key=layers.Dense(2)(memory))
    shared = layers.MultiHeadAttention(2, 2, name="shared")
    y = shared(shared(y, y), value=y, key=y)
    return keras.Model([x, memory], layers.Dense(3, activation="softmax")(layers.GlobalAveragePooling1D()(y)))


def make_files(directory):
    keras.utils.set_random_seed(1)
    net = encoder()
    net.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    inputs = [numbers((12,) + tuple(x.shape[1:]), i).astype("float32") for i, x in enumerate(net.inputs)]
    labels = np.arange(8) % 3
    for _ in range(3):
        net.train_on_batch([x[:8] for x in inputs], labels)
    directory.mkdir(parents=True, exist_ok=True)
    io = {"inputs": [array(x) for x in inputs], "output": array(net.predict(inputs, verbose=0)), "labels": labels.tolist()}
    net.save(directory / "net.keras")
    net.save(directory / "net.h5")
    net.save_weights(directory / "net.weights.h5")
    net.train_on_batch([x[:8] for x in inputs], labels)
    io["output_after_step"] = array(net.predict(inputs, verbose=0))
    (directory / "net.json").write_text(json.dumps(io) + "\n", encoding="utf-8")


target = pathlib.Path(sys.argv[1])
make_files(target / f"attention_keras{VERSION}")
keras.backend.set_floatx("float64")
keras.mixed_precision.set_global_policy("float64")
made = [case(layers.MultiHeadAttention, *one) for one in cases()]
made += [case(layers.MultiHeadAttention, *one, masked=True) for one in masked_cases()]
made += [case(layers.Dot, *one) for one in dot_cases()]
made += [case(*one) for one in dense_attention_cases()]
lines = ",\n".join(json.dumps(one) for one in made)
(target / f"attention_keras{VERSION}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
