#!/usr/bin/env python3
"""Makes conformance/added_layers.json and added_layers.json: results of Keras 3 for layers of language and generative
models, and of tf_keras for layers that Keras 3 does not have.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' tf_keras tensorflow-cpu
    keras3/bin/python make_added_layers.py

Weights and inputs have two decimals and are written here in full; results are those of float32.
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tf_keras

FOLDER = os.path.dirname(os.path.abspath(__file__))
draws = np.random.default_rng(23)
CONFORMANCE, CASES = [], {}


def numbers(*shape):
    return draws.standard_normal(shape).round(2).astype("float32")


def lists(array):
    """Two decimals, as the numbers were drawn."""
    return np.round(np.asarray(array).astype("float64"), 2).tolist()


def layer(target, config, x, peer=keras, training=False):
    """A case of a layer on x, or on a list of inputs, with random weights."""
    made = getattr(peer.layers, target if target != "GroupedQueryAttention" else "GroupQueryAttention")(**config)
    several = isinstance(x, list)
    call = (lambda: made(*x, training=training)) if several else lambda: made(x, **({"training": True} if training else {}))
    call()
    weights = [numbers(*weight.shape) for weight in made.weights]
    made.set_weights(weights)
    y = np.asarray(call())
    name = {"keras": "keras3", "tf_keras": "tf_keras"}[peer.__name__]
    number = sum(test["target"] == target for test in CONFORMANCE)
    given = {"list": [lists(each) for each in x]} if several else lists(x)
    CONFORMANCE.append({
        "id": f"layer/{target}/{name}-{number}", "family": "layer", "target": target, "config": config,
        "weights": {"_list": [lists(weight) for weight in weights]},
        "inputs": {"calls": [{"args": [given], **({"kwargs": {"training": True}} if training else {})}]},
        "expect": {"value": y.tolist(), "atol": 1e-5, "rtol": 1e-5}, "origin": "run", "checked": True,
        "source": {"repo": "keras-team/" + peer.__name__.replace("_", "-"), "version": peer.__version__,
                   "file": "tests/golden/make_added_layers.py"}})


layer("ThresholdedReLU", {}, np.float32([[-1, 0.5, 1, 1.25, 3]]), tf_keras)
layer("ThresholdedReLU", {"theta": 0.25}, numbers(2, 3), tf_keras)
for order in ("channels_last", "channels_first"):
    # With channels first, tf_keras reads a bias [.., filters] as if it were [filters, ..].
    options = {"data_format": order, "use_bias": order == "channels_last"}
    layer("LocallyConnected1D", {"filters": 3, "kernel_size": 2, **options}, numbers(2, 4, 3), tf_keras)
    layer("LocallyConnected1D", {"filters": 2, "kernel_size": 3, "strides": 2, "activation": "tanh", **options},
          numbers(1, 5, 7), tf_keras)
    layer("LocallyConnected2D", {"filters": 2, "kernel_size": [2, 1], "strides": [1, 2], **options},
          numbers(2, 3, 4, 3), tf_keras)
layer("LocallyConnected2D", {"filters": 3, "kernel_size": 2, "use_bias": False, "activation": "relu"}, numbers(1, 3, 3, 2), tf_keras)
layer("ReversibleEmbedding", {"input_dim": 5, "output_dim": 3}, np.int32([[1, 4, 0], [2, 2, 3]]))
layer("ReversibleEmbedding", {"input_dim": 3, "output_dim": 2, "tie_weights": False, "mask_zero": True}, np.int32([[1, 0]]))
for gate in (False, True):
    grouped = {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2, "use_gate": gate}
    layer("GroupedQueryAttention", {**grouped, "use_bias": not gate}, [numbers(2, 3, 4), numbers(2, 5, 6)])
    layer("MultiHeadAttention", {"num_heads": 2, "key_dim": 3, "value_dim": 2, "use_gate": gate, "sliding_window": 2},
          [numbers(2, 3, 4), numbers(2, 5, 6)])
layer("GroupedQueryAttention", {"head_dim": 2, "num_query_heads": 3, "num_key_value_heads": 1, "sliding_window": 2},
      [numbers(1, 4, 2), numbers(1, 4, 3), numbers(1, 4, 5)])
layer("MultiHeadAttention", {"num_heads": 2, "key_dim": 2, "use_gate": True, "attention_axes": [2], "output_shape": 3},
      [numbers(2, 2, 3, 4), numbers(2, 2, 5, 4)])


def attention(target, config, inputs, **options):
    """The result and the scores of attention with masks."""
    made = getattr(keras.layers, target if target != "GroupedQueryAttention" else "GroupQueryAttention")(**config)
    given = {name: np.asarray(value) if isinstance(value, list) else value for name, value in options.items()}
    made(*inputs)
    weights = [numbers(*weight.shape) for weight in made.weights]
    made.set_weights(weights)
    y, scores = made(*inputs, return_attention_scores=True, **given)
    return {"target": target, "config": config, "inputs": [lists(x) for x in inputs], "options": options,
            "names": [weight.path.split("/", 1)[1] for weight in made.weights],
            "weights": [lists(weight) for weight in weights], "y": np.asarray(y).tolist(), "scores": np.asarray(scores).tolist()}


grouped = {"head_dim": 2, "num_query_heads": 4, "num_key_value_heads": 2}
steps, sources = numbers(2, 3, 4), numbers(2, 5, 4)
allowed = [[[True, False, True, True, False], [False, True, True, False, True], [True, True, False, True, True]]] * 2
padding = [[[True, True, True, False, False]], [[True, False, False, False, False]]]
CASES["attention"] = [
    attention("GroupedQueryAttention", {**grouped, "use_gate": True}, [steps, sources], attention_mask=allowed),
    attention("GroupedQueryAttention", grouped, [steps, sources], attention_mask=padding),
    attention("GroupedQueryAttention", grouped, [steps, steps], use_causal_mask=True),
    attention("GroupedQueryAttention", {**grouped, "sliding_window": 2}, [steps, sources], use_causal_mask=True),
    attention("MultiHeadAttention", {"num_heads": 2, "key_dim": 2, "sliding_window": 2, "use_gate": True}, [steps, sources],
              attention_mask=allowed)]


def reverse(config, x):
    made = keras.layers.ReversibleEmbedding(**config)
    made.build()
    weights = [numbers(*weight.shape) for weight in made.weights]
    made.set_weights(weights)
    y = made(x, reverse=True)
    return {"config": config, "x": lists(x), "weights": [lists(weight) for weight in weights],
            "y": np.asarray(keras.ops.cast(y, "float32")).tolist(), "dtype": keras.backend.standardize_dtype(y.dtype)}


size = {"input_dim": 4, "output_dim": 3}
CASES["reverse"] = [reverse(size, numbers(2, 2, 3)),
                    reverse({**size, "tie_weights": False}, numbers(2, 3)),
                    reverse({**size, "logit_soft_cap": 0.5}, numbers(2, 3)),
                    reverse({**size, "dtype": "mixed_bfloat16", "reverse_dtype": "float32"}, numbers(2, 3))]


def spectral_normalization(config, inner, x):
    """Two calls in training, and one outside of it: the results, and the weights after each."""
    made = keras.layers.SpectralNormalization(getattr(keras.layers, inner[0])(**inner[1]), **config)
    made(x)
    weights = [numbers(*weight.shape) for weight in made.weights]
    made.set_weights(weights)
    calls = []
    for training in (True, True, False):
        y = np.asarray(made(x, training=training))
        calls.append({"training": training, "y": y.tolist(), "weights": [weight.tolist() for weight in made.get_weights()]})
    return {"config": {"layer": {"class_name": inner[0], "config": inner[1]}, **config}, "x": lists(x),
            "names": [weight.name for weight in made.weights], "weights": [lists(weight) for weight in weights], "calls": calls}


def renormalization(config, x):
    """Two calls in training, and one outside of it: the results, and the weights after each."""
    made = keras.layers.BatchNormalization(renorm=True, **config)
    made.build(x.shape)
    weights = [np.abs(value) + np.float32(0.5) if "gamma" in weight.name or "stddev" in weight.name or "variance" in weight.name else value
               for weight in made.weights for value in [numbers(*weight.shape)]]
    made.set_weights(weights)
    calls = []
    for training in (True, True, False):
        y = np.asarray(made(x, training=training))
        calls.append({"training": training, "y": y.tolist(), "weights": [weight.tolist() for weight in made.get_weights()]})
    return {"config": {"renorm": True, **config}, "x": lists(x), "names": [weight.name for weight in made.weights],
            "weights": [lists(weight) for weight in weights], "calls": calls}


def fitted(made, x, y):
    """The weights after two epochs of one batch with SGD."""
    model = keras.Sequential([made])
    model.build(x.shape)
    weights = [np.abs(numbers(*weight.shape)) + np.float32(0.5) for weight in made.weights]
    made.set_weights(weights)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    losses = model.fit(x, y, epochs=2, batch_size=len(x), shuffle=False, verbose=0).history["loss"]
    return {"x": lists(x), "y": lists(y), "weights": [lists(weight) for weight in weights], "losses": losses,
            "fitted": [weight.tolist() for weight in made.get_weights()]}


CASES["renormalization"] = [
    renormalization({}, numbers(5, 3)),
    renormalization({"momentum": 0.8, "renorm_momentum": 0.7, "renorm_clipping": {"rmax": 1.1, "rmin": 0.9, "dmax": 0.25}}, numbers(2, 3, 2)),
    renormalization({"axis": 1, "scale": False, "center": False, "renorm_clipping": {"dmax": 0.1}}, numbers(2, 3, 2))]
CASES["renormalization_fit"] = fitted(
    keras.layers.BatchNormalization(renorm=True, renorm_momentum=0.5, momentum=0.5), numbers(6, 2), numbers(6, 2))
CASES["spectral_normalization"] = [
    spectral_normalization({}, ("Dense", {"units": 3}), numbers(2, 4)),
    spectral_normalization({"power_iterations": 3}, ("Conv2D", {"filters": 2, "kernel_size": 2}), numbers(1, 3, 3, 2)),
    spectral_normalization({"power_iterations": 2}, ("Embedding", {"input_dim": 5, "output_dim": 3}), np.float32([[1, 4, 0]]))]
CASES["spectral_normalization_fit"] = fitted(
    keras.layers.SpectralNormalization(keras.layers.Dense(2)), numbers(4, 3), numbers(4, 2))


layer("RMSNormalization", {"axis": [1, 2]}, numbers(2, 3, 4))
layer("RMSNormalization", {"axis": [-1]}, numbers(2, 3))


def fourier_features(config, x, scale):
    """A case with given weights, in the order in which the layer creates them."""
    made = tf_keras.layers.experimental.RandomFourierFeatures(**config)
    made(x)
    weights = {"unscaled_kernel": numbers(*made.unscaled_kernel.shape), "bias": numbers(*made.bias.shape), "kernel_scale": np.float32([scale])}
    for name, weight in weights.items():
        getattr(made, name).assign(weight)
    number = sum(test["target"] == "RandomFourierFeatures" for test in CONFORMANCE)
    CONFORMANCE.append({
        "id": f"layer/RandomFourierFeatures/tf_keras-{number}", "family": "layer", "target": "RandomFourierFeatures", "config": config,
        "weights": {"_list": [lists(weight) for weight in weights.values()]}, "inputs": {"calls": [{"args": [lists(x)]}]},
        "expect": {"value": made(x).numpy().tolist(), "atol": 1e-5, "rtol": 1e-5}, "origin": "run", "checked": True,
        "source": {"repo": "keras-team/tf-keras", "version": tf_keras.__version__, "file": "tests/golden/make_added_layers.py"}})


fourier_features({"output_dim": 5}, numbers(3, 4), 1.5)
fourier_features({"output_dim": 3, "kernel_initializer": "laplacian", "scale": 0.5, "trainable": True}, numbers(2, 2), 0.5)


with open(os.path.join(FOLDER, "conformance/added_layers.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CONFORMANCE) + "\n]\n")
with open(os.path.join(FOLDER, "added_layers.json"), "w") as file:
    origin = f"Keras {keras.__version__} on {keras.backend.backend()}"
    cases = ",\n".join(f"    {json.dumps(name)}: {json.dumps(content)}" for name, content in CASES.items())
    file.write(f'{{\n  "origin": {json.dumps(origin)},\n  "cases": {{\n{cases}\n  }}\n}}\n')
