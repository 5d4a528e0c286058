"""More models of make_keras_models.py: forms of models and classes that make_golden.py does not have.

x: a function of the draws that returns the inputs. policy: the dtype policy of Keras. draws: training draws random numbers, so
there are no losses."""
import keras
import numpy as np

from whole_models import layers, sequence

FILES = {}
ROWS = 8
ADAM, SGD = ("Adam", {"learning_rate": 0.02}), ("SGD", {"learning_rate": 0.1, "momentum": 0.9})


def file(optimizer=None, loss="mean_squared_error", **options):
    """Adds the model that a function returns, under the name of the function."""
    def add(build):
        FILES[build.__name__] = {"build": build, "optimizer": optimizer, "loss": loss, **options}
    return add


def normal(*shapes):
    return lambda draws: [draws.normal((ROWS, *shape)) for shape in shapes]


def whole(high, *shapes):
    return lambda draws: [draws.whole((ROWS, *shape), 0, high) for shape in shapes]


@file(ADAM, x=normal((4,), (3,)))
def dict_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    y = layers.Concatenate()([layers.Dense(3, activation="tanh")(b), a])
    return keras.Model({"left": a, "right": b}, layers.Dense(2)(y))


@file(x=normal((4,)))
def dict_outputs():
    x = keras.Input((4,))
    y = layers.Dense(3, activation="tanh")(x)
    return keras.Model(x, {"values": layers.Dense(2)(y), "kind": layers.Dense(3, activation="softmax")(y)})


@file(ADAM, x=normal((5,)), policy="mixed_bfloat16")
def mixed_bfloat16():
    return sequence((5,), layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dense(2, dtype="float32"))


@file(ADAM, x=normal((6, 6, 2)), policy="mixed_float16", draws=True)
def mixed_float16():
    return sequence((6, 6, 2), layers.Conv2D(4, 3, activation="relu"), layers.LayerNormalization(), layers.GlobalAveragePooling2D(), layers.Dense(2, dtype="float32"))


@file(SGD, x=whole(255, (4, 4, 3)))
def rescaled_channels():
    # The list is that of EfficientNet with the weights of ImageNet.
    scales = [1 / np.sqrt(deviation) for deviation in (0.229, 0.224, 0.225)]
    return sequence((4, 4, 3), layers.Rescaling(1 / 255), layers.Rescaling([float(scale) for scale in scales]),
                    layers.Rescaling(np.array([1, 0.5, 2], "float32"), [-0.5, 0, 1]), layers.Conv2D(2, 3, activation="tanh"), layers.Flatten(), layers.Dense(2))


@file(ADAM, x=lambda draws: [draws.normal((ROWS, 3), 4)])
def adapted_numbers():
    normalization = layers.Normalization()  # adapt() needs TensorFlow
    model = sequence((3,), normalization, layers.Rescaling(0.5, 0.1), layers.Dense(4, activation="tanh"), layers.Dense(2))
    for variable, values in zip(normalization.weights, ([3.0, 1.5, 6.0], [4.5, 8.2, 400.0])):
        variable.assign(values)
    normalization.finalize_state()
    model.keeps_weights = True
    return model


@file(ADAM, x=whole(5, (3,), (1,)))
def categories():
    some, one = keras.Input((3,), dtype="int32"), keras.Input((1,), dtype="int32")
    y = [layers.CategoryEncoding(5, output_mode="multi_hot")(some), layers.CategoryEncoding(6, output_mode="one_hot")(one)]
    return keras.Model([some, one], layers.Dense(2)(layers.Concatenate()([*y, layers.Flatten()(layers.Embedding(5, 2)(some))])))


@file(SGD, x=normal((4,)))
def discretized_numbers():
    return sequence((4,), layers.Discretization([-0.5, 0.0, 0.8]), layers.Embedding(4, 3), layers.Flatten(), layers.Dense(2))


@file(x=lambda draws: [draws.uniform((ROWS, 9, 8, 3), 0, 255)], draws=True)
def image_preprocessing():
    return sequence((9, 8, 3), layers.Resizing(6, 6), layers.RandomFlip(), layers.RandomRotation(0.1), layers.RandomZoom(0.1), layers.RandomTranslation(0.1, 0.1),
                    layers.RandomContrast(0.2), layers.RandomBrightness(0.1), layers.CenterCrop(4, 4), layers.Rescaling(1 / 255), layers.Conv2D(2, 3), layers.GlobalMaxPooling2D())


@file(ADAM, x=normal((3, 6, 2)))
def conv_lstm_1d():
    return sequence((3, 6, 2), layers.ConvLSTM1D(3, 2, return_sequences=True), layers.ConvLSTM1D(2, 2, padding="same"), layers.Flatten(), layers.Dense(2))


@file(x=normal((2, 3, 4, 3, 1)))
def conv_lstm_3d():
    return sequence((2, 3, 4, 3, 1), layers.ConvLSTM3D(2, 2), layers.GlobalAveragePooling3D())


