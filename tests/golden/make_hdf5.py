"""Writes the HDF5 files of tests/hdf5_test.cpp: `pip install 'keras==3.15.*' 'jax[cpu]' h5py`, then run it in any folder."""

import os
import pathlib

os.environ["KERAS_BACKEND"] = "jax"

import h5py
import keras
import ml_dtypes
import numpy as np

folder = pathlib.Path(__file__).parent / "hdf5"
origin = f"h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version}, Keras {keras.__version__}"


def counted(shape, dtype):
    return np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def numbers(file):
    """A dataset of each number, in both byte orders, and of several shapes."""
    for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
        file[f"little/{name}"] = counted((2, 3), "<" + name)
        file[f"big/{name}"] = counted((2, 3), ">" + name)
    file["bool"] = np.array([True, False])
    file["scalar"] = np.float32(3)
    file["none"] = np.zeros((2, 0), "f4")
    bfloat16 = file.create_dataset("bfloat16", data=counted((2,), ml_dtypes.bfloat16))
    bfloat16.attrs["dtype"] = "bfloat16"


def chunks(file, pages):
    """`pages` chunks of one byte; chunks that do not divide the shape, in each kind of index, with each filter."""
    a = counted((5, 7), "<f4")
    file.create_dataset("plain", data=a, chunks=(2, 3))
    file.create_dataset("one", data=a, chunks=(5, 7), compression="gzip")
    file.create_dataset("filtered", data=a, chunks=(2, 3), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("swapped", data=a.astype(">f8"), chunks=(2, 3), compression="gzip", shuffle=True)
    file.create_dataset("checked", data=a, chunks=(2, 3), fletcher32=True)
    file.create_dataset("pages", data=counted((pages,), "u1"), chunks=(1,))
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((2, 3))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple(a.shape)
    h5py.h5d.create(file.id, b"early", h5py.h5t.IEEE_F32LE, space, early).write(h5py.h5s.ALL, h5py.h5s.ALL, a)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32BE, space, compact).write(h5py.h5s.ALL, h5py.h5s.ALL, a)


def attributes(group):
    group.attrs["text"] = "größe"
    group.attrs["bytes"] = b"jax"
    group.attrs["fixed"] = np.bytes_(b"fixed")
    group.attrs["texts"] = ["dense", "", "dense_1"]
    group.attrs["fixed_texts"] = np.array([b"kernel", b"bias"])
    group.attrs["none"] = np.array([], "f8")
    group.attrs["parts0"] = [b"a", b"b"]
    group.attrs["parts1"] = [b"c"]
    group.attrs["empty"] = ""
    group.attrs["number"] = 3


def links(group, count):
    for i in range(count):
        group.create_group(f"g{i}")


def refused(file):
    """What the reader refuses, each by itself."""
    file["right"] = counted((2,), "f4")
    file["soft"] = h5py.SoftLink("/right")
    file["outside"] = h5py.ExternalLink("other.h5", "/right")
    file.create_dataset("external", (2,), "f4", external=[("/etc/passwd", 0, 8)])
    layout = h5py.VirtualLayout((2,), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "right", (2,))
    file.create_virtual_dataset("virtual", layout)
    file.create_dataset("varying", (1,), h5py.vlen_dtype("f4"))[0] = [1, 2]
    file["texts"] = ["a", "b"]
    file["records"] = np.zeros((2,), [("a", "f4"), ("b", "i4")])
    file.create_dataset("references", (1,), h5py.ref_dtype)[0] = file["right"].ref
    file["complex"] = np.zeros((2,), "c8")
    file["bytes"] = np.zeros((2,), "V2")
    file.create_dataset("unwritten", (2,), "f4")
    file.create_dataset("partly", (4,), "f4", chunks=(2,))[:2] = 1
    file.create_dataset("lzf", data=counted((8,), "f4"), compression="lzf")
    file["shared_type"] = np.dtype("f4")
    file.create_dataset("of_shared_type", data=counted((2,), "f4"), dtype=file["shared_type"])
    file["group/loop"] = file["/"]
    file["group"].attrs["number"] = 3


def main():
    folder.mkdir(exist_ok=True)
    for name, versions in {"old": "earliest", "new": "latest"}.items():
        with h5py.File(folder / f"numbers_{name}.h5", "w", libver=versions) as file:
            numbers(file)
        with h5py.File(folder / f"chunks_{name}.h5", "w", libver=versions) as file:
            chunks(file, {"old": 150, "new": 1100}[name])
        with h5py.File(folder / f"names_{name}.h5", "w", libver=versions) as file:
            attributes(file)
            links(file.create_group("many"), 20)
            links(file.create_group("few"), 3)
        with h5py.File(folder / f"refused_{name}.h5", "w", libver=versions) as file:
            refused(file)
    with h5py.File(folder / "grows.h5", "w", libver="latest") as file:
        file.create_dataset("one", data=counted((3,), "f4"), chunks=(2,), maxshape=(None,))
        file.create_dataset("two", data=counted((3, 3), "f4"), chunks=(2, 2), maxshape=(None, None))
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.optimizer.build(model.trainable_variables)
    for variable in model.variables:
        variable.assign(counted(variable.shape, "f4"))
    model.save_weights(folder / "keras.weights.h5")
    model.save(folder / "keras_legacy.h5")
    (folder / "origin.txt").write_text(origin + "\n")


main()
