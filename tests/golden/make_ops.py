#!/usr/bin/env python3
"""Makes ops.json: results of keras.ops that Étude composes of other ops.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' jax
    keras3/bin/python make_ops.py

Inputs have three decimals; outputs are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from keras import ops as o

FOLDER = os.path.dirname(os.path.abspath(__file__))

draws = np.random.RandomState(3)
x = draws.uniform(-2, 2, (2, 3, 4)).round(3).astype("float32")
y = draws.uniform(0.3, 2, (2, 3, 4)).round(3).astype("float32")
m = draws.uniform(-2, 2, (4, 3)).round(3).astype("float32")
i = draws.randint(-3, 3, (2, 2, 4)).astype("int32")
n = np.array([[0, 7, 8], [3, -9, 3]], "int32")
p = np.array([[2, -3, 4], [-5, 1, 7]], "int32")
h = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 2.7], "float32")
e = np.array([1e-6, -1e-4, 0.5, -20, 3], "float32")
INPUTS = dict(x=x, y=y, m=m, i=i, n=n, p=p, h=h, e=e)
OUTPUTS = {
    "reciprocal": o.reciprocal(y),
    "rsqrt": o.rsqrt(y),
    "ceil": o.ceil(x),
    "round": o.round(h),
    "trunc": o.trunc(x),
    "expm1": o.expm1(e),
    "exp2": o.exp2(x),
    "log2": o.log2(y),
    "log10": o.log10(y),
    "tan": o.tan(e),
    "sinh": o.sinh(x),
    "cosh": o.cosh(x),
    "arctan": o.arctan(x * 3),
    "arcsin": o.arcsin(x * 0.5),
    "arccos": o.arccos(x * 0.5),
    "arctan2": o.arctan2(x, y - 1),
    "arctan2_axes": o.arctan2(np.array([0, 0, 0, 2, -2], "float32"), np.array([0, 1, -1, 0, 0], "float32")),
    "arcsinh": o.arcsinh(x * 100),
    "arcsinh_small": o.arcsinh(e),
    "arccosh": o.arccosh(y + 1),
    "arctanh": o.arctanh(x * 0.45),
    "not_equal": o.not_equal(n, p),
    "logical_xor": o.logical_xor(n > 0, p > 0),
    "floor_divide": o.floor_divide(x, y),
    "floor_divide_int": o.floor_divide(n, p),
    "mod": o.mod(x, y),
    "mod_int": o.mod(n, p),
    "logaddexp": o.logaddexp(x, y),
    "min": o.min(x, axis=(0, 2)),
    "min_int": o.min(n, axis=1),
    "prod": o.prod(x, axis=1),
    "prod_all": o.prod(n),
    "any": o.any(n > 7, axis=1),
    "all": o.all(n > -8, axis=0),
    "count_nonzero": o.count_nonzero(n, axis=1),
    "var": o.var(x, axis=(0, -1)),
    "std": o.std(x, axis=1, keepdims=True),
    "logsumexp": o.logsumexp(x, axis=-1),
    "norm": o.norm(x, axis=-1),
    "normalize": o.normalize(x, axis=1),
    "argmin": o.argmin(x, axis=-1),
    "diff": o.diff(x, 2, axis=-1),
    "sort": o.sort(x),
    "sort_columns": o.sort(m, axis=0),
    "argsort": o.argsort(x, axis=1),
    "argsort_int": o.argsort(n),
    "top_k": o.top_k(x, 3)[0],
    "top_k_indices": o.top_k(x, 3)[1],
    "median": o.median(x),
    "median_rows": o.median(x, axis=(0, 2), keepdims=True),
    "quantile": o.quantile(m, 0.3, axis=0),
    "quantiles": o.quantile(x, [0.0, 0.61, 1.0], axis=(1, 2)),
    "stack": o.stack([x, y], axis=-2),
    "unstack": o.unstack(x, axis=1)[2],
    "pad": o.pad(m, ((1, 0), (0, 2)), constant_values=7.),
    "pad_one": o.pad(m, 1),
    "flip": o.flip(x, axis=(0, 2)),
    "flip_all": o.flip(m),
    "roll": o.roll(x, (1, -2), (0, 2)),
    "roll_all": o.roll(m, 5),
    "repeat": o.repeat(m, 2, axis=1),
    "repeat_each": o.repeat(m, np.array([1, 0, 2]), axis=1),
    "repeat_all": o.repeat(n, 2),
    "tile": o.tile(m, (2, 1, 2)),
    "swapaxes": o.swapaxes(x, 0, -1),
    "moveaxis": o.moveaxis(x, (0, 1), (-1, 0)),
    "take_along_axis": o.take_along_axis(x, i, axis=1),
    "take_all": o.take_along_axis(m, np.array([11, -1, 3]), axis=None),
    "meshgrid": o.meshgrid(np.array([1., 2, 3], "float32"), np.array([4., 5], "float32"))[1],
    "meshgrid_ij": o.meshgrid(np.array([1., 2, 3], "float32"), np.array([4., 5], "float32"), indexing="ij")[0],
    "tril": o.tril(x, -1),
    "triu": o.triu(m, 1),
    "arange": o.arange(-1, 1.3, .5),
    "linspace": o.linspace(1, 2, 5),
    "linspace_open": o.linspace(1, 2, 4, endpoint=False),
    "eye": o.eye(2, 4, k=1),
    "dot": o.dot(x, m),
    "vdot": o.vdot(m, m),
    "inner": o.inner(x, y[0]),
    "outer": o.outer(m[:2], n.astype("float32")),
    "tensordot": o.tensordot(x, y, axes=[[0, 2], [0, 2]]),
    "tensordot_one": o.tensordot(x, m, axes=1),
}


def tensor(value):
    value = np.array(value)
    numbers = [float(f"{float(number):.8g}") for number in value.ravel()]
    return {"shape": list(value.shape), "dtype": str(value.dtype), "value": numbers}


origin = f"Keras {keras.__version__} on JAX, make_ops.py"
with open(os.path.join(FOLDER, "ops.json"), "w") as file:
    file.write(json.dumps({"origin": origin})[:-1])
    for part, tensors in (("inputs", INPUTS), ("outputs", OUTPUTS)):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(tensor(value))}" for name, value in tensors.items())
        file.write(f',\n"{part}": {{\n{lines}\n}}')
    file.write("}\n")
