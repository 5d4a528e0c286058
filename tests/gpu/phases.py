"""phases.py BIN [--budget SECONDS] [PHASE [ARG…]]…  runs phases on a GPU, with the programs in BIN; without a PHASE all but
profile, continuity, workers and ranges:

  peak                  the peak rates of the GPU: products, copies, launches, graphs
  parity                every op: GPU against processor, with the vendor's libraries and with Étude's kernels only
  training              whole models: equal to the processor, recorded like queued, replicas on one GPU and on several
  sanitizer [TOOL…]     compute-sanitizer on whole models: memcheck, initcheck, synccheck, racecheck, with equal times
  bench [ARG…]          the workloads compared with PyTorch and JAX; ARG: arguments of bench.py
  profile [WORKLOAD…]   the time of a step, kernel by kernel; with ncu too, if installed
  continuity            trainings that move between the processor and the GPU have the losses of one that stays
  workers               several processes that train one model, all on one GPU
  ranges                the profiler's trace, and its ranges in ncu

A phase ends within ten minutes; with --budget all phases of the call end within SECONDS. It prints a summary
line at its end and writes PHASE.json into the folder ETUDE_RESULTS (build/gpu-results). Exits with 1 if one of
them failed. Before the first phase the vendor's libraries are loaded: without cuBLASLt nothing runs, unless
ETUDE_CUBLASLT=0."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.environ.get("ETUDE_RESULTS", "build/gpu-results")
OURS = {"ETUDE_CUBLASLT": "0", "ETUDE_CUDNN": "0"}  # Étude's kernels only
LIMIT = 570  # seconds of a phase, at most
LEAST = 5  # seconds that a command needs at least
KEPT_LINES = 40
PASSED, LEFT_OUT, SKIPPED = "passed", "left out: no time", "skipped: "
OPTIONAL = ("profile", "continuity", "workers", "ranges")
METRICS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
           "dram__throughput.avg.pct_of_peak_sustained_elapsed", "sm__throughput.avg.pct_of_peak_sustained_elapsed")


def output_of(*command):
    """The output of a short command. If it fails, this program ends with its message."""
    name = os.path.basename(command[0])
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemExit(f"[phases.py] {name}: {error} - expected a working program - run this on a machine with a GPU and its driver.")
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip()
        raise SystemExit(f"[phases.py] {name} ended with {ended.returncode} - expected 0 - read its output:\n{said}")
    return ended.stdout.strip()


def machine_of(bin):
    query = "--query-gpu=name,driver_version,memory.total,clocks.max.sm"
    gpus = output_of("nvidia-smi", query, "--format=csv,noheader").splitlines()
    libraries = json.loads(output_of(f"{bin}/etude_gpu_peak", "--libraries").splitlines()[-1])["libraries"]
    return {"gpus": gpus, "libraries": libraries}


def read_json(path):
    """The value in the file, or None without a file."""
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return json.load(file)


class Phase:
    """Runs commands one after the other, until the time of the phase is over."""

    def __init__(self, name, seconds):
        self.name, self.runs, self.began, self.seconds = name, [], time.monotonic(), seconds

    def left(self):
        return self.seconds - (time.monotonic() - self.began)

    def run(self, *command, until=None, results=None, keeps=KEPT_LINES, **variables):
        """`until`: a limit in seconds, besides the time of the phase. `results`: a JSON file
        that the command writes; by default its results are the last line of JSON that it prints. `keeps`: the number
        of its last lines that are kept."""
        shown = " ".join([f"{name}={value}" for name, value in variables.items()] + [os.path.basename(command[0]), *command[1:]])
        left = min(self.left(), until or self.seconds)
        if left < LEAST:
            return self.note(shown, LEFT_OUT)
        print("»", shown, flush=True)
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env={**os.environ, **variables}, start_new_session=True)
        stopped = threading.Event()

        def stop():
            stopped.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(left, stop)
        timer.start()
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines = [*lines, line.rstrip()][-keeps:]
        code = process.wait()
        timer.cancel()
        ended = f"stopped after {left:.0f} s" if stopped.is_set() else PASSED if code == 0 else f"ended with {code}"
        run = {"command": shown, "seconds": round(time.monotonic() - began, 1), "ended": ended, "last_lines": lines}
        found = read_json(results) if results else [line for line in lines if line.startswith("{")][-1:]
        if found:
            run["results"] = found if results else json.loads(found[0])
        self.runs.append(run)
        return ended

    def expect(self, what, holds):
        return self.note(what, PASSED if holds else "does not hold")

    def note(self, command, ended):
        print(f"{ended}: {command}" if command else ended, flush=True)
        self.runs.append({"command": command, "seconds": 0, "ended": ended, "last_lines": []})
        return ended

    def skip(self, why):
        return self.note("", SKIPPED + why)

    def end(self, machine):
        ends = [run["ended"] for run in self.runs]
        passed, left_out = ends.count(PASSED), ends.count(LEFT_OUT)
        skipped = sum(ended.startswith(SKIPPED) for ended in ends)
        failed = [run for run in self.runs if run["ended"] not in (PASSED, LEFT_OUT) and not run["ended"].startswith(SKIPPED)]
        seconds = round(time.monotonic() - self.began, 1)
        os.makedirs(RESULTS, exist_ok=True)
        with open(os.path.join(RESULTS, self.name + ".json"), "w") as file:
            json.dump({"phase": self.name, **machine, "seconds": seconds, "runs": self.runs}, file, indent=1)
        print(f"{self.name}: {passed} passed, {len(failed)} failed, {skipped} skipped, {left_out} left out, {seconds} s on "
              f"{machine['gpus'][0].split(',')[0]}", flush=True)
        for run in failed:
            print(f"  failed: {run['command']}: {run['ended']}")
        return not failed


def peak(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_peak")


def parity(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_tests", "[parity]")
    phase.run(f"{bin}/etude_gpu_tests", "[parity]", **OURS)


def training(phase, bin, _):
    phase.run(f"{bin}/etude_gpu_tests", "~[parity]")
    phase.run(f"{bin}/etude_gpu_tests", "~[parity]", **OURS)
    phase.run(f"{bin}/etude_tests", "[gpu]", ETUDE_DEVICE_LIBRARY=f"{bin}/libetude_cuda.so")


def sanitizer(phase, bin, tools):
    """Runs each test in its own process: findings are kept, and tests without time are listed."""
    if not shutil.which("compute-sanitizer"):
        return phase.skip("compute-sanitizer is not installed")
    tests = output_of(f"{bin}/etude_gpu_tests", "--list-tests", "--verbosity", "quiet", "[training]").splitlines()
    tools = tools or ["memcheck", "initcheck", "synccheck", "racecheck"]
    for index, tool in enumerate(tools):
        ends = time.monotonic() + phase.left() / (len(tools) - index)
        # Races within the vendor's kernels are not Étude's.
        variables = OURS if tool == "racecheck" else {}
        for test in tests:
            seconds = ends - time.monotonic()
            command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", f"{bin}/etude_gpu_tests", f'"{test.strip()}"']
            if seconds < LEAST:
                phase.note(" ".join(command[:3] + command[-1:]), LEFT_OUT)
            else:
                phase.run(*command, until=seconds, **variables)


def bench(phase, bin, arguments):
    results = os.path.join(RESULTS, "bench_table.json")
    os.makedirs(RESULTS, exist_ok=True)
    if os.path.exists(results):
        os.remove(results)  # from an earlier call
    compiled = os.path.join(tempfile.gettempdir(), "etude-inductor")  # shared by all PyTorch runs, and by the next call
    phase.run(sys.executable, f"{HERE}/bench/bench.py", f"{bin}/etude_bench", f"{bin}/etude_gpu_peak", "--json", results,
              "--budget", str(round(max(1, phase.left() - 50))), "--rounds", "1", *arguments, results=results,
              ETUDE_DEVICE_LIBRARY=f"{bin}/libetude_cuda.so", ETUDE_DEVICE="/gpu:0", TORCHINDUCTOR_CACHE_DIR=compiled)


def profile(phase, bin, workloads):
    """First Étude's profile of all workloads; then ncu, which repeats each kernel several times, for a step or two."""
    workloads = workloads or ["big", "cnn", "mlp", "tiny", "cnn2", "attn", "lstm"]
    variables = {"ETUDE_DEVICE_LIBRARY": f"{bin}/libetude_cuda.so", "ETUDE_DEVICE": "/gpu:0", "ETUDE_PROFILE": "1"}
    for workload in workloads:
        phase.run(f"{bin}/etude_bench", "--steps", "200", workload, until=60, keeps=400, **variables)
    if not shutil.which("ncu"):
        return phase.skip("ncu is not installed")
    for workload in workloads:
        phase.run("ncu", "--clock-control", "none", "--csv", "--metrics", ",".join(METRICS), "--launch-skip", "200",
                  "--launch-count", "40", f"{bin}/etude_bench", "--steps", "40", workload, until=60, keeps=400, **variables)


