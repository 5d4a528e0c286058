#!/usr/bin/env python3
"""Makes augmentation.json: images whose corners Keras 3 moves by keras.ops.image.perspective_transform, colors that
RandomColorDegeneration blends with gray, images that keras.ops.image.elastic_transform distorts by given noise, and
histograms that ContrastLimitedAdaptiveHistogramEqualization equalizes.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' && keras3/bin/python make_augmentation.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
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

ELASTIC = []
draw_normal = jax.random.normal
for height, width, fill_mode, interpolation, alpha, sigma in (
    (6, 9, "reflect", "bilinear", 3.0, 1.0), (5, 4, "mirror", "bilinear", 6.0, 0.7), (5, 4, "wrap", "bilinear", 6.0, 0.9),
    (7, 8, "nearest", "bilinear", 5.0, 1.3), (7, 8, "constant", "nearest", 5.0, 0.3)):
    x = draws.integers(0, 256, (2, height, width, 2)).astype("float32")
    noise = draws.normal(size=(2, height, width, 2)).round(3).astype("float32")
    given = iter([noise[..., 0], noise[..., 1]])  # the moves along x, then those along y
    jax.random.normal = lambda *args, **kwargs: jax.numpy.asarray(next(given))
    y = keras.ops.image.elastic_transform(x, alpha=alpha, sigma=sigma, interpolation=interpolation, fill_mode=fill_mode, fill_value=3.0, seed=1)
    jax.random.normal = draw_normal
    ELASTIC.append({"fill_mode": fill_mode, "interpolation": interpolation, "alpha": alpha, "sigma": sigma, "shape": list(x.shape), "x": x.ravel().tolist(), "noise": noise.ravel().tolist(), "y": np.asarray(y, "float64").round(4).ravel().tolist()})

CLAHE = []
for shape, value_range, config in (
    ((2, 8, 12, 3), (0, 255), {"tile_grid_size": (2, 3)}), ((1, 7, 5, 1), (0, 255), {"tile_grid_size": (2, 2), "clip_limit": 20.0}),
    ((1, 6, 6, 2), (-1, 1), {"tile_grid_size": (3, 1), "clip_limit": 0.0}), ((2, 3, 4, 1), (0, 255), {})):
    # Few different values, so that bins have more than one pixel; in the middle of bins, so that rounding changes none.
    x = (draws.integers(0, 11, shape).astype("float32") * 23 + 0.5) * (value_range[1] - value_range[0]) / 255 + value_range[0]
    x = x.astype("float32")
    y = keras.layers.ContrastLimitedAdaptiveHistogramEqualization(value_range=value_range, **config)(x)
    CLAHE.append({"value_range": value_range, "config": config, "shape": list(shape), "x": x.astype("float64").round(7).ravel().tolist(), "y": np.asarray(y, "float64").round(5).ravel().tolist()})
whole = draws.integers(0, 256, (1, 6, 8, 3)).astype("int32")
CLAHE.append({"value_range": (0, 255), "config": {"tile_grid_size": (2, 2)}, "shape": list(whole.shape), "dtype": "int32", "x": whole.ravel().tolist(),
              "y": np.asarray(keras.layers.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 2))(whole)).ravel().tolist()})

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "augmentation.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on JAX; made by make_augmentation.py", "perspectives": CASES,
               "degeneration": {"shape": list(image.shape), "factor": 0.4, "x": image.ravel().tolist(), "y": np.asarray(gray, "float64").round(4).ravel().tolist()},
               "elastic": ELASTIC, "clahe": CLAHE}, file)
    file.write("\n")
