#!/usr/bin/env python3
"""ONNX Runtime computes what Etude does; `./dev test interop` runs it.

    python onnx_models.py PROGRAM FOLDER

PROGRAM is the binary etude_onnx_models, which exports models into FOLDER, with inputs and Etude's outputs. ONNX checks
each file, and ONNX Runtime runs it. Failures are listed; the status is 1 if there are any.
"""
import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

# Ops that are refused: those of gradients, losses and random draws, and the parts of a max pooling.
REFUSED_OPS = ("ConvolutionFilter", "PoolArgMax", "PoolGather", "PoolScatter", "SoftmaxCrossentropy",
               "SparseSoftmaxCrossentropy", "Uniform", "dropout")
# Its histograms depend on the number of images.
REFUSED = ("layer ContrastLimitedAdaptiveHistogramEqualization",)
NAMES = {"named": (["age", "photo"], ["price", "risk"]), "attention": (["tokens"], None)}
TOLERANCE = 1e-5
program, folder = sys.argv[1:]
failures, checked, refused = [], 0, 0


def is_refused(name):
    if name.startswith("op PoolGather") and "of the largest" in name:
        return False  # a max pooling
    return name in REFUSED or name.startswith(tuple(f"op {op}{end}" for op in REFUSED_OPS for end in ", "))


def check(model):
    onnx.checker.check_model(model["file"], full_check=True)
    session = onnxruntime.InferenceSession(model["file"], providers=["CPUExecutionProvider"])
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(model["arrays"]) > 1:  # of several numbers of rows
        assert all(value.shape[0] == "batch" for value in inputs), "the number of rows is fixed"
    for names, values in zip(NAMES.get(model["name"], (None, None)), (inputs, outputs)):
        assert names in (None, [value.name for value in values]), f"names: {[value.name for value in values]}"
    for path in model["arrays"]:
        arrays = np.load(path)
        results = session.run(None, {value.name: arrays[f"x{i}"] for i, value in enumerate(inputs)})
        for i, result in enumerate(results):
            expected = arrays[f"y{i}"]
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), f"{result.dtype} {result.shape}"
            np.testing.assert_allclose(result.astype(float), expected.astype(float), TOLERANCE, TOLERANCE)


onnxruntime.set_default_logger_severity(3)  # no warnings of files that it can improve
for line in subprocess.run([program, folder], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    model = json.loads(line)
    if is_refused(model["name"]):
        if "error" not in model:
            failures.append(f"{model['name']}: exported, but listed as refused")
        refused += 1
        continue
    try:
        assert "error" not in model, model.get("error")
        check(model)
        checked += 1
    except Exception as error:
        failures.append(f"{model['name']}: {' '.join(str(error).split())[:300]}")

for failure in failures:
    print(failure)
print(f"ONNX Runtime {onnxruntime.__version__}: {checked} models equal, {refused} refused as expected, {len(failures)} failures")
sys.exit(bool(failures) or checked < 400)
