#!/usr/bin/env python3
"""Makes conformance/classes.json: results of Keras 3 for classes that its own tests cover too little.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' && keras3/bin/python make_classes.py

Weights, inputs and gradients have two decimals and are written here in full; results are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

draws = np.random.default_rng(18)
CASES = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def add(family, target, config, inputs, expect, weights=None):
    number = sum(test["family"] == family and test["target"] == target for test in CASES)
    test = {"id": f"{family}/{target}/keras3-{number}", "family": family, "target": target, "config": config, "inputs": inputs,
            "expect": {**expect, "atol": 1e-5, "rtol": 1e-5}, "origin": "run", "checked": True,
            "source": {"repo": "keras-team/keras", "version": keras.__version__, "file": "tests/golden/make_classes.py"}}
    if weights:
        test["weights"] = weights
    CASES.append(test)


def layer(target, config, x):
    made = getattr(keras.layers, target)(**config)
    made.build(x.shape)
    weights = {weight.name: numbers(*weight.shape) for weight in made.weights}
    made.set_weights(list(weights.values()))
    y = np.asarray(made(x))
    add("layer", target, config, {"calls": [{"args": [x.tolist()]}]}, {"value": y.tolist()},
        {name: [round(v, 2) for v in w.tolist()] if w.ndim == 1 else np.round(w.astype("float64"), 2).tolist() for name, w in weights.items()})


def optimizer(target, config, shapes, names):
    made = getattr(keras.optimizers, target)(**config)
    variables = [keras.Variable(numbers(*shape), name=name) for shape, name in zip(shapes, names)]
    start = [np.asarray(v).tolist() for v in variables]
    gradients = [[numbers(*shape) for shape in shapes] for _ in range(3)]
    made.build(variables)
    for step in gradients:
        made.apply([keras.ops.convert_to_tensor(g) for g in step], variables)
    add("optimizer", target, config,
        {"variables": [{"name": name, "value": value} for name, value in zip(names, start)],
         "grads_per_step": [[gradient.tolist() for gradient in step] for step in gradients]},
        {"checkpoints": [{"variable": index, "after_steps": 3, "value": np.asarray(variable).tolist(), "atol": 1e-5, "rtol": 1e-5}
                         for index, variable in enumerate(variables)]})


layer("Conv1D", {"filters": 3, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}, numbers(2, 6, 2))
layer("Conv1D", {"filters": 4, "kernel_size": 2, "strides": 2, "padding": "causal", "groups": 2, "activation": "relu"}, numbers(1, 5, 4))
layer("RMSNormalization", {"epsilon": 0.01}, numbers(2, 3, 4))
layer("RMSNormalization", {}, numbers(3, 5))
optimizer("Muon", {"learning_rate": 0.1}, [(3, 5), (5, 3), (4,)], ["kernel", "other", "bias"])
optimizer("Muon", {"learning_rate": 0.1, "nesterov": False, "rms_rate": None, "weight_decay": 0.1}, [(2, 2)], ["kernel"])

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance/classes.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CASES) + "\n]\n")
