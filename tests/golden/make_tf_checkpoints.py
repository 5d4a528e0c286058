#!/usr/bin/env python3
"""Makes tf_checkpoints.json and the files in tf/: checkpoints of TensorFlow with the weights of small models, with the
models' descriptions, inputs and outputs.

Run by hand, never by CI, from any folder, with each Keras:

    python3.11 -m venv keras2 && keras2/bin/pip install tensorflow-cpu==2.15.1 tf-keras==2.15.1
    keras2/bin/python make_tf_checkpoints.py 2
    python3.11 -m venv tf && tf/bin/pip install tensorflow keras
    KERAS_BACKEND=tensorflow tf/bin/python make_tf_checkpoints.py 3
"""
import json
import os
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

MAJOR = int(sys.argv[1])
if MAJOR == 2:
    import tf_keras as keras
else:
    import keras

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULT = os.path.join(FOLDER, "tf_checkpoints.json")
draws = np.random.default_rng(43)
L = keras.layers
MODELS, TRAINED = [], []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def fill(model):
    for weight in model.weights:
        shape = weight.shape
        if "int" not in str(weight.dtype):
            weight.assign(np.abs(numbers(*shape)) + 0.5 if "variance" in weight.name else numbers(*shape) / 2)


def add(name, model, *inputs, optimizer=None, described=None):
    """Saves the weights: with an optimizer as a tf.train.Checkpoint, otherwise as tf.keras does."""
    fill(model)
    x = inputs[0] if len(inputs) == 1 else list(inputs)
    prefix = os.path.join(FOLDER, "tf", name)
    if MAJOR == 3:
        tf.train.Checkpoint(model=model).write(prefix)
    elif optimizer is None:
        model.save_weights(prefix)
    else:
        model.compile(optimizer, "mse")
        model.train_on_batch(x, np.zeros_like(model(x)))
        tf.train.Checkpoint(model=model, optimizer=model.optimizer).write(prefix)
    config = json.loads((described or model).to_json())
    MODELS.append({"path": f"tf/{name}", "config": config, "inputs": [np.asarray(each).tolist() for each in inputs],
                   "y": np.asarray(model(x), "float64").round(7).tolist()})


def train(name, optimizer, whole=False):
    """Saves a model after three steps of training, and what five more steps give. `whole`: as a tf.train.Checkpoint."""
    model = keras.Sequential([keras.Input((3,)), L.Dense(2, activation="tanh"), L.Dense(1)])
    fill(model)
    x, y = numbers(4, 3), numbers(4, 1)
    model.compile(optimizer, "mse")
    for _ in range(3):
        model.train_on_batch(x, y)
    prefix = os.path.join(FOLDER, "tf", name)
    tf.train.Checkpoint(model=model, optimizer=model.optimizer).write(prefix) if whole else model.save_weights(prefix)
    losses = [float(np.ravel(model.train_on_batch(x, y))[0]) for _ in range(5)]
    # Another learning rate: that of the checkpoint is restored.
    config = {key: value if isinstance(value, bool) else float(value) for key, value in optimizer.get_config().items() if key in ("momentum", "rho", "centered", "amsgrad")}
    TRAINED.append({"path": f"tf/{name}", "config": json.loads(model.to_json()), "x": x.tolist(), "y": y.tolist(), "losses": losses,
                    "optimizer": {"class_name": type(optimizer).__name__, "config": {**config, "learning_rate": 0.5}}})


def chain(shape, *stack):
    x = y = keras.Input(shape)
    for layer in stack:
        y = layer(y)
    return keras.Model(x, y)


def dense():
    return keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.BatchNormalization(), L.Dropout(0.1), L.Dense(2)])


class Subclassed(keras.Model):
    """The same layers as its description, in attributes and in a list."""

    def __init__(self):
        super().__init__()
        self.blocks = [L.Dense(3, activation="relu"), L.Dense(3)]
        self.last = L.Dense(2)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.last(x)


if MAJOR == 2:
    add("dense", dense(), numbers(3, 4), optimizer=keras.optimizers.Adam(0.02))
    add("images", chain((6, 6, 2), L.Conv2D(3, 3, strides=2, padding="same"), L.BatchNormalization(), L.DepthwiseConv2D(2, padding="same"),
                        L.SeparableConv2D(2, 2), L.PReLU(), L.Flatten(), L.Dense(2)), numbers(2, 6, 6, 2))
    add("steps", chain((5, 3), L.Bidirectional(L.LSTM(2, return_sequences=True)), L.TimeDistributed(L.Dense(3)), L.GRU(2, return_sequences=True),
                       L.RNN([L.LSTMCell(2), L.GRUCell(2)])), numbers(2, 5, 3))
    # A layer that stands both in a model inside and beside it, and one that TensorFlow writes after it.
    shared = L.Dense(4, name="shared")
    inner = keras.Sequential([L.Dense(4), shared, L.LayerNormalization()])
    x = keras.Input((3, 4))
    y = L.Add()([shared(inner(x)), L.MultiHeadAttention(2, 3)(x, x)])
    add("nested", keras.Model(x, L.Dense(2)(y)), numbers(2, 3, 4))
    model = Subclassed()
    model(np.zeros((1, 4)))
    add("subclassed", model, numbers(3, 4), described=keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu"), L.Dense(3), L.Dense(2)]))
    old, new = keras.optimizers.legacy, keras.optimizers
    train("sgd_slots", old.SGD(0.1, momentum=0.9))
    train("adam_slots", old.Adam(0.05, amsgrad=True), whole=True)
    train("rmsprop_slots", old.RMSprop(0.02, momentum=0.5, centered=True))
    train("sgd_list", new.SGD(0.1, momentum=0.9), whole=True)
    train("adam_list", new.Adam(0.05))
    train("plain_sgd_list", new.SGD(0.1))
else:
    add("keras3", dense(), numbers(3, 4))
    x = keras.Input((4, 3))
    y = L.Add()([x, L.MultiHeadAttention(2, 3)(x, x)])
    add("keras3_steps", keras.Model(x, keras.Sequential([L.LSTM(2), L.Dense(2)])(y)), numbers(2, 4, 3))
    train("adam3_list", keras.optimizers.Adam(0.05), whole=True)

os.path.exists(os.path.join(FOLDER, "tf", "checkpoint")) and os.remove(os.path.join(FOLDER, "tf", "checkpoint"))
result = json.load(open(RESULT)) if os.path.exists(RESULT) else {}
result[f"keras{MAJOR}"] = {"version": f"{keras.__version__} on TensorFlow {tf.__version__}", "models": MODELS, "trained": TRAINED}
json.dump(result, open(RESULT, "w"), separators=(",", ":"))
