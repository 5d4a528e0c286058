"""bench.py BENCH PEAK [--device cuda|cpu] [--rounds N] [--seconds N] [--json FILE] [WORKLOAD…]  trains every workload on the GPU with
Étude (BENCH: etude_bench), and with those of PyTorch and JAX that are installed, in rounds that take turns, and prints a
table for each: milliseconds per step, how many times longer than Étude, and the floor that PEAK (etude_gpu_peak) measured.
FILE gets the same as JSON, workload after workload. Ends with 1 where one of them failed, or another loss came out."""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys

from workload import DEFINITIONS, HERE, cost

PEERS = {
    "pytorch eager": ("torch", "pytorch_gpu.py", "eager"),
    "pytorch compiled": ("torch", "pytorch_gpu.py", "compiled"),
    "pytorch graph": ("torch", "pytorch_gpu.py", "graph"),
    "jax jit": ("jax", "jax_gpu.py", "jit"),
}


def line_of(command):
    try:
        ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return {"failed": "no end after 600 s"}
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode == 0 and lines:
        return json.loads(lines[-1])
    return {"failed": (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]}


def etude(bench, name, precision, seed, seconds):
    """As many steps as take about that long, for which a short run has to say how long one is."""
    command = [bench, "--seed", seed, "--dtype-policy", "mixed_bfloat16" if precision == "bfloat16" else "float32"]
    least = {"tiny": 2000}.get(name, 200)
    first = line_of([*command, "--steps", least, name])
    if "failed" in first:
        return first
    return line_of([*command, "--steps", max(least, round(1000 * seconds / first["step_ms"])), name])


def summary(lines):
    """Medians of times, means of losses."""
    failed = [line for line in lines if "failed" in line]
    if failed:
        return failed[0]
    steps = set.intersection(*(set(line["losses"]) for line in lines))
    return {**lines[0], "step_ms": statistics.median(line["step_ms"] for line in lines),
            "losses": {int(step): statistics.mean(line["losses"][step] for line in lines) for step in steps}}


def disagreements(name, summaries):
    own = summaries["étude"]
    for target, line in summaries.items():
        if "failed" in line or "failed" in own:
            continue
        if line["parameters"] != own["parameters"]:
            yield f"{name}: {target} trains {line['parameters']} parameters, étude {own['parameters']}"
        step = max(step for step in line["losses"] if step in own["losses"] and step <= 256)
        allowed = 0.15 if step < 64 else 0.1 if step < 256 else 0.05
        a, b = own["losses"][step], line["losses"][step]
        if not abs(a - b) <= allowed * min(a, b):
            yield f"{name}: mean loss after {step} steps: {a:.4g} of étude, {b:.4g} of {target}"


def floor_of(name, precision, parameters, peak):
    flops, bytes_ = cost(name, parameters)
    return 1e-6 * flops / (peak[f"{precision}_gflops"] or 1e12) + 1e-6 * bytes_ / peak["gbytes_per_s"] + 1e-3 * peak["launch_us"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("peak")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--json")
    parser.add_argument("workloads", nargs="*")
    given = parser.parse_intermixed_args()
    peak = line_of([given.peak])
    if "failed" in peak:
        raise SystemExit(peak["failed"])
    print(json.dumps(peak))
    peers = {target: peer for target, peer in PEERS.items() if importlib.util.find_spec(peer[0])}
    if given.device != "cuda":
        peers.pop("pytorch graph", None)
    for module in sorted({peer[0] for peer in PEERS.values()} - {peer[0] for peer in peers.values()}):
        print(f"skipped: {module} is not installed")
    complaints, table = [], []
    names = given.workloads or list(DEFINITIONS)
    for name, precision in [(name, "float32") for name in names] + [("big", "bfloat16")] * ("big" in names):
        lines = {target: [] for target in ["étude", *peers]}
        for seed in range(1, given.rounds + 1):
            lines["étude"].append(etude(given.bench, name, precision, seed, given.seconds))
            for target, (_, script, mode) in peers.items():
                lines[target].append(line_of([sys.executable, os.path.join(HERE, script), name, seed, given.seconds,
                                              given.device, mode, precision]))
        summaries = {target: summary(all_) for target, all_ in lines.items()}
        complaints += disagreements(name, summaries)
        own = summaries["étude"]
        floor = floor_of(name, precision, own["parameters"], peak) if "failed" not in own else None
        table.append({"workload": name, "precision": precision, "floor_ms": floor, "targets": summaries})
        if given.json:
            with open(given.json, "w") as file:
                json.dump({"peak": peak, "table": table}, file, indent=1)
        print(f"\n{name}, {precision}" + (f": floor {floor:.4g} ms" if floor else ""))
        for target, line in summaries.items():
            if "failed" in line:
                print(f"  {target:18} failed: {line['failed']}")
                complaints.append(f"{name}: {target} failed")
                continue
            if line.get("without_graphs"):
                print(f"  {target:18} ran {line['without_graphs']} functions without CUDA graphs: its time is no floor")
            times = f"{line['step_ms']:10.4g} ms" + (f" {line['step_ms'] / floor:8.2f}× floor" if floor else "")
            ratio = f" {line['step_ms'] / own['step_ms']:8.2f}× étude" if "failed" not in own else ""
            print(f"  {target:18}{times}{ratio}")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
