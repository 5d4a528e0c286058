#!/usr/bin/env python3
"""Makes hello_curve.json: the first 20 training steps of the hello model in float64, computed twice.

Run by hand, never by CI: it needs numpy, torch and the real Fashion-MNIST.
Usage: make_hello_curve.py [--data FOLDER]
"""
import argparse
import gzip
import os

import numpy as np

from curves import check_agreement, dense_gradients, dense_outputs, sine_weights, torch_curve, write

SIZES, ACTIVATIONS, BATCH, STEPS = [784, 512, 10], ["relu"], 128, 20
LEARNING_RATE, RHO, EPSILON = 1e-3, 0.9, 1e-7


def read_idx(folder, name, header):
    with gzip.open(os.path.join(folder, name), "rb") as file:
        return np.frombuffer(file.read()[header:], dtype=np.uint8)


def batches(folder):
    x = read_idx(folder, "train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    y = read_idx(folder, "train-labels-idx1-ubyte.gz", 8)
    for start in range(0, STEPS * BATCH, BATCH):
        yield x[start:start + BATCH].astype(np.float64) / 255.0, y[start:start + BATCH].astype(np.int64)


def softmax_crossentropy(z, y):
    """Mean loss, dz and accuracy of logits z [batch, classes] against class ids y [batch]."""
    shifted = z - z.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(y))
    dz = np.exp(log_p)
    dz[rows, y] -= 1.0
    return -log_p[rows, y].mean(), dz / len(y), float((z.argmax(axis=1) == y).mean())


def numpy_curve(data):
    weights = sine_weights(SIZES)
    velocities = [np.zeros_like(w) for w in weights]
    losses, accuracies = [], []
    for x, y in data:
        outputs = dense_outputs(weights, x, ACTIVATIONS)
        loss, dz, accuracy = softmax_crossentropy(outputs[-1], y)
        losses.append(float(loss))
        accuracies.append(accuracy)
        for w, v, g in zip(weights, velocities, dense_gradients(weights, outputs, dz, ACTIVATIONS)):
            v *= RHO
            v += (1.0 - RHO) * g * g
            w -= LEARNING_RATE * g / np.sqrt(v + EPSILON)
    return losses, accuracies, weights


def torch_rmsprop():
    velocities = {}

    def update(index, w, g, _step):
        v = velocities[index] = RHO * velocities.get(index, 0.0 * g) + (1.0 - RHO) * g * g
        return w - LEARNING_RATE * g / (v + EPSILON).sqrt()

    return update


def main():
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    data = list(batches(parser.parse_args().data))
    losses, accuracies, weights = numpy_curve(data)
    other, other_accuracies, other_weights = torch_curve(sine_weights(SIZES), ACTIVATIONS, data, torch.nn.functional.cross_entropy, torch_rmsprop())
    assert accuracies == other_accuracies
    difference = max(check_agreement("loss", losses, other), check_agreement("weights", weights, other_weights))
    write("hello_curve.json", difference, {
        "model": "Dense(512, relu), Dense(10, softmax) on 784 inputs; softmax and crossentropy from logits",
        "data": "Fashion-MNIST training set in file order, batch k = samples 128k .. 128k+127, x = byte / 255",
        "initial_weights": "kernel of layer l (0, 1), row-major flat index i: sqrt(6 / (fan_in + fan_out)) * sin(0.7 * i + l + 1.0); biases 0",
        "optimizer": {"class": "RMSprop", "config": {"learning_rate": LEARNING_RATE, "rho": RHO, "epsilon": EPSILON}},
        "update": "v = rho v + (1 - rho) g^2; w -= learning_rate g / sqrt(v + epsilon)",
        "sizes": SIZES, "batch_size": BATCH, "steps": STEPS,
        "losses": losses, "accuracies": accuracies,
        "final_weight_sums": [float(w.sum()) for w in weights],
    })


if __name__ == "__main__":
    main()
