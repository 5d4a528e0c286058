#!/usr/bin/env python3
"""Makes whole_models.json: results, gradients and training curves of whole models, computed by Keras 3 in float64.

Run by hand, never by CI, from any folder:

    python3 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' && keras3/bin/python make_golden.py

The models are in models_of_*.py. Inputs and weights are rounded to three decimals before anything is computed with them; so the file holds
exactly what Keras computed with. Results are rounded to ten significant digits. No model draws random numbers.
"""
import inspect
import json
import os
import zlib

from whole_models import MODELS, keras

import jax
import numpy as np

import models_of_graphs
import models_of_sequences
import models_of_windows

ROWS, BATCH, STEPS = 8, 4, 20
# Besides initializers: options that do not matter, because weights are given, all dtypes are the same, and a backward layer is like the forward layer.
OMITTED = {"dtype", "trainable", "backward_layer"}
# Masks of Embeddings, which Keras computes by ops of the graph, and Étude within the layers.
IMPLIED = {"mask", "query_mask", "value_mask", "key_mask"}


# ---- configs ----

def lists(value):
    return [lists(each) for each in value] if isinstance(value, (list, tuple)) else value


def is_default(found, name, value):
    """Whether an option of a Keras class has its default value, or a list with the default axis."""
    option = inspect.signature(found.__init__).parameters.get(name)
    if option is None or option.default is inspect.Parameter.empty:
        return value is None
    return lists(option.default) == lists(value) or name == "axis" and [option.default] == value


def plain(given, named=False):
    """An object in Keras's form, without its module, its registered name, initializers, and options that have their default values."""
    if isinstance(given, (list, tuple)):
        return [plain(each) for each in given]
    if not isinstance(given, dict) or "class_name" not in given:
        return given
    if given["class_name"] in ("Functional", "Sequential"):
        return model_config(given)
    if given["class_name"] == "Causal":
        return {"class_name": "Causal", "config": {"layer": plain(given["config"]["layer"])}}
    space = getattr(keras, given["module"].split(".")[1])
    found = getattr(space, given["class_name"])
    config = {name: plain(value) for name, value in given["config"].items()
              if name not in OMITTED and not name.endswith("_initializer") and (name != "name" or named) and not is_default(found, name, value)}
    return {"class_name": given["class_name"], "config": config}


def tensor(given):
    """A tensor in a node: only its history matters. Tensors of keyword arguments follow those of the others, as Étude passes them."""
    if isinstance(given, (list, tuple)):
        return [tensor(each) for each in given]
    return {"class_name": "__keras_tensor__", "config": {"keras_history": given["config"]["keras_history"]}}


def node(given):
    keywords = [tensor(value) for name, value in given["kwargs"].items() if value and name not in IMPLIED]
    return {"args": [tensor(each) for each in given["args"]] + keywords, "kwargs": {}}


def model_config(given):
    """A model without what plain() omits. A Sequential model has the shape of its input instead of an InputLayer."""
    config = given["config"]
    if given["class_name"] == "Sequential":
        return {"class_name": "Sequential", "config": {"layers": [plain(layer) for layer in config["layers"] if layer["class_name"] != "InputLayer"],
                                                       "build_input_shape": config["build_input_shape"]}}
    found = []
    for layer in config["layers"]:
        if ".ops." in layer["module"]:  # computes a mask
            continue
        if layer["class_name"] == "InputLayer":
            own = {"class_name": "InputLayer", "config": {key: layer["config"][key] for key in ("batch_shape", "dtype", "name") if layer["config"][key] != "float64"}}
        else:
            own = plain(layer, named=True)
        found.append({**own, "name": layer["name"], "inbound_nodes": [node(each) for each in layer["inbound_nodes"]]})
    return {"class_name": "Functional", "config": {"layers": found, "input_layers": config["input_layers"], "output_layers": config["output_layers"]}}


def described(given):
    """A loss or an optimizer: its name, or its class and the options that differ from the defaults."""
    return given if isinstance(given, str) else {"class_name": given[0], "config": given[1]}


def loss_of(given):
    return keras.losses.get(given) if isinstance(given, str) else getattr(keras.losses, given[0])(**given[1])


def optimizer_of(name, config):
    def value(option):
        return getattr(keras.optimizers.schedules, option["class_name"])(**option["config"]) if isinstance(option, dict) else option
    return getattr(keras.optimizers, name)(**{key: value(option) for key, option in config.items()})


# ---- draws ----

