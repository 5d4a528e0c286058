#!/usr/bin/env python3
"""Makes results of Keras 3: preprocessing.json, for the functions of keras.utils and for layers that adapt to data, and
conformance/preprocessing.json, for layers that preprocess; and two archives of NumPy. Layers with random draws are cases
where an interval of one number leaves nothing to chance.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' grain
    keras3/bin/python make_preprocessing.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from keras.src.legacy.preprocessing.sequence import make_sampling_table, skipgrams

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(19)
CASES = {}


def array(value):
    value = np.asarray(value)
    if value.dtype == "float64":
        value = value.astype("float32")
    return {"dtype": str(value.dtype), "shape": list(value.shape), "value": value.tolist()}


def utilities():
    vectors = draws.standard_normal((2, 3)).round(2).astype("float32")
    vectors[1] = 0
    ragged = [[1], [2, 3], [], [4, 5, 6, 7]]
    rows = [np.arange(4, dtype="int32").reshape(2, 2), np.arange(4, 10, dtype="int32").reshape(3, 2)]
    steps, targets = np.arange(40, dtype="int32").reshape(20, 2), 10 * np.arange(20, dtype="int32")

    CASES["to_categorical"] = [
        {"x": array(np.int32(x)), "num_classes": classes, "y": array(keras.utils.to_categorical(x, classes).astype("float32"))}
        for x, classes in (([0, 2, 1], None), ([[0], [3]], 5), ([[1, 0], [2, 2]], None))]
    CASES["normalize"] = [
        {"x": array(vectors), "order": order, "y": array(keras.utils.normalize(vectors, order=order))} for order in (1, 2, 3.5)]
    CASES["pad_sequences"] = [
        {"options": options, "y": array(keras.utils.pad_sequences(ragged, **options))}
        for options in ({}, {"maxlen": 3}, {"maxlen": 3, "padding": "post", "truncating": "post", "value": -1}, {"maxlen": 5, "dtype": "float32", "value": 0.5})]
    CASES["pad_sequences_of_rows"] = array(keras.utils.pad_sequences(rows, maxlen=3, padding="post"))
    CASES["timeseries"] = []
    for options in ({"sequence_length": 4, "batch_size": 5}, {"sequence_length": 3, "sequence_stride": 2, "sampling_rate": 3, "batch_size": 4, "start_index": 2, "end_index": 17}):
        dataset = keras.utils.timeseries_dataset_from_array(steps, targets, format="grain", **options)
        CASES["timeseries"].append({"options": options, "batches": [[array(x), array(y)] for x, y in dataset]})
    sequence = [1, 2, 0, 3, 4, 1]
    couples, labels = skipgrams(sequence, 5, window_size=2, negative_samples=0, shuffle=False)
    CASES["skipgrams"] = {"sequence": array(np.int32(sequence)), "couples": array(np.int32(couples)), "labels": array(np.int32(labels))}
    CASES["sampling_table"] = make_sampling_table(6, 1e-3).tolist()


def adapted():
    data = (3 * draws.standard_normal((7, 3, 2))).round(2).astype("float32")
    CASES["normalization"] = []
    for axis in (-1, (1, 2), None):
        layer = keras.layers.Normalization(axis=axis)
        layer.adapt(data)
        CASES["normalization"].append({"axis": axis, "x": array(data), "mean": array(layer.adapt_mean), "variance": array(layer.adapt_variance), "y": array(layer(data))})
    CASES["discretization"] = []
    for count, bins, epsilon in ((9, 4, 0.01), (500, 5, 0.01), (300, 3, 0.1), (2, 4, 0.01)):
        numbers = draws.standard_normal(count).round(3).astype("float32")
        layer, halves = (keras.layers.Discretization(num_bins=bins, epsilon=epsilon) for _ in range(2))
        # What adapt() does, without TensorFlow.
        layer.update_state(numbers)
        halves.update_state(numbers[: count // 2])
        halves.update_state(numbers[count // 2:])
        layer.finalize_state()
        halves.finalize_state()
        CASES["discretization"].append({"num_bins": bins, "epsilon": epsilon, "x": array(numbers), "boundaries": layer.bin_boundaries, "boundaries_of_halves": halves.bin_boundaries, "y": array(np.int32(layer(numbers)))})


CONFORMANCE = []


def layer(target, config, x, training=False):
    made = getattr(keras.layers, target)(**config)
    takes_training = "Random" in target or target in ("AutoContrast", "CutMix", "Equalization", "MixUp", "Solarization")
    y = np.asarray(made(x, training=training) if takes_training else made(x), dtype="float32")
    number = sum(test["target"] == target for test in CONFORMANCE)
    call = {"args": [np.asarray(x).tolist()], **({"kwargs": {"training": True}} if training else {})}
    CONFORMANCE.append({
        "id": f"layer/{target}/keras3-{number}", "family": "layer", "target": target, "config": config, "inputs": {"calls": [call]},
        "expect": {"value": y.round(5).tolist(), "atol": 2e-3 if np.max(np.abs(x)) > 4 else 2e-5, "rtol": 1e-5}, "origin": "run", "checked": True,
        "source": {"repo": "keras-team/keras", "version": keras.__version__, "file": "tests/golden/make_preprocessing.py"}})


def layers():
    def image(*shape):
        return draws.integers(0, 256, shape).astype("float32")

    numbers = draws.standard_normal((3, 4)).round(2).astype("float32")
    layer("Normalization", {"mean": [0.5, -1.0, 0.25, 2.0], "variance": [2.0, 0.25, 1.0, 0.0]}, numbers)
    layer("Normalization", {"axis": None, "mean": 1.5, "variance": 4.0}, numbers)
    layer("Normalization", {"axis": [1, 2], "mean": [1.0, 2.0], "variance": [4.0, 0.25], "invert": True}, numbers.reshape(2, 3, 2))
    for mode in ("int", "one_hot", "multi_hot", "count"):
        layer("Discretization", {"bin_boundaries": [-1.0, -0.25, 0.0, 0.5, 1.0], "output_mode": mode}, numbers)
    layer("Discretization", {"bin_boundaries": [0.5]}, np.float32([[0.4, 0.5, 0.6]]))
    for mode in ("one_hot", "multi_hot", "count"):
        layer("CategoryEncoding", {"num_tokens": 4, "output_mode": mode}, np.int32([[1, 3, 1], [0, 2, 2]]))
    layer("CategoryEncoding", {"num_tokens": 4, "output_mode": "one_hot"}, np.int32([[3], [0]]))
    layer("CategoryEncoding", {"num_tokens": 4}, np.int32([3, 0, 3]))

    x = image(2, 5, 7, 2)
    for size in ((3, 4), (8, 9), (5, 3)):
        height, width = size
        for interpolation in ("nearest", "bilinear"):
            layer("Resizing", {"height": height, "width": width, "interpolation": interpolation}, x)
        layer("Resizing", {"height": height, "width": width, "antialias": True}, x)
        layer("Resizing", {"height": height, "width": width, "crop_to_aspect_ratio": True}, x)
        layer("Resizing", {"height": height, "width": width, "pad_to_aspect_ratio": True, "fill_value": 7.0}, x)
        layer("CenterCrop", {"height": height, "width": width}, x)
    layer("Resizing", {"height": 4, "width": 4, "data_format": "channels_first"}, image(1, 2, 3, 5))
    layer("CenterCrop", {"height": 2, "width": 3, "data_format": "channels_first"}, image(1, 2, 3, 5))
    layer("AutoContrast", {}, image(2, 3, 4, 2))
    layer("AutoContrast", {"value_range": [0, 1]}, draws.random((1, 3, 4, 1)).round(3).astype("float32"))
    flat = image(1, 3, 3, 2)
    flat[..., 1] = 9
    layer("AutoContrast", {}, flat)
    layer("Equalization", {}, image(1, 6, 5, 2), True)
    layer("Equalization", {"bins": 8}, image(1, 6, 5, 1), True)
    layer("Equalization", {"value_range": [0, 1]}, draws.random((1, 4, 5, 1)).round(2).astype("float32"), True)
    layer("Equalization", {}, flat, True)

    x = image(2, 6, 5, 2)
    for fill_mode in ("reflect", "wrap", "constant", "nearest"):
        fill = {"fill_mode": fill_mode, "fill_value": 3.0}
        layer("RandomTranslation", {"height_factor": [0.3, 0.3], "width_factor": [-0.45, -0.45], **fill}, x, True)
        layer("RandomZoom", {"height_factor": [0.4, 0.4], "width_factor": [-0.3, -0.3], **fill}, x, True)
        layer("RandomRotation", {"factor": [0.11, 0.11], **fill}, x, True)
        layer("RandomRotation", {"factor": [-0.3, -0.3], "interpolation": "nearest", **fill}, x, True)
    layer("RandomTranslation", {"height_factor": [-1.0, -1.0], "width_factor": [1.0, 1.0]}, x, True)
    layer("RandomZoom", {"height_factor": [0.25, 0.25], "interpolation": "nearest", "fill_mode": "constant"}, x, True)
    layer("RandomRotation", {"factor": [0.2, 0.2], "data_format": "channels_first"}, image(1, 2, 4, 5), True)
    layer("RandomTranslation", {"height_factor": 0.5, "width_factor": 0.5}, x)

    x = image(2, 4, 3, 3)
    layer("RandomBrightness", {"factor": [0.2, 0.2]}, x, True)
    layer("RandomBrightness", {"factor": [-0.3, -0.3], "value_range": [0, 1]}, (x / 256).round(3), True)
    layer("RandomSaturation", {"factor": [0.3, 0.3]}, x, True)
    layer("RandomSaturation", {"factor": [0.9, 0.9], "value_range": [0, 1]}, (x / 256).round(3), True)
    layer("RandomSharpness", {"factor": [0.9, 0.9]}, x, True)
    layer("RandomSharpness", {"factor": [0.1, 0.1], "data_format": "channels_first"}, image(1, 3, 4, 4), True)
    for bits in (1, 3, 8):
        layer("RandomPosterization", {"factor": [bits, bits]}, x, True)
    layer("RandomPosterization", {"factor": [2, 2], "value_range": [0, 1]}, (x / 256).round(3), True)
    layer("RandomInvert", {"factor": [1.0, 1.0]}, x, True)
    layer("RandomGrayscale", {"factor": 1.0}, x, True)
    layer("RandomHue", {"factor": [0.0, 0.0]}, x, True)
    layer("RandomHue", {"factor": [1.0, 1.0], "value_range": [0, 1]}, (x / 256).round(3), True)
    layer("RandomColorJitter", {"brightness_factor": [0.1, 0.1], "saturation_factor": [0.2, 0.2], "hue_factor": [1.0, 1.0]}, x, True)
    layer("RandomGaussianBlur", {"factor": [1.0, 1.0], "kernel_size": [3, 5], "sigma": [0.8, 0.8]}, x, True)
    layer("Solarization", {}, x, True)
    layer("Solarization", {"value_range": [0, 1]}, (x / 256).round(3), True)
    for target in ("RandomFlip", "RandomInvert", "RandomErasing", "MixUp", "CutMix", "Equalization", "Solarization"):
        layer(target, {}, image(2, 2, 3, 1))


def archives():
    arrays = {"x": np.arange(6, dtype="float32").reshape(2, 3), "labels": np.array([3, -1], "int64"), "none": np.zeros((0, 2), "uint8")}
    np.savez(os.path.join(FOLDER, "numpy.npz"), **arrays)
    np.savez_compressed(os.path.join(FOLDER, "numpy_compressed.npz"), **arrays)


utilities()
adapted()
layers()
archives()
with open(os.path.join(FOLDER, "conformance/preprocessing.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CONFORMANCE) + "\n]\n")
with open(os.path.join(FOLDER, "preprocessing.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on JAX, NumPy {np.__version__}; made by make_preprocessing.py", "cases": CASES}, file)
    file.write("\n")
