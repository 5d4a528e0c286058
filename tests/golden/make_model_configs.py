#!/usr/bin/env python3
"""Makes model_configs.json: models as Keras 3 describes them by to_json(), with weights, inputs and outputs.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' jax
    keras3/bin/python make_model_configs.py

Weights and inputs have two decimals; outputs are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from keras import layers

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(31)
MODELS = []


def numbers(shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    """Two decimals, as the numbers were drawn; integers as they are."""
    if np.issubdtype(np.asarray(array).dtype, np.integer):
        return np.asarray(array).tolist()
    return np.round(np.asarray(array).astype("float64"), 2).tolist()


def add(model, x):
    # Variances and standard deviations are positive.
    weights = [np.abs(numbers(weight.shape)) if "variance" in weight.name else numbers(weight.shape) for weight in model.weights]
    model.set_weights(weights)
    MODELS.append({"config": json.loads(model.to_json()), "weights": [lists(weight) for weight in weights], "inputs" if isinstance(x, list) else "x": [lists(each) for each in x] if isinstance(x, list) else lists(x),
                   "y": model.predict(x, verbose=0).tolist()})


add(keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.5),
                      layers.RMSNormalization(), layers.Dense(2, kernel_regularizer="l2", kernel_constraint="max_norm")]), numbers((3, 4)))
images = keras.Input((None, None, 2))
y = layers.Conv2D(3, 3, padding="same", activation="swish")(images)
y = layers.Add()([y, layers.DepthwiseConv2D(1, depth_multiplier=1)(layers.Conv2D(3, 1)(images))])
y = layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(y))
add(keras.Model(images, layers.Dense(2, activation="softmax")(y)), numbers((2, 6, 6, 2)))
steps = keras.Input((5, 3))
y = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(steps)
y = layers.RNN(layers.StackedRNNCells([layers.GRUCell(3), layers.SimpleRNNCell(2)]))(y)
add(keras.Model(steps, layers.Dense(1)(y)), numbers((2, 5, 3)))
inner = keras.Sequential([keras.Input((5, 4)), layers.LayerNormalization(), layers.TimeDistributed(layers.Dense(4, activation="gelu"))])
steps = keras.Input((5, 4))
add(keras.Model(steps, layers.Flatten()(layers.Concatenate()([inner(steps), inner(layers.ReLU()(steps))]))), numbers((1, 5, 4)))

# Calls with named tensors, and masks, which Keras writes as ops and as an argument of the call.
steps, others, state = keras.Input((5, 4)), keras.Input((6, 4)), keras.Input((3,))
y = layers.MultiHeadAttention(2, 3)(value=others, query=steps)
add(keras.Model([steps, others, state], layers.GRU(3)(y, initial_state=state)), [numbers((2, 5, 4)), numbers((2, 6, 4)), numbers((2, 3))])
ids = keras.Input((None,), dtype="int32")
model = keras.Model(ids, layers.Dense(2)(layers.LSTM(3)(layers.Embedding(7, 4, mask_zero=True)(ids))))
model.compile(keras.optimizers.SGD(0.25, momentum=0.5), keras.losses.MeanSquaredError(), metrics=["mae"], loss_weights=[0.5])
add(model, np.array([[1, 2, 0, 0], [6, 3, 5, 0]], "int32"))

with open(os.path.join(FOLDER, "model_configs.json"), "w") as file:
    origin = f"Keras {keras.__version__} on {keras.backend.backend()}"
    models = ",\n".join(f"    {json.dumps(model)}" for model in MODELS)
    file.write(f'{{\n  "origin": {json.dumps(origin)},\n  "models": [\n{models}\n  ]\n}}\n')