class Draws:
    """Draws that depend only on the model's name."""

    def __init__(self, name):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def normal(self, shape, scale=1.0):
        return (scale * self.random.standard_normal(shape)).round(3)

    def uniform(self, shape, low, high):
        return self.random.uniform(low, high, shape).round(3)

    def whole(self, shape, low, high):
        return self.random.integers(low, high, shape).astype("int32")

    def weight(self, variable):
        shape = tuple(variable.shape)
        if variable.name in ("gamma", "scale", "moving_variance"):
            return self.uniform(shape, 0.6, 1.4)
        if len(shape) < 2 or variable.name in ("bias", "alpha"):
            return self.uniform(shape, -0.3, 0.3)
        return self.normal(shape, 1 / np.sqrt(np.prod(shape[:-1]))) if variable.name != "embeddings" else self.normal(shape, 0.7)

    def inputs(self, model):
        words = next((layer.input_dim for layer in model.layers if isinstance(layer, keras.layers.Embedding)), 0)
        return [self.whole((ROWS, *each.shape[1:]), 1, words) if each.dtype == "int32" else self.normal((ROWS, *each.shape[1:])) for each in model.inputs]

    def targets(self, loss, output):
        """Targets that the loss accepts."""
        shape, name = (ROWS, *output.shape[1:]), "".join(part for part in (loss if isinstance(loss, str) else loss[0]).lower() if part != "_")
        if name == "sparsecategoricalcrossentropy":
            return self.whole(shape[:-1] + (1,), 0, shape[-1])
        if name in ("categoricalgeneralizedcrossentropy", "circle"):
            return self.whole((ROWS,), 0, shape[-1])
        if name == "ctc":
            return self.whole((ROWS, 2), 1, shape[-1])
        if name.startswith("categorical"):
            return np.eye(shape[-1])[self.whole(shape[:-1], 0, shape[-1])]
        if name.startswith("binary") or name in ("dice", "tversky"):
            return self.whole(shape, 0, 2).astype("float64")
        if name in ("hinge", "squaredhinge"):
            return 2.0 * self.whole(shape, 0, 2) - 1
        if name == "poisson":
            return self.whole(shape, 0, 5).astype("float64")
        if name == "kldivergence":
            parts = self.uniform(shape, 0.05, 1)
            return (parts / parts.sum(-1, keepdims=True)).round(3)
        positive = name in ("meansquaredlogarithmicerror", "meanabsolutepercentageerror")
        return self.uniform(shape, 0.3, 2) if positive else self.normal(shape)


# ---- results ----

def digits(values):
    """A flat list of ten significant digits."""
    return [float(f"{value:.10g}") for value in np.asarray(values, "float64").ravel()]


def exact(values):
    """Nested lists; what they hold must be what was computed with."""
    result = np.asarray(values).tolist()
    assert np.array_equal(np.asarray(json.loads(json.dumps(result))), values)
    return result


def every(values):
    return [digits(each) for each in (values if isinstance(values, list) else [values])]


def gradients(model, x, y, weight):
    """The loss of a training step and its gradients with respect to all trainable variables."""
    trained, rest = ([variable.value for variable in variables] for variables in (model.trainable_variables, model.non_trainable_variables))
    metrics, state = ([variable.value for variable in variables] for variables in (model.metrics_variables, model.optimizer.variables))

    def results(trained):
        return model.compute_loss_and_updates(trained, rest, metrics, x, y, weight, training=True, optimizer_variables=[])

    (loss, _), found = jax.value_and_grad(results, has_aux=True)(trained)
    # The function ctc has zeros and ones in float32.
    assert model.loss == keras.losses.ctc or "f32[" not in str(jax.make_jaxpr(results)(trained)), f"{model.name} computes in float32"
    assert "f32[" not in str(jax.make_jaxpr(model.optimizer.stateless_apply)(state, found, trained)), f"{model.optimizer.name} computes in float32"
    return float(loss), found


def computed(name, build, optimizer, loss, loss_weights=None, weighted=False, vary=None):
    keras.utils.clear_session()
    model, draws = build(), Draws(name)
    config = model_config(keras.saving.serialize_keras_object(model))
    x = draws.inputs(model)
    if vary:
        vary(x)
    each_loss = loss if isinstance(loss, list) else [loss]
    y = [draws.targets(one, output) for one, output in zip(each_loss, model.outputs, strict=True)]
    sample_weight = draws.uniform((ROWS,), 0.2, 2) if weighted else None
    weights = [draws.weight(variable) for variable in model.weights]
    several = len(y) > 1
    model.compile(optimizer_of(*optimizer), [loss_of(one) for one in each_loss] if several else loss_of(loss), loss_weights=loss_weights)
    model.set_weights(weights)
    model.optimizer.build(model.trainable_variables)  # some optimizers copy the weights
    forward = model(x if len(x) > 1 else x[0], training=False)
    case = {"name": name, "model": config, "optimizer": described(optimizer), "loss": [described(one) for one in each_loss]}
    if loss_weights:
        case["loss_weights"] = loss_weights
    if weighted:
        case["sample_weight"] = exact(sample_weight)

    def batch(step):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        part = [each[rows] for each in x], [each[rows] for each in y]
        return [each if len(each) > 1 else each[0] for each in part] + [sample_weight[rows] if weighted else None]

    first, found = gradients(model, *batch(0))
    losses = []
    for step in range(STEPS):
        model.reset_metrics()  # train_on_batch reports the mean since the last reset
        inputs, targets, weight = batch(step)
        losses.append(model.train_on_batch(inputs, targets, weight, return_dict=True)["loss"])
    assert abs(losses[0] - first) < 1e-12 * max(1, abs(first)), (name, losses[0], first)
    assert np.isfinite(losses).all(), (name, losses)
    after = model(x if len(x) > 1 else x[0], training=False)
    return {**case, "weights": [exact(weight) for weight in weights], "x": [exact(each) for each in x], "y": [exact(each) for each in y],
            "forward": every(forward), "gradients": [digits(each) for each in found], "losses": digits(losses), "after": every(after)}


def main():
    origin = {"keras": keras.__version__, "jax": jax.__version__, "numpy": np.__version__, "script": "tests/golden/make_golden.py"}
    cases = [computed(name, **given) for name, given in MODELS.items()]
    text = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    head = json.dumps({"origin": origin, "batch_size": BATCH})[:-1]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "whole_models.json"), "w") as file:
        file.write(f'{head}, "cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
