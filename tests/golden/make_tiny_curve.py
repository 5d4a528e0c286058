#!/usr/bin/env python3
"""Makes tiny_curve.json: 50 training steps of the two-spirals model in float64 under three optimizers, each computed twice.

Run by hand, never by CI: it needs numpy and torch.
"""
import numpy as np

from curves import check_agreement, dense_gradients, dense_outputs, sine_weights, torch_curve, write

SIZES, ACTIVATIONS, BATCH, STEPS = [2, 16, 16, 1], ["tanh", "tanh"], 32, 50

# Samples 2i and 2i + 1 are antipodes with opposite labels. With zero biases the network is odd and every bias gradient is exactly
# zero: biases would go untested, and Adam blows the rounding noise in those zeros up about a
# thousandfold a step, until no two implementations agree. Biases that are not zero break the symmetry.
BIAS_SCALE = 0.1


def spirals():
    """x [512, 2], y [512, 1]: sample 2i + a is point i of arm a."""
    i, arm = np.repeat(np.arange(256), 2), np.tile([0, 1], 256)
    r = i / 256.0
    theta = 1.75 * r * 2.0 * np.pi + arm * np.pi
    return np.stack([r * np.cos(theta), r * np.sin(theta)], axis=1), arm.astype(np.float64)[:, None]


def batches():
    """In order, from the start again after the last point."""
    x, y = spirals()
    for step in range(STEPS):
        start = step * BATCH % len(x)
        yield x[start:start + BATCH], y[start:start + BATCH]


def sigmoid_crossentropy(z, y):
    """Mean loss, dz and accuracy of logits z [batch, 1] against y [batch, 1] in {0, 1}."""
    loss = np.maximum(z, 0.0) - z * y + np.log1p(np.exp(-np.abs(z)))
    return loss.mean(), (1.0 / (1.0 + np.exp(-z)) - y) / z.size, float(((z > 0.0) == (y > 0.5)).mean())


def sgd(slots, i, w, g, _step, learning_rate):
    return w - learning_rate * g


def nesterov(slots, i, w, g, _step, learning_rate, momentum):
    slots[i] = momentum * slots.get(i, 0.0 * g) - learning_rate * g
    return w + momentum * slots[i] - learning_rate * g


def adam(slots, i, w, g, step, learning_rate, beta_1, beta_2, epsilon):
    m, v = slots.get(i, (0.0 * g, 0.0 * g))
    slots[i] = m, v = m + (g - m) * (1.0 - beta_1), v + (g * g - v) * (1.0 - beta_2)
    alpha = learning_rate * (1.0 - beta_2**step) ** 0.5 / (1.0 - beta_1**step)
    return w - alpha * m / (v**0.5 + epsilon)


OPTIMIZERS = {
    "sgd": (sgd, "w -= learning_rate g", "SGD", {"learning_rate": 0.1}, {}),
    "sgd_nesterov": (nesterov, "v = momentum v - learning_rate g; w += momentum v - learning_rate g", "SGD", {"learning_rate": 0.1, "momentum": 0.9}, {"nesterov": True}),
    "adam": (adam, "m += (g - m)(1 - beta_1); v += (g^2 - v)(1 - beta_2); alpha = learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t); w -= alpha m / (sqrt(v) + epsilon)", "Adam",
             {"learning_rate": 1e-3, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}, {}),
}


def updater(rule, numbers):
    slots = {}
    return lambda i, w, g, step: rule(slots, i, w, g, step, **numbers)


def numpy_curve(update):
    weights, losses, accuracies = sine_weights(SIZES, BIAS_SCALE), [], []
    for step, (x, y) in enumerate(batches(), start=1):
        outputs = dense_outputs(weights, x, ACTIVATIONS)
        loss, dz, accuracy = sigmoid_crossentropy(outputs[-1], y)
        losses.append(float(loss))
        accuracies.append(accuracy)
        gradients = dense_gradients(weights, outputs, dz, ACTIVATIONS)
        weights = [update(i, w, g, step) for i, (w, g) in enumerate(zip(weights, gradients))]
    return losses, accuracies, weights


def main():
    import torch

    curves, difference = {}, 0.0
    for name, (rule, formula, keras_class, numbers, flags) in OPTIMIZERS.items():
        losses, accuracies, weights = numpy_curve(updater(rule, numbers))
        other, other_accuracies, other_weights = torch_curve(sine_weights(SIZES, BIAS_SCALE), ACTIVATIONS, batches(), torch.nn.functional.binary_cross_entropy_with_logits, updater(rule, numbers))
        assert accuracies == other_accuracies
        difference = max(difference, check_agreement(f"{name} loss", losses, other), check_agreement(f"{name} weights", weights, other_weights))
        curves[name] = {"optimizer": {"class": keras_class, "config": numbers | flags}, "update": formula, "losses": losses, "accuracies": accuracies,
                        "final_weight_sums": [float(w.sum()) for w in weights]}
    write("tiny_curve.json", difference, {
        "model": "Dense(16, tanh), Dense(16, tanh), Dense(1, sigmoid) on 2 inputs; sigmoid and binary crossentropy from logits",
        "data": "two spirals, 512 points: point i (0..255) of arm a (0, 1) is sample 2i + a, r = i/256, theta = 1.75*2*pi*r + a*pi, x = (r cos theta, r sin theta), y = a; "
                "batch k = samples 32(k mod 16) .. 32(k mod 16)+31",
        "initial_weights": "kernel of layer l (0, 1, 2), row-major flat index i: sqrt(6 / (fan_in + fan_out)) * sin(0.7 * i + l + 1.0); bias element i: 0.1 * sin(0.7 * i + l + 2.0)",
        "sizes": SIZES, "batch_size": BATCH, "steps": STEPS, "curves": curves,
    })


if __name__ == "__main__":
    main()