@file(x=normal((5, 4)), optimizer=ADAM, draws=True)
def random_layers():
    return sequence((5, 4), layers.Dropout(0.3, seed=5), layers.SpatialDropout1D(0.2), layers.GaussianNoise(0.1), layers.GaussianDropout(0.1), layers.AlphaDropout(0.1),
                    layers.GRU(3, dropout=0.2, recurrent_dropout=0.1), layers.Dense(2))


@file(x=normal((5, 3)))
def stateful_rnn():
    return keras.Sequential([keras.Input(batch_shape=(ROWS, 5, 3)), layers.LSTM(3, stateful=True, return_sequences=True), layers.GRU(2, stateful=True)])


@file(ADAM, x=normal((4, 3), (4, 3)))
def ops_on_tensors():
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    y = keras.ops.tanh(a * 2.0 - b / 3.0) + keras.ops.exp(-keras.ops.square(b))
    y = keras.ops.concatenate([y[:, 0], keras.ops.mean(y, axis=1), keras.ops.max(a, axis=-1)], axis=-1)
    return keras.Model([a, b], layers.Dense(2)(keras.ops.where(y > 0.1, y, 0.5 * y)))


def words_that_end(draws):
    """Two inputs of words and one of steps, whose rows end with 0 to 3 zeros."""
    inputs = [draws.whole((ROWS, 5), 1, 9), draws.whole((ROWS, 4), 1, 9), draws.normal((ROWS, 5, 3))]
    for each in inputs:
        for row in range(ROWS):
            each[row, each.shape[1] - row % 4:] = 0
    return inputs


@file(ADAM, x=words_that_end)
def masks_beside_initial_states():
    """Keras ignores the mask of steps beside initial states, but passes it on, unless it is an argument."""
    x, target, steps = keras.Input((5,), dtype="int32"), keras.Input((4,), dtype="int32"), keras.Input((5, 3))
    embedding = layers.Embedding(9, 3, mask_zero=True)
    state = layers.GRU(3)(embedding(x))
    ignored = layers.GRU(3, return_sequences=True)(embedding(target), initial_state=state)
    used = layers.LSTM(3)(embedding(target), initial_state=[state, state], mask=keras.ops.not_equal(target, 0))
    masking = layers.Masking()
    of_steps = layers.GRU(3)(layers.Dropout(0.0)(masking(steps)), initial_state=state, mask=masking.compute_mask(steps))
    both = layers.Bidirectional(layers.SimpleRNN(3))(masking(steps), initial_state=[state, state])
    return keras.Model([x, target, steps], layers.Dense(2)(layers.Concatenate()([layers.SimpleRNN(2)(ignored), used, of_steps, both])))


@file(ADAM, x=normal((5, 3)))
def stacked_cells():
    return sequence((5, 3), layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_sequences=True),
                    layers.Bidirectional(layers.RNN(layers.SimpleRNNCell(2))), layers.Dense(2))


@file(ADAM, x=normal((5, 3)))
def two_directions():
    backward = layers.LSTM(2, return_sequences=True, go_backwards=True, activation="relu")
    return sequence((5, 3), layers.Bidirectional(layers.LSTM(2, return_sequences=True), backward_layer=backward), layers.GlobalMaxPooling1D(), layers.Dense(2))


@file(("AdamW", {"learning_rate": 0.01, "weight_decay": 0.02}), x=normal((4, 6)))
def group_query_attention():
    x = keras.Input((4, 6))
    y = layers.Add()([x, layers.GroupQueryAttention(3, 4, 2)(x, x)])
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.LayerNormalization()(y))))


@file(("RMSprop", {"learning_rate": 0.01, "momentum": 0.5}), x=normal((5, 5, 2)))
def nested_deep():
    def block(filters):
        x = keras.Input((5, 5, 2))
        return keras.Model(x, layers.Conv2D(filters, 2, padding="same", activation="relu")(layers.BatchNormalization()(x)))
    first = block(2)
    x = keras.Input((5, 5, 2))
    y = keras.Sequential([block(2), block(2)])(first(x))
    return keras.Model(x, layers.Dense(2)(layers.Concatenate()([layers.Flatten()(y), layers.GlobalAveragePooling2D()(first(y))])))


@file(ADAM, x=normal((5,)))
def frozen_layers():
    model = sequence((5,), layers.Dense(4, activation="tanh", name="first"), layers.BatchNormalization(name="norm"), layers.Dense(3, name="middle"), layers.Dense(2))
    model.get_layer("first").trainable = model.get_layer("norm").trainable = False
    return model


@file(SGD, x=normal((3, 5, 5, 1)))
def model_of_each_step():
    inner = sequence((5, 5, 1), layers.Conv2D(2, 3, activation="relu"), layers.GlobalMaxPooling2D())
    return sequence((3, 5, 5, 1), layers.TimeDistributed(inner), layers.SimpleRNN(2))


@file(("Lamb", {"learning_rate": 0.02}), x=normal((4, 4, 2)))
def separable_and_transposed():
    return sequence((4, 4, 2), layers.SeparableConv2D(3, 2, depthwise_regularizer="l2", pointwise_constraint="max_norm"),
                    layers.Conv2DTranspose(2, 2, strides=2, kernel_regularizer=keras.regularizers.L1L2(0.001, 0.01)), layers.GlobalAveragePooling2D())
