"""bench.py BENCH PEAK [--device cuda|cpu] [--rounds N] [--seconds N] [--budget SECONDS] [--json FILE] [--peer NAME]…
[WORKLOAD…]  trains every workload on the GPU with Étude (BENCH: etude_bench), and with PyTorch and JAX if installed, in
alternating rounds, and prints a table for each: milliseconds per step, the multiple of Étude's time, and the floor from
the rates of PEAK (etude_gpu_peak). --peer: only "pytorch eager", "pytorch compiled", "pytorch graph" or "jax jit". It
ends after the budget (520 seconds), and lists runs without time. FILE gets the same as JSON, workload after workload.
Exits with 1 if one of them failed, or its loss differs."""
import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import time

from workload import DEFINITIONS, HERE, IN_BFLOAT16, WITHOUT_JAX, cost

PEERS = {
    "pytorch eager": ("torch", "pytorch_gpu.py", "eager"),
    "pytorch compiled": ("torch", "pytorch_gpu.py", "compiled"),
    "pytorch graph": ("torch", "pytorch_gpu.py", "graph"),
    "jax jit": ("jax", "jax_gpu.py", "jit"),
}


LEAST = 5  # seconds that a command needs at least


class Budget:
    """The time of all commands together, in seconds."""

    def __init__(self, seconds):
        self.ends = time.monotonic() + seconds

    def left(self):
        return self.ends - time.monotonic()


def line_of(command, budget):
    """The last line of JSON that a command prints; else {"failed": reason} or, without time, {"left_out": True}."""
    left = budget.left()
    if left < LEAST:
        return {"left_out": True}
    try:
        ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=left)
    except subprocess.TimeoutExpired:
        return {"left_out": True}
    except OSError as error:
        return {"failed": str(error)}
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode == 0 and lines:
        return json.loads(lines[-1])
    return {"failed": (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]}


def etude(bench, name, precision, seed, seconds, budget):
    """Runs steps for about that many seconds; a short run measures the time of a step first."""
    command = [bench, "--seed", seed, "--dtype-policy", "mixed_bfloat16" if precision == "bfloat16" else "float32"]
    least = {"tiny": 2000}.get(name, 200)
    first = line_of([*command, "--steps", least, name], budget)
    if "step_ms" not in first:
        return first
    return line_of([*command, "--steps", max(least, round(1000 * seconds / first["step_ms"])), name], budget)


def summary(lines):
    """Medians of times and means of losses, over the completed rounds."""
    failed = [line for line in lines if "failed" in line]
    if failed:
        return failed[0]
    ended = [line for line in lines if "left_out" not in line]
    if not ended:
        return {"left_out": True}
    steps = set.intersection(*(set(line["losses"]) for line in ended))
    return {**ended[0], "rounds": len(ended), "step_ms": statistics.median(line["step_ms"] for line in ended),
            "losses": {int(step): statistics.mean(line["losses"][step] for line in ended) for step in steps}}


def has_times(line):
    return "failed" not in line and "left_out" not in line


def disagreements(name, summaries):
    own = summaries["étude"]
    for target, line in summaries.items():
        if not has_times(line) or not has_times(own):
            continue
        if line["parameters"] != own["parameters"]:
            yield f"{name}: {target} trains {line['parameters']} parameters, étude {own['parameters']}"
        common = [step for step in line["losses"] if step in own["losses"] and step <= 256]
        if not common:
            yield f"{name}: {target} and étude have no loss after the same number of steps"
            continue
        step = max(common)
        # A mean over fewer rounds has more noise: on an H200, single rounds differed by 7.5 % after 256 steps.
        rounds = min(own["rounds"], line["rounds"])
        allowed = (0.15 if step < 64 else 0.1 if step < 256 else 0.05) * math.sqrt(max(1, 3 / rounds))
        a, b = own["losses"][step], line["losses"][step]
        if not abs(a - b) <= allowed * min(a, b):
            yield f"{name}: mean loss after {step} steps: {a:.4g} of étude, {b:.4g} of {target}"


