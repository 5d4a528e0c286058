#!/usr/bin/env python3
"""Compares the configs of Etude and of Keras in both directions; `./dev test interop` runs it.

    python keras_configs.py PROGRAM

PROGRAM is the binary etude_configs. Of every class that Keras has, Keras creates an object from Etude's JSON, and Etude
an object from the JSON of that one; from its JSON Keras creates an object with the same options. Models of Keras become
models of Etude, whose JSON gives a model of Keras with the same results. Failures are listed; the status is 1 if there
are any.
"""
import json
import os
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")  # only with it Keras has layers of strings

import keras
import numpy as np
from keras import layers

MODULES = {"layer": keras.layers, "loss": keras.losses, "metric": keras.metrics, "optimizer": keras.optimizers,
           "schedule": keras.optimizers.schedules, "initializer": keras.initializers,
           "regularizer": keras.regularizers, "constraint": keras.constraints}
program = sys.argv[1]
failures = []


def run(action, requests=()):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    return [json.loads(line) for line in subprocess.run([program, action], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]


def again(config):
    """Keras's JSON of the object that it creates from this JSON."""
    keras.utils.clear_session(free_memory=False)
    return keras.saving.serialize_keras_object(keras.saving.deserialize_keras_object(json.loads(json.dumps(config))))


def difference(one, other, path=""):
    """The first place where they differ by more than the rounding of float32; "" if there is none."""
    if isinstance(one, dict) and isinstance(other, dict):
        return next(filter(None, (difference(one.get(key), other.get(key), f"{path}.{key}") for key in {**one, **other})), "")
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return next(filter(None, (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(one, other)))), "")
    numbers = type(one) in (int, float) and type(other) in (int, float)
    return "" if one == other or numbers and abs(one - other) <= 1e-6 * abs(one) else f"{path}: {one} became {other}"


def check_classes():
    lines, missing, requests = run("write"), [], []
    for line in lines:
        kind, ours = line["kind"], line["json"]
        if not hasattr(MODULES[kind], ours["class_name"]):
            missing.append(ours["class_name"])
            continue
        try:
            requests.append({"kind": kind, "json": json.loads(json.dumps(again(ours)))})
        except Exception as error:
            failures.append(f"Keras reads {kind} {ours['class_name']}: {type(error).__name__} {str(error).splitlines()[-1][:300]}")
    for request, answer in zip(requests, run("read", requests)):
        name = f"{request['kind']} {request['json']['class_name']}"
        if "error" in answer:
            failures.append(f"Etude reads {name}: {answer['error']}")
        elif found := difference(request["json"], json.loads(json.dumps(again(answer["json"])))):
            failures.append(f"{name}{found[:300]}")
    print(f"Keras lacks {', '.join(missing)}")
    return len(requests)


def models():
    """Models of all kinds, each with inputs."""
    draws = np.random.default_rng(5)

    def numbers(*shape):
        return draws.standard_normal(shape).astype("float32")

    images, steps, others = keras.Input((6, 6, 2)), keras.Input((5, 4)), keras.Input((7, 4))
    state, ids = keras.Input((3,)), keras.Input((5,), dtype="int32")
    flat = keras.Sequential([keras.Input((4,)), layers.Dense(3, "relu", kernel_regularizer="l2"), layers.BatchNormalization(),
                             layers.Dropout(0.5), layers.Dense(2, kernel_constraint="max_norm")])
    flat.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5), momentum=0.9),
                 keras.losses.MeanSquaredError(), metrics=["mae", keras.metrics.MeanSquaredError(name="error")], weighted_metrics=["mse"])
    yield "sequential", flat, numbers(3, 4)
    yield "built by shape", built(keras.Sequential([layers.Dense(3), layers.Dense(2)]), (None, 4)), numbers(3, 4)
    y = layers.Conv2D(3, 3, padding="same", activation="swish")(images)
    y = layers.Add()([y, layers.Conv2D(3, 1)(images)])
    yield "convolutions", keras.Model(images, layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(y))), numbers(2, 6, 6, 2)
    shared, inner = layers.Dense(4), keras.Sequential([keras.Input((5, 4)), layers.LayerNormalization(), layers.TimeDistributed(layers.Dense(4))])
    y = layers.Concatenate()([shared(inner(steps)), shared(shared(steps)), inner(layers.ReLU()(steps))])
    model = keras.Model([steps, state], [layers.Flatten(name="one")(y), layers.Dense(2, name="two")(state)])
    model.compile("adam", {"one": "mse", "two": keras.losses.Huber(delta=1.0)}, metrics={"two": ["mae"]}, loss_weights={"one": 1.0, "two": 0.5})
    yield "shared and nested, two outputs", model, [numbers(2, 5, 4), numbers(2, 3)]
    y = layers.LSTM(3, return_sequences=True)(steps, initial_state=[state, state])
    yield "initial states", keras.Model([steps, state], layers.GRU(3)(y, initial_state=state)), [numbers(2, 5, 4), numbers(2, 3)]
    y = layers.RNN(layers.StackedRNNCells([layers.GRUCell(3), layers.SimpleRNNCell(2)]))(layers.Bidirectional(layers.LSTM(2, return_sequences=True))(steps))
    yield "cells", keras.Model(steps, y), numbers(2, 5, 4)
    y = layers.MultiHeadAttention(2, 3)(steps, others)
    y = layers.Attention(use_scale=True)([y, layers.GroupQueryAttention(3, 4, 2)(query=others, value=steps)])
    yield "attention", keras.Model([steps, others], y), [numbers(2, 5, 4), numbers(2, 7, 4)]
    y = layers.LSTM(3)(layers.Masking()(steps))
    yield "masking", keras.Model(steps, y), np.concatenate([numbers(2, 3, 4), np.zeros((2, 2, 4), "float32")], 1)
    y = layers.GRU(3, return_sequences=True)(layers.Embedding(9, 4, mask_zero=True)(ids))
    yield "masks of an embedding", keras.Model(ids, layers.GlobalAveragePooling1D()(y)), np.array([[1, 2, 0, 0, 0], [3, 4, 5, 0, 0]], "int32")


def built(model, shape):
    model.build(shape)
    return model


def check_models():
    all_models = list(models())
    requests = [{"kind": "layer", "json": json.loads(model.to_json())} for _, model, _ in all_models]
    for (name, model, x), request, answer in zip(all_models, requests, run("read", requests)):
        if "error" in answer:
            failures.append(f"Etude reads the model {name}: {answer['error']}")
            continue
        try:
            twin = keras.models.model_from_json(json.dumps(answer["json"]))
            weights = [np.abs(np.sin(np.arange(weight.size))).reshape(weight.shape) for weight in model.get_weights()]
            model.set_weights(weights)
            twin.set_weights(weights)
            pairs = zip(keras.tree.flatten(model.predict(x, verbose=0)), keras.tree.flatten(twin.predict(x, verbose=0)))
            if not all(np.array_equal(one, other) for one, other in pairs):
                failures.append(f"the model {name} has other results")
            compiled, twin_compiled = (json.loads(each.to_json()).get("compile_config") for each in (model, twin))
            if found := difference(compiled, twin_compiled):
                failures.append(f"compile_config of the model {name}{found[:300]}")
        except Exception as error:
            failures.append(f"Keras reads the model {name}: {type(error).__name__} {str(error)[-300:]}")
    return len(all_models)


number_of_models, number_of_classes = check_models(), check_classes()
for failure in failures:
    print(failure)
print(f"Keras {keras.__version__}, configs: {number_of_classes} classes and {number_of_models} models, both ways; {len(failures)} failures")
sys.exit(bool(failures))
