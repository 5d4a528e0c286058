"""Models of convolution, pooling and shaping."""
import keras

from whole_models import layers, model, sequence

FIRST = {"data_format": "channels_first"}


@model(("SGD", {"learning_rate": 0.1, "momentum": 0.9}), "mean_squared_error")
def causal_convolution_1d():
    return sequence((8, 3), layers.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh"), layers.Conv1D(4, 2, strides=2, activation="relu"),
                    layers.GlobalAveragePooling1D(), layers.Dense(2))


@model(("SGD", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True}), "categorical_crossentropy")
def grouped_convolution_1d():
    return sequence((9, 4), layers.Conv1D(6, 3, groups=2, padding="same", activation="gelu"), layers.MaxPooling1D(2), layers.Conv1D(4, 3, use_bias=False),
                    layers.GlobalMaxPooling1D(), layers.Dense(3, activation="softmax"))


@model(("Adam", {"learning_rate": 0.02}), "sparse_categorical_crossentropy")
def strided_convolution_2d():
    return sequence((7, 7, 2), layers.Conv2D(4, 3, strides=2, padding="same", activation="relu"), layers.Conv2D(4, (1, 2), activation="silu"),
                    layers.AveragePooling2D(2, strides=1, padding="same"), layers.Flatten(), layers.Dense(3, activation="softmax"))


@model(("RMSprop", {"learning_rate": 0.01, "rho": 0.8}), "binary_crossentropy", weighted=True)
def dilated_convolution_2d():
    return sequence((6, 6, 2), layers.Conv2D(4, 3, groups=2, dilation_rate=2, padding="same", activation="elu"),
                    layers.Conv2D(4, 2, dilation_rate=(1, 2), activation="softplus"), layers.AdaptiveMaxPooling2D((3, 2)),
                    layers.GlobalMaxPooling2D(), layers.Dense(1, activation="sigmoid"))


@model(("RMSprop", {"learning_rate": 0.005, "momentum": 0.5, "centered": True}), ("Huber", {"delta": 0.7}))
def channels_first():
    return sequence((2, 6, 7), layers.Conv2D(4, 3, activation="relu", **FIRST), layers.MaxPooling2D(2, padding="same", **FIRST),
                    layers.Conv2D(3, 2, padding="same", strides=2, **FIRST), layers.GlobalAveragePooling2D(**FIRST), layers.Dense(2))


@model(("Adam", {"learning_rate": 0.01, "weight_decay": 0.02}), "squared_hinge")
def channels_first_of_other_convolutions():
    return sequence((2, 5, 4), layers.DepthwiseConv2D(2, depth_multiplier=2, activation="tanh", **FIRST), layers.ZeroPadding2D(1, **FIRST),
                    layers.SeparableConv2D(3, 3, use_bias=False, **FIRST), layers.BatchNormalization(axis=1), layers.Conv2DTranspose(2, 3, strides=2, padding="same", **FIRST),
                    layers.UpSampling2D(2, **FIRST), layers.Cropping2D(1, **FIRST), layers.AveragePooling2D(3, padding="same", **FIRST), layers.Flatten(**FIRST),
                    layers.Dense(1, activation="tanh"))


@model(("Adagrad", {"learning_rate": 0.05}), "mean_absolute_error")
def convolution_3d():
    return sequence((4, 5, 4, 2), layers.Conv3D(3, 2, padding="same", activation="silu"), layers.MaxPooling3D((1, 2, 2)), layers.Conv3D(3, (2, 1, 2), strides=(2, 1, 1)),
                    layers.AveragePooling3D((1, 2, 1)), layers.GlobalAveragePooling3D(), layers.Dense(2))


@model(("Adadelta", {"learning_rate": 1.0, "rho": 0.9}), "mean_squared_error")
def transposed_convolution_1d():
    return sequence((4, 3), layers.Conv1DTranspose(4, 3, strides=2, padding="same", activation="tanh"), layers.Conv1DTranspose(3, 2, strides=3, output_padding=2),
                    layers.Conv1DTranspose(1, 3, dilation_rate=2))


@model(("Adamax", {"learning_rate": 0.02}), "binary_crossentropy")
def transposed_convolution_2d():
    x = keras.Input((4, 6, 2))
    wide = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    low = layers.Conv2D(5, 3, padding="same", activation="relu")(layers.MaxPooling2D()(wide))
    up = layers.Conv2DTranspose(3, 3, strides=2, padding="same", activation="relu")(low)
    return keras.Model(x, layers.Conv2D(1, 1, activation="sigmoid")(layers.Concatenate()([wide, up])))


