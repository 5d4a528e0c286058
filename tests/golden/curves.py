"""Code of both golden curves: dense networks by hand in numpy, the same with PyTorch's autograd, and the comparison."""
import json
import os
import platform

import numpy as np

TOLERANCE = 1e-10


def sine_weights(sizes, bias_scale=0.0):
    """[kernel 0, bias 0, kernel 1, ...], computed without a random generator."""
    weights = []
    for layer, (inputs, units) in enumerate(zip(sizes, sizes[1:])):
        i = np.arange(inputs * units, dtype=np.float64)
        weights.append((np.sqrt(6.0 / (inputs + units)) * np.sin(i * 0.7 + layer + 1.0)).reshape(inputs, units))
        weights.append(bias_scale * np.sin(np.arange(units) * 0.7 + layer + 2.0))
    return weights


FORWARD = {"relu": lambda z: np.maximum(z, 0.0), "tanh": np.tanh}
FROM_OUTPUT = {"relu": lambda h: (h > 0.0).astype(np.float64), "tanh": lambda h: 1.0 - h * h}


def dense_outputs(weights, x, activations):
    """[x, output of each hidden layer ..., logits]."""
    outputs = [x]
    for layer in range(len(weights) // 2):
        z = outputs[-1] @ weights[2 * layer] + weights[2 * layer + 1]
        outputs.append(FORWARD[activations[layer]](z) if layer < len(activations) else z)
    return outputs


def dense_gradients(weights, outputs, dz, activations):
    """Gradients in the order of weights, from dz of the logits."""
    gradients = []
    for layer in reversed(range(len(weights) // 2)):
        gradients += [dz.sum(axis=0), outputs[layer].T @ dz]
        if layer > 0:
            dz = (dz @ weights[2 * layer].T) * FROM_OUTPUT[activations[layer - 1]](outputs[layer])
    return gradients[::-1]


def torch_curve(initial_weights, activations, data, loss_of, update):
    """The same steps with autograd; update(index, weight, gradient, step) returns the new weight."""
    import torch

    weights = [torch.from_numpy(w).requires_grad_() for w in initial_weights]
    losses, accuracies = [], []
    for step, (x, y) in enumerate(data, start=1):
        h, target = torch.from_numpy(x), torch.from_numpy(y)
        for layer in range(len(weights) // 2):
            h = h @ weights[2 * layer] + weights[2 * layer + 1]
            if layer < len(activations):
                h = getattr(torch, activations[layer])(h)
        loss = loss_of(h, target)
        losses.append(loss.item())
        hits = h.argmax(dim=1) == target if target.ndim == 1 else (h > 0.0) == (target > 0.5)
        accuracies.append(hits.double().mean().item())
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            weights = [update(i, w, g, step).requires_grad_() for i, (w, g) in enumerate(zip(weights, gradients))]
    return losses, accuracies, [w.detach().numpy() for w in weights]


def check_agreement(what, ours, theirs):
    """The largest absolute difference; an error above TOLERANCE."""
    difference = max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in zip(ours, theirs, strict=True))
    if not difference <= TOLERANCE:
        raise SystemExit(f"{what}: numpy and PyTorch differ by {difference:g} - expected at most {TOLERANCE:g}")
    return difference


def write(name, difference, content):
    """Floats are written with as many digits as float64 needs (json prints the shortest text that reads back the same)."""
    import torch

    origin = (f"tests/golden/make_{name.removesuffix('.json')}.py: numpy {np.__version__} with hand-written gradients and PyTorch {torch.__version__} autograd "
              f"with a hand-written update, float64, Python {platform.python_version()}; largest difference between the two {difference:.1e}. Values are numpy's.")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "w") as file:
        file.write(pretty({"origin": origin, **content}) + "\n")
    print(f"{path}: agreement {difference:.1e}")


def pretty(value, indent=""):
    """JSON with one number a line for lists of numbers; 17 significant digits."""
    inner = indent + "  "
    if isinstance(value, dict):
        return "{\n" + ",\n".join(f"{inner}{json.dumps(k)}: {pretty(v, inner)}" for k, v in value.items()) + f"\n{indent}}}"
    if isinstance(value, list):
        if all(isinstance(v, int) for v in value):
            return json.dumps(value)
        return "[\n" + ",\n".join(inner + pretty(v, inner) for v in value) + f"\n{indent}]"
    if isinstance(value, float):
        return f"{value:.17g}" if value != int(value) else f"{value:.1f}"
    return json.dumps(value)
