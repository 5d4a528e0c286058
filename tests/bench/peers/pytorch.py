"""pytorch.py WORKLOAD SEED SECONDS THREADS  trains one workload of workloads.json with PyTorch, eager, on the CPU, and
prints its JSON line: times and losses."""
import gzip
import json
import math
import os
import resource
import sys
import time

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = "/usr/share/datasets/fashion-mnist"


def read_idx(name, header):
    with gzip.open(os.path.join(DATA, name), "rb") as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


def fashion_mnist(samples):
    x = read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:samples].float() / 255
    return x, read_idx("train-labels-idx1-ubyte.gz", 8)[:samples].long()


def spirals(_):
    """Point i of arm a has r = i/256, angle 3.5πr + aπ; sample 2i + a."""
    points = [(i / 256, arm) for i in range(256) for arm in range(2)]
    angles = [(3.5 * r + arm) * math.pi for r, arm in points]
    x = torch.tensor([[r * math.cos(t), r * math.sin(t)] for (r, _), t in zip(points, angles)])
    return x, torch.tensor([[float(arm)] for _, arm in points])


def fashion_mnist_32(_):
    """In the middle of 32 x 32 pixels, with three equal channels."""
    x, y = fashion_mnist(6400)
    return nn.functional.pad(x.reshape(-1, 28, 28, 1), (0, 0, 2, 2, 2, 2)).expand(-1, -1, -1, 3), y


def uniform(seed):
    """mulberry32: uniform numbers in [0, 1), as in data.mjs."""
    low = 0xFFFFFFFF
    while True:
        seed = seed + 0x6D2B79F5 & low
        t = (seed ^ seed >> 15) * (seed | 1) & low
        t ^= t + ((t ^ t >> 7) * (t | 61) & low) & low
        yield (t ^ t >> 14) / 2**32


def words(_):
    """As in data.mjs."""
    draws = uniform(7)
    below = lambda n: math.floor(next(draws) * n)
    dictionary = ["".join(chr(97 + below(26)) for _ in range(2 + below(6))) + " " for _ in range(256)]
    text = ""
    while len(text) <= 65536:
        text += dictionary[math.floor(256 * next(draws) ** 2)]
    codes = torch.tensor(list(text.encode()))
    return codes[:65536].reshape(-1, 64), codes[1:65537].reshape(-1, 64)


def glorot_(weight, inputs, outputs):
    nn.init.uniform_(weight, -math.sqrt(6 / (inputs + outputs)), math.sqrt(6 / (inputs + outputs)))


class Lstm(nn.LSTM):
    """The last output. Keras has one bias where PyTorch adds two: the second stays zero. Both order gates i, f, c, o."""

    def __init__(self, features, units):
        super().__init__(features, units, batch_first=True)
        glorot_(self.weight_ih_l0, features, 4 * units)
        with torch.no_grad():
            self.weight_hh_l0.copy_(nn.init.orthogonal_(torch.empty(units, 4 * units)).T)
            self.bias_ih_l0.zero_()[units:2 * units] = 1
            self.bias_hh_l0.zero_()
        self.bias_hh_l0.requires_grad = False

    def forward(self, x):
        return super().forward(x)[0][:, -1]


class Gru(nn.GRU):
    """The last output. The gates differ in order from Keras's."""

    def __init__(self, features, units):
        super().__init__(features, units, batch_first=True)
        glorot_(self.weight_ih_l0, features, 3 * units)
        with torch.no_grad():
            self.weight_hh_l0.copy_(nn.init.orthogonal_(torch.empty(units, 3 * units)).T)
            self.bias_ih_l0.zero_()
            self.bias_hh_l0.zero_()

    def forward(self, x):
        return super().forward(x)[0][:, -1]


