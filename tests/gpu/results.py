"""results.py FOLDER  prints the results of phases.py in FOLDER as Markdown, for tests/gpu/RESULTS.md."""
import json
import os
import sys

PHASES = ("peak", "parity", "training", "sanitizer", "bench", "profile")


def phases_in(folder):
    for name in PHASES:
        path = os.path.join(folder, name + ".json")
        if os.path.exists(path):
            with open(path) as file:
                yield json.load(file)


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def machine(phase):
    yield from (f"- {gpu}" for gpu in phase["gpus"])
    yield from (f"- {library}: `{path}`" for library, path in phase["libraries"].items())
    yield ""


def runs(phase):
    rows = []
    for run in phase["runs"]:
        summary = next((line for line in reversed(run["last_lines"]) if "passed" in line or "assertions:" in line), "")
        rows.append((f"`{run['command']}`" if run["command"] else "", run["ended"], f"{run['seconds']:.0f}", summary.strip("= ")))
    yield from table(("command", "ended", "s", "summary"), rows)


def peak(phase):
    for run in phase["runs"]:
        if "results" not in run:
            continue
        line = run["results"]
        yield from table(("float32", "TF32", "bfloat16", "copy", "launch of a graph", "each further kernel"),
                         [(f"{line['float32_gflops'] / 1000:.1f} TFLOP/s", f"{line['tf32_gflops'] / 1000:.1f} TFLOP/s",
                           f"{line['bfloat16_gflops'] / 1000:.1f} TFLOP/s", f"{line['gbytes_per_s']} GB/s",
                           f"{line['launch_us']} us", f"{line['kernel_us']} us")])
        yield from table(("nodes of a graph", "instantiate", "upload", "launch", "bytes per node"),
                         [(one["nodes"], f"{one['instantiate_ms']} ms", f"{one['upload_ms']} ms", f"{one['launch_us']} us",
                           one["bytes_per_node"]) for one in line["graphs"]])


def cell(line, own):
    if line is None:
        return ""
    if "failed" in line:
        return "failed"
    if "step_ms" not in line:
        return "no time"
    ratio = f" ({line['step_ms'] / own['step_ms']:.2f}×)" if line is not own and "step_ms" in own else ""
    return f"{line['step_ms']:.4g}{ratio}"


def bench(phase):
    for run in phase["runs"]:
        if "results" not in run:
            continue
        rows = run["results"]["table"]
        targets = list(rows[0]["targets"])
        yield "Milliseconds per step; in brackets, the multiple of Étude's time."
        yield ""
        yield from table(("workload", "floor", *targets),
                         [(f"{row['workload']}, {row['precision']}", f"{row['floor_ms']:.4g}" if row["floor_ms"] else "",
                           *(cell(row["targets"].get(target), row["targets"]["étude"]) for target in targets)) for row in rows])
        if run["results"]["left_out"]:
            yield "No time for: " + "; ".join(run["results"]["left_out"]) + "."
            yield ""


def profile(phase):
    for run in phase["runs"]:
        if run["command"]:
            yield from (f"`{run['command']}`", "", "```", *run["last_lines"], "```", "")


DETAILS = {"peak": peak, "bench": bench, "profile": profile}


def report(folder):
    phases = list(phases_in(folder))
    if not phases:
        raise SystemExit(f"[results.py] {folder} has no results - expected PHASE.json files - run tests/gpu/run.sh first.")
    yield "# On a GPU"
    yield ""
    yield "Made by `tests/gpu/results.py` from the results of `tests/gpu/run.sh`."
    yield ""
    yield from machine(phases[0])
    for phase in phases:
        yield f"## {phase['phase']}, {phase['seconds']:.0f} s"
        yield ""
        if phase["phase"] != "profile":
            yield from runs(phase)
        yield from DETAILS.get(phase["phase"], lambda _: ())(phase)


if __name__ == "__main__":
    print("\n".join(report(sys.argv[1])).rstrip())
