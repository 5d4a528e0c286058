#!/usr/bin/env python3
"""Makes keras2_configs.json: models as Keras 2 describes them by to_json(), with weights, inputs and outputs.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras2 && keras2/bin/pip install tf-keras
    keras2/bin/python make_keras2_configs.py

Weights and inputs have two decimals; outputs are those of float32.
"""
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tf_keras as keras
from tf_keras import layers

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(32)
MODELS = []


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    """Two decimals, as the numbers were drawn; integers as they are."""
    if np.issubdtype(np.asarray(array).dtype, np.integer):
        return np.asarray(array).tolist()
    return np.round(np.asarray(array).astype("float64"), 2).tolist()


def add(model, *inputs):
    # Variances are positive.
    weights = [np.abs(numbers(*weight.shape)) if "variance" in weight.name else numbers(*weight.shape) for weight in model.weights]
    model.set_weights(weights)
    MODELS.append({"config": json.loads(model.to_json()), "weights": [lists(weight) for weight in weights],
                   "inputs": [lists(x) for x in inputs], "y": model.predict(inputs, verbose=0).tolist()})


add(keras.Sequential([layers.Dense(3, input_shape=(4,), activation="tanh"), layers.LeakyReLU(alpha=0.25),
                      layers.BatchNormalization(), layers.Dense(2, kernel_regularizer="l1_l2")], name="flat"), numbers(3, 4))
add(keras.Sequential([layers.Embedding(7, 4, input_length=5, mask_zero=True), layers.Bidirectional(layers.LSTM(2)), layers.Dense(1)], name="ids"),
    np.array([[1, 2, 3, 0, 0], [6, 4, 0, 0, 0]]))
images = keras.Input((6, 6, 2))
y = layers.SeparableConv2D(3, 3, padding="same")(images)
y = layers.Add()([y, layers.DepthwiseConv2D(1)(layers.Conv2D(3, 1)(images))])
add(keras.Model(images, layers.Dense(2)(layers.GlobalAveragePooling2D()(layers.LayerNormalization()(y))), name="images"), numbers(2, 6, 6, 2))
steps, state = keras.Input((5, 4)), keras.Input((3,))
shared = layers.Dense(4)
y = layers.MultiHeadAttention(2, 3)(shared(steps), value=shared(shared(steps)))
add(keras.Model([steps, state], layers.GRU(3)(y, initial_state=state), name="steps"), numbers(2, 5, 4), numbers(2, 3))

with open(os.path.join(FOLDER, "keras2_configs.json"), "w") as file:
    models = ",\n".join(f"    {json.dumps(model)}" for model in MODELS)
    file.write(f'{{\n  "origin": "tf-keras {keras.__version__}",\n  "models": [\n{models}\n  ]\n}}\n')