class SelfAttention(nn.Module):
    """Keras's MultiHeadAttention(x, x), its three input projections joined into one product."""

    def __init__(self, features, heads, size, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project = nn.Linear(features, 3 * heads * size)
        self.join = nn.Linear(heads * size, features)
        glorot_(self.project.weight, features * heads, features * size)  # as Keras counts fans of [features, heads, size]
        glorot_(self.join.weight, heads * size, heads * features)
        nn.init.zeros_(self.project.bias)
        nn.init.zeros_(self.join.bias)

    def forward(self, x):
        query, key, value = self.project(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        joined = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.join(joined.transpose(1, 2).flatten(2))


class Residual(nn.Module):
    def __init__(self, inner, shortcut):
        super().__init__()
        self.inner, self.shortcut = nn.Sequential(*inner), nn.Sequential(*shortcut)

    def forward(self, x):
        return self.shortcut(x) + self.inner(x)


class Positions(nn.Module):
    def __init__(self, steps, width):
        super().__init__()
        self.vectors = nn.Parameter(torch.empty(steps, width).uniform_(-0.05, 0.05))

    def forward(self, x):
        return x + self.vectors


def embedding(shape, config):
    module = nn.Embedding(config["input_dim"], config["output_dim"])
    nn.init.uniform_(module.weight, -0.05, 0.05)
    return [module], [*shape, config["output_dim"]]


class MeanOverTime(nn.Module):
    def forward(self, x):
        return x.mean(1)


ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


def activated(layer, inputs, outputs, config):
    glorot_(layer.weight, inputs, outputs)
    nn.init.zeros_(layer.bias)
    return [layer] + ([ACTIVATIONS[config["activation"]]()] if "activation" in config else [])


def dense(shape, config):
    inputs, units = shape[-1], config["units"]
    return activated(nn.Linear(inputs, units), inputs, units, config), [*shape[:-1], units]


def conv2d(shape, config):
    height, width, channels = shape
    k, filters = config["kernel_size"], config["filters"]
    layers = activated(nn.Conv2d(channels, filters, k), k * k * channels, k * k * filters, config)
    return layers, [height - k + 1, width - k + 1, filters]


def normalized(shape, channels, filters, groups, config):
    """A convolution with padding "same", for sizes that are multiples of the stride: PyTorch's pads on both sides."""
    size, strides = config["kernel_size"], config["strides"]
    convolution = nn.Conv2d(channels, filters, size, strides, padding=size // 2, groups=groups, bias=False)
    area = size * size
    glorot_(convolution.weight, area * channels, area * filters // groups)
    layers = [convolution, nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01)]
    if "activation" in config:
        layers.append(ACTIVATIONS[config["activation"]]())
    return layers, [math.ceil(shape[0] / strides), math.ceil(shape[1] / strides), filters]


def residual(shape, config):
    inner, output = network(shape, config["layers"])
    shortcut, _ = network(shape, config.get("shortcut", []))
    return [Residual(inner, shortcut)] + ([ACTIVATIONS[config["activation"]]()] if "activation" in config else []), output


# For each class, from the shape of one sample: modules, and the shape of their output. Shapes are Keras's, channels last.
LAYERS = {
    "Dense": dense,
    "Conv2D": conv2d,
    "MaxPooling2D": lambda s, c: ([nn.MaxPool2d(c["pool_size"])], [s[0] // c["pool_size"], s[1] // c["pool_size"], s[2]]),
    "Flatten": lambda s, c: ([nn.Flatten()], [math.prod(s)]),
    "Dropout": lambda s, c: ([nn.Dropout(c["rate"])], s),
    "LSTM": lambda s, c: ([Lstm(s[1], c["units"])], [c["units"]]),
    "LayerNormalization": lambda s, c: ([nn.LayerNorm(s[-1], eps=c["epsilon"])], s),
    "MultiHeadAttention": lambda s, c: ([SelfAttention(s[1], c["num_heads"], c["key_dim"], c.get("causal", False))], s),
    "GlobalAveragePooling1D": lambda s, c: ([MeanOverTime()], [s[1]]),
    "Residual": residual,
    "GRU": lambda s, c: ([Gru(s[1], c["units"])], [c["units"]]),
    "NormalizedConv2D": lambda s, c: normalized(s, s[2], c["filters"], 1, c),
    "NormalizedDepthwiseConv2D": lambda s, c: normalized(s, s[2], s[2], s[2], c),
    "GlobalAveragePooling2D": lambda s, c: ([nn.AdaptiveAvgPool2d(1), nn.Flatten()], [s[2]]),
    "Embedding": embedding,
    "Positions": lambda s, c: ([Positions(*s)], s),
}


def network(shape, definitions):
    modules = []
    for name, config in definitions:
        made, shape = LAYERS[name](shape, config)
        modules += made
    return modules, shape


LOSSES = {
    "sparse_categorical_crossentropy": lambda z, y: nn.functional.cross_entropy(z.flatten(0, -2), y.flatten()),
    "binary_crossentropy": nn.functional.binary_cross_entropy_with_logits,
}
# foreach and fused were tried where they exist: fused Adam is the fastest, for the others the default is.
OPTIMIZERS = {
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, alpha=0.9, eps=1e-7),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3, eps=1e-7, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
}


class Clock:
    """As clock.mjs has it."""

    def __init__(self, seconds):
        self.seconds, self.began, self.warmup, self.ticks, self.cpu = seconds, time.perf_counter(), 0, [], None

    def tick(self):
        now = time.perf_counter()
        if self.cpu is None:
            self.warmup += 1
            if self.warmup < 2 or now - self.began < 0.1 * self.seconds:
                return False
            self.cpu = cpu_seconds()
        self.ticks.append(now)
        if len(self.ticks) <= 6 or now - self.ticks[0] < self.seconds:
            return False
        self.used = cpu_seconds() - self.cpu
        return self.used >= self.seconds

    def summary(self, batch):
        times = sorted(b - a for a, b in zip(self.ticks, self.ticks[1:]))
        quantile = lambda q: rounded(1e3 * times[math.floor(q * (len(times) - 1))])
        return {
            "steps": len(times), "samples_per_s": rounded(1e3 * batch / quantile(0.5)), "step_ms_median": quantile(0.5),
            "step_ms_p10": quantile(0.1), "step_ms_p95": quantile(0.95), "cpu_ms_per_step": rounded(1e3 * self.used / len(times)),
        }


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rounded(value):
    return float(f"{value:.5g}")


def batches(samples, batch):
    while True:
        order = torch.randperm(samples)
        yield from (order[i:i + batch] for i in range(0, samples - batch + 1, batch))


def train(model, x, y, definition, clock):
    loss_of, optimizer = LOSSES[definition["loss"]], OPTIMIZERS[definition["optimizer"]](model.parameters())
    losses, batch, classes = {}, definition["batch"], definition["loss"].startswith("sparse")
    per_epoch = len(x) // batch
    for step, rows in enumerate(batches(len(x), batch)):
        if step % per_epoch == 0:
            total, correct = torch.zeros(()), torch.zeros((), dtype=torch.long)
        target = y[rows]
        output = model(x[rows])
        loss = loss_of(output, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if classes:
            correct += (output.detach().argmax(-1) == target).sum()
        done = clock.tick()
        if step + 1 >= 8 and (step + 1) & step == 0:
            losses[step + 1] = rounded(float(total) / (step % per_epoch + 1))
        if done:
            return losses


def predict(model, x, batch, clock):
    model.eval()
    with torch.inference_mode():
        while True:
            torch.cat([model(rows) for rows in x.split(batch)]).softmax(1)
            if clock.tick():
                return {}


def main(name, seed, seconds, threads):
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(seed)
    with open(os.path.join(HERE, "..", "workloads.json")) as file:
        definitions = json.load(file)
    images = definitions[name].get("images")
    definition = definitions[definitions[name].get("predict", name)]
    sources = {"fashion_mnist": fashion_mnist, "fashion_mnist_32": fashion_mnist_32, "words": words, "spirals": spirals}
    x, y = sources[definition["data"]](images or 60000)
    model = nn.Sequential(*network(definition["input"], definition["layers"])[0])
    x = x.reshape(-1, *definition["input"])
    if len(definition["input"]) == 3:
        # Channels last in memory, as Keras has them, was measured to be faster than PyTorch's default; for one channel it
        # is the same.
        x, model = x.permute(0, 3, 1, 2), model.to(memory_format=torch.channels_last)
    clock = Clock(seconds)
    losses = predict(model, x, definition["batch"], clock) if images else train(model, x, y, definition, clock)
    print(json.dumps({
        "target": "pytorch", "workload": name, "threads": threads, "batch": definition["batch"],
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad), **clock.summary(images or definition["batch"]),
        "losses": losses, "version": torch.__version__,
    }))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
