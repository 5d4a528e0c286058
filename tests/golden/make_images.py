#!/usr/bin/env python3
"""Makes images.json: small images of Pillow, and what image_dataset_from_directory of Keras on TensorFlow reads from a
folder of them.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3tf && keras3tf/bin/pip install 'keras==3.15.*' tensorflow-cpu pillow && keras3tf/bin/python make_images.py
"""
import io
import json
import os
import struct
import tempfile
import zlib

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import PIL
import tensorflow as tf
from PIL import Image

random = np.random.RandomState(7)


def smooth(height, width, channels):
    """Colors that change slowly, so that JPEG keeps them."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return np.uint8(np.clip(40 + 13 * y + 9 * x + 50 * c - 2 * x * y, 0, 255))


def file_of(image, **options):
    data = io.BytesIO()
    image.save(data, **options)
    return data.getvalue()


def noise(*shape):
    return random.randint(0, 256, shape).astype(np.uint8)


palette = Image.fromarray(noise(6, 5, 3)).quantize(7)
tree = {
    "cats/1.png": file_of(Image.fromarray(noise(5, 4, 3)), format="PNG"),
    "cats/2.jpg": file_of(Image.fromarray(smooth(9, 14, 3)), format="JPEG", quality=95, subsampling=0),
    "cats/deep/3.PNG": file_of(Image.fromarray(noise(3, 7, 4), "RGBA"), format="PNG"),
    "dogs/gray.png": file_of(Image.fromarray(noise(4, 4)), format="PNG"),
    "dogs/gray_alpha.png": file_of(Image.fromarray(noise(2, 3, 2), "LA"), format="PNG"),
    "dogs/palette.png": file_of(palette, format="PNG"),
    "dogs/small.jpeg": file_of(Image.fromarray(smooth(8, 8, 1)[:, :, 0]), format="JPEG", quality=90, progressive=True),
    "empty/note.txt": b"no image",
}



def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width, height, data=b"\0\0\0\0"):
    """A PNG of gray pixels, with that size in its header."""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def with_size(jpeg, width, height):
    """A JPEG whose header (SOF0) has another size."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", height, width) + jpeg[at + 4:]


jpeg, png = tree["cats/2.jpg"], tree["cats/1.png"]
broken = {
    "short.png": png[:-30], "flipped.png": png[:45] + bytes([png[45] ^ 1]) + png[46:], "huge.png": png_of(1 << 17, 1 << 17),
    "wide.png": png_of(30000, 4000), "short.jpg": jpeg[:-40], "wide.jpg": with_size(jpeg, 60000, 2000), "huge.jpg": with_size(jpeg, 60000, 60000),
    "cmyk.jpg": file_of(Image.fromarray(noise(8, 8, 4), "CMYK"), format="JPEG"), "empty.png": b"", "text.png": b"no image",
    "a.gif": file_of(Image.fromarray(noise(2, 2)), format="GIF"), "a.bmp": file_of(Image.fromarray(noise(2, 2)), format="BMP"),
}

cases = []
with tempfile.TemporaryDirectory() as folder:
    for path, data in tree.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as file:
            file.write(data)
    for options in (
        {},
        {"color_mode": "grayscale"},
        {"interpolation": "nearest", "label_mode": "categorical"},
        {"crop_to_aspect_ratio": True, "class_names": ["dogs", "cats"], "label_mode": "binary"},
        {"pad_to_aspect_ratio": True, "label_mode": None},
        {"data_format": "channels_first", "labels": [3, 1, 3, 2, 1, 3, 3]},
        {"batch_size": 2, "validation_split": 0.3, "subset": "training"},
        {"validation_split": 0.3, "subset": "validation"},
    ):
        read = keras.utils.image_dataset_from_directory(folder, shuffle=False, image_size=(3, 4), verbose=False, **options)
        batches = []
        for batch in read:
            x, y = (batch, None) if options.get("label_mode", "int") is None else batch
            if "pad_to_aspect_ratio" in options:
                # As by the layer Resizing, and by the format "grain". The format "tf" resizes before it pads.
                images = [tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False) for path in read.file_paths]
                x = tf.concat([keras.ops.image.resize(tf.cast(image, "float32")[None], (3, 4), pad_to_aspect_ratio=True) for image in images], 0)
            batches.append({"shape": list(x.shape), "x": [round(float(value), 4) for value in x.numpy().ravel()],
                            **({} if y is None else {"labels_shape": list(y.shape), "labels": y.numpy().ravel().tolist()})})
        cases.append({"options": options, "class_names": read.class_names, "batches": batches,
                      "file_paths": [os.path.relpath(path, folder).replace(os.sep, "/") for path in read.file_paths]})

# Pixels by Pillow, whose JPEG decoder is accurate; that of TensorFlow is faster, and differs by up to 3.
decoded = []
for path, data in tree.items():
    for mode in ("L", "RGB", "RGBA") if not path.endswith(".txt") else ():
        image = np.asarray(Image.open(io.BytesIO(data)).convert(mode))
        decoded.append({"path": path, "mode": mode, "shape": [*image.shape[:2], len(mode)], "x": image.ravel().tolist()})

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "images.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on TensorFlow {tf.__version__}; files by Pillow {PIL.__version__}; made by make_images.py",
               "tree": {path: data.hex() for path, data in tree.items()}, "broken": {name: data.hex() for name, data in broken.items()}, "cases": cases, "decoded": decoded}, file)
    file.write("\n")
