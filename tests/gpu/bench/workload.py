"""The workloads of the peers on a GPU: workloads.json, its data, and the minimal cost of a step."""
import gzip
import json
import math
import os
import statistics
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("ETUDE_FASHION_MNIST", "/usr/share/datasets/fashion-mnist")

with open(os.path.join(HERE, "..", "..", "bench", "workloads.json")) as file:
    ALL = json.load(file)
# The most important first.
DEFINITIONS = {name: ALL[name] for name in ("tiny", "mlp", "cnn", "big", "cnn2", "attn", "gpt", "resnet20", "mobile", "lstm", "gru")}
WITHOUT_JAX = {"gpt", "resnet20", "mobile", "gru"}  # jax_gpu.py lacks some of their layers
IN_BFLOAT16 = {"big", "gpt"}  # are also timed in mixed precision


def rounded(value):
    return float(f"{value:.5g}")


class Steady:
    """Times blocks of steps. The host waits for the device at the end of each block only: steps are queued."""

    def __init__(self, seconds, blocks=7):
        self.seconds, self.blocks = seconds, blocks

    def run(self, step, wait):
        """Calls step(i) with i = 0, 1, …; the first steps, which compile, are not counted. Returns ms per step."""
        done = 0
        began = time.perf_counter()
        while done < 64 or time.perf_counter() - began < 0.3 * self.seconds:
            if done == 32:  # everything is compiled
                wait()
                began = time.perf_counter()
            step(done)
            done += 1
        wait()
        per_block = max(1, round(self.seconds / self.blocks * (done - 32) / (time.perf_counter() - began)))
        times = []
        for _ in range(self.blocks):
            began = time.perf_counter()
            for _ in range(per_block):
                step(done)
                done += 1
            wait()
            times.append(1e3 * (time.perf_counter() - began) / per_block)
        return rounded(statistics.median(times)), done


def read_idx(name):
    for opened, path in ((gzip.open, name + ".gz"), (open, name)):
        path = os.path.join(DATA, path)
        if os.path.exists(path):
            with opened(path, "rb") as file:
                bytes_ = file.read()
            return bytes_[4 + 4 * bytes_[3]:]
    raise SystemExit(f"[workload.py] no {name} in {DATA} - expected Fashion-MNIST's IDX files - set ETUDE_FASHION_MNIST.")


def flops_of(layers, shape):
    """The FLOPs of one sample's forward pass and the shape of the output, as in tests/bench/definition.mjs."""
    total = 0
    for name, config in layers:
        if name == "Dense":
            total += 2 * math.prod(shape) * config["units"]
            shape = [*shape[:-1], config["units"]]
        elif name == "Conv2D":
            k, filters = config["kernel_size"], config["filters"]
            out = [shape[0] - k + 1, shape[1] - k + 1, filters]
            total += 2 * math.prod(out) * k * k * shape[2]
            shape = out
        elif name == "NormalizedConv2D":
            k, filters = config["kernel_size"], config["filters"]
            out = [-(-shape[0] // config["strides"]), -(-shape[1] // config["strides"]), filters]
            total += 2 * math.prod(out) * k * k * shape[2]
            shape = out
        elif name == "NormalizedDepthwiseConv2D":
            shape = [-(-shape[0] // config["strides"]), -(-shape[1] // config["strides"]), shape[2]]
            total += 2 * math.prod(shape) * config["kernel_size"] ** 2
        elif name == "MaxPooling2D":
            shape = [shape[0] // config["pool_size"], shape[1] // config["pool_size"], shape[2]]
        elif name == "Flatten":
            shape = [math.prod(shape)]
        elif name in ("GlobalAveragePooling1D", "GlobalAveragePooling2D"):
            shape = [shape[-1]]
        elif name == "Embedding":
            shape = [*shape, config["output_dim"]]
        elif name in ("LSTM", "GRU"):
            total += 2 * shape[0] * (shape[1] + config["units"]) * {"LSTM": 4, "GRU": 3}[name] * config["units"]
            shape = [config["units"]]
        elif name == "MultiHeadAttention":
            steps, features, inner = shape[0], shape[1], config["num_heads"] * config["key_dim"]
            total += 2 * steps * 4 * features * inner + 4 * steps * steps * inner
        elif name == "Residual":
            inner, out = flops_of(config["layers"], shape)
            total += inner + flops_of(config.get("shortcut", []), shape)[0]
            shape = out
    return total, shape


SLOTS = {"rmsprop": 1, "adam": 2, "sgd": 0}


def cost(name, parameters):
    """The least FLOPs of a step and bytes of its update: a forward pass, twice that backwards less the first layer's
    input gradient; gradient, weight and slots are read, weight and slots are written."""
    definition = DEFINITIONS[name]
    layers, shape = definition["layers"], definition["input"]
    forward, first = flops_of(layers, shape)[0], flops_of(layers[:1], shape)[0]
    if layers[0][0] in ("LSTM", "GRU"):
        first *= shape[1] / (shape[1] + layers[0][1]["units"])
    return definition["batch"] * (3 * forward - first), 4 * parameters * (3 + 2 * SLOTS[definition["optimizer"]])
