"""phases.py BIN [PHASE [ARG…]]…  runs phases on a GPU, with the programs in BIN; without a PHASE all but profile:

  peak                  what the GPU reaches: products, copies, launches; and the libraries that were loaded
  parity                every op: GPU against processor, with cuBLASLt's products and with Étude's own
  training              whole models: as on the processor, recorded as queued, replicas on one GPU and on several
  sanitizer [TOOL…]     compute-sanitizer on whole models: memcheck, initcheck, synccheck, racecheck
  bench [ARG…]          every workload beside PyTorch and JAX, or as bench.py's arguments say
  profile [WORKLOAD…]   where the time of a step goes, by nsys

A phase ends within ten minutes, prints a summary line at its end, and leaves PHASE.json in the folder that ETUDE_RESULTS
names (build/gpu-results). Ends with 1 where one of them failed."""
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.environ.get("ETUDE_RESULTS", "build/gpu-results")
LIMIT = 570  # seconds of a phase
KEPT_LINES = 40
PASSED = "passed"


def gpus():
    query = "--query-gpu=name,driver_version,memory.total,clocks.max.sm"
    try:
        return subprocess.run(["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True,
                              check=True).stdout.strip().splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"[phases.py] nvidia-smi: {error} - expected a GPU and its driver - run this on a machine with one.")


class Phase:
    """Runs commands one after the other, until the phase's time is over."""

    def __init__(self, name):
        self.name, self.runs, self.began = name, [], time.monotonic()

    def run(self, *command, results=None, **variables):
        """`results`: a JSON file that the command writes, which becomes part of the phase's."""
        shown = " ".join([f"{name}={value}" for name, value in variables.items()] + [os.path.basename(command[0]), *command[1:]])
        print("»", shown, flush=True)
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env={**os.environ, **variables}, start_new_session=True)
        left = max(1, LIMIT - (began - self.began))
        timer = threading.Timer(left, lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.start()
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines = [*lines, line.rstrip()][-KEPT_LINES:]
        code = process.wait()
        timer.cancel()
        ended = PASSED if code == 0 else f"stopped after {left:.0f} s" if code == -signal.SIGKILL else f"ended with {code}"
        run = {"command": shown, "seconds": round(time.monotonic() - began, 1), "ended": ended, "last_lines": lines}
        if results and os.path.exists(results):
            with open(results) as file:
                run["results"] = json.load(file)
        self.runs.append(run)

    def skip(self, why):
        print("skipped:", why)
        self.runs.append({"command": "", "seconds": 0, "ended": "skipped: " + why, "last_lines": []})

    def end(self, machine):
        failed = [run for run in self.runs if run["ended"] != PASSED and not run["ended"].startswith("skipped")]
        seconds = round(time.monotonic() - self.began, 1)
        os.makedirs(RESULTS, exist_ok=True)
        with open(os.path.join(RESULTS, self.name + ".json"), "w") as file:
            json.dump({"phase": self.name, "gpus": machine, "seconds": seconds, "runs": self.runs}, file, indent=1)
        skipped = sum(run["ended"].startswith("skipped") for run in self.runs)
        print(f"{self.name}: {len(self.runs) - len(failed) - skipped} passed, {len(failed)} failed, {skipped} skipped, "
              f"{seconds} s on {machine[0].split(',')[0]}", flush=True)
        for run in failed:
            print(f"  failed: {run['command']}: {run['ended']}")
        return not failed


def peak(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_peak")


def parity(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_tests", "[parity]")
    phase.run(f"{bin}/etude_gpu_tests", "[parity]", ETUDE_CUBLASLT="0")


def training(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_tests", "~[parity]")
    phase.run(f"{bin}/etude_gpu_tests", "~[parity]", ETUDE_CUBLASLT="0")
    phase.run(f"{bin}/etude_tests", "[gpu]", ETUDE_DEVICE_LIBRARY=f"{bin}/libetude_cuda.so")


def sanitizer(phase, bin, tools):
    if not shutil.which("compute-sanitizer"):
        return phase.skip("compute-sanitizer is not installed")
    for tool in tools or ["memcheck", "initcheck", "synccheck", "racecheck"]:
        # What the vendor's products do among themselves is not ours to check.
        variables = {"ETUDE_CUBLASLT": "0"} if tool == "racecheck" else {}
        phase.run("compute-sanitizer", "--tool", tool, "--error-exitcode", "1", f"{bin}/etude_gpu_tests", "[training]",
                  **variables)


def bench(phase, bin, arguments):
    results = os.path.join(RESULTS, "bench_table.json")
    os.makedirs(RESULTS, exist_ok=True)
    phase.run(sys.executable, f"{HERE}/bench/bench.py", f"{bin}/etude_bench", f"{bin}/etude_gpu_peak", "--json", results,
              *arguments, results=results, ETUDE_DEVICE_LIBRARY=f"{bin}/libetude_cuda.so", ETUDE_DEVICE="/gpu:0")


def profile(phase, bin, workloads):
    if not shutil.which("nsys"):
        return phase.skip("nsys is not installed")
    for workload in workloads or ["tiny", "mlp", "cnn", "big"]:
        phase.run("nsys", "profile", "--force-overwrite=true", "--stats=true", "-o", f"{RESULTS}/{workload}",
                  f"{bin}/etude_bench", "--steps", "500", workload,
                  ETUDE_DEVICE_LIBRARY=f"{bin}/libetude_cuda.so", ETUDE_DEVICE="/gpu:0")


PHASES = {function.__name__: function for function in (peak, parity, training, sanitizer, bench, profile)}


def main(bin, words):
    wanted = []
    for word in words:
        if word in PHASES:
            wanted.append((word, []))
        elif wanted:
            wanted[-1][1].append(word)
        else:
            raise SystemExit(f"[phases.py] phase {word!r} - expected one of {', '.join(PHASES)}\n{__doc__}")
    machine = gpus()
    print("\n".join(machine))
    passed = True
    for name, arguments in wanted or [(name, []) for name in PHASES if name != "profile"]:
        phase = Phase(name)
        PHASES[name](phase, bin, arguments)
        passed &= phase.end(machine)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
