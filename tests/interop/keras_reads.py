#!/usr/bin/env python3
"""Keras, NumPy and safetensors read what Etude saves; `./dev test interop` runs it.

    python keras_reads.py FOLDER

FOLDER has the models of the binary etude_saved_models. Keras loads each .keras file, and each .weights.h5 file into a model of
the same description: the weights must be equal bit by bit, the predictions within 1e-5; and from Etude's optimizer state Keras
must make the next 20 steps with Etude's losses within 1e-4. NumPy must find the same bits in the .npz file, and safetensors in
the .safetensors file. A warning of Keras is a failure. Failures are listed; the status is 1 if there are any.

Keras runs on JAX: on TensorFlow it has other losses itself with clipped gradients of embeddings, and with ScheduleFreeAdamW.
"""
import json
import os
import sys
import warnings

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
import safetensors.numpy

TOLERANCE, LOSS_TOLERANCE = 1e-5, 1e-4
folder = sys.argv[1]
failures, counts, largest = [], {}, {}


def count(what, difference=0.0):
    counts[what] = counts.get(what, 0) + 1
    largest[what] = max(largest.get(what, 0.0), difference)


def array(text):
    return np.array(text["values"], text["dtype"]).reshape(text["shape"])


def one_or_all(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def is_equal(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def check_weights(model, expected, what):
    found = [np.asarray(each) for each in model.get_weights()]
    assert len(found) == len(expected), f"{len(found)} weights, expected {len(expected)}"
    different = [each.path for each, one, other in zip(model.weights, found, expected) if not is_equal(one, other)]
    assert not different, f"other bits in {', '.join(different)}"
    count(what)


def check_predictions(model, x, expected, what):
    found = keras.tree.flatten(model.predict_on_batch(one_or_all(x)))
    error = float(np.max([np.abs(np.asarray(one) - other).max() for one, other in zip(found, expected, strict=True)]))
    assert error <= TOLERANCE, f"predictions differ by {error:.2g}"
    count(what, error)


def check_losses(model, data, steps, what):
    updates = steps // (model.optimizer.gradient_accumulation_steps or 1)
    assert int(model.optimizer.iterations) == updates, f"the optimizer is at {int(model.optimizer.iterations)} of {updates} updates"
    batches = [[[array(each) for each in batch[side]] for side in "xy"] for batch in data["batches"]]
    error = 0.0
    for i, expected in enumerate(data["losses"]):
        x, y = batches[(steps + i) % len(batches)]
        found = float(np.ravel(model.train_on_batch(one_or_all(x), one_or_all(y)))[0])
        model.reset_metrics()  # otherwise the loss is a mean over all batches
        difference = abs(found - expected) / max(abs(expected), 1e-3)
        assert difference <= LOSS_TOLERANCE, f"loss {i + 1} of {len(data['losses'])} is {found}, in Etude {expected}"
        error = max(error, difference)
    count(what, error)


def check_arrays(model, arrays, expected, what):
    """Arrays by the names that Etude gives them, in the order of Keras's weights: "dense_1/kernel" is a kernel there, too."""
    assert len(arrays) == len(expected), f"{len(arrays)} arrays, expected {len(expected)}"
    for variable, (name, found), values in zip(model.weights, arrays.items(), expected):
        assert name.rsplit("/", 1)[-1] == variable.name, f"{name} is {variable.path} in Keras"
        assert is_equal(np.asarray(found), values), f"other bits in {name}"
    count(what)


def check_safetensors(path, arrays):
    found = safetensors.numpy.load_file(path)
    assert found.keys() == arrays.keys(), f"arrays {list(found)}, expected {list(arrays)}"
    different = [name for name in found if not is_equal(found[name], arrays[name])]
    assert not different, f"other bits in {', '.join(different)}"
    count("weights of .safetensors")


def check(line):
    name = line["name"]

    def path(file):
        return os.path.join(folder, name, file)

    def attempt(what, run):
        """Notes why it fails, also that Etude has not written the file."""
        try:
            assert what not in line["refused"], f"Etude refuses it: {line['refused'].get(what)}"
            with warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                return run()
        except Exception as error:
            failures.append(f"{name}, {what}: {type(error).__name__} {' '.join(str(error).split())[:500]}")

    with open(path("data.json")) as file:
        data = json.load(file)
    x = [array(each) for each in data["batches"][0]["x"]]
    weights, predictions = ([array(each) for each in data[key]] for key in ("weights", "predictions"))
    model = attempt(".keras", lambda: keras.models.load_model(path("model.keras")))
    if model is None:
        return
    description = json.loads(model.to_json())
    description.pop("compile_config")  # Keras warns of an optimizer without a state in the file
    twin = keras.models.model_from_json(json.dumps(description))
    attempt(".keras", lambda: check_weights(model, weights, "weights of .keras"))
    attempt(".keras", lambda: check_predictions(model, x, predictions, "predictions of .keras"))
    attempt(".weights.h5", lambda: twin.load_weights(path("model.weights.h5")))
    attempt(".weights.h5", lambda: check_weights(twin, weights, "weights of .weights.h5"))
    attempt(".weights.h5", lambda: check_predictions(twin, x, predictions, "predictions of .weights.h5"))
    arrays = dict(np.load(path("model.npz")))
    attempt(".npz", lambda: check_arrays(model, arrays, weights, "weights of .npz"))
    attempt(".safetensors", lambda: check_safetensors(path("model.safetensors"), arrays))
    if not line["draws"]:
        attempt("training", lambda: check_losses(model, data, line["steps"], "20 losses"))


with open(os.path.join(folder, "models.txt")) as file:
    lines = file.read().splitlines()
for line in lines:
    keras.utils.clear_session()
    check(json.loads(line))
for failure in failures:
    print(failure)
summary = ", ".join(f"{what} {number}" + (f" (within {largest[what]:.1e})" if largest[what] else "") for what, number in counts.items())
print(f"Keras {keras.__version__} on JAX, NumPy {np.__version__}, safetensors {safetensors.__version__}: {len(lines)} models of Etude, "
      f"{summary}; {len(failures)} failures")
sys.exit(bool(failures) or not lines)
