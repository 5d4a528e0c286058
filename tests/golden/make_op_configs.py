#!/usr/bin/env python3
"""Makes op_configs.json: a model of ops on KerasTensors as Keras 3 describes it by to_json(), with inputs and outputs.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' jax
    keras3/bin/python make_op_configs.py

Inputs have two decimals; outputs are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from keras import ops

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(7)
SHAPE = (2, 2, 4)


def numbers(shape):
    return draws.standard_normal(shape).round(2).astype("float32")


INPUTS = {"x": numbers(SHAPE), "y": numbers(SHAPE), "i": draws.integers(0, 4, (2, 2)).astype("int32"),
          "b": draws.random(SHAPE) > 0.5, "c": draws.random(SHAPE) > 0.5}
x, y, i, b, c = (keras.Input(value.shape[1:], dtype=str(value.dtype), name=name) for name, value in INPUTS.items())
row = np.array([1, 2, 3, 0.5], "float32")
table = np.arange(8, dtype="float32").reshape(4, 2)

OUTPUTS = [
    # Elementwise, with constants and with dtypes that are promoted.
    -x, abs(x), ops.sign(x), ops.square(x), ops.exp(i), x + y, 1 - x, x * row, x + ops.ones((4,)), x / 2, i / 2, i + 0.5, i + 2,
    i * x[:, :, 0], x**2, ops.maximum(x, 0.0), x > y, ops.equal(i, 1), ops.not_equal(x, y), i != 0, b & c, b | c, ~b,
    ops.logical_xor(b, c), ops.isnan(x), ops.rsqrt(ops.exp(x)), ops.reciprocal(ops.exp(x)), ops.ceil(x), x // 0.5, x % 0.5,
    ops.where(b, x, y), ops.where(b, x, 0.0), ops.where(b, 1.0, 0.0), ops.clip(x, -1, 0.5), ops.cast(i, "float32"), ops.cast(x, "bool"),
    ops.cast(x, "float16") * row, ops.stop_gradient(x), ops.zeros_like(x, dtype="bool"), ops.ones_like(i), ops.full_like(x, 3.0),
    # Reductions.
    ops.sum(x, axis=1), ops.sum(x, axis=(1, 2), keepdims=True), ops.sum(b, axis=1), ops.mean(x, axis=-1), ops.mean(i, axis=1),
    ops.average(x, axis=1), ops.max(x, axis=-1), ops.max(i, axis=1), ops.min(x, axis=[1]), ops.min(i, axis=-1, keepdims=True),
    ops.amax(x, axis=2), ops.amin(x, axis=2), ops.prod(x, axis=(1, 2)), ops.prod(i, axis=1), ops.var(x, axis=-1), ops.std(x, axis=-1),
    ops.any(b, axis=-1), ops.all(b, axis=1, keepdims=True), ops.count_nonzero(i, axis=1), ops.logsumexp(x, axis=(1, 2)),
    ops.normalize(x, axis=-1), ops.argmax(x, axis=-1), ops.argmax(x, axis=1, keepdims=True), ops.argmin(x, axis=1), ops.cumsum(x, axis=1),
    ops.softmax(x), ops.softmax(x, axis=1), ops.log_softmax(x, axis=-1), ops.log_softmax(x, axis=1),
    # Products.
    ops.matmul(x, ops.transpose(y, (0, 2, 1))), ops.dot(x, table), ops.dot(x, row), ops.tensordot(x, table, axes=1),
    ops.tensordot(x, np.ones((4, 3, 2), "float32"), axes=[[1, 2], [2, 0]]), ops.einsum("bij,bkj->bik", x, y), ops.einsum("bij->bji", x),
    # Shapes.
    ops.reshape(x, (-1, 8)), ops.ravel(x), ops.swapaxes(x, 1, 2), ops.moveaxis(x, [1, 2], [2, 1]), ops.expand_dims(x, (1, -1)),
    ops.squeeze(ops.expand_dims(x, 1), 1), ops.squeeze(ops.expand_dims(x, (1, 3))), ops.flip(x, axis=1), ops.roll(x, (1, -2), axis=(1, 2)),
    ops.repeat(x, 2, axis=1), ops.tile(x, (1, 2, 2)), ops.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=2.0), ops.pad(x, 1),
    ops.concatenate([x, y], axis=-1), ops.concatenate([x, ops.cast(b, "int32")], axis=1), ops.stack([x, y], axis=-1),
    *ops.split(x, 2, axis=-1), ops.split(x, [1, 3], axis=2)[1], ops.stack(ops.unstack(x, axis=2), axis=1),
    x[:, 0], x[:, -1:, ::2], x[:, ::-1, 3:0:-2], x[..., None, -1], x[:, 1:, 1::3], ops.take(x, [0, -1], axis=2), ops.take(x, 1, axis=1),
    ops.take(x, [[0, 1], [2, 3]], axis=2), ops.take(x, np.array([1, 0]), axis=1), ops.take(table, i, axis=0), ops.one_hot(i, 4),
    ops.one_hot(i, 4, axis=1, dtype="int32"),
    # Activations.
    ops.relu(x), ops.relu6(x * 4), ops.leaky_relu(x, 0.1), ops.elu(x), ops.celu(x, 2.0), ops.selu(x), ops.silu(x), ops.gelu(x, approximate=False),
    ops.softsign(x), ops.log_sigmoid(x), ops.hard_sigmoid(x), ops.hard_silu(x), ops.hard_tanh(x), ops.tanh_shrink(x), ops.hard_shrink(x),
    ops.soft_shrink(x), ops.squareplus(x), ops.threshold(x, 0.1, 0.5), ops.sparse_plus(x), ops.sparse_sigmoid(x), ops.glu(x, 1),
]

model = keras.Model([x, y, i, b, c], OUTPUTS)
results = [np.asarray(result) for result in model(list(INPUTS.values()))]
outputs = [{"dtype": str(result.dtype), "shape": list(result.shape), "value": result.astype("float64").ravel().round(7).tolist()}
           for result in results]
with open(os.path.join(FOLDER, "op_configs.json"), "w") as file:
    origin = f"Keras {keras.__version__} on {keras.backend.backend()}"
    rows = ",\n".join(f"    {json.dumps(output)}" for output in outputs)
    inputs = json.dumps([value.astype("float64").round(2).tolist() if value.dtype == "float32" else value.tolist() for value in INPUTS.values()])
    file.write(f'{{\n  "origin": {json.dumps(origin)},\n  "config": {model.to_json()},\n  "inputs": {inputs},\n  "outputs": [\n{rows}\n  ]\n}}\n')
print(len(outputs), "outputs")
