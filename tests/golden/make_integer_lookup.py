#!/usr/bin/env python3
"""Makes integer_lookup.json: results of Keras's IntegerLookup, which needs TensorFlow with any backend.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3tf && keras3tf/bin/pip install 'keras==3.15.*' tensorflow-cpu && keras3tf/bin/python make_integer_lookup.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow

x = np.int32([[7, 3, -5, 0], [3, 9, 9, -1], [100, 7, 3, 2000000011]])
CASES = []


def case(config, inputs, adapts=False):
    made = keras.layers.IntegerLookup(**config)
    if adapts:
        made.adapt(x)
    y = np.asarray(made(inputs))
    CASES.append({"config": config, "adapts": adapts, "x": inputs.tolist(), "shape": list(y.shape), "y": y.ravel().tolist(),
                  "vocabulary": [int(token) for token in made.get_vocabulary()]})


words = {"vocabulary": [9, 3, -5]}
for mode in ("int", "one_hot", "multi_hot", "count"):
    inputs = x[:, :1] if mode == "one_hot" else x
    case({**words, "output_mode": mode}, inputs)
    case({**words, "output_mode": mode, "mask_token": 7, "num_oov_indices": 3}, inputs)
case({"vocabulary": [7, -1, 9, 3], "mask_token": 7}, x)
case({**words, "output_mode": "count", "max_tokens": 6, "pad_to_max_tokens": True}, x)
case({**words, "invert": True, "oov_token": -7}, np.int32([[0, 1, 2, 3]]))
case({**words, "invert": True, "mask_token": 5, "num_oov_indices": 2}, np.int32([[0, 1, 2, 3, 4, 5]]))
case({}, x, True)
case({"max_tokens": 4, "mask_token": 3}, x, True)
case({"output_mode": "count", "num_oov_indices": 2, "max_tokens": 4}, x, True)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "integer_lookup.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on TensorFlow {tensorflow.__version__}; made by make_integer_lookup.py", "data": x.tolist(), "cases": CASES}, file)
    file.write("\n")
