#!/usr/bin/env python3
"""Loads the architectures of keras.applications; `./dev test interop` runs it.

    python keras_applications.py PROGRAM [NAME…]

PROGRAM is the binary etude_models. Keras saves each architecture, for small inputs or for those of any size, and with random
weights, as a .keras file, and as its description with a .weights.h5 file. From both, Etude must compute what Keras computes, and
make a step of training with Keras's losses before and after it. Keras must load what Etude saves after these steps, compute the
same, and make the next step with Etude's loss. Failures are listed; the status is 1 if there are any.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")  # as for keras_configs.py

import keras
import numpy as np
from keras import layers

TOLERANCE = 1e-4  # relative to the largest number
LOSS_TOLERANCE = 1e-3  # relative; each normalization over a batch enlarges the rounding of the step before
draws = np.random.default_rng(17)
program, names = sys.argv[1], sys.argv[2:]
failures, checked, largest = [], 0, {"there": 0.0, "back": 0.0}


def distilbert():
    """The encoder of DistilBERT, small, with a head of two classes. The layers are those of Keras Hub's TransformerEncoder."""
    ids, padding = keras.Input((12,), dtype="int32", name="token_ids"), keras.Input((12,), dtype="int32", name="padding_mask")
    positions = layers.Embedding(12, 32, name="position_embedding")(keras.ops.arange(12))
    x = layers.Embedding(50, 32, name="token_embedding")(ids) + positions
    x = layers.Dropout(0.0)(layers.LayerNormalization(epsilon=1e-12)(x))
    mask = keras.ops.expand_dims(padding, 1)
    for _ in range(3):
        attended = layers.MultiHeadAttention(4, 8)(x, x, attention_mask=mask)
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, layers.Dropout(0.0)(attended)]))
        wide = layers.Dense(64, activation=keras.activations.gelu)(x)
        x = layers.LayerNormalization(epsilon=1e-12)(layers.Add()([x, layers.Dense(32)(wide)]))
    x = layers.Dense(32, activation="relu", name="pooled_dense")(x[:, 0, :])
    return keras.Model([ids, padding], layers.Dense(2, name="logits")(x))


def application(name, size):
    return lambda: getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=5)


def of_any_size(name):
    """An architecture without its top, for images of any size."""
    def make():
        base = getattr(keras.applications, name)(include_top=False, weights=None, input_shape=(None, None, 3))
        return keras.Model(base.input, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(base.output)))

    return make


MODELS = {"MobileNetV2": of_any_size("MobileNetV2"), "EfficientNetB0": application("EfficientNetB0", 64),
          "ResNet50V2": application("ResNet50V2", 64), "VGG16": application("VGG16", 32), "DistilBERT": distilbert}


def draw_weights(model):
    """Kernels of variance 1 per input, and statistics that differ: what Keras draws would leave most of a model at zero."""
    for variable in model.variables:
        shape, name = variable.shape, variable.path.rsplit("/", 1)[-1]
        if str(variable.dtype) != keras.config.floatx() or name in ("mean", "variance"):  # counters; statistics of Normalization
            continue
        normal = draws.standard_normal(shape)
        if name in ("moving_variance", "gamma"):
            variable.assign(np.exp(normal / 4))
        elif "embeddings" in name:
            variable.assign(normal / 2)
        elif len(shape) < 2 or name == "bias":
            variable.assign(normal / 10)
        else:
            inputs = np.prod(shape) / shape[-1] if "depthwise" not in variable.path else shape[0] * shape[1]
            variable.assign(normal / np.sqrt(inputs))


def inputs_of(model):
    for each in model.inputs:
        shape = (8, *(extent or 64 for extent in each.shape[1:]))
        if each.name == "padding_mask":
            yield (np.arange(12) < np.array([[12], [7], [9], [3], [12], [1], [5], [8]])).astype("int32")
        elif str(each.dtype) == "int32":
            yield draws.integers(0, 50, shape).astype("int32")
        else:
            yield draws.standard_normal(shape).astype("float32")


def ask(request):
    """Etude's answer to a request."""
    return json.loads(subprocess.run([program], input=json.dumps(request) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout)


def compare(what, way, predictions, expected, losses, expected_losses):
    error = np.abs(predictions - expected).max() / np.abs(expected).max()
    if not error <= TOLERANCE:
        failures.append(f"{what}: predictions differ by {error:.2g} of the largest")
    if not np.allclose(np.array(losses, "float64"), expected_losses, rtol=LOSS_TOLERANCE, atol=0):
        failures.append(f"{what}: losses {losses}, expected {expected_losses}")
    largest[way] = max(largest[way], float(error))
    return f"predictions within {error:.1g}, losses {losses}"


def check(name, model, folder):
    def path(ending):
        return os.path.join(folder, ending)

    def predictions():
        with np.load(path("p.npz")) as arrays:
            return arrays["0"]

    draw_weights(model)
    for layer in model.layers:
        if isinstance(layer, layers.Dropout):
            layer.rate = 0.0  # the libraries draw other numbers
    model.compile(keras.optimizers.SGD(1e-3, momentum=0.9), "mse")
    x = list(inputs_of(model))
    y = draws.random((8, model.outputs[0].shape[-1])).astype("float32")
    model.save(path("m.keras"))
    model.save_weights(path("m.weights.h5"))
    with open(path("m.json"), "w") as file:
        file.write(model.to_json())
    np.savez(path("x.npz"), **{str(i): each for i, each in enumerate(x)})
    np.savez(path("y.npz"), y)
    x = x[0] if len(x) == 1 else x
    expected = np.asarray(model.predict_on_batch(x))
    losses = [float(model.train_on_batch(x, y)) for _ in range(2)]
    asked = {"x": path("x.npz"), "predictions": path("p.npz"), "y": path("y.npz")}
    for kind, files in {".keras": {"model": path("m.keras")}, ".weights.h5": {"model": path("m.json"), "weights": path("m.weights.h5")}}.items():
        begin = time.monotonic()
        answer = ask({**files, **asked, "steps": 2, "save": path("etude.keras")})
        if "error" in answer:
            failures.append(f"{name} from {kind}: {answer['error']}")
            continue
        report = compare(f"{name} from {kind}", "there", predictions(), expected, answer["losses"], losses)
        print(f"{name} from {kind}: {report}, {time.monotonic() - begin:.1f} s", flush=True)
    answer = ask({"model": path("etude.keras"), **asked, "steps": 1})
    try:
        again = keras.models.load_model(path("etude.keras"))
        again.jit_compile = False  # XLA compiles for longer than a step takes
        found = np.asarray(again.predict_on_batch(x))
        report = compare(f"{name} from Etude", "back", found, predictions(), [float(again.train_on_batch(x, y))], answer["losses"])
        print(f"{name} from Étude: {report}", flush=True)
    except Exception as error:
        failures.append(f"Keras reads {name}: {type(error).__name__} {' '.join(str(error).split())[:500]} {answer}")


for name, make in MODELS.items():
    if names and name not in names:
        continue
    keras.utils.clear_session()
    with tempfile.TemporaryDirectory() as folder:
        check(name, make(), folder)
    checked += 1
for failure in failures:
    print(failure)
print(f"Keras {keras.__version__}, applications: {checked} models, read by Étude within {largest['there']:.1e} of the largest number, "
      f"and back by Keras within {largest['back']:.1e}; {len(failures)} failures")
sys.exit(bool(failures))
