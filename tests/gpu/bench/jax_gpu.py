"""jax_gpu.py WORKLOAD SEED SECONDS DEVICE jit PRECISION  trains one workload with JAX, its data on the device and a step one
jitted function with donated state, and prints its JSON line. DEVICE: cuda or cpu. PRECISION: float32 or bfloat16."""
import json
import math
import os
import sys

os.environ["JAX_PLATFORMS"] = sys.argv[4]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from workload import DEFINITIONS, Steady, read_idx, rounded  # noqa: E402

jax.config.update("jax_default_matmul_precision", "highest")  # float32 is float32, not TF32


def fashion_mnist():
    x = np.frombuffer(read_idx("train-images-idx3-ubyte"), np.uint8).reshape(-1, 784).astype(np.float32) / 255
    return x, np.frombuffer(read_idx("train-labels-idx1-ubyte"), np.uint8).astype(np.int32)


def spirals():
    r, arm = np.repeat(np.arange(256) / 256, 2), np.tile([0, 1], 256)
    angle = 3.5 * math.pi * r + math.pi * arm
    return np.stack([r * np.cos(angle), r * np.sin(angle)], 1).astype(np.float32), arm[:, None].astype(np.float32)


def glorot(key, shape, fan_in, fan_out):
    limit = math.sqrt(6 / (fan_in + fan_out))
    return jax.random.uniform(key, shape, minval=-limit, maxval=limit)


ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh, None: lambda x: x}


# For each class: the weights of one layer and its function of (weights, x, key), from the shape of one sample.
def dense(key, shape, config):
    inputs, units = shape[-1], config["units"]
    activation = ACTIVATIONS[config.get("activation")]
    weights = [glorot(key, (inputs, units), inputs, units), jnp.zeros(units)]
    return weights, lambda w, x, _: activation(x @ w[0] + w[1]), [*shape[:-1], units]


def conv2d(key, shape, config):
    k, filters = config["kernel_size"], config["filters"]
    activation = ACTIVATIONS[config.get("activation")]
    weights = [glorot(key, (k, k, shape[2], filters), k * k * shape[2], k * k * filters), jnp.zeros(filters)]

    def call(w, x, _):
        made = jax.lax.conv_general_dilated(x, w[0], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return activation(made + w[1])

    return weights, call, [shape[0] - k + 1, shape[1] - k + 1, filters]


def max_pooling(_, shape, config):
    size = config["pool_size"]

    def call(_w, x, _k):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, size, size, 1), "VALID")

    return [], call, [shape[0] // size, shape[1] // size, shape[2]]


def dropout(_, shape, config):
    keep = 1 - config["rate"]
    return [], lambda _w, x, key: jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0), shape


def lstm(key, shape, config):
    features, units = shape[1], config["units"]
    one, other = jax.random.split(key)
    recurrent = jnp.linalg.qr(jax.random.normal(other, (4 * units, units)))[0].T
    bias = jnp.zeros(4 * units).at[units:2 * units].set(1)
    weights = [glorot(one, (features, 4 * units), features, 4 * units), recurrent, bias]

    def call(w, x, _):
        into = jnp.swapaxes(x @ w[0] + w[2], 0, 1)

        def step(state, gates):
            h, c = state
            i, f, g, o = jnp.split(gates + h @ w[1], 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[0], units), x.dtype)
        return jax.lax.scan(step, (zeros, zeros), into, unroll=7)[0][0]

    return weights, call, [units]


def layer_normalization(_, shape, config):
    def call(w, x, _):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + config["epsilon"]) * w[0] + w[1]

    return [jnp.ones(shape[-1]), jnp.zeros(shape[-1])], call, shape


def attention(key, shape, config):
    features, heads, size = shape[1], config["num_heads"], config["key_dim"]
    one, other = jax.random.split(key)
    weights = [glorot(one, (features, 3 * heads * size), features * heads, features * size), jnp.zeros(3 * heads * size),
               glorot(other, (heads * size, features), heads * size, heads * features), jnp.zeros(features)]

    def call(w, x, _):
        query, keys, values = jnp.moveaxis((x @ w[0] + w[1]).reshape(*x.shape[:2], 3, heads, size), 2, 0)
        joined = jax.nn.dot_product_attention(query, keys, values)
        return joined.reshape(*x.shape[:2], heads * size) @ w[2] + w[3]

    return weights, call, shape


def residual(key, shape, config):
    weights, inner = network(key, shape, config["layers"])
    return weights, lambda w, x, k: x + inner(w, x, k), shape


