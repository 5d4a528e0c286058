"""pytorch_gpu.py WORKLOAD SEED SECONDS DEVICE MODE PRECISION  trains one workload with PyTorch, its data on the device, and
prints its JSON line. MODE: eager; compiled, which is torch.compile's "reduce-overhead" of the step, in CUDA graphs; or graph,
the whole step compiled and captured by hand. PRECISION: float32 or bfloat16."""
import json
import os
import sys

import torch
import torch._dynamo.utils

from workload import DEFINITIONS, HERE, Steady, read_idx, rounded

sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "peers"))
import pytorch as network_of  # noqa: E402  the same modules as on the processor


def fashion_mnist():
    x, y = (torch.frombuffer(bytearray(read_idx(f"train-{name}")), dtype=torch.uint8)
            for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    return x.reshape(-1, 784).float() / 255, y.long()


def fashion_mnist_32():
    """In the middle of 32 x 32 pixels, with three equal channels."""
    x, y = fashion_mnist()
    return torch.nn.functional.pad(x[:6400].reshape(-1, 28, 28, 1), (0, 0, 2, 2, 2, 2)).expand(-1, -1, -1, 3), y[:6400]


SOURCES = {"fashion_mnist": fashion_mnist, "fashion_mnist_32": fashion_mnist_32, "words": lambda: network_of.words(0),
           "spirals": lambda: network_of.spirals(512)}


def optimizer_of(name, parameters, captured):
    on_gpu = {"capturable": True} if captured and name != "sgd" else {}
    if name == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.9, eps=1e-7, foreach=True, **on_gpu)
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-3, eps=1e-7, fused=True, **on_gpu)
    return torch.optim.SGD(parameters, lr=0.1, foreach=True)


def graphs_of(mode, device):
    """The number of compiled functions that "reduce-overhead" silently ran without CUDA graphs."""
    if mode != "compiled" or device != "cuda":
        return {}
    return {"without_graphs": torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]}


def main(name, seed, seconds, device, mode, precision):
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # float32 is float32
    torch.backends.cudnn.benchmark = True  # shapes do not change: selects the fastest convolution
    definition = DEFINITIONS[name]
    batch, shape = definition["batch"], definition["input"]
    classes = definition["loss"].startswith("sparse")
    x, y = SOURCES[definition["data"]]()
    x = x.reshape(-1, *shape)
    if len(shape) == 3:
        x = x.permute(0, 3, 1, 2)
    layout = torch.channels_last if len(shape) == 3 else torch.contiguous_format
    x, y = x.contiguous(memory_format=layout).to(device), y.to(device)
    model = torch.nn.Sequential(*network_of.network(shape, definition["layers"])[0]).to(device)
    if len(shape) == 3:
        model = model.to(memory_format=layout)
    loss_of = network_of.LOSSES[definition["loss"]]
    optimizer = optimizer_of(definition["optimizer"], [p for p in model.parameters() if p.requires_grad],
                             mode != "eager" and device == "cuda")
    total, correct = torch.zeros((), device=device), torch.zeros((), device=device)

    def forward_backward(rows, target):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
            output = model(rows)
            loss = loss_of(output, target)
        loss.backward()
        total.add_(loss.detach())
        if classes:
            correct.add_((output.detach().argmax(-1) == target).sum())

    update = optimizer.step
    if mode == "compiled":
        options = {"mode": "reduce-overhead"} if device == "cuda" else {}
        forward_backward = torch.compile(forward_backward, **options)
        update = torch.compile(optimizer.step, **options)
    elif mode == "graph":
        model = torch.compile(model)

    state = {"order": None, "next": 0}
    captured = {}
    side = torch.cuda.Stream() if mode == "graph" else None

    def rows_of_next():
        if state["order"] is None or state["next"] + batch > len(x):
            state["order"], state["next"] = torch.randperm(len(x), device=device), 0
            total.zero_()
            correct.zero_()
        chosen = state["order"][state["next"]:state["next"] + batch]
        state["next"] += batch
        return chosen

    def step_on(chosen):
        optimizer.zero_grad(set_to_none=mode != "graph")
        forward_backward(x[chosen], y[chosen])
        update()

    def step(index):
        chosen = rows_of_next()
        if mode == "compiled":
            torch.compiler.cudagraph_mark_step_begin()
        if mode != "graph":
            return step_on(chosen)
        if index < 11:  # warm-up on a separate stream before the capture
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step_on(chosen)
            return torch.cuda.current_stream().wait_stream(side)
        if not captured:
            captured["rows"], captured["graph"] = chosen.clone(), torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            with torch.cuda.graph(captured["graph"]):
                step_on(captured["rows"])
        captured["rows"].copy_(chosen)
        captured["graph"].replay()

    losses = {}

    def step_and_note(index):
        step(index)
        if 8 <= index + 1 <= 4096 and (index + 1) & index == 0:
            losses[index + 1] = rounded(float(total) / (state["next"] // batch))

    milliseconds, steps = Steady(seconds).run(step_and_note, torch.cuda.synchronize if device == "cuda" else lambda: None)
    print(json.dumps({
        "target": f"pytorch {mode}", "workload": name, "precision": precision, "step_ms": milliseconds, "steps": steps,
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad), "losses": losses,
        "version": torch.__version__, **graphs_of(mode, device),
    }))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:7])
