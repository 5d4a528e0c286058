"""Models of normalization, merging, activations, penalties, losses and optimizers."""
import keras

from whole_models import layers, model, sequence

REGULARIZERS, CONSTRAINTS = keras.regularizers, keras.constraints


def perceptron(outputs, activation=None):
    return sequence((4,), layers.Dense(6, activation="tanh"), layers.Dense(5, activation="silu"), layers.Dense(outputs, activation=activation))


@model(("SGD", {"learning_rate": 0.1, "momentum": 0.9}), "sparse_categorical_crossentropy")
def batch_normalization():
    return sequence((5, 5, 2), layers.Conv2D(4, 3, use_bias=False), layers.BatchNormalization(momentum=0.8), layers.ReLU(negative_slope=0.1),
                    layers.Conv2D(3, 2, use_bias=False), layers.BatchNormalization(axis=1, epsilon=0.01, scale=False), layers.Flatten(), layers.Dense(3, activation="softmax"))


@model(("Adam", {"learning_rate": 0.02}), "cosine_similarity")
def layer_rms_and_unit_normalization():
    return sequence((3, 4), layers.Rescaling(0.7, 0.1), layers.Dense(5), layers.Identity(), layers.LayerNormalization(axis=[1, 2]), layers.Dense(4, activation="tanh"), layers.RMSNormalization(),
                    layers.Dense(3), layers.UnitNormalization())


@model(("SGD", {"learning_rate": {"class_name": "InverseTimeDecay", "config": {"initial_learning_rate": 0.2, "decay_steps": 3, "decay_rate": 0.5}}, "weight_decay": 0.02}),
       "mean_squared_error")
def group_normalization():
    return sequence((4, 4, 2), layers.Conv2D(4, 2), layers.GroupNormalization(2), layers.Activation("mish"), layers.Conv2D(3, 2), layers.GroupNormalization(-1),
                    layers.GlobalMaxPooling2D(), layers.LayerNormalization(center=False), layers.Dense(2))


@model(("Adam", {"learning_rate": 0.02}), "mean_squared_error")
def merging():
    a, b = keras.Input((4,)), keras.Input((3,))
    left, right, third = layers.Dense(4, activation="tanh")(a), layers.Dense(4)(b), layers.Dense(4)(layers.Concatenate()([a, b]))
    merged = [layers.Add()([left, right, third]), layers.Multiply()([left, right]), layers.Average()([left, right, third]), layers.Maximum()([left, third]),
              layers.Minimum()([right, third]), layers.Subtract()([left, right])]
    return keras.Model([a, b], layers.Dense(2)(layers.Concatenate()(merged)))


@model(("Adamax", {"learning_rate": 0.05, "weight_decay": 0.01}), "binary_crossentropy")
def dot_products():
    a, b = keras.Input((3, 4)), keras.Input((5, 4))
    left, right = layers.Dense(4, activation="tanh")(a), layers.Dense(4)(b)
    products, angles = layers.Dot(axes=2)([left, right]), layers.Dot(axes=(2, 2), normalize=True)([left, right])
    return keras.Model([a, b], layers.Dense(1, activation="sigmoid")(layers.Flatten()(layers.Multiply()([products, angles]))))


@model(("RMSprop", {"learning_rate": 0.01}), ["mean_squared_error", "binary_crossentropy", ("CategoricalCrossentropy", {"from_logits": True})], loss_weights=[0.3, 2.0, 0.7])
def several_inputs_and_outputs():
    a, b = keras.Input((3,)), keras.Input((4, 2))
    shared = layers.Concatenate()([layers.Dense(3, activation="tanh")(a), layers.GRU(3)(b)])
    return keras.Model([a, b], [layers.Dense(2, name="values")(shared), layers.Dense(1, activation="sigmoid", name="sign")(shared), layers.Dense(3, name="kind")(shared)])