def on_gpu(bin):
    return {"ETUDE_DEVICE_LIBRARY": f"{bin}/libetude_cuda.so", "ETUDE_DEVICE": "/gpu:0"}


def continuity(phase, bin, _):
    cpu, gpu = {"ETUDE_DEVICE": "/cpu:0"}, on_gpu(bin)
    with tempfile.TemporaryDirectory() as folder:
        def losses(*parts):
            """The losses of the last part. A part: the device, and the arguments of the program."""
            for device, *words in parts:
                phase.run(f"{bin}/etude_continuity", *words, **device)
            return phase.runs[-1].get("results", {}).get("loss", [])

        def expect_losses(of, moved, expected):
            if any(run["ended"] == LEFT_OUT for run in phase.runs):
                return phase.note(of, LEFT_OUT)
            phase.expect(f"{of}: the last losses {moved} of {expected}", moved and are_close(moved, expected[-len(moved):]))

        for saved in ("model", "model.keras"):
            stays, moves = f"{folder}/stays-{saved}", f"{folder}/moves-{saved}"
            expected = losses((cpu, "train", stays, "0", "4"))
            moved = losses((cpu, "train", moves, "0", "1"), (gpu, "train", moves, "1", "3"), (cpu, "train", moves, "3", "4"))
            expect_losses(saved, moved, expected)
        expected = losses((cpu, "resume", f"{folder}/stays"))
        moved = losses((gpu, "resume", f"{folder}/moves", "7"), (cpu, "resume", f"{folder}/moves", "6"),
                       (gpu, "resume", f"{folder}/moves"))
        expect_losses("backup", moved, expected)


