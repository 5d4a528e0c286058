#!/usr/bin/env python3
"""Makes keras_files.json and the files in keras/: models that Keras 3 and Keras 2 saved, with inputs, outputs, and the losses
of five more steps.

Run by hand, never by CI, from any folder, with each Keras:

    python3.11 -m venv keras3 && keras3/bin/pip install keras jax
    KERAS_BACKEND=jax keras3/bin/python make_keras_files.py
    python3.11 -m venv keras2 && keras2/bin/pip install tensorflow-cpu==2.15.1 tf-keras==2.15.1
    keras2/bin/python make_keras_files.py
"""
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

try:
    import tf_keras as keras

    MAJOR = 2
except ImportError:
    import keras

    MAJOR = 3

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULT = os.path.join(FOLDER, "keras_files.json")
draws = np.random.default_rng(41)
L = keras.layers
MODELS = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    return np.asarray(array, "float64").round(7).tolist()


def add(name, model, endings, *shapes, optimizer=None, targets=None):
    """Saves the model after three steps of training, if there is an optimizer, and notes what five more steps give."""
    inputs = [numbers(*shape) for shape in shapes]
    x = inputs[0] if len(inputs) == 1 else inputs
    of_data = [id(weight) for layer in model._flatten_layers() if isinstance(layer, L.Normalization) for weight in layer.weights]
    for weight in model.weights:
        if id(weight) in of_data:
            continue
        shape = weight.shape
        weight.assign(np.abs(numbers(*shape)) + 0.5 if "variance" in weight.name else numbers(*shape) / 2)
    case = {"files": [f"keras/{name}{ending}" for ending in endings], "inputs": [lists(each) for each in inputs]}
    if optimizer is not None:
        model.compile(optimizer, "mse", metrics=["mae"])
        y = numbers(*targets)
        for _ in range(3):
            model.train_on_batch(x, y)
        case["targets"] = lists(y)
    for ending in endings:
        path = os.path.join(FOLDER, f"keras/{name}{ending}")
        model.save_weights(path) if "weights" in ending else model.save(path)
    case["y"] = lists(model(x))
    if optimizer is not None:
        case["losses"] = [float(model.train_on_batch(x, y)[0]) for _ in range(5)]
    MODELS.append(case)


def chain(shape, *stack):
    x = y = keras.Input(shape)
    for layer in stack:
        y = layer(y)
    return keras.Model(x, y)


def dense(optimizer, name, endings):
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.Dense(2)])
    add(name, model, endings, (6, 4), optimizer=optimizer, targets=(6, 2))


if MAJOR == 3:
    O = keras.optimizers
    norm = keras.Sequential([keras.Input((4,)), L.Dense(3, kernel_regularizer="l2"), L.BatchNormalization(), L.PReLU(), L.Dense(2)])
    add("norm", norm, [".keras", ".weights.h5"], (6, 4), optimizer=O.SGD(0.1, momentum=0.9, nesterov=True), targets=(6, 2))
    dense(O.Adam(O.schedules.ExponentialDecay(0.05, 2, 0.5)), "adam", [".keras"])
    dense(O.Adam(0.02, use_ema=True, gradient_accumulation_steps=2), "averages", [".keras"])
    dense(O.Nadam(0.02), "nadam", [".keras"])
    dense(O.RMSprop(0.02, momentum=0.5, centered=True), "rmsprop", [".keras"])
    dense(O.Ftrl(0.02), "ftrl", [".keras"])
    dense(O.Muon(0.02, exclude_embeddings=False), "muon", [".keras"])
    add("recurrent", chain((5, 4), L.Bidirectional(L.LSTM(2, return_sequences=True)), L.TimeDistributed(L.Dense(3)),
                           L.GRU(3, return_sequences=True), L.SimpleRNN(3, return_sequences=True),
                           L.RNN(L.StackedRNNCells([L.LSTMCell(2), L.GRUCell(2)]))), [".keras"], (2, 5, 4))
    x = keras.Input((4, 6))
    y = L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)])
    y = L.LayerNormalization()(y)
    y = L.GroupQueryAttention(3, 4, 2, use_gate=True)(y, y)
    y = L.MultiHeadAttention(2, 3, use_gate=True)(y, x)
    add("attention", keras.Model(x, L.EinsumDense("abc,cd->abd", (None, 2), bias_axes="d")(y)), [".keras"], (2, 4, 6))
    add("images", chain((7, 7, 2), L.Conv2D(3, 3, strides=2), L.SeparableConv2D(3, 2), L.DepthwiseConv2D(2, padding="same"),
                        L.Conv2DTranspose(2, 3), L.GroupNormalization(1), L.SpectralNormalization(L.Conv2D(2, 1)),
                        L.GlobalAveragePooling2D()), [".keras"], (2, 7, 7, 2))
    inner = keras.Sequential([L.Dense(3), L.Dense(3)])
    shared = L.Dense(3, name="shared")
    x = keras.Input((3,))
    y = L.Concatenate()([shared(inner(x)), shared(x), chain((3,), L.Dense(2))(x)])
    add("nested", keras.Model(x, L.Dense(1, name="last")(y)), [".keras"], (4, 3))
    add("movies", chain((3, 5, 5, 1), L.ConvLSTM2D(2, 3), L.Flatten(), L.Dense(1, dtype="mixed_bfloat16")), [".keras"], (1, 3, 5, 5, 1))
    shared = L.Dense(4, activation="tanh", name="near_and_far")
    a, b = keras.Input((4,)), keras.Input((4,))
    y = L.Add()([shared(L.Dense(4)(a)), L.Dense(4)(L.Dense(4)(shared(L.Dense(4)(b))))])
    add("depths", keras.Model([a, b], y), [".keras"], (3, 4), (3, 4), optimizer=O.Adam(0.02), targets=(3, 4))
    by_options = L.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 5.0, 6.0])
    by_data, within = L.Normalization(), L.Normalization()
    for layer in by_data, within:
        layer.adapt(numbers(8, 3))
    inner = keras.Sequential([keras.Input((3,)), within, L.Dense(3)])
    add("normalized", chain((3,), by_options, by_data, inner, L.Dense(2)), [".keras", ".h5"], (4, 3))
else:
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh", name="first"), L.BatchNormalization(name="norm"), L.Dense(2, name="last")])
    add("sequential2", model, [".h5", "_weights.h5", ".keras"], (6, 4), optimizer=keras.optimizers.Adam(0.02), targets=(6, 2))
    x = keras.Input((5, 4))
    inner = keras.Sequential([L.Dense(3), L.BatchNormalization()])
    y = L.Bidirectional(L.LSTM(2))(inner(x))
    y = L.Concatenate()([y, L.GRU(3)(x)])
    add("functional2", keras.Model(x, L.Dense(2)(y)), [".h5"], (2, 5, 4))

result = json.load(open(RESULT)) if os.path.exists(RESULT) else {}
result[f"keras{MAJOR}"] = {"version": keras.__version__, "models": MODELS}
json.dump(result, open(RESULT, "w"), separators=(",", ":"))
