#!/usr/bin/env python3
"""Makes conformance/recurrent_cells.json: results of Keras 3 for cells, loops of cells and recurrent convolutions.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' jax
    keras3/bin/python make_recurrent_cells.py

Weights and inputs have two decimals and are written here in full; results are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(29)
CASES = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    """Two decimals, as the numbers were drawn."""
    return np.round(np.asarray(array).astype("float64"), 2).tolist()


def case(made, config, x, states=(), mask=None):
    """A case of a layer, or of a cell with states, with random weights."""
    call = (lambda: made(x, list(states))[0]) if states else lambda: made(x, **({} if mask is None else {"mask": mask}))
    call()
    weights = [numbers(*weight.shape) for weight in made.weights]
    made.set_weights(weights)
    y = np.asarray(call())
    target = type(made).__name__
    number = sum(test["target"] == target for test in CASES)
    given = {"list": [lists(each) for each in (x, *states)]} if states else lists(x)
    options = {} if mask is None else {"kwargs": {"mask": mask.tolist()}}
    CASES.append({
        "id": f"layer/{target}/keras3-{number}", "family": "layer", "target": target, "config": config,
        "weights": {"_list": [lists(weight) for weight in weights]}, "inputs": {"calls": [{"args": [given], **options}]},
        "expect": {"value": y.tolist(), "atol": 1e-5, "rtol": 1e-5}, "origin": "run", "checked": True,
        "source": {"repo": "keras-team/keras", "version": keras.__version__,
                   "file": "tests/golden/make_recurrent_cells.py"}})


def cell_of(config):
    """A cell from its config."""
    if config["class_name"] != "StackedRNNCells":
        return getattr(keras.layers, config["class_name"])(**config["config"])
    return keras.layers.StackedRNNCells([cell_of(cell) for cell in config["config"]["cells"]])


def cell(target, units, states, **config):
    config = {"units": units, **config}
    case(getattr(keras.layers, target)(**config), config, numbers(2, 4), [numbers(2, units) for _ in range(states)])


def rnn(inner, x, mask=None, **options):
    case(keras.layers.RNN(cell_of(inner), **options), {"cell": inner, **options}, x, mask=mask)


def convolutional(target, x, **config):
    case(getattr(keras.layers, target)(**config), config, x)


cell("SimpleRNNCell", 3, 1)
cell("SimpleRNNCell", 2, 1, activation="relu", use_bias=False)
cell("GRUCell", 3, 1)
cell("GRUCell", 3, 1, reset_after=False)
cell("LSTMCell", 3, 2)
cell("LSTMCell", 2, 2, recurrent_activation="hard_sigmoid", use_bias=False)

LSTM = {"class_name": "LSTMCell", "config": {"units": 3}}
GRU = {"class_name": "GRUCell", "config": {"units": 2}}
SIMPLE = {"class_name": "SimpleRNNCell", "config": {"units": 4}}
STACK = {"class_name": "StackedRNNCells", "config": {"cells": [LSTM, SIMPLE, GRU]}}
MASK = np.array([[True, True, False, True], [False, True, True, False]])
rnn(LSTM, numbers(2, 4, 3))
rnn(GRU, numbers(2, 4, 3), return_sequences=True, go_backwards=True)
rnn(STACK, numbers(2, 4, 3))
rnn(STACK, numbers(2, 4, 3), return_sequences=True)
rnn(STACK, numbers(2, 4, 3), mask=MASK, return_sequences=True)
rnn(STACK, numbers(2, 4, 3), mask=MASK, return_sequences=True, zero_output_for_mask=True)
rnn(STACK, numbers(2, 4, 3), mask=MASK, go_backwards=True)

convolutional("ConvLSTM1D", numbers(2, 3, 5, 2), filters=2, kernel_size=3)
convolutional("ConvLSTM1D", numbers(1, 3, 6, 2), filters=3, kernel_size=2, strides=2, padding="same", return_sequences=True)
convolutional("ConvLSTM1D", numbers(1, 3, 6, 2), filters=1, kernel_size=3, dilation_rate=2, go_backwards=True, return_sequences=True)
convolutional("ConvLSTM2D", numbers(1, 3, 4, 5, 2), filters=2, kernel_size=[2, 3])
convolutional("ConvLSTM2D", numbers(1, 2, 2, 4, 4), filters=2, kernel_size=2, padding="same", data_format="channels_first",
              return_sequences=True)
convolutional("ConvLSTM2D", numbers(2, 3, 3, 3, 1), filters=2, kernel_size=2, strides=[2, 1], padding="same", use_bias=False,
              activation="relu", recurrent_activation="hard_sigmoid")
convolutional("ConvLSTM3D", numbers(1, 2, 3, 3, 2, 2), filters=1, kernel_size=2, padding="same", return_sequences=True)

# Whatever the option of the layer: with return_sequences, the output of masked steps is 0.
for options in ({"return_sequences": True}, {}):
    inner = {"class_name": "GRU", "config": {"units": 2, **options}}
    case(keras.layers.Bidirectional(keras.layers.GRU(2, **options)), {"layer": inner}, numbers(2, 4, 3), mask=MASK)

with open(os.path.join(FOLDER, "conformance/recurrent_cells.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CASES) + "\n]\n")
