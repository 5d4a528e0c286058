"""Tests the scripts of tests/gpu without a GPU: fake programs on PATH replace those of the GPU."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PEAK = {"gpu": "H100", "libraries": {"cuBLASLt": "/wheels/libcublasLt.so.13"}, "float32_gflops": 50000,
        "tf32_gflops": 400000, "bfloat16_gflops": 800000, "gbytes_per_s": 3000, "launch_us": 5.0, "kernel_us": 1.5,
        "graphs": [{"nodes": 65, "instantiate_ms": 0.5, "upload_ms": 0.1, "launch_us": 90.0, "bytes_per_node": 900}]}
PARAMETERS = 1234

STUB = '''#!{python}
import json, os, sys, time
words = sys.argv[1:]
with open(os.environ["STUB_LOG"], "a") as log:
    log.write(json.dumps([os.path.basename(sys.argv[0]), words, {{name: value for name, value in os.environ.items()
                          if name.startswith(("ETUDE", "TORCHINDUCTOR", "LD_LIBRARY"))}}]) + "\\n")
'''
PROGRAMS = {
    "nvidia-smi": 'print("NVIDIA H100, 580.1, 81559 MiB, 1980 MHz")',
    "compute-sanitizer": 'print("========= ERROR SUMMARY: 0 errors")\nsys.exit("racecheck" in words and "second, of two" in words[-1])',
    "ncu": 'print("\\"ID\\",\\"gemm\\"" if "--csv" in words else "  <0,epoch>\\n  <1,step>\\n  <2,run>\\n  <3,Gemm>")',
    "etude_gpu_tests": 'print("first\\nsecond, of two" if "--list-tests" in words else "All tests passed")',
    "etude_tests": 'print("All tests passed")',
    "etude_gloo_tests": 'print("All tests passed")',
    "etude_continuity": '''
first = int(words[2]) if words[0] == "train" else 0
print(json.dumps({"batches": 1, "loss": [0.1 * (9 - epoch) for epoch in range(first, 4)]}) if len(words) != 3 else "{}")''',
    "etude_gpu_peak": f'''
if os.environ.get("NO_CUBLASLT") and os.environ.get("ETUDE_CUBLASLT") != "0":
    sys.exit("[etude_gpu_peak] no cuBLASLt - expected the vendor's products - install it, or set ETUDE_CUBLASLT=0.")
print(json.dumps({PEAK!r}))''',
    "etude_bench": f'''
time.sleep(float(os.environ.get("SLOW", "0")))
print("  share    calls         us    us each  kernel", file=sys.stderr)
print(json.dumps({{"step_ms": 0.5, "parameters": {PARAMETERS}, "losses": {{"8": 2.0, "256": 0.5}}}}))''',
}
PEER = f'''
import json, os, sys
if os.environ.get("BROKEN_PEER") in sys.argv[1:] or os.environ.get("BROKEN_PEER") == os.path.basename(sys.argv[0]):
    sys.exit("out of memory")
print(json.dumps({{"step_ms": 1.0, "parameters": {PARAMETERS}, "losses": {{"8": 2.0, "256": float(os.environ.get("PEER_LOSS", "0.5"))}}}}))
'''


class Harness(unittest.TestCase):
    """A copy of the harness, as gpu-bundle packs it, whose peers are stubs; programs that log their calls."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root, self.path = os.path.join(scratch.name, "bundle"), os.path.join(scratch.name, "path")
        shutil.copytree(os.path.join(ROOT, "tests", "gpu"), os.path.join(self.root, "tests", "gpu"))
        os.makedirs(os.path.join(self.root, "tests", "bench"))
        shutil.copy(os.path.join(ROOT, "tests", "bench", "workloads.json"), os.path.join(self.root, "tests", "bench"))
        self.results = os.path.join(scratch.name, "results")
        self.log = os.path.join(scratch.name, "log")
        for name, body in PROGRAMS.items():
            self.program(os.path.join(self.root, "bin") if name.startswith("etude") else self.path, name, body)
        modules = os.path.join(scratch.name, "modules")
        for module in ("torch", "jax"):
            self.write(os.path.join(modules, module + ".py"), "")
            self.write(os.path.join(self.root, "tests", "gpu", "bench", {"torch": "pytorch", "jax": "jax"}[module] + "_gpu.py"), PEER)
        self.environment = {**{name: value for name, value in os.environ.items() if not name.startswith("ETUDE")},
                            "PATH": f"{self.path}:/usr/bin:/bin", "STUB_LOG": self.log, "ETUDE_RESULTS": self.results,
                            "PYTHONPATH": modules, "ETUDE_PYTHON": sys.executable}

    @staticmethod
    def write(path, text, mode=0o644):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def program(self, folder, name, body):
        self.write(os.path.join(folder, name), STUB.format(python=sys.executable) + body + "\n", 0o755)

    def run_phases(self, *words, **variables):
        return subprocess.run([os.path.join(self.root, "tests", "gpu", "run.sh"), *words], capture_output=True, text=True,
                              env={**self.environment, **variables}, timeout=300)

    def calls(self, name):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [call[1:] for call in map(json.loads, file) if call[0] == name]

    def read(self, phase):
        with open(os.path.join(self.results, phase + ".json")) as file:
            return json.load(file)

    def report(self):
        return subprocess.run([sys.executable, os.path.join(self.root, "tests", "gpu", "results.py"), self.results],
                              capture_output=True, text=True, check=True).stdout

    def test_every_python_file_compiles(self):
        for folder, _, names in os.walk(os.path.join(ROOT, "tests", "gpu")):
            for name in names:
                if name.endswith(".py"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        compile(file.read(), name, "exec")

    def test_without_a_phase_the_default_phases_run_and_leave_their_results(self):
        ended = self.run_phases()
        self.assertEqual(ended.returncode, 1, ended.stderr)  # racecheck has a finding
        self.assertEqual(sorted(name for name in os.listdir(self.results)),
                         ["bench.json", "bench_table.json", "parity.json", "peak.json", "sanitizer.json", "training.json"])
        for phase in ("peak", "parity", "training", "bench"):
            self.assertIn(f"{phase}: ", ended.stdout)
            self.assertEqual({run["ended"] for run in self.read(phase)["runs"]}, {"passed"}, phase)
            self.assertEqual(self.read(phase)["libraries"], PEAK["libraries"])
            self.assertEqual(self.read(phase)["gpus"], ["NVIDIA H100, 580.1, 81559 MiB, 1980 MHz"])
        self.assertIn("cuBLASLt: /wheels/libcublasLt.so.13", ended.stdout)
        self.assertIn("sanitizer: 7 passed, 1 failed, 0 skipped, 0 left out", ended.stdout)
        self.assertEqual(self.read("peak")["runs"][0]["results"], PEAK)
        vendors = [(variables.get("ETUDE_CUBLASLT"), variables.get("ETUDE_CUDNN"))
                   for words, variables in self.calls("etude_gpu_tests") if words == ["[parity]"]]
        self.assertEqual(vendors, [(None, None), ("0", "0")])

    def test_moves_workers_and_ranges_run_on_the_gpu_if_they_are_asked_for(self):
        ended = self.run_phases("continuity", "workers", "ranges")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("continuity: 15 passed, 0 failed", ended.stdout)
        self.assertIn("workers: 7 passed, 0 failed", ended.stdout)
        self.assertIn("ranges: 3 passed, 0 failed", ended.stdout)
        devices = [(words[0], variables["ETUDE_DEVICE"]) for words, variables in self.calls("etude_continuity")]
        self.assertEqual(devices.count(("train", "/gpu:0")), 2)
        self.assertEqual(devices.count(("resume", "/gpu:0")), 2)
        self.assertEqual({variables["ETUDE_DEVICE"] for _, variables in self.calls("etude_gloo_tests")}, {"/gpu:0"})

    def test_losses_that_a_move_changes_are_a_failure(self):
        body = PROGRAMS["etude_continuity"].replace("0.1 *", "(0.1 if os.environ['ETUDE_DEVICE'] == '/cpu:0' else 0.2) *")
        self.program(os.path.join(self.root, "bin"), "etude_continuity", body)
        ended = self.run_phases("continuity")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("failed: backup: the last losses", ended.stdout)

    def test_without_cublaslt_no_phase_runs_unless_it_is_disabled(self):
        ended = self.run_phases("parity", NO_CUBLASLT="1")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no cuBLASLt", ended.stderr)
        self.assertEqual(self.calls("etude_gpu_tests"), [])
        self.assertEqual(self.run_phases("parity", NO_CUBLASLT="1", ETUDE_CUBLASLT="0").returncode, 0)

    def test_a_machine_without_a_gpu_is_an_error(self):
        os.remove(os.path.join(self.path, "nvidia-smi"))
        ended = self.run_phases("peak", PATH=f"{self.path}:/bin:/usr/bin")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("[phases.py] nvidia-smi", ended.stderr)

    def test_an_unknown_phase_and_an_unknown_workload_are_errors(self):
        self.assertIn("[phases.py] phase 'speed' - expected one of peak, parity", self.run_phases("speed").stderr)
        self.assertIn("[bench.py] workload 'huge' - expected one of", self.run_phases("bench", "huge").stdout)

    def test_the_wheels_of_the_python_come_first(self):
        purelib = os.path.join(os.path.dirname(self.path), "packages")
        os.makedirs(os.path.join(purelib, "nvidia", "cu13", "lib"))
        self.program(self.path, "python", f'''
if "sysconfig" in words[-1]:
    print({purelib!r})
else:
    os.execv({sys.executable!r}, [{sys.executable!r}, *words])''')
        self.run_phases("peak", ETUDE_PYTHON=os.path.join(self.path, "python"), LD_LIBRARY_PATH="/before")
        folders = self.calls("etude_gpu_peak")[0][1]["LD_LIBRARY_PATH"].split(":")
        self.assertEqual(folders[:2], [os.path.join(purelib, "nvidia", "cu13", "lib"), "/before"])

    def test_a_sanitizer_checks_test_by_test_memcheck_first_racecheck_without_the_vendor(self):
        self.run_phases("sanitizer")
        calls = self.calls("compute-sanitizer")
        self.assertEqual([words[1] for words, _ in calls],
                         [tool for tool in ("memcheck", "initcheck", "synccheck", "racecheck") for _ in range(2)])
        self.assertEqual([words[-1] for words, _ in calls[:2]], ['"first"', '"second, of two"'])
        for library in ("ETUDE_CUBLASLT", "ETUDE_CUDNN"):
            self.assertEqual({variables.get(library) for words, variables in calls if words[1] == "racecheck"}, {"0"})
            self.assertEqual({variables.get(library) for words, variables in calls if words[1] != "racecheck"}, {None})

    def test_sanitizer_runs_without_time_are_listed_by_name(self):
        self.program(self.path, "compute-sanitizer", "time.sleep(2)")
        ended = self.run_phases("--budget", "12", "sanitizer", "memcheck", "racecheck")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        runs = [(run["command"].split("--tool ")[1].split()[0], run["command"].split('"')[1], run["ended"])
                for run in self.read("sanitizer")["runs"]]
        self.assertEqual(runs[:3], [("memcheck", "first", "passed"), ("memcheck", "second, of two", "left out: no time"),
                                    ("racecheck", "first", "passed")])

    def test_a_command_that_hangs_is_stopped_and_fails_the_phase(self):
        self.program(os.path.join(self.root, "bin"), "etude_gpu_tests", "time.sleep(60)")
        ended = self.run_phases("--budget", "7", "parity")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual([run["ended"][:8] for run in self.read("parity")["runs"]], ["stopped ", "left out"])

    def test_the_benchmark_runs_important_workloads_first_with_one_folder_for_compiled_code(self):
        self.run_phases("bench")
        results = self.read("bench")["runs"][0]["results"]
        self.assertEqual([row["workload"] for row in results["table"]],
                         ["tiny", "mlp", "cnn", "big", "big", "cnn2", "attn", "gpt", "gpt", "resnet20", "mobile", "lstm", "gru"])
        self.assertEqual(results["left_out"], [])
        row = results["table"][0]
        self.assertEqual(set(row["targets"]), {"étude", "pytorch eager", "pytorch compiled", "pytorch graph", "jax jit"})
        self.assertEqual(row["targets"]["jax jit"]["step_ms"], 1.0)
        self.assertNotIn("jax jit", results["table"][-1]["targets"])  # its script has no GRU
        folders = {variables["TORCHINDUCTOR_CACHE_DIR"] for _, variables in self.calls("etude_bench")}
        self.assertEqual(len(folders), 1)
        self.assertTrue(all(variables["ETUDE_DEVICE"] == "/gpu:0" for _, variables in self.calls("etude_bench")))

    def test_the_benchmark_runs_only_the_peers_that_are_named(self):
        self.run_phases("bench", "--peer", "pytorch graph", "--peer", "jax jit", "tiny")
        row = self.read("bench")["runs"][0]["results"]["table"][0]
        self.assertEqual(set(row["targets"]), {"étude", "pytorch graph", "jax jit"})

    def test_the_benchmark_lists_runs_without_time(self):
        ended = self.run_phases("bench", "--budget", "9", SLOW="1")
        results = self.read("bench")["runs"][0]["results"]
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("step_ms", results["table"][0]["targets"]["étude"])
        self.assertIn("lstm, float32: jax jit", results["left_out"])
        self.assertIn("did not fit into 9 s: lstm, float32: étude", ended.stdout)
        self.assertIn("No time for: ", self.report())

    def test_a_peer_that_fails_or_has_another_loss_fails_the_benchmark(self):
        ended = self.run_phases("bench", "tiny", BROKEN_PEER="jax_gpu.py")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("failed: out of memory", ended.stdout)
        self.assertIn("tiny: jax jit failed", ended.stdout)
        ended = self.run_phases("bench", "tiny", PEER_LOSS="0.6")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("tiny: mean loss after 256 steps: 0.5 of étude, 0.6 of pytorch eager", ended.stdout)

    def test_a_profile_has_the_table_of_étude_and_that_of_ncu_if_installed(self):
        ended = self.run_phases("profile", "big", "tiny")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertEqual([words[-1] for words, _ in self.calls("etude_bench")], ["big", "tiny"])
        self.assertTrue(all(variables["ETUDE_PROFILE"] == "1" for _, variables in self.calls("etude_bench")))
        self.assertEqual([words[:2] for words, _ in self.calls("ncu")], [["--clock-control", "none"]] * 2)
        self.assertIn("  share    calls", self.report())
        os.remove(os.path.join(self.path, "ncu"))
        self.assertIn("skipped: ncu is not installed", self.run_phases("profile", "big").stdout)

    def test_results_become_markdown(self):
        self.run_phases("--budget", "120", "peak", "parity", "bench")
        report = self.report()
        self.assertIn("- NVIDIA H100, 580.1, 81559 MiB, 1980 MHz", report)
        self.assertIn("- cuBLASLt: `/wheels/libcublasLt.so.13`", report)
        self.assertIn("| 50.0 TFLOP/s | 400.0 TFLOP/s | 800.0 TFLOP/s | 3000 GB/s | 5.0 us | 1.5 us |", report)
        self.assertIn("| 65 | 0.5 ms | 0.1 ms | 90.0 us | 900 |", report)
        self.assertIn("| tiny, float32 | ", report)
        self.assertIn(" 0.5 | 1 (2.00×) | 1 (2.00×) | 1 (2.00×) | 1 (2.00×) |", report)
        self.assertIn("| `etude_gpu_tests [parity]` | passed |", report)


if __name__ == "__main__":
    unittest.main()
