#!/usr/bin/env python3
"""Makes conformance/training_classes.json: results of Keras 3 for losses, optimizers, initializers and constraints, and
of tf_keras for schedules and constraints that Keras 3 does not have.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' scipy tf_keras tensorflow-cpu
    keras3/bin/python make_training_classes.py

Weights, inputs and gradients have two decimals and are written here in full; results are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
import tf_keras
from tf_keras.src.optimizers.schedules import learning_rate_schedule as tf_schedules

draws = np.random.default_rng(19)
CASES = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    return np.round(np.asarray(array).astype("float64"), 2).tolist()


def add(family, target, config, inputs, expect, peer=keras, tolerance=1e-5):
    number = sum(test["family"] == family and test["target"] == target for test in CASES)
    name = {"keras": "keras3", "tf_keras": "tf_keras"}[peer.__name__]
    CASES.append({"id": f"{family}/{target}/{name}-{number}", "family": family, "target": target, "config": config, "inputs": inputs,
                  "expect": {"atol": tolerance, "rtol": tolerance, **expect}, "origin": "run", "checked": True,
                  "source": {"repo": "keras-team/" + peer.__name__.replace("_", "-"), "version": peer.__version__,
                             "file": "tests/golden/make_training_classes.py"}})


def made(where, config):
    """The Keras object of a config, which may contain {"class", "config"}."""
    def value(given):
        if isinstance(given, dict) and "class" in given:
            config = dict(given["config"])
            if given["class"] == "Constant":
                config["value"] = np.asarray(config["value"], "float32")
            return next(getattr(space, given["class"]) for space in (keras.initializers, keras.constraints, keras.optimizers, keras.optimizers.schedules)
                        if hasattr(space, given["class"]))(**config)
        return given
    return where(**{name: value(given) for name, given in config.items()})


# ---- losses ----

def loss(target, config, y_true, y_pred, sample_weight=None):
    options = {**config, "reduction": None if config.get("reduction") == "none" else config.get("reduction", "sum_over_batch_size")}
    result = getattr(keras.losses, target)(**options)(np.asarray(y_true), y_pred, sample_weight=sample_weight)
    inputs = {"y_true": y_true, "y_pred": lists(y_pred)}
    if sample_weight is not None:
        inputs["sample_weight"] = lists(sample_weight)
    add("loss", target, config, inputs, {"value": np.asarray(result).tolist()})


labels = [[1, 2, 0], [3, 3, 1], [2, 0, 0]]
loss("CTC", {}, labels, numbers(3, 6, 4))
loss("CTC", {"reduction": "none"}, labels, numbers(3, 4, 4))
loss("CTC", {"reduction": "sum"}, labels, 3 * numbers(3, 5, 4), (numbers(3) ** 2).round(2))
loss("CTC", {}, [[1, 2, 3]], numbers(1, 2, 4))
embeddings = numbers(6, 3)
embeddings = (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).round(2)
loss("Circle", {"gamma": 10.0, "margin": 0.25, "remove_diagonal": False}, [1, 1, 2, 2, 3, 1], embeddings)
loss("Circle", {"gamma": 5.0, "reduction": "sum"}, [[1], [1], [2], [2], [3], [1]], embeddings, (numbers(6) ** 2).round(2))

# ---- optimizers ----

def optimizer(target, config, shapes, names, keras_object=None):
    of = keras_object or made(getattr(keras.optimizers, target), config)
    variables = [keras.Variable(numbers(*shape), name=name) for shape, name in zip(shapes, names)]
    start = [lists(v) for v in variables]
    gradients = [[numbers(*shape) for shape in shapes] for _ in range(5)]
    of.build(variables)
    checkpoints = []
    for step, given in enumerate(gradients, 1):
        of.apply([keras.ops.convert_to_tensor(g) for g in given], variables)
        checkpoints += [{"variable": index, "after_steps": step, "value": np.asarray(variable).tolist(), "atol": 1e-5, "rtol": 1e-5}
                        for index, variable in enumerate(variables)]
    add("optimizer", target, config,
        {"variables": [{"name": name, "value": value} for name, value in zip(names, start)],
         "grads_per_step": [[lists(gradient) for gradient in step] for step in gradients]}, {"checkpoints": checkpoints})


decay = {"class": "ExponentialDecay", "config": {"initial_learning_rate": 0.3, "decay_steps": 2, "decay_rate": 0.5}}
three = [(3, 4), (4,), (2, 3, 2)]
names = ["dense_kernel", "dense_bias", "other_kernel"]
optimizer("Adafactor", {"learning_rate": 0.5}, three, names)
optimizer("Adafactor", {"learning_rate": 0.3, "beta_2_decay": -0.5, "epsilon_1": 1e-3, "epsilon_2": 0.1, "clip_threshold": 0.7,
                        "relative_step": False, "weight_decay": 0.1}, three, names)
optimizer("Adafactor", {"learning_rate": decay, "clipnorm": 1.0}, three, names)
optimizer("ScheduleFreeAdamW", {"learning_rate": 0.1}, three, names)
optimizer("ScheduleFreeAdamW", {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3, "warmup_steps": 3, "weight_decay": 0.1}, three, names)
optimizer("ScheduleFreeAdamW", {"learning_rate": decay, "beta_1": 1.0}, three, names)
inner = {"sgd": {"class": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.5}},
         "adam": {"class": "Adam", "config": {"learning_rate": 0.05, "weight_decay": 0.1, "clipnorm": 1.0}}}
optimizer("MultiOptimizer", {"default_optimizer": inner["sgd"], "optimizer_map": {"dense_.*": inner["adam"]}}, three, names,
          keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(
              keras.optimizers.SGD(**inner["sgd"]["config"]), {"dense_.*": keras.optimizers.Adam(**inner["adam"]["config"])})))

# ---- schedules ----

for target, config in (("LinearCosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 20}),
                       ("LinearCosineDecay", {"initial_learning_rate": 0.5, "decay_steps": 10, "num_periods": 1.5, "alpha": 0.1, "beta": 0.01}),
                       ("NoisyLinearCosineDecay", {"initial_learning_rate": 0.5, "decay_steps": 10, "initial_variance": 0.0, "num_periods": 0.25})):
    of = getattr(tf_schedules, target)(**config)
    for step in (0, 1, 7, 10, 33):
        add("schedule", target, config, {"step": step}, {"value": float(of(step))}, tf_keras, 1e-6)

# ---- initializers ----

def initializer(target, config, shape):
    value = np.asarray(getattr(keras.initializers, target)(**config)(shape))
    add("initializer", target, config, {"shape": list(shape)}, {"value": value.tolist()}, tolerance=1e-6)


initializer("Identity", {}, (2, 4))
initializer("Identity", {"gain": 0.5}, (3, 2))
for side in ("real", "imag"):
    initializer("STFT", {"side": side}, (6, 1, 4))
initializer("STFT", {"window": "hamming", "scaling": "spectrum", "periodic": True}, (5, 1, 3))
initializer("STFT", {"window": None}, (4, 1, 3))
initializer("STFT", {"window": "blackman", "scaling": None}, (7, 1, 3))
for window in ("blackmanharris", "nuttall", "flattop", "boxcar"):
    initializer("STFT", {"side": "imag", "window": window, "periodic": True}, (5, 1, 3))

# ---- constraints ----

def constraint(target, config, x, peer=keras):
    value = getattr(peer.constraints, target)(**config)(tf.constant(x) if peer is tf_keras else x)
    add("constraint", target, config, {"x": lists(x)}, {"value": np.asarray(value).tolist()}, peer, 1e-6)


kernel = numbers(2, 2, 3, 2)
constraint("MaxNorm", {"max_value": 1.5, "axis": [0, 1, 2]}, kernel)
constraint("MaxNorm", {"axis": 1}, 3 * numbers(3, 4))
constraint("UnitNorm", {}, np.concatenate([numbers(3, 2), np.zeros((3, 1), "float32")], 1))
constraint("UnitNorm", {"axis": [0, 1, 2]}, kernel)
constraint("MinMaxNorm", {"min_value": 0.5}, numbers(3, 4))
constraint("MinMaxNorm", {"min_value": 1.0, "max_value": 1.5, "rate": 0.25, "axis": -1}, numbers(3, 4))
constraint("NonNeg", {}, numbers(3, 4))
constraint("RadialConstraint", {}, numbers(4, 4, 1, 2), tf_keras)
constraint("RadialConstraint", {}, numbers(2, 2, 2, 1), tf_keras)

# ---- constraints of layers ----

def fit(target, config, initial, x, y_shape):
    """A fit of one layer whose weights start as arrays; `initial` has their shapes by the names of their initializers."""
    y = numbers(*y_shape)
    for name, shape in initial.items():
        config = {**config, name: {"class": "Constant", "config": {"value": lists(numbers(*shape)) if isinstance(shape, tuple) else shape}}}
    layer = made(getattr(keras.layers, target), config)
    if target == "MultiHeadAttention":
        given = keras.Input(x.shape[1:])
        model = keras.Model(given, layer(given, given))
        described = {"inputs": [{"name": "x", "shape": list(x.shape[1:])}], "outputs": ["y"],
                     "graph": [{"name": "y", "layer": {"class": target, "config": config}, "from": ["x", "x"]}]}
    else:
        model = keras.Sequential([layer])
        described = {"input_shape": None, "layers": [{"class": target, "config": config}]}
    compiled = {"optimizer": {"class": "SGD", "config": {"learning_rate": 0.25, "momentum": 0.5}}, "loss": "mean_squared_error"}
    model.compile(optimizer=keras.optimizers.SGD(**compiled["optimizer"]["config"]), loss="mean_squared_error")
    options = {"batch_size": 2, "epochs": 2, "shuffle": False}
    history = model.fit(x, y, verbose=0, **options)
    add("fit", target, {**described, "compile": compiled}, {"x": lists(x), "y": lists(y), "fit": options},
        {"history": {"loss": history.history["loss"]}, "weights": [np.asarray(w).tolist() for w in model.weights]})


def norm(limit, *axis):
    return {"class": "MaxNorm", "config": {"max_value": limit, "axis": list(axis)}}


positive, unit = {"class": "NonNeg", "config": {}}, {"class": "UnitNorm", "config": {"axis": 0}}
between = {"class": "MinMaxNorm", "config": {"min_value": 0.5, "max_value": 0.75, "rate": 0.5, "axis": 0}}
both = {"kernel_constraint": norm(0.5, 0), "bias_constraint": positive}
biased = {"bias_initializer": (2,)}
rows, steps, image = numbers(4, 3), numbers(4, 4, 3), numbers(4, 4, 4, 2)
fit("Dense", {"units": 2, **both}, {"kernel_initializer": (3, 2), **biased}, rows, (4, 2))
fit("Dense", {"units": 2, "kernel_constraint": between}, {"kernel_initializer": (3, 2)}, rows, (4, 2))
fit("EinsumDense", {"equation": "ab,bc->ac", "output_shape": [2], "bias_axes": "c", **both}, {"kernel_initializer": (3, 2), **biased}, rows, (4, 2))
fit("Embedding", {"input_dim": 4, "output_dim": 2, "embeddings_constraint": norm(0.5, 1)}, {"embeddings_initializer": (4, 2)},
    np.array([[0, 1], [2, 1], [3, 3], [0, 2]], "float32"), (4, 2, 2))
fit("Conv1D", {"filters": 2, "kernel_size": 2, "kernel_constraint": norm(0.5, 0, 1), "bias_constraint": positive},
    {"kernel_initializer": (2, 3, 2), **biased}, steps, (4, 3, 2))
fit("Conv2D", {"filters": 2, "kernel_size": 2, "kernel_constraint": norm(0.5, 0, 1, 2), "bias_constraint": positive},
    {"kernel_initializer": (2, 2, 2, 2), **biased}, image, (4, 3, 3, 2))
fit("Conv1DTranspose", {"filters": 2, "kernel_size": 2, "kernel_constraint": unit, "bias_constraint": positive},
    {"kernel_initializer": (2, 2, 3), **biased}, steps, (4, 5, 2))
fit("DepthwiseConv2D", {"kernel_size": 2, "depthwise_constraint": norm(0.5, 0, 1), "bias_constraint": positive},
    {"depthwise_initializer": (2, 2, 2, 1), **biased}, image, (4, 3, 3, 2))
fit("SeparableConv1D", {"filters": 2, "kernel_size": 2, "depthwise_constraint": norm(0.5, 0), "pointwise_constraint": unit, "bias_constraint": positive},
    {"depthwise_initializer": (2, 3, 1), "pointwise_initializer": (1, 3, 2), **biased}, steps, (4, 3, 2))
fit("PReLU", {"alpha_constraint": positive}, {"alpha_initializer": (3,)}, rows, (4, 3))
scaled = {"gamma_initializer": (3,), "beta_initializer": (3,)}
bounded = {"gamma_constraint": norm(0.5, 0), "beta_constraint": positive}
fit("BatchNormalization", bounded, scaled, rows, (4, 3))
fit("LayerNormalization", bounded, scaled, rows, (4, 3))
fit("GroupNormalization", {"groups": 1, **bounded}, scaled, rows, (4, 3))
recurrent = {"units": 2, "kernel_constraint": norm(0.5, 0), "recurrent_constraint": norm(0.4, 0), "bias_constraint": positive}
fit("SimpleRNN", recurrent, {"kernel_initializer": (3, 2), "recurrent_initializer": (2, 2), **biased}, steps, (4, 2))
fit("LSTM", {"unit_forget_bias": False, **recurrent}, {"kernel_initializer": (3, 8), "recurrent_initializer": (2, 8), "bias_initializer": (8,)}, steps, (4, 2))
fit("GRU", recurrent, {"kernel_initializer": (3, 6), "recurrent_initializer": (2, 6), "bias_initializer": (2, 6)}, steps, (4, 2))
fit("MultiHeadAttention", {"num_heads": 2, "key_dim": 2, "kernel_constraint": norm(0.5, 0), "bias_constraint": positive},
    {"kernel_initializer": 0.4, "bias_initializer": 0.1}, steps, (4, 4, 3))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance/training_classes.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CASES) + "\n]\n")
