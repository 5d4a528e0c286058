#!/usr/bin/env python3
"""Makes preprocessing.json: results of Keras 3 for the functions of keras.utils; and two archives of NumPy.

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


def archives():
    arrays = {"x": np.arange(6, dtype="float32").reshape(2, 3), "labels": np.array([3, -1], "int64"), "none": np.zeros((0, 2), "uint8")}
    np.savez(os.path.join(FOLDER, "numpy.npz"), **arrays)
    np.savez_compressed(os.path.join(FOLDER, "numpy_compressed.npz"), **arrays)


utilities()
archives()
with open(os.path.join(FOLDER, "preprocessing.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on JAX, NumPy {np.__version__}; made by make_preprocessing.py", "cases": CASES}, file)
    file.write("\n")
