#!/usr/bin/env python3
"""Makes keras2_models.json and the .h5 files in keras_models/: models that Keras 2 saved after three steps of training, as
make_keras_models.py does with Keras 3.

Run by hand, never by CI, from any folder, with the Python of make_keras_files.py for Keras 2.
"""
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tf_keras as keras
from tf_keras import layers, optimizers

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROWS, BATCH, BEFORE, AFTER = 8, 4, 3, 20
draws = np.random.default_rng(216)
CASES = []


def normal(*shape):
    return draws.standard_normal((ROWS, *shape)).round(3).astype("float32")


def digits(values):
    """A flat list of the shortest numbers that give the same bits in float32."""
    return [float(str(np.float32(value))) for value in np.asarray(values, "float32").ravel()]


def add(name, model, x, optimizer=None, loss="mse"):
    model.set_weights([(np.abs(draws.standard_normal(weight.shape)) + 0.5 if "variance" in weight.name else draws.standard_normal(weight.shape) / 2).round(3)
                       for weight in model.weights])
    case = {"name": name, "file": f"keras_models/{name}.h5", "x": [each.tolist() for each in x], "y": []}
    whole = x if len(x) > 1 else x[0]
    if optimizer is not None:
        y = draws.integers(0, 2, (ROWS, *model.output_shape[1:])).astype("float32") if "crossentropy" in loss else normal(*model.output_shape[1:])
        case["y"] = [y.round(3).tolist()]
        model.compile(optimizer, loss)

    def step(number):
        rows = slice(number * BATCH % ROWS, number * BATCH % ROWS + BATCH)
        return float(model.train_on_batch([each[rows] for each in x] if len(x) > 1 else whole[rows], y[rows], reset_metrics=True))

    for number in range(BEFORE if optimizer is not None else 0):
        step(number)
    model.save(os.path.join(FOLDER, case["file"]))
    outputs = model(whole, training=False)
    case["outputs"] = [digits(each) for each in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    if optimizer is not None:
        case["losses"] = [float(f"{step(BEFORE + number):.8g}") for number in range(AFTER)]
    CASES.append(case)


add("images2", keras.Sequential([layers.Conv2D(3, 3, activation="relu", padding="same", input_shape=(6, 6, 2)), layers.MaxPooling2D(), layers.BatchNormalization(),
                                 layers.SeparableConv2D(3, 2), layers.LeakyReLU(alpha=0.2), layers.Flatten(), layers.Dropout(0.0), layers.Dense(1, activation="sigmoid")]),
    [normal(6, 6, 2)], optimizers.legacy.Adam(0.01), "binary_crossentropy")
add("words2", keras.Sequential([layers.Embedding(9, 4, input_length=6, mask_zero=True), layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.GRU(2),
                                layers.Dense(2)]), [draws.integers(1, 9, (ROWS, 6)).astype("int32")], optimizers.RMSprop(0.01))
a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
shared = layers.Dense(3, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.01), name="shared")
joined = layers.Concatenate()([shared(a), shared(layers.Dense(4)(b)), b])
add("shared2", keras.Model([a, b], layers.Dense(2, kernel_constraint="max_norm")(joined)), [normal(4), normal(3)], optimizers.SGD(0.1, momentum=0.9))
add("transposed2", keras.Sequential([layers.Conv1D(3, 2, strides=2, input_shape=(8, 2)), layers.Conv1DTranspose(2, 3, strides=2), layers.UpSampling1D(2), layers.Cropping1D(1),
                                     layers.GlobalAveragePooling1D(), layers.LayerNormalization(), layers.Dense(2)]), [normal(8, 2)], optimizers.Adam(0.02, amsgrad=True))
x = keras.Input((4, 6))
y = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(2, 3)(x, x)]))
add("attention2", keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y))), [normal(4, 6)], optimizers.Adagrad(0.1))
inner = keras.Sequential([layers.Dense(3, activation="relu", input_shape=(4,)), layers.BatchNormalization()])
x = keras.Input((5, 4))
y = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True)(layers.TimeDistributed(inner)(x))
add("cells2", keras.Model(x, layers.SimpleRNN(2)(y)), [normal(5, 4)], optimizers.Adamax(0.01))
add("movies2", keras.Sequential([layers.ConvLSTM2D(2, 2, recurrent_activation="sigmoid", input_shape=(2, 4, 4, 1)), layers.GlobalMaxPooling2D()]), [normal(2, 4, 4, 1)])
add("volumes2", keras.Sequential([layers.Conv3D(2, 2, input_shape=(3, 4, 3, 1)), layers.AveragePooling3D((1, 2, 1)), layers.Flatten(), layers.PReLU(), layers.Dense(1)]),
    [normal(3, 4, 3, 1)], optimizers.Adadelta(1.0))
# The default gates of ConvLSTM2D, and those of LSTM and GRU of Keras 2.2.
add("gates2", keras.Sequential([layers.ConvLSTM2D(2, 2, return_sequences=True, input_shape=(3, 3, 3, 1)), layers.Reshape((3, 8)),
                                layers.LSTM(3, recurrent_activation="hard_sigmoid", return_sequences=True), layers.GRU(2, recurrent_activation="hard_sigmoid"),
                                layers.Dense(2, activation="hard_sigmoid")]), [normal(3, 3, 3, 1)], optimizers.SGD(0.1))
# Frozen layers inside a model: their weights are in another order than those of trained layers.
def normalized(frozen):
    stack = keras.Sequential([layers.Dense(3, activation="tanh", input_shape=(4,)), layers.BatchNormalization(), layers.Dense(3), layers.BatchNormalization()])
    for layer in stack.layers[:frozen]:
        layer.trainable = False
    return stack


for name, frozen in ("frozen2", 4), ("partly_frozen2", 2):
    add(name, keras.Sequential([normalized(frozen), layers.Dense(2)]), [normal(4)], optimizers.SGD(0.1))
whole = normalized(0)
whole.trainable = False
add("frozen_whole2", keras.Sequential([whole, layers.Dense(2)]), [normal(4)], optimizers.SGD(0.1))

# Initial states beside a mask, which Keras 2 uses.
words, target = draws.integers(1, 9, (ROWS, 5)).astype("int32"), draws.integers(1, 9, (ROWS, 4)).astype("int32")
for row in range(ROWS):
    words[row, 5 - row % 4:] = target[row, 4 - row % 3:] = 0
x, given = keras.Input((5,), dtype="int32"), keras.Input((4,), dtype="int32")
embedding = layers.Embedding(9, 3, mask_zero=True)
state = layers.GRU(3)(embedding(x))
y = layers.LSTM(3, return_sequences=True)(embedding(given), initial_state=[state, state])
both = layers.Bidirectional(layers.SimpleRNN(3))(layers.Dropout(0.0)(embedding(given)), initial_state=[state, state])
add("states2", keras.Model([x, given], layers.Dense(2)(layers.Concatenate()([layers.SimpleRNN(2)(y), both]))), [words, target], optimizers.SGD(0.1))

with open(os.path.join(FOLDER, "keras2_models.json"), "w") as file:
    head = json.dumps({"origin": f"tf-keras {keras.__version__}, tests/golden/make_keras2_models.py", "batch_size": BATCH, "steps_before": BEFORE})[:-1]
    models = ",\n".join(json.dumps(case, separators=(",", ":")) for case in CASES)
    file.write(f'{head}, "models": [\n{models}\n]}}\n')
