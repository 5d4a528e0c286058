#!/usr/bin/env python3
"""Makes feature_space.json: what keras.utils.FeatureSpace makes of columns of numbers and strings.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' tensorflow-cpu && keras3/bin/python make_feature_space.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

FeatureSpace = keras.utils.FeatureSpace
ROWS = {
    "age": [22.0, 31.5, 40.0, 58.0, 19.0, 77.5, 36.0, 45.0, 63.0, 28.0],
    "height": [1.5, 1.75, 1.625, 1.875, 2.0, 1.5625, 1.6875, 1.8125, 1.75, 1.9375],
    "income": [10.0, 25.0, 5.0, 80.0, 40.0, 33.0, 61.0, 12.0, 95.0, 54.0],
    "rooms": [1, 3, 3, 2, 1, 4, 3, 2, 3, 5],
    "zip": [10115, 20095, 80331, 10115, 50667, 60311, 70173, 80331, 1067, 4109],
    "city": ["Bonn", "Ulm", "Bonn", "Köln", "Ulm", "Bonn", "Jena", "Ulm", "Bonn", "Köln"],
    "street": ["Hauptstraße", "Ring", "Allee", "Ring", "Markt", "Markt", "Hof", "Weg", "Allee", "Gasse"],
}
QUERY = {"age": [30.0, 50.0, 20.0], "height": [1.75, 1.5, 2.0], "income": [11.0, 50.0, 99.0], "rooms": [3, 9, 1],
         "zip": [10115, 99999, 80331], "city": ["Ulm", "Rom", "Bonn"], "street": ["Ring", "Pfad", "Hof"]}


def case(features, config, query=QUERY):
    """`features`: {name: {"type": .., options}}."""
    def made(name, given):
        given = dict(given)
        kind = given.pop("type")
        return getattr(FeatureSpace, kind)(**given) if given else kind
    space = FeatureSpace({name: made(name, given) for name, given in features.items()}, **{**config, "crosses": [
        FeatureSpace.cross(**cross) if isinstance(cross, dict) else cross for cross in config.get("crosses", [])]})
    # Keras only adapts to data that has strings and numbers as columns of arrays.
    space.adapt({name: np.array(column) for name, column in ROWS.items() if name in features})
    y = space({name: np.array(column) for name, column in query.items() if name in features})
    lists = lambda tensor: {"shape": list(tensor.shape), "dtype": str(np.asarray(tensor).dtype), "numbers": np.asarray(tensor, "float64").round(6).ravel().tolist()}
    return {"features": features, "config": config, "query": {name: column for name, column in query.items() if name in features},
            "y": {name: lists(each) for name, each in y.items()} if isinstance(y, dict) else lists(y)}


NAMES = {"age": {"type": "float_normalized"}, "height": {"type": "float_rescaled"}, "income": {"type": "float_discretized"},
         "rooms": {"type": "integer_categorical"}, "zip": {"type": "integer_hashed"}, "city": {"type": "string_categorical"},
         "street": {"type": "string_hashed"}}
OPTIONS = {"age": {"type": "float"}, "height": {"type": "float_rescaled", "scale": 2.0, "offset": -1.0},
           "income": {"type": "float_discretized", "num_bins": 3}, "rooms": {"type": "integer_categorical", "max_tokens": 5, "num_oov_indices": 2},
           "zip": {"type": "integer_hashed", "num_bins": 4}, "city": {"type": "string_categorical", "max_tokens": 4},
           "street": {"type": "string_hashed", "num_bins": 5}}
INTS = {name: {**given, "output_mode": "int"} if given["type"] not in ("float", "float_rescaled") else given for name, given in OPTIONS.items()}
CASES = [
    case(NAMES, {"crosses": [["city", "rooms"]], "crossing_dim": 7, "hashing_dim": 6, "num_discretization_bins": 5}),
    case(OPTIONS, {"crosses": [{"feature_names": ["zip", "street"], "crossing_dim": 9}, {"feature_names": ["city", "rooms"], "crossing_dim": 3}]}),
    case(INTS, {"output_mode": "dict", "crosses": [{"feature_names": ["street", "rooms"], "crossing_dim": 11, "output_mode": "int"}]}),
    case({"age": NAMES["age"], "city": NAMES["city"]}, {"output_mode": "dict"}, {"age": 30.0, "city": "Ulm"}),
    case({"age": NAMES["age"], "city": NAMES["city"]}, {}, {"age": 30.0, "city": "Köln"})]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "feature_space.json"), "w") as file:
    json.dump({"origin": f"Keras {keras.__version__} on TensorFlow; made by make_feature_space.py", "rows": ROWS, "cases": CASES}, file, ensure_ascii=False)
    file.write("\n")
