#!/usr/bin/env python3
"""Makes augmentation.json: images whose corners Keras 3 moves by keras.ops.image.perspective_transform, and colors that
RandomColorDegeneration blends with gray.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' && keras3/bin/python make_augmentation.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

draws = np.random.default_rng(29)
CASES = []
for height, width in ((5, 7), (2, 3), (8, 4)):
    x = draws.integers(0, 256, (3, height, width, 2)).astype("float32")
    # right, bottom, x, y: the shares of the edges at which corners are, as RandomPerspective draws them.
    shares = draws.uniform(0.5, 1.5, (3, 4)).round(3).astype("float32")
    shares[0] = 1
    start = np.float32([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]])
    factors = np.zeros((3, 4, 2), "float32")
    factors[:, 1, 0], factors[:, 2, 1], factors[:, 3, 0], factors[:, 3, 1] = shares.T - 1
    end = start + start * factors
    for interpolation in ("bilinear", "nearest"):
        y = keras.ops.image.perspective_transform(x, np.repeat(start[None], 3, 0), end, interpolation=interpolation, fill_value=3)
        CASES.append({"interpolation": interpolation, "shape": list(x.shape), "x": x.ravel().tolist(), "shares": shares.tolist(), "y": np.asarray(y, "float64").round(4).ravel().tolist()})

image = draws.integers(0, 256, (2, 3, 4, 3)).astype("float32")
gray = keras.layers.RandomColorDegeneration([0.4, 0.4])(image, training=True)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "augmentation.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on JAX; made by make_augmentation.py", "perspectives": CASES,
               "degeneration": {"shape": list(image.shape), "factor": 0.4, "x": image.ravel().tolist(), "y": np.asarray(gray, "float64").round(4).ravel().tolist()}}, file)
    file.write("\n")
