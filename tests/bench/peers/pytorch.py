#!/usr/bin/env python3
"""PyTorch on the CPU, eager, one thread: the same two workloads as peers.mjs, the same JSON lines.

Usage: pytorch.py [mlp] [tiny] [--json FILE] [--data FOLDER]
"""
import argparse
import gzip
import json
import math
import os
import resource
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("[peers] pytorch needs the Python package torch, which is not installed - pip install torch (the CPU wheel will do).")

torch.set_num_threads(1)
torch.set_num_interop_threads(1)


def read_idx(folder, name, header):
    path = os.path.join(folder, name)
    try:
        with gzip.open(path, "rb") as file:
            return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)
    except FileNotFoundError:
        sys.exit(f"[peers] no {path} - expected Fashion-MNIST's IDX files (Debian: dataset-fashion-mnist) - install them or pass --data FOLDER.")


def fashion_mnist(folder):
    x = read_idx(folder, "train-images-idx3-ubyte.gz", 16).reshape(-1, 784).float() / 255
    return x, read_idx(folder, "train-labels-idx1-ubyte.gz", 8).long()


def spirals(_):
    """Point i of arm a has r = i/256, angle 1.75·2π·r + a·π; sample 2i + a."""
    points = [(i / 256, arm) for i in range(256) for arm in range(2)]
    angles = [1.75 * r * 2 * math.pi + arm * math.pi for r, arm in points]
    x = torch.tensor([[r * math.cos(t), r * math.sin(t)] for (r, _), t in zip(points, angles)])
    return x, torch.tensor([[float(arm)] for _, arm in points])


def network(sizes, activation):
    layers = []
    for inputs, units in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, units), activation()]
        torch.nn.init.xavier_uniform_(layers[-2].weight)
        torch.nn.init.zeros_(layers[-2].bias)
    return torch.nn.Sequential(*layers[:-1])  # the last activation is part of the loss


# PyTorch's default optimizer loops; foreach=True and fused=True were tried and are no faster on one CPU thread.
WORKLOADS = {
    "mlp": dict(
        data=fashion_mnist, sizes=[784, 512, 10], activation=torch.nn.ReLU, batch=128, warmup=50, steps=1000,
        loss=torch.nn.functional.cross_entropy, count_correct=True,
        optimizer=lambda p: torch.optim.RMSprop(p, lr=1e-3, alpha=0.9, eps=1e-7),
    ),
    "tiny": dict(
        data=spirals, sizes=[2, 16, 16, 1], activation=torch.nn.Tanh, batch=32, warmup=320, steps=4800,
        loss=torch.nn.functional.binary_cross_entropy_with_logits, count_correct=False,
        optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
    ),
}


def shuffled_batches(samples, batch):
    while True:
        order = torch.randperm(samples)
        yield from (order[i:i + batch] for i in range(0, samples - batch + 1, batch))


def run(name, folder):
    torch.manual_seed(1)
    work = WORKLOADS[name]
    x, y = work["data"](folder)
    batch, warmup, steps = work["batch"], work["warmup"], work["steps"]
    per_epoch = len(x) // batch
    model = network(work["sizes"], work["activation"])
    optimizer = work["optimizer"](model.parameters())
    ticks, epoch_loss, epoch_steps, correct = [], torch.zeros(()), 0, torch.zeros((), dtype=torch.long)
    for i, rows in zip(range(warmup + steps), shuffled_batches(len(x), batch)):
        if i % per_epoch == 0:
            epoch_loss, epoch_steps, correct = torch.zeros(()), 0, torch.zeros((), dtype=torch.long)
        if i == warmup:
            ticks, cpu_start = [time.perf_counter()], cpu_seconds()
        target = y[rows]
        output = model(x[rows])
        loss = work["loss"](output, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.detach()
        epoch_steps += 1
        if work["count_correct"]:
            correct += (output.detach().argmax(1) == target).sum()
        ticks.append(time.perf_counter())
    cpu = cpu_seconds() - cpu_start
    times = sorted(b - a for a, b in zip(ticks, ticks[1:]))
    return {
        "target": "pytorch", "workload": name, "threads": 1, "batch": batch,
        "samples_per_s": rounded(steps * batch / (ticks[-1] - ticks[0])),
        "step_ms_median": quantile_ms(times, 0.5), "step_ms_p95": quantile_ms(times, 0.95),
        "cpu_ms_per_step": rounded(cpu * 1000 / steps), "allocations_per_step": None,
        "final_loss": float(epoch_loss) / epoch_steps, "steps": steps, "version": torch.__version__,
    }


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def quantile_ms(times, q):
    return rounded(times[max(0, math.ceil(q * len(times)) - 1)] * 1000)


def rounded(value):
    return float(f"{value:.5g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", nargs="*", help="mlp, tiny; both when none is named")
    parser.add_argument("--json", help="write the lines to this file too")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="Fashion-MNIST's IDX .gz files")
    options = parser.parse_args()
    for name in options.workload:
        if name not in WORKLOADS:
            parser.error(f'unknown workload "{name}" - expected {" or ".join(WORKLOADS)}')
    lines = []
    for name in options.workload or WORKLOADS:
        lines.append(json.dumps(run(name, options.data), separators=(",", ":")))
        print(lines[-1], flush=True)
    if options.json:
        with open(options.json, "w") as file:
            file.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
