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


def layer(target, config, x, inner=None):
    """A case of a layer on x, or on a list of inputs; `inner` is the layer that it wraps, as (class, config)."""
    given = {"layer": getattr(keras.layers, inner[0])(**inner[1])} if inner else {}
    made = getattr(keras.layers, target)(**config, **given)
    if inner:
        config = {"layer": {"class": inner[0], "config": inner[1]}, **config}
    made.build([each.shape for each in x] if isinstance(x, list) else x.shape)
    weights = {weight.path if inner else weight.name: numbers(*weight.shape) for weight in made.weights}
    made.set_weights(list(weights.values()))
    y = np.asarray(made(x))
    given = {"list": [each.tolist() for each in x]} if isinstance(x, list) else x.tolist()
    rounded = [np.round(w.astype("float64"), 2).tolist() for w in weights.values()]
    named = {"_list": rounded} if inner else dict(zip(weights, rounded))
    add("layer", target, config, {"calls": [{"args": [given]}]}, {"value": y.tolist()}, named)


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

steps, image, volume = (2, 5, 3), (2, 5, 4, 2), (1, 4, 3, 3, 2)
layer("Conv3D", {"filters": 2, "kernel_size": [2, 2, 1], "strides": [2, 1, 1], "padding": "same"}, numbers(*volume))
layer("Conv3D", {"filters": 4, "kernel_size": 2, "groups": 2, "activation": "tanh"}, numbers(*volume))
layer("Conv3D", {"filters": 2, "kernel_size": [2, 1, 2], "dilation_rate": [2, 1, 1], "data_format": "channels_first"}, numbers(1, 2, 4, 3, 3))
for padding in ("valid", "same"):
    layer("Conv1DTranspose", {"filters": 2, "kernel_size": 2, "strides": 3, "padding": padding}, numbers(*steps))
    layer("Conv2DTranspose", {"filters": 2, "kernel_size": [3, 2], "strides": [2, 3], "padding": padding}, numbers(*image))
    layer("Conv2DTranspose", {"filters": 2, "kernel_size": 3, "strides": 2, "padding": padding, "output_padding": 1}, numbers(1, 3, 2, 2))
    layer("Conv2DTranspose", {"filters": 2, "kernel_size": 2, "dilation_rate": 2, "padding": padding}, numbers(1, 3, 3, 1))
    layer("Conv3DTranspose", {"filters": 2, "kernel_size": 2, "strides": [2, 1, 3], "padding": padding}, numbers(*volume))
    layer("Conv3DTranspose", {"filters": 1, "kernel_size": 3, "strides": 2, "padding": padding, "output_padding": 1}, numbers(1, 2, 2, 1, 2))
layer("Conv3DTranspose", {"filters": 2, "kernel_size": [3, 1, 2], "dilation_rate": [2, 1, 1]}, numbers(1, 2, 2, 2, 2))
layer("DepthwiseConv1D", {"kernel_size": 3, "depth_multiplier": 2, "padding": "same"}, numbers(*steps))
layer("DepthwiseConv2D", {"kernel_size": 2, "strides": 2, "depth_multiplier": 2, "activation": "relu"}, numbers(*image))
layer("SeparableConv1D", {"filters": 3, "kernel_size": 2, "depth_multiplier": 2}, numbers(*steps))
layer("SeparableConv2D", {"filters": 3, "kernel_size": 2, "padding": "same", "activation": "tanh"}, numbers(*image))
for padding in ("valid", "same"):
    for kind in ("Max", "Average"):
        layer(f"{kind}Pooling1D", {"pool_size": 3, "strides": 2, "padding": padding}, numbers(*steps))
        layer(f"{kind}Pooling2D", {"pool_size": [3, 2], "strides": 1, "padding": padding}, numbers(*image))
        layer(f"{kind}Pooling3D", {"pool_size": [2, 3, 2], "strides": [1, 2, 2], "padding": padding}, numbers(*volume))
for kind in ("Max", "Average"):
    layer(f"Adaptive{kind}Pooling1D", {"output_size": 3}, numbers(*steps))
    layer(f"Adaptive{kind}Pooling2D", {"output_size": [2, 3]}, numbers(*image))
    layer(f"Adaptive{kind}Pooling3D", {"output_size": [2, 3, 2]}, numbers(*volume))
layer("UpSampling2D", {"size": [2, 3], "interpolation": "bilinear"}, numbers(1, 3, 2, 2))
layer("UpSampling2D", {"size": [3, 1], "data_format": "channels_first"}, numbers(1, 2, 2, 2))
layer("Cropping3D", {"cropping": [[1, 0], [0, 1], [1, 1]]}, numbers(*volume))
layer("ZeroPadding2D", {"padding": [[1, 0], [2, 1]]}, numbers(1, 2, 2, 2))
layer("Permute", {"dims": [3, 1, 2]}, numbers(2, 2, 3, 2))
layer("Reshape", {"target_shape": [3, -1]}, numbers(2, 2, 6))
layer("RepeatVector", {"n": 3}, numbers(2, 2))
layer("LeakyReLU", {}, numbers(2, 4))
layer("PReLU", {"shared_axes": [1]}, numbers(*steps))
layer("ELU", {"alpha": 0.5}, numbers(2, 4))
layer("GroupNormalization", {"groups": 2}, numbers(2, 3, 4))
layer("GroupNormalization", {"groups": -1, "axis": 1}, numbers(2, 3, 4))
layer("UnitNormalization", {"axis": [1, 2]}, numbers(2, 3, 2))
layer("EinsumDense", {"equation": "abc,cd->abd", "output_shape": [None, 4], "bias_axes": "d"}, numbers(2, 3, 2))
layer("EinsumDense", {"equation": "...x,xyz->...yz", "output_shape": [2, 3], "bias_axes": "yz", "activation": "relu"}, numbers(2, 3, 2))
layer("EinsumDense", {"equation": "ab...,bc->ac...", "output_shape": 4, "bias_axes": "c"}, numbers(2, 3, 2))
for target in ("Subtract", "Multiply", "Average", "Maximum", "Minimum"):
    layer(target, {}, [numbers(2, 3), numbers(2, 3)])
layer("Dot", {"axes": 1}, [numbers(2, 3), numbers(2, 3)])
layer("Dot", {"axes": [2, 1], "normalize": True}, [numbers(2, 3, 4), numbers(2, 4, 2)])
for mode in ("concat", "sum", "mul", "ave"):
    layer("Bidirectional", {"merge_mode": mode}, numbers(*steps), ("LSTM", {"units": 2, "return_sequences": mode != "sum"}))
layer("TimeDistributed", {}, numbers(2, 3, 4, 2), ("Conv1D", {"filters": 2, "kernel_size": 2}))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance/classes.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CASES) + "\n]\n")
