"""Reads hdf5/etude.weights.h5, which `etude_tests '[hdf5_golden]'` writes, by h5py and by Keras: run it in any folder."""

import os
import pathlib

os.environ["KERAS_BACKEND"] = "jax"

import h5py
import keras
import numpy as np

path = pathlib.Path(__file__).parent / "hdf5" / "etude.weights.h5"

with h5py.File(path) as file:
    assert list(file) == ["layers", "optimizer", "others", "vars"]
    assert list(file["others"].attrs["texts"]) == ["a", "", "c"]
    assert file["vars"].attrs["name"] == "größe"
    expected = {"half": ("f2", [1, 2, 3]), "bool": ("?", [True, False, True]), "seed": ("u4", [1, 4_000_000_000])}
    for name, (dtype, values) in expected.items():
        assert file["others"][name].dtype == dtype and file["others"][name][:].tolist() == values, name
    assert file["others/none"].shape == (0, 4)
    assert file["others/bfloat16"].attrs["dtype"] == "bfloat16"
    assert file["others/bfloat16"][()].tobytes() == b"\x80\x3f\x00\x40"

model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.optimizer.build(model.trainable_variables)
model.load_weights(path)
assert [weight.tolist() for weight in model.get_weights()] == [[[1.0], [2.0]], [1.0]]
assert int(model.optimizer.iterations) == 7 and np.float32(model.optimizer.learning_rate) == 0.5
print(f"right, by h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version} and Keras {keras.__version__}")