LAYERS = {
    "Dense": dense, "Conv2D": conv2d, "MaxPooling2D": max_pooling, "Dropout": dropout, "LSTM": lstm,
    "LayerNormalization": layer_normalization, "MultiHeadAttention": attention, "Residual": residual,
    "Flatten": lambda _, s, c: ([], lambda _w, x, _k: x.reshape(x.shape[0], -1), [math.prod(s)]),
    "GlobalAveragePooling1D": lambda _, s, c: ([], lambda _w, x, _k: x.mean(1), [s[1]]),
}


def network(key, shape, definitions):
    weights, calls = [], []
    for layer, (name, config) in enumerate(definitions):
        made, call, shape = LAYERS[name](jax.random.fold_in(key, layer), shape, config)
        weights.append(made)
        calls.append(call)

    def run(all_weights, x, dropout_key):
        for layer, (own, call) in enumerate(zip(all_weights, calls)):
            x = call(own, x, jax.random.fold_in(dropout_key, layer))
        return x

    return weights, run


def crossentropy(logits, target):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), target[:, None], 1).mean()


def binary_crossentropy(logits, target):
    return (jnp.maximum(logits, 0) - logits * target + jnp.log1p(jnp.exp(-jnp.abs(logits)))).mean()


def updated(name, weights, gradients, slots, count):
    """The update rules of Keras."""
    tree = jax.tree_util.tree_map
    if name == "sgd":
        return tree(lambda w, g: w - 0.1 * g, weights, gradients), slots
    if name == "rmsprop":
        velocity = tree(lambda v, g: 0.9 * v + 0.1 * g * g, slots[0], gradients)
        return tree(lambda w, g, v: w - 1e-3 * g * jax.lax.rsqrt(v + 1e-7), weights, gradients, velocity), [velocity]
    m = tree(lambda m, g: 0.9 * m + 0.1 * g, slots[0], gradients)
    v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, slots[1], gradients)
    rate = 1e-3 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    return tree(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), weights, m, v), [m, v]


def main(name, seed, seconds, precision):
    definition = DEFINITIONS[name]
    batch, optimizer = definition["batch"], definition["optimizer"]
    classes = definition["loss"].startswith("sparse")
    x, y = {"fashion_mnist": fashion_mnist, "spirals": spirals}[definition["data"]]()
    x, y = jnp.asarray(x.reshape(-1, *definition["input"])), jnp.asarray(y)
    key = jax.random.key(seed)
    weights, run = network(key, definition["input"], definition["layers"])
    zeros = lambda: jax.tree_util.tree_map(jnp.zeros_like, weights)
    state = (weights, [zeros() for _ in range({"sgd": 0, "rmsprop": 1, "adam": 2}[optimizer])], jnp.zeros(()), jnp.zeros(()),
             jnp.zeros(()))
    half = (lambda tree: jax.tree_util.tree_map(lambda one: one.astype(jnp.bfloat16), tree)) if precision == "bfloat16" else (lambda tree: tree)

    def step(state, x, y, order, begin):
        weights, slots, count, total, correct = state
        count += 1
        rows = jax.lax.dynamic_slice(order, (begin,), (batch,))
        target = y[rows]

        def loss_of(weights):
            output = run(half(weights), half(x[rows]), jax.random.fold_in(key, count.astype(jnp.int32))).astype(jnp.float32)
            return (crossentropy if classes else binary_crossentropy)(output, target), output

        (loss, output), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        weights, slots = updated(optimizer, weights, gradients, slots, count)
        if classes:
            correct += (output.argmax(1) == target).sum()
        return weights, slots, count, total + loss, correct

    step = jax.jit(step, donate_argnums=0)
    box = {"state": state, "order": None, "next": 0}
    losses = {}

    def one(index):
        if box["order"] is None or box["next"] + batch > len(x):
            box["order"], box["next"] = jax.random.permutation(jax.random.fold_in(key, index), len(x)), 0
            box["state"] = (*box["state"][:3], jnp.zeros(()), jnp.zeros(()))
        box["state"] = step(box["state"], x, y, box["order"], box["next"])
        box["next"] += batch
        if 8 <= index + 1 <= 4096 and (index + 1) & index == 0:
            losses[index + 1] = rounded(float(box["state"][3]) / (box["next"] // batch))

    parameters = sum(one.size for one in jax.tree_util.tree_leaves(weights))
    milliseconds, steps = Steady(seconds).run(one, lambda: box["state"][2].block_until_ready())
    print(json.dumps({"target": "jax jit", "workload": name, "precision": precision, "step_ms": milliseconds, "steps": steps,
                      "parameters": parameters, "losses": losses, "version": jax.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[6])