@model(("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True, "gradient_accumulation_steps": 2}), "mean_squared_error")
def shared_and_nested():
    tower = sequence((4,), layers.Dense(4, activation="tanh"), layers.Dense(3))
    again = layers.Dense(3, activation="tanh")
    a, b = keras.Input((4,)), keras.Input((4,))
    near = layers.Average()([again(tower(a)), again(again(tower(b)))])
    return keras.Model([a, b], layers.Dense(2)(near))


@model(("SGD", {"learning_rate": {"class_name": "PolynomialDecay", "config": {"initial_learning_rate": 0.1, "decay_steps": 8, "end_learning_rate": 0.01, "power": 2.0,
                                                                              "cycle": True}}}), "mean_squared_error")
def activations():
    x = keras.Input((4,))
    named = ["selu", "softplus", "softsign", "exponential", "mish", "gelu", "hard_silu", "log_sigmoid", "celu", "tanh_shrink", "sparse_plus", "squareplus"]
    some = [layers.Activation(name)(layers.Dense(2)(x)) for name in named]
    return keras.Model(x, layers.Dense(2)(layers.Concatenate()(some)))


@model(("Adadelta", {"learning_rate": 2.0}), "mean_squared_error")
def activation_layers():
    return sequence((3, 4), layers.Dense(4), layers.PReLU(), layers.Dense(4), layers.ELU(0.7), layers.Dense(4), layers.LeakyReLU(0.2), layers.Dense(4),
                    layers.PReLU(shared_axes=[1]), layers.Dense(4), layers.Softmax(axis=1), layers.Dense(2), layers.ReLU(max_value=0.4, negative_slope=0.3, threshold=0.1))


@model(("Adam", {"learning_rate": 0.02, "use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 5}), "mean_squared_error")
def einsum_dense():
    return sequence((3, 4), layers.EinsumDense("abc,cde->abde", (3, 2, 3), bias_axes="de", activation="tanh"),
                    layers.EinsumDense("abde,def->abf", (3, 4), bias_axes="f"), layers.EinsumDense("...x,xy->...y", 2))


@model(("SGD", {"learning_rate": 0.1}), "mean_squared_error")
def regularizers():
    return sequence((4,), layers.Dense(5, activation="tanh", kernel_regularizer=REGULARIZERS.L1L2(0.01, 0.02), bias_regularizer=REGULARIZERS.L2(0.1)),
                    layers.Dense(4, kernel_regularizer=REGULARIZERS.OrthogonalRegularizer(0.05, mode="columns"), activity_regularizer=REGULARIZERS.L2(0.1)),
                    layers.ActivityRegularization(0.02, 0.01), layers.Dense(2, kernel_regularizer=REGULARIZERS.L1(0.03)))


@model(("SGD", {"learning_rate": 0.2, "momentum": 0.5}), "mean_squared_error")
def constraints():
    return sequence((4,), layers.Dense(5, activation="tanh", kernel_constraint=CONSTRAINTS.MaxNorm(0.8), bias_constraint=CONSTRAINTS.NonNeg()),
                    layers.Dense(4, kernel_constraint=CONSTRAINTS.UnitNorm(1)), layers.Dense(2, kernel_constraint=CONSTRAINTS.MinMaxNorm(1.2, 1.5, 0.5)))


@model(("Adafactor", {"learning_rate": 0.05}), "mean_squared_error")
def adafactor():
    return perceptron(2)


@model(("Muon", {"learning_rate": 0.01, "weight_decay": 0.01}), "categorical_hinge")
def muon():
    return perceptron(3)


@model(("Lamb", {"learning_rate": {"class_name": "CosineDecayRestarts", "config": {"initial_learning_rate": 0.05, "first_decay_steps": 6}}}),
       ("BinaryFocalCrossentropy", {"gamma": 1.5, "apply_class_balancing": True}))
def binary_focal():
    return perceptron(2, "sigmoid")


@model(("Lion", {"learning_rate": 0.01, "beta_1": 0.8}), ("CategoricalFocalCrossentropy", {"alpha": 0.4}))
def categorical_focal():
    return perceptron(3, "softmax")


@model(("Ftrl", {"learning_rate": 0.2, "l2_shrinkage_regularization_strength": 0.01}), "dice")
def dice():
    return perceptron(3, "sigmoid")


@model(("ScheduleFreeAdamW", {"learning_rate": 0.05, "warmup_steps": 4}), ("Tversky", {"alpha": 0.4, "beta": 0.4}))  # Keras 3.15 swaps alpha and beta; 3.16 does not
def tversky():
    return perceptron(3, "sigmoid")


@model(("Adam", {"learning_rate": 0.01}), ("Circle", {"gamma": 4.0, "margin": 0.3}))
def circle():
    return sequence((4,), layers.Dense(6, activation="tanh"), layers.Dense(3), layers.UnitNormalization())


@model(("AdamW", {"learning_rate": 0.01}), ("CategoricalGeneralizedCrossEntropy", {"q": 0.6}))
def generalized_crossentropy():
    return perceptron(3, "softmax")


@model(("Nadam", {"learning_rate": 0.01, "clipvalue": 0.02}), "mean_absolute_percentage_error", weighted=True)
def percentage_error():
    return perceptron(2)
