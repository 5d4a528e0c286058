#!/usr/bin/env python3
"""Compares the configs of Etude and of Keras in both directions; `./dev test interop` runs it.

    python keras_configs.py PROGRAM

PROGRAM is the binary etude_configs. Of every class that Keras has, Keras creates an object from Etude's JSON, and Etude
an object from the JSON of that one, with the same options as the first. Failures are listed; the status is 1 if there
are any.
"""
import json
import os
import subprocess
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras

MODULES = {"layer": keras.layers, "loss": keras.losses, "metric": keras.metrics, "optimizer": keras.optimizers,
           "schedule": keras.optimizers.schedules, "initializer": keras.initializers,
           "regularizer": keras.regularizers, "constraint": keras.constraints}
program = sys.argv[1]
failures = []


def run(action, requests=()):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    return [json.loads(line) for line in subprocess.run([program, action], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()]


def check_classes():
    missing, requests = [], []
    for line in run("write"):
        kind, ours = line["kind"], line["json"]
        if not hasattr(MODULES[kind], ours["class_name"]):
            missing.append(ours["class_name"])
            continue
        try:
            theirs = keras.saving.serialize_keras_object(keras.saving.deserialize_keras_object(json.loads(json.dumps(ours))))
        except Exception as error:
            failures.append(f"Keras reads {kind} {line['class_name']}: {type(error).__name__} {str(error).splitlines()[-1][:300]}")
            continue
        requests.append(({"kind": kind, "json": theirs}, ours))
    for (request, ours), answer in zip(requests, run("read", [request for request, _ in requests])):
        name = f"{request['kind']} {ours['class_name']}"
        if "error" in answer:
            failures.append(f"Etude reads {name}: {answer['error']}")
        elif answer["json"] != ours:
            old, new = ours["config"], answer["json"]["config"]
            failures.append(f"{name} changed: " + ", ".join(f"{key} {old.get(key)} -> {new.get(key)}" for key in old if old.get(key) != new.get(key)))
    print(f"{len(requests)} classes; Keras lacks {', '.join(missing)}")


check_classes()
print(f"Keras {keras.__version__}: {len(failures)} failures")
print("\n".join(failures))
sys.exit(bool(failures))
