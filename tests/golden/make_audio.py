#!/usr/bin/env python3
"""Makes conformance/audio.json: results of Keras 3 for spectrograms.

Run by hand, never by CI, from any folder:

    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' scipy && keras3/bin/python make_audio.py
"""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

draws = np.random.default_rng(23)
CASES = []


def layer(target, config, x):
    """Keras computes the weights of mel bins in float32."""
    y = np.asarray(getattr(keras.layers, target)(**config)(x), dtype="float64")
    number = sum(test["target"] == target for test in CASES)
    CASES.append({
        "id": f"layer/{target}/keras3-{number}", "family": "layer", "target": target, "config": config, "inputs": {"calls": [{"args": [x.tolist()]}]},
        "expect": {"value": y.round(6).tolist(), "atol": (1e-4 if target == "MelSpectrogram" else 2e-5) * max(1, float(np.abs(y).max())), "rtol": 1e-5}, "origin": "run", "checked": True,
        "source": {"repo": "keras-team/keras", "version": keras.__version__, "file": "tests/golden/make_audio.py"}})


sound = draws.standard_normal((2, 25, 2)).round(2).astype("float32")
for mode in ("log", "magnitude", "psd", "real", "imag", "stft"):
    layer("STFTSpectrogram", {"mode": mode, "frame_length": 8}, sound)
short = {"mode": "psd", "frame_length": 6, "frame_step": 5}
for config in ({}, {"padding": "same"}, {"expand_dims": True}, {"window": None, "scaling": None}, {"window": "hamming", "periodic": True, "scaling": "spectrum"}, {"fft_length": 16}):
    layer("STFTSpectrogram", {**short, **config}, sound)
for expand in (False, True):
    layer("STFTSpectrogram", {**short, "data_format": "channels_first", "expand_dims": expand}, sound.transpose(0, 2, 1).copy())

# One sound at a time: Keras compares decibels with the largest of a batch.
sound = draws.standard_normal((1, 90)).round(2).astype("float32")
few = {"fft_length": 16, "sequence_stride": 7, "sampling_rate": 100, "num_mel_bins": 5, "min_freq": 1.0}
for config in ({}, {"power_to_db": False}, {"top_db": 3.0, "ref_power": 4.0}, {"sequence_length": 11, "window": "hamming"}, {"window": None, "mag_exp": 1.0, "power_to_db": False}, {"max_freq": 30.0, "min_power": 0.5}):
    layer("MelSpectrogram", {**few, **config}, sound)
layer("MelSpectrogram", few, sound[0])
layer("MelSpectrogram", {"fft_length": 256, "sequence_stride": 128, "num_mel_bins": 12}, draws.standard_normal((1, 600)).round(2).astype("float32"))
# Frames whose parts at the lowest and at the highest frequency are positive: for negative ones the sign of a rounding error
# would decide between pi and -pi.
swing = np.where(np.arange(24) % 2 == 0, 0.6, -0.6)[None, :, None]
sound = (draws.random((2, 24, 2)) * 0.8 + 0.8 + swing).round(2).astype("float32")
for config in ({}, {"expand_dims": True, "window": "hamming", "scaling": None}):
    layer("STFTSpectrogram", {"mode": "angle", "frame_length": 8, "frame_step": 2, **config}, sound)

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance/audio.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(test) for test in CASES) + "\n]\n")
