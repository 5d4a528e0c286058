#!/usr/bin/env python3
"""Makes keras_models.json and the files in keras_models/: models that Keras 3 saved after three steps of training, what they
compute, and the losses of the next twenty steps.

Run by hand, never by CI, from any folder: `python make_keras_models.py [NAME…]`, with the Python of make_golden.py. The models are
those of make_golden.py, with its inputs and targets, here in float32, and those of models_of_files.py.
"""
import json
import os
import sys

import jax
import numpy as np

from make_golden import BATCH, ROWS, Draws, keras, loss_of, optimizer_of
from whole_models import MODELS, dtypes

jax.config.update("jax_enable_x64", False)
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float32"
keras.config.set_floatx("float32")

from models_of_files import FILES  # after the dtype is set

FOLDER = os.path.dirname(os.path.abspath(__file__))
RESULT = os.path.join(FOLDER, "keras_models.json")
BEFORE, AFTER = 3, 20


def digits(values):
    """A flat list of the shortest numbers that give the same bits in float32."""
    return [float(str(np.float32(value))) for value in np.asarray(values, "float32").ravel()]


def bits(weights):
    """A hash (FNV-1a) of the weights of float32, in order."""
    value = 2166136261
    for byte in b"".join(each.tobytes() for each in weights if each.dtype == "float32"):
        value = (value ^ byte) * 16777619 % 2**32
    return value


def leaves(values):
    """The tensors of a structure in Keras's order: a dict's by their names."""
    return keras.tree.flatten(values)


class Case:
    """A model with inputs and targets, of which a step takes some rows."""

    def __init__(self, name, build, optimizer=None, loss=None, loss_weights=None, weighted=False, vary=None, x=None, draws=False):
        self.draws, draws = draws, Draws(name)
        self.model, self.own = build(), x is not None
        graph = getattr(self.model, "_functional", self.model)
        self.into, self.outof = graph._inputs_struct, graph._outputs_struct
        self.x = x(draws) if self.own else draws.inputs(self.model)
        if vary:
            vary(self.x)
        self.x = [np.asarray(each, str(given.dtype)) for each, given in zip(self.x, leaves(self.into), strict=True)]
        losses = loss if isinstance(loss, list) else [loss]
        self.y = [np.asarray(draws.targets(one, output)) for one, output in zip(losses, self.model.outputs, strict=True)] if optimizer else []
        self.y = [each.astype("float32") if each.dtype == "float64" else each for each in self.y]
        self.weight = draws.uniform((ROWS,), 0.2, 2).astype("float32") if weighted else None
        weights = [draws.weight(variable) for variable in self.model.weights]
        if optimizer:
            made = [loss_of(one) for one in losses]
            self.model.compile(optimizer_of(*optimizer), made if len(made) > 1 else made[0], loss_weights=loss_weights)
        if not hasattr(self.model, "keeps_weights"):
            self.model.set_weights([np.asarray(weight, str(variable.dtype)) for weight, variable in zip(weights, self.model.weights)])
        if optimizer:
            self.model.optimizer.build(self.model.trainable_variables)  # some optimizers copy the weights

    def inputs(self, rows):
        return keras.tree.pack_sequence_as(self.into, [each[rows] for each in self.x])

    def step(self, number):
        rows = slice(number * BATCH % ROWS, number * BATCH % ROWS + BATCH)
        y = [each[rows] for each in self.y]
        y = keras.tree.pack_sequence_as(self.outof, y)
        self.model.reset_metrics()  # train_on_batch reports the mean since the last reset
        return float(self.model.train_on_batch(self.inputs(rows), y, None if self.weight is None else self.weight[rows], return_dict=True)["loss"])


def computed(name, **given):
    keras.utils.clear_session()
    policy = given.pop("policy", None)
    if policy:
        keras.config.set_dtype_policy(policy)
    case = Case(name, **given)
    result = {"name": name, "file": f"keras_models/{name}.keras"}
    if isinstance(case.into, dict):
        result["keys"] = sorted(case.into)  # the order of x
    if case.own:
        result["x"] = [each.tolist() for each in case.x]
        result["y"] = [each.tolist() for each in case.y]
    for number in range(BEFORE if case.y else 0):
        case.step(number)
    case.model.save(os.path.join(FOLDER, result["file"]))
    result["weights"] = bits(case.model.get_weights())
    result["outputs"] = [digits(each) for each in leaves(case.model(case.inputs(slice(0, ROWS)), training=False))]
    if case.y and not case.draws:
        result["losses"] = [float(f"{case.step(BEFORE + number):.8g}") for number in range(AFTER)]
        assert np.isfinite(result["losses"]).all(), (name, result["losses"])
    if policy:
        keras.config.set_dtype_policy("float32")
    return result


def main():
    result = json.load(open(RESULT)) if os.path.exists(RESULT) else {}
    cases = {case["name"]: case for case in result.get("models", [])}
    every = {**{name: given for name, given in MODELS.items() if name != "causal_attention"}, **FILES}  # that has a class of its own
    every["channels_first"]["loss"] = "huber"  # Keras does not save its delta
    for name in sys.argv[1:] or every:
        try:
            cases[name] = computed(name, **every[name])
            print(name, len(cases[name].get("losses", [])), flush=True)
        except Exception as error:
            print(name, type(error).__name__, str(error)[:500], flush=True)
        origin = {"keras": keras.__version__, "jax": jax.__version__, "script": "tests/golden/make_keras_models.py"}
        head = json.dumps({"origin": origin, "batch_size": BATCH, "steps_before": BEFORE})[:-1]
        text = ",\n".join(json.dumps(cases[each], separators=(",", ":")) for each in every if each in cases)
        with open(RESULT, "w") as file:
            file.write(f'{head}, "models": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