def are_close(a, b):
    return len(a) == len(b) > 0 and all(abs(one - other) <= 1e-5 for one, other in zip(a, b))


def workers(phase, bin, _):
    """Each process is a child of the test, so all of them use one GPU."""
    program = f"{bin}/etude_gloo_tests"
    if not os.path.exists(program):
        return phase.skip("etude_gloo_tests is not in the bundle")
    libraries = {"LD_LIBRARY_PATH": f"{bin}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    for tests in ("multi-worker: fit\\, evaluate*", "multi-worker: Adam*", "packs: gradients*", "multi-worker: logs*",
                  "multi-worker: a function*", "multi-worker: gather*", "multi-worker: fit ends*"):
        phase.run(program, tests, **on_gpu(bin), **libraries)


def ranges(phase, bin, _):
    tests = "profiler: instructions are within*,profiler: only steps*,profiler: training has*"
    phase.run(f"{bin}/etude_tests", tests, **on_gpu(bin))
    if not shutil.which("ncu"):
        return phase.skip("ncu is not installed")
    ended = phase.run("ncu", "--clock-control", "none", "--nvtx", "--metrics", "gpu__time_duration.sum", "--launch-count", "40",
                      f"{bin}/etude_tests", "profiler: only steps*", keeps=2000, **on_gpu(bin))
    if ended == LEFT_OUT:
        return
    # Each launch is printed with its stack of ranges: a line <DEPTH,NAME> for each.
    found = {line.strip() for line in phase.runs[-1]["last_lines"]}
    missing = {"<0,epoch>", "<1,step>", "<2,run>", "<3,Gemm>"} - found
    phase.expect(f"ranges in ncu; missing: {sorted(missing)}", not missing)


PHASES = {function.__name__: function for function in (peak, parity, training, sanitizer, bench, profile, continuity, workers, ranges)}


def main(bin, words):
    budget = None
    if words[:1] == ["--budget"]:
        budget, words = float(words[1]), words[2:]
    ends = time.monotonic() + (budget or 0)
    wanted = []
    for word in words:
        if word in PHASES:
            wanted.append((word, []))
        elif wanted:
            wanted[-1][1].append(word)
        else:
            raise SystemExit(f"[phases.py] phase {word!r} - expected one of {', '.join(PHASES)} - read the list below.\n{__doc__}")
    machine = machine_of(bin)
    print("\n".join(machine["gpus"]))
    for library, path in machine["libraries"].items():
        print(f"{library}: {path}")
    passed = True
    for name, arguments in wanted or [(name, []) for name in PHASES if name not in OPTIONAL]:
        phase = Phase(name, min(LIMIT, ends - time.monotonic()) if budget else LIMIT)
        PHASES[name](phase, bin, arguments)
        passed &= phase.end(machine)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
