"""Models of recurrent layers and attention."""
import keras
import numpy as np

from whole_models import Causal, layers, model, sequence


def end_early(inputs):
    """Ends row i of the first input i % 4 steps before the last, with zeros."""
    for row in range(len(inputs[0])):
        if row % 4:
            inputs[0][row, -(row % 4):] = 0


@model(("SGD", {"learning_rate": 0.2, "clipnorm": 0.3}), "mean_squared_error")
def simple_rnn():
    return sequence((5, 3), layers.SimpleRNN(4, return_sequences=True), layers.SimpleRNN(3, go_backwards=True, activation="relu"), layers.Dense(2))


@model(("Adam", {"learning_rate": 0.02, "clipvalue": 0.05}), "mean_absolute_error")
def gru():
    return sequence((5, 3), layers.GRU(4, return_sequences=True), layers.GRU(3, go_backwards=True, use_bias=False), layers.Dense(2))


@model(("RMSprop", {"learning_rate": 0.01, "weight_decay": 0.1}), "poisson")
def gru_with_reset_before():
    return sequence((5, 3), layers.GRU(4, reset_after=False, recurrent_activation="hard_sigmoid", return_sequences=True), layers.GRU(3, reset_after=False),
                    layers.Dense(2, activation="softplus"))


@model(("Adam", {"learning_rate": 0.03, "amsgrad": True}), "sparse_categorical_crossentropy")
def lstm_of_steps():
    return sequence((6, 3), layers.LSTM(4, return_sequences=True), layers.LSTM(3, return_sequences=True, activation="softsign", recurrent_activation="hard_sigmoid"),
                    layers.Dense(4, activation="softmax"))


@model(("AdamW", {"learning_rate": 0.02, "global_clipnorm": 0.2}), "mean_squared_error")
def bidirectional_concat():
    return sequence((5, 3), layers.Bidirectional(layers.LSTM(3, return_sequences=True)), layers.Bidirectional(layers.GRU(2)), layers.Dense(2))


@model(("SGD", {"learning_rate": {"class_name": "PiecewiseConstantDecay", "config": {"boundaries": [4, 11], "values": [0.3, 0.1, 0.05]}}, "momentum": 0.3}), "mean_squared_error")
def bidirectional_sum_and_mul():
    return sequence((5, 3), layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode="sum"), layers.Bidirectional(layers.SimpleRNN(4), merge_mode="mul"),
                    layers.Dense(2))


@model(("Nadam", {"learning_rate": 0.01}), "mean_squared_error")
def bidirectional_ave_and_both():
    x = keras.Input((5, 3))
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True), merge_mode="ave")(x)
    forward, backward = layers.Bidirectional(layers.SimpleRNN(3, return_sequences=True), merge_mode=None)(y)
    return keras.Model(x, layers.Dense(2)(layers.Subtract()([forward, backward])))


@model(("Adam", {"learning_rate": 0.02}), "huber")
def time_distributed():
    return sequence((4, 5, 2), layers.TimeDistributed(layers.Conv1D(3, 2, activation="tanh")), layers.TimeDistributed(layers.Flatten()),
                    layers.TimeDistributed(layers.Dense(3, activation="relu")), layers.LSTM(3), layers.Dense(2))


@model(("Adam", {"learning_rate": 0.02, "beta_1": 0.8}), "mean_squared_error")
def encoder_and_decoder():
    x, given = keras.Input((5, 3)), keras.Input((4, 2))
    _, state, carry = layers.LSTM(3, return_state=True)(x)
    steps = layers.LSTM(3, return_sequences=True)(given, initial_state=[state, carry])
    code, forward, backward = layers.Bidirectional(layers.GRU(2, return_state=True))(x)
    again = layers.Bidirectional(layers.GRU(2, return_sequences=True))(given, initial_state=[forward, backward])
    return keras.Model([x, given], layers.Dense(2)(layers.Concatenate()([steps, again, layers.RepeatVector(4)(code)])))


@model(("Adam", {"learning_rate": 0.02, "epsilon": 1e-4}), "ctc")
def labels_of_steps():
    return sequence((6, 3), layers.Bidirectional(layers.SimpleRNN(3, return_sequences=True)), layers.Dense(4))