def floor_of(name, precision, parameters, peak):
    flops, bytes_ = cost(name, parameters)
    return 1e-6 * flops / (peak[f"{precision}_gflops"] or 1e12) + 1e-6 * bytes_ / peak["gbytes_per_s"] + 1e-3 * peak["launch_us"]


def table_of(name, precision, floor, summaries):
    """The printed lines of a workload."""
    own = summaries["étude"]
    yield f"\n{name}, {precision}" + (f": floor {floor:.4g} ms" if floor else "")
    for target, line in summaries.items():
        if "failed" in line:
            yield f"  {target:18} failed: {line['failed']}"
        if not has_times(line):
            continue
        if line.get("without_graphs"):
            yield f"  {target:18} ran {line['without_graphs']} functions without CUDA graphs: its time is no floor"
        times = f"{line['step_ms']:10.4g} ms" + (f" {line['step_ms'] / floor:8.2f}× floor" if floor else "")
        ratio = f" {line['step_ms'] / own['step_ms']:8.2f}× étude" if has_times(own) else ""
        yield f"  {target:18}{times}{ratio}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench")
    parser.add_argument("peak")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--budget", type=float, default=520)
    parser.add_argument("--json")
    parser.add_argument("--peer", action="append", choices=PEERS)
    parser.add_argument("workloads", nargs="*")
    given = parser.parse_intermixed_args()
    budget = Budget(given.budget)
    names = given.workloads or list(DEFINITIONS)
    for name in names:
        if name not in DEFINITIONS:
            raise SystemExit(f"[bench.py] workload {name!r} - expected one of {', '.join(DEFINITIONS)} - name one of those.")
    peak = line_of([given.peak], budget)
    if not has_times(peak):
        raise SystemExit(peak.get("failed", "[bench.py] no time for etude_gpu_peak - expected more - pass a larger --budget."))
    print(json.dumps(peak))
    peers = {target: peer for target, peer in PEERS.items() if importlib.util.find_spec(peer[0])}
    if given.device != "cuda":
        peers.pop("pytorch graph", None)
    peers = {target: peer for target, peer in peers.items() if target in (given.peer or peers)}
    for module in sorted({PEERS[target][0] for target in given.peer or PEERS} - {peer[0] for peer in peers.values()}):
        print(f"skipped: {module} is not installed")
    complaints, left_out, table = [], [], []
    runs = [(name, precision) for name in names for precision in ["float32"] + ["bfloat16"] * (name in IN_BFLOAT16)]
    for name, precision in runs:
        its_peers = {target: peer for target, peer in peers.items() if peer[0] != "jax" or name not in WITHOUT_JAX}
        lines = {target: [] for target in ["étude", *its_peers]}
        for seed in range(1, given.rounds + 1):
            lines["étude"].append(etude(given.bench, name, precision, seed, given.seconds, budget))
            for target, (_, script, mode) in its_peers.items():
                lines[target].append(line_of([sys.executable, os.path.join(HERE, script), name, seed, given.seconds,
                                              given.device, mode, precision], budget))
        summaries = {target: summary(all_) for target, all_ in lines.items()}
        complaints += disagreements(name, summaries)
        complaints += [f"{name}: {target} failed" for target, line in summaries.items() if "failed" in line]
        left_out += [f"{name}, {precision}: {target}" for target, line in summaries.items() if "left_out" in line]
        own = summaries["étude"]
        floor = floor_of(name, precision, own["parameters"], peak) if has_times(own) else None
        table.append({"workload": name, "precision": precision, "floor_ms": floor, "targets": summaries})
        if given.json:
            with open(given.json, "w") as file:
                json.dump({"peak": peak, "left_out": left_out, "table": table}, file, indent=1)
        print("\n".join(table_of(name, precision, floor, summaries)), flush=True)
    for one in left_out:
        print(f"did not fit into {given.budget:.0f} s: {one}")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