@model(("Nadam", {"learning_rate": 0.02}), "log_cosh")
def transposed_convolution_3d():
    return sequence((2, 3, 2, 2), layers.Conv3DTranspose(3, 2, strides=(1, 2, 2), activation="softsign"), layers.Conv3DTranspose(2, (1, 2, 3), padding="same"),
                    layers.GlobalMaxPooling3D(), layers.Dense(2))


@model(("AdamW", {"learning_rate": 0.02, "weight_decay": 0.05}), ("CategoricalCrossentropy", {"label_smoothing": 0.1}))
def depthwise_convolution_2d():
    return sequence((6, 6, 2), layers.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"), layers.ReLU(max_value=0.5),
                    layers.Conv2D(5, 1, activation="relu6"), layers.GlobalAveragePooling2D(), layers.Dense(3, activation="softmax"))


@model(("Ftrl", {"learning_rate": 0.1, "l1_regularization_strength": 0.001, "l2_regularization_strength": 0.002, "beta": 0.1}), "mean_squared_logarithmic_error")
def separable_convolution_1d():
    return sequence((8, 3), layers.SeparableConv1D(4, 3, depth_multiplier=2, padding="same", activation="tanh"), layers.DepthwiseConv1D(3, dilation_rate=2),
                    layers.AveragePooling1D(2), layers.Flatten(), layers.Dense(2, activation="softplus"))


@model(("Lion", {"learning_rate": 0.005, "weight_decay": 0.01}), "squared_hinge")
def separable_convolution_2d():
    return sequence((7, 6, 2), layers.SeparableConv2D(4, 3, strides=2, padding="same", activation="selu"), layers.AdaptiveAveragePooling2D((2, 2)),
                    layers.Flatten(), layers.Dense(2, activation="tanh"))


@model(("Lamb", {"learning_rate": 0.02, "weight_decay": 0.01}), "hinge")
def adaptive_pooling():
    x = keras.Input((7, 3))
    y = layers.Conv1D(4, 2, activation="tanh")(x)
    joined = layers.Concatenate(axis=1)([layers.AdaptiveMaxPooling1D(4)(y), layers.AdaptiveAveragePooling1D(3)(y)])
    return keras.Model(x, layers.Dense(2, activation="tanh")(layers.Flatten()(joined)))


@model(("SGD", {"learning_rate": {"class_name": "ExponentialDecay", "config": {"initial_learning_rate": 0.5, "decay_steps": 5, "decay_rate": 0.7, "staircase": True}}}),
       ("CosineSimilarity", {"axis": -1}))
def shaping_2d():
    return sequence((4, 5, 2), layers.ZeroPadding2D(((1, 0), (2, 1))), layers.Conv2D(3, 2, activation="tanh"), layers.Cropping2D(((1, 0), (1, 1))),
                    layers.UpSampling2D((2, 3), interpolation="bilinear"), layers.Conv2D(2, 3, strides=3), layers.UpSampling2D(2), layers.Permute((3, 1, 2)),
                    layers.Reshape((4, -1)), layers.Dense(3))


@model(("Adam", {"learning_rate": {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.001, "decay_steps": 12, "alpha": 0.1, "warmup_target": 0.05,
                                                                            "warmup_steps": 6}}}), "kl_divergence")
def shaping_1d():
    return sequence((3,), layers.Dense(3, activation="tanh"), layers.RepeatVector(4), layers.ZeroPadding1D((1, 2)), layers.Conv1D(4, 3, activation="relu"),
                    layers.Cropping1D((1, 0)), layers.UpSampling1D(2), layers.Flatten(), layers.Dense(4, activation="softmax"))


@model(("SGD", {"learning_rate": 0.05, "momentum": 0.5, "use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 7}), "mean_squared_error")
def shaping_3d():
    return sequence((3, 3, 4, 2), layers.ZeroPadding3D((1, 0, 1)), layers.Conv3D(3, 2, strides=(2, 1, 1), activation="tanh"), layers.Cropping3D(((0, 0), (0, 0), (1, 1))),
                    layers.UpSampling3D((1, 2, 1)), layers.Conv3DTranspose(2, (1, 2, 1)), layers.AdaptiveMaxPooling3D((2, 3, 2)), layers.AdaptiveAveragePooling3D((1, 2, 1)),
                    layers.Reshape((4,)), layers.Dense(2))