@model(("Adam", {"learning_rate": 0.05}), "binary_crossentropy", vary=end_early)
def masked_words():
    return sequence((6,), layers.Embedding(9, 3, mask_zero=True), layers.Bidirectional(layers.LSTM(3)), layers.Dense(1, activation="sigmoid"), dtype="int32")


@model(("SGD", {"learning_rate": 0.3, "momentum": 0.9}), "mean_squared_error", vary=end_early)
def masked_steps_of_outputs():
    return sequence((6,), layers.Embedding(9, 3, mask_zero=True), layers.Bidirectional(layers.GRU(3, return_sequences=True)),
                    layers.TimeDistributed(layers.Dense(2)), dtype="int32")


@model(("RMSprop", {"learning_rate": 0.01}), ["mean_absolute_error", "mean_squared_error"], vary=end_early)
def masking_and_pooling():
    x = keras.Input((6, 3))
    first = layers.GRU(4, return_sequences=True, zero_output_for_mask=True)(layers.Masking()(x))
    second = layers.LSTM(3, return_sequences=True)(first)
    return keras.Model(x, [layers.Dense(2)(layers.Concatenate()([first, second])), layers.Dense(2)(layers.GlobalAveragePooling1D()(second))])


@model(("Adam", {"learning_rate": 0.02, "global_clipnorm": 1.0}), "sparse_categorical_crossentropy")
def causal_attention():
    return sequence((6,), layers.Embedding(7, 4), Causal(layers.MultiHeadAttention(2, 3)), layers.LayerNormalization(), Causal(layers.Attention(use_scale=True)),
                    layers.Dense(5, activation="softmax"), dtype="int32")


@model(("AdamW", {"learning_rate": 0.01, "clipnorm": 0.5}), "mean_squared_error")
def transformer_block():
    x = keras.Input((5, 4))
    normal = layers.LayerNormalization()(x)
    y = layers.Add()([x, layers.MultiHeadAttention(2, 2, value_dim=3)(normal, normal)])
    inner = layers.Dense(6, activation="gelu")(layers.RMSNormalization()(y))
    return keras.Model(x, layers.Add()([y, layers.Dense(4)(inner)]))


@model(("Adam", {"learning_rate": 0.02}), "mean_squared_error", vary=lambda inputs: inputs.__setitem__(2, np.tril(np.ones((len(inputs[0]), 4, 5), bool), 1)))
def cross_attention_with_mask():
    query, value, mask = keras.Input((4, 3)), keras.Input((5, 2)), keras.Input((4, 5), dtype="bool")
    y = layers.MultiHeadAttention(2, 2, use_bias=False, output_shape=4)(query, value, value, attention_mask=mask)
    return keras.Model([query, value, mask], layers.Dense(2)(layers.GlobalMaxPooling1D()(y)))


@model(("RMSprop", {"learning_rate": 0.005}), "mean_squared_error", vary=end_early)
def attention_of_masked_words():
    words = keras.Input((6,), dtype="int32")
    x = layers.Embedding(8, 4, mask_zero=True)(words)
    y = layers.Add()([x, layers.MultiHeadAttention(2, 2)(x, x)])
    return keras.Model(words, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


@model(("SGD", {"learning_rate": 0.2, "momentum": 0.5}), "mean_squared_error")
def attention():
    query, value, key = keras.Input((4, 3)), keras.Input((5, 2)), keras.Input((5, 3))
    first = layers.Attention(use_scale=True)([layers.Dense(3)(query), value, key])
    second = layers.Attention(score_mode="concat", use_scale=True)([query, value, layers.Dense(3, activation="tanh")(key)])
    return keras.Model([query, value, key], layers.Dense(2)(layers.Concatenate()([first, second])))


@model(("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.2}), "mean_squared_error", vary=end_early)
def additive_attention_of_masked_words():
    words, query = keras.Input((6,), dtype="int32"), keras.Input((4, 3))
    value = layers.Embedding(8, 3, mask_zero=True)(words)
    y = layers.AdditiveAttention()([layers.Dense(3, activation="tanh")(query), value])
    return keras.Model([words, query], layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))
