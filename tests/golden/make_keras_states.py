#!/usr/bin/env python3
"""Makes keras_states.json and files in keras/: models of Keras with states of optimizers that have parts, with vocabularies
and in .h5 files, and weights in shards; with inputs, outputs, and the losses of five more steps.

Run by hand, never by CI, from any folder, with Keras 3 on JAX, on TensorFlow, which has the layers of texts, and Keras 2:

    python3.11 -m venv keras3 && keras3/bin/pip install keras jax
    KERAS_BACKEND=jax keras3/bin/python make_keras_states.py keras3
    python3.11 -m venv texts && texts/bin/pip install keras tensorflow-cpu
    KERAS_BACKEND=tensorflow texts/bin/python make_keras_states.py texts
    python3.11 -m venv keras2 && keras2/bin/pip install tensorflow-cpu==2.15.1 tf-keras==2.15.1
    keras2/bin/python make_keras_states.py keras2
"""
import json
import os
import sys

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

PART = sys.argv[1]
if PART == "keras2":
    import tf_keras as keras
else:
    import keras

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULT = os.path.join(FOLDER, "keras_states.json")
draws = np.random.default_rng(43)
L = keras.layers
MODELS = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    array = np.asarray(array)
    return array.tolist() if array.dtype == "int64" else array.astype("float64").round(7).tolist()


def add(files, model, x, targets, optimizer, **more):
    """Saves the model after three steps of training, and notes what five more steps give."""
    for weight in model.trainable_weights:
        weight.assign(numbers(*weight.shape) / 2)
    case = {"files": ["keras/" + file for file in files], "inputs": [] if more else [lists(x)], **more}
    model.compile(optimizer, "mse")
    y = numbers(*targets)
    for _ in range(3):
        model.train_on_batch(x, y)
    case["targets"] = lists(y)
    for file in files:
        model.save(os.path.join(FOLDER, "keras", file))
    case["y"] = lists(model(x if PART == "keras2" else keras.ops.convert_to_tensor(x)))
    case["losses"] = [float(np.ravel(model.train_on_batch(x, y))[0]) for _ in range(5)]
    MODELS.append(case)


def dense(optimizer, *files):
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="tanh"), L.Dense(2)])
    add(files, model, numbers(6, 4), (6, 2), optimizer)


result = json.load(open(RESULT)) if os.path.exists(RESULT) else {}
O = keras.optimizers
if PART == "keras3":
    dense(O.Adam(0.02, amsgrad=True), "amsgrad.keras", "amsgrad3.h5")
    dense(O.Adafactor(0.05), "adafactor.keras")
    parts = {".*/kernel": O.SGD(0.05, momentum=0.9), ".*/bias": O.Adam(0.02)}  # not in the order of the expressions
    dense(O.MultiOptimizer(O.OptimizerMap(O.RMSprop(0.01), parts)), "multi.keras")
    dense(O.LossScaleOptimizer(O.Adam(0.02, use_ema=True), initial_scale=1024, dynamic_growth_steps=2), "scaled.keras")

    model = keras.Sequential([keras.Input((4,)), L.Dense(3), L.BatchNormalization(), L.Dense(2)])
    for weight in model.trainable_weights:
        weight.assign(numbers(*weight.shape))
    model.save_weights(os.path.join(FOLDER, "keras", "shards.weights.json"), max_shard_size=80 / 1024**3)
    x = numbers(2, 4)
    result["shards"] = {"file": "keras/shards.weights.json", "inputs": [lists(x)], "y": lists(model(x))}
    dense(O.LossScaleOptimizer(O.Adafactor(0.05), initial_scale=1024), "scaled_adafactor.keras")
    # Keras does not scale the loss of a model of which one layer computes in float16.
    model = keras.Sequential([keras.Input((4,)), L.Dense(3, dtype="mixed_float16"), L.Dense(2)])
    model.compile(O.Adam(0.02), "mse")
    for _ in range(3):
        model.train_on_batch(numbers(6, 4), numbers(6, 2))
    model.save(os.path.join(FOLDER, "keras", "half_layer.keras"))
    slots = [variable.numpy().tolist() for variable in model.optimizer.variables]
    result["half_layer"] = {"file": "keras/half_layer.keras", "optimizer": slots}
elif PART == "texts":
    # The vocabularies of adapted layers are assets.
    x = keras.Input((3,), dtype="int64")
    some, rows = L.IntegerLookup(output_mode="multi_hot"), L.IntegerLookup(num_oov_indices=2, mask_token=0)
    data = np.array([[7, 7, 3], [12, 7, -4], [3, 12, 12], [0, 7, 99]])
    some.adapt(data), rows.adapt(data)
    inner_x = keras.Input((3,), dtype="int64")
    inner = keras.Model(inner_x, L.Flatten()(L.Embedding(8, 2)(rows(inner_x))))
    y = L.Dense(2)(L.Concatenate()([some(x), inner(x)]))
    add(["lookups.keras"], keras.Model(x, y), data[[0, 1, 3]], (3, 2), O.SGD(0.05))

    texts = np.array([["The cat sat."], ["the dog sat on the mat"], ["a cat!"]], dtype=object)
    vectorize = L.TextVectorization(output_sequence_length=4)
    vectorize.adapt([each[0] for each in texts])
    model = keras.Sequential([keras.Input((1,), dtype="string"), vectorize, L.Embedding(10, 2), L.Flatten(), L.Dense(1)])
    add(["texts.keras"], model, texts, (3, 1), O.SGD(0.05), texts=[each[0] for each in texts],
        vocabulary=vectorize.get_vocabulary())

    words = np.array([["cat", "dog", "cat"], ["dog", "emu", "\u00fc b"]], dtype=object)
    weighted = L.StringLookup(output_mode="tf_idf", num_oov_indices=1)
    weighted.adapt(words)
    x = keras.Input((3,), dtype="string")
    add(["weighted.keras"], keras.Model(x, L.Dense(1)(weighted(x))), words, (2, 1), O.SGD(0.05),
        texts=words.tolist(), vocabulary=weighted.get_vocabulary(), encoded=lists(weighted(words)))

    weighted = L.IntegerLookup(output_mode="tf_idf", num_oov_indices=2)
    weighted.adapt(data)
    x = keras.Input((3,), dtype="int64")
    add(["inverse.keras"], keras.Model(x, L.Dense(1)(weighted(x))), data[[0, 1, 3]], (3, 1), O.SGD(0.05))
else:
    dense(O.RMSprop(0.02, momentum=0.5, centered=True), "rmsprop2.h5")
    dense(O.legacy.Adam(0.02, amsgrad=True), "legacy_adam2.h5")
    # Compiled, Nadam of Keras 2 multiplies its product of beta_1 once for each variable instead of once in a step.
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    dense(O.Nadam(0.02), "nadam2.h5", "nadam2.keras")
    dense(O.SGD(O.schedules.InverseTimeDecay(0.3, 1, 0.5)), "sgd2.h5", "sgd2.keras")

result[PART] = {"version": keras.__version__, "models": MODELS}
json.dump(result, open(RESULT, "w"), separators=(",", ":"))
