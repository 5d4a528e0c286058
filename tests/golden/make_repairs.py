#!/usr/bin/env python3
"""Makes keras2.json, keras3.json and conformance/keras3.json: results of Keras that tests cite.

Run by hand, never by CI, once under each Keras, from any folder; each run writes the files of its own version:

    python3.11 -m venv keras2 && keras2/bin/pip install 'tensorflow-cpu==2.12.*' 'numpy<1.24' && keras2/bin/python make_repairs.py
    python3.11 -m venv keras3 && keras3/bin/pip install 'keras==3.15.*' 'jax[cpu]' && keras3/bin/python make_repairs.py

A case of both versions has the same name in both files. A case is in one file only if the other version lacks the feature, or does not matter:
tests name the version that Étude follows, and note where it follows neither.
Models are small and their weights constant, so no random number is drawn. Numbers are those of float32, written in full.
"""
import json
import os
import platform

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

MAJOR = int(keras.__version__.split(".")[0])
ops = keras.ops if MAJOR == 3 else keras.backend
layers, SGD = keras.layers, keras.optimizers.SGD
CASES, CONFORMANCE = {}, []


def case(name, *majors):
    """Runs a function that returns the content of a case, if it is one of these versions of Keras."""
    def add(function):
        if MAJOR in (majors or (2, 3)):
            CASES[name] = function()
    return add


def conformance(family, target, config, inputs, expect):
    """Adds a case of that family, in the form that README.md describes; "expect" has its value within 1e-6."""
    number = sum(test["family"] == family and test["target"] == target for test in CONFORMANCE)
    CONFORMANCE.append({"id": f"{family}/{target}/keras{MAJOR}-{number}", "family": family, "target": target, "config": config, "inputs": inputs,
                        "expect": {**expect, "atol": 1e-6, "rtol": 1e-6} if "value" in expect else expect, "origin": "run", "checked": False,
                        "source": {"repo": "keras-team/keras", "version": keras.__version__, "file": "tests/golden/make_repairs.py"}})


def plain(value):
    """The value as JSON can hold it; NaN as text."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    value = np.asarray(value).tolist()
    return "nan" if value != value else plain(value) if isinstance(value, list) else value


def array(values, dtype="float32"):
    return np.array(values, dtype)


def described(value):
    value = np.asarray(value)
    return {"dtype": str(value.dtype), "shape": list(value.shape), "value": value.tolist()}


def pairs(logs):
    """In the order of the logs."""
    return [[name, value] for name, value in logs.items()]


def error_of(action):
    try:
        action()
    except Exception as error:  # the case records the kind of the error
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return {"kind": type(error).__name__, "text": lines[-1 if lines[0] == "in user code:" else 0]}
    return None


def unit(kernel="ones", **options):
    return layers.Dense(1, use_bias=False, kernel_initializer=kernel, **options)


def sequential(inputs, *stack, **compiled):
    model = keras.Sequential([keras.Input(inputs), *stack])
    model.compile(**{"optimizer": SGD(0.0), "loss": "mse", **compiled})
    return model


def mean_square(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred))


def mean_distance(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred))


X, ZEROS, WEIGHTS = array([[1], [2], [4], [8]]), array([[0]] * 4), array([1, 2, 3, 6])


class Recorder(keras.callbacks.Callback):
    """Hooks, each with its index and the names in its logs: "epoch_end 0: loss,val_loss"."""

    def __init__(self):
        super().__init__()
        self.events = []

    def __getattribute__(self, name):
        if name.startswith("on_") and not name.endswith(("_implemented", "_batch_hooks")):
            def hook(*given, logs=None):
                index = [str(each) for each in given if isinstance(each, (int, np.integer))]
                found = logs or next((each for each in given if isinstance(each, dict)), {})
                text = " ".join([name[3:].removeprefix("train_") if "batch" in name else name[3:], *index])
                self.events.append(text + (": " + ",".join(found) if found else ""))
            return hook
        return super().__getattribute__(name)


# Added losses


class Eight(layers.Layer):
    def call(self, x):
        self.add_loss(ops.cast(8, "float32") if MAJOR == 3 else ops.constant(8.0))
        return x


class Own(keras.Model):
    """x -> x, with 8 added to the loss by each call of `eight`, in a step that `step` writes."""

    def __init__(self, step, calls=1):
        super().__init__()
        self.unit, self.eight, self.step, self.calls = unit(), Eight(), step, calls

    def call(self, x):
        y = self.unit(x)
        for _ in range(self.calls):
            y = self.eight(y)
        return y


def loss_of_step(model, step=lambda model, x: model(x)):
    """The loss of outputs of 2 for targets of 0; without added losses it is 4."""
    twos, zeros = array([[2]] * 4), array([[0]] * 4)
    model.compile(optimizer=SGD(0.0), loss="mse")
    model(twos)
    if MAJOR == 3:  # the step that test_step writes, op by op
        return model.compute_loss(twos, zeros, step(model, twos))
    type(model).test_step = lambda self, data: {"loss": self.compute_loss(data[0], data[1], step(self, data[0]))}
    return model.test_on_batch(twos, zeros, return_dict=True)["loss"]


def functional(inner):
    class Described(keras.Model):  # a separate class, for its custom step
        pass
    x = keras.Input((1,))
    return Described(x, inner(inner(unit()(x))))


def own(step, calls=1):
    class Fresh(Own):
        pass
    return loss_of_step(Fresh(step, calls), step)


@case("added losses")
def _():
    def twice(model, x):
        model(x)
        return model(x)

    def layer_before(model, x):
        model.eight(x)
        return model(x)

    def layer_after(model, x):
        y = model(x)
        model.eight(x)
        return y

    def other_model(model, x):
        y = model(x)
        other(x)
        return y

    once = lambda model, x: model(x)
    other = Own(once)
    inner = keras.Sequential([keras.Input((1,)), Eight()])
    regularized = unit(kernel_regularizer=keras.regularizers.L1(0.5))
    wrapped = lambda layer: type("Wrapped", (keras.Sequential,), {})([keras.Input((1,)), layer])
    return {
        "model once": own(once), "model twice": own(twice), "layer twice": own(once, 2), "layer twice, model twice": own(twice, 2),
        "described layer twice": loss_of_step(functional(Eight())), "described model twice": loss_of_step(functional(inner)),
        "layer before the model": own(layer_before), "layer after the model": own(layer_after), "another model": own(other_model),
        "regularized, model twice": loss_of_step(wrapped(regularized), twice),
    }


@case("loss added by a step", 3)
def _():
    def after(model, x):
        y = model(x)
        model.add_loss(ops.cast(100, "float32"))
        return y

    def before(model, x):
        model.add_loss(ops.cast(100, "float32"))
        return model(x)
    return {"after the model": own(after), "before the model": own(before)}


@case("activity regularizer")
def _():
    loss = lambda rows: sequential((2,), unit(activity_regularizer=keras.regularizers.L1(0.5))).test_on_batch(np.ones((rows, 2)), np.full((rows, 1), 2.0))
    return {"l1": 0.5, "losses": [[rows, loss(rows)] for rows in (1, 4, 5)]}


# Losses, metrics and targets for some of several outputs


def a_and_b(**compiled):
    x = keras.Input((1,), name="x")
    model = keras.Model(x, [unit(keras.initializers.Constant(k), name=name)(x) for k, name in ((1, "a"), (2, "b"))])
    model.compile(**{"optimizer": SGD(0.0), "loss": "mse", **compiled})
    return model


def logs_of(y=(ZEROS, ZEROS), sample_weight=None, x=X, **compiled):
    y = list(y) if isinstance(y, tuple) else y
    return pairs(a_and_b(**compiled).test_on_batch(x, y, sample_weight=sample_weight, return_dict=True))


@case("several outputs", 2)
def _():
    def difference(y_true, y_pred):
        return ops.mean(y_pred - y_true, -1)

    only_b, loss_b, w = {"b": ZEROS}, {"b": "mse"}, WEIGHTS
    metric = lambda: keras.metrics.MeanAbsoluteError(name="m")
    options = [keras.metrics.BinaryAccuracy(name="large", threshold=0.7), keras.metrics.RootMeanSquaredError(name="root"), difference]
    ones = np.ones((4, 1), "float32")
    return {
        "one metric object": logs_of(metrics=[metric()]),
        "copies of metrics": logs_of((ones, ones), x=ones / 2, metrics=options),
        "a metric by name": logs_of(metrics={"b": "mae"}),
        "lists by name": logs_of(metrics={"a": [], "b": ["mae", "mse"]}),
        "null and a list": logs_of(metrics=[None, ["mae"]]),
        "a list and a name": logs_of(metrics=[["mae"], "mse"]),
        "null and a name": logs_of(metrics=[None, "mae"]),
        "one for all": logs_of(metrics=["mae"]),
        "loss of b, y of b": logs_of(only_b, loss=loss_b),
        "losses as a list with null, y of b": logs_of(only_b, loss=[None, "mse"]),
        "loss of a, y of b": logs_of(only_b, loss={"a": "mse"}),
        "loss of b, y of both": logs_of(loss=loss_b),
        "y of b": logs_of(only_b),
        "loss of b, y of b, metrics of all": logs_of(only_b, loss=loss_b, metrics=["mae"]),
        "y of b, metrics of all": logs_of(only_b, metrics=["mae"]),
        "loss of b, y of b, weights of b": logs_of(only_b, {"b": w}, loss=loss_b),
        "loss of b, y and weights of b, weighted metrics of all": logs_of(only_b, {"b": w}, loss=loss_b, weighted_metrics=["mae"]),
        "loss of b, y of b, weights of a, weighted metrics of all": logs_of(only_b, {"a": w}, loss=loss_b, weighted_metrics=["mae"]),
        "weighted metric of the same name": logs_of({"a": ZEROS, "b": ZEROS}, {"a": w, "b": w}, metrics={"a": "mae"}, weighted_metrics={"a": "mae", "b": "mae"}),
    }


@case("several outputs, refused", 2)
def _():
    m = keras.metrics.MeanAbsoluteError(name="m")
    return {"given for each": error_of(lambda: logs_of(metrics=[[m], [m]])), "given by name": error_of(lambda: logs_of(metrics={"a": m, "b": m})),
            "given as weighted, too": error_of(lambda: logs_of(metrics=[m], weighted_metrics=[m]))}


@case("fit on some outputs", 2)
def _():
    y, model = {"b": ZEROS}, a_and_b(loss={"b": "mse"})
    return {"validated": model.fit(X, y, verbose=0, validation_data=(X, y)).history,
            "split": model.fit(X, y, batch_size=1, verbose=0, validation_split=0.5).history}


@case("lists of metrics, one output", 2)
def _():
    return pairs(sequential((1,), unit(), metrics=[["mae"], "mse"]).test_on_batch(X, ZEROS, return_dict=True))


@case("weighted metrics beside metrics", 2)
def _():
    logs = lambda weighted: pairs(sequential((1,), unit(), metrics=["mae"], weighted_metrics=weighted).test_on_batch(X, ZEROS, sample_weight=WEIGHTS, return_dict=True))
    return {"once": logs(["mae"]), "twice": error_of(lambda: logs(["mae", "mae"]))}


# Weights


def value_of(metric, *given):
    metric.update_state(*given)
    return metric.result()


def ignore_class():
    """With and without weights; Keras 2 gives the same with weights alone."""
    steps, scores = [[0, 1], [2, 1]], [[[.8, .1, .1], [.05, .95, 0]], [[.1, .8, .1], [.2, .3, .5]]]
    given = [([0, 1, 2], [[.8, .1, .1], [.05, .95, 0], [.1, .8, .1]], [.5, 1.5, 2]), (steps, scores, [[.5, 2], [1, 3]])]
    for y, p, w in given:
        for more in ({"sample_weight": w}, {}):
            value = value_of(keras.metrics.SparseCategoricalCrossentropy(ignore_class=0), array(y, "int32"), array(p), *(array(each) for each in more.values()))
            conformance("metric", "SparseCategoricalCrossentropy", {"ignore_class": 0}, {"updates": [{"y_true": y, "y_pred": p, **more}]}, {"value": value})


@case("a loss of one number")
def _():
    model = lambda: sequential((1,), unit(), optimizer=SGD(0.01), loss=mean_square)
    on_batch = lambda w=None: model().test_on_batch(X, ZEROS, sample_weight=w)
    evaluate = lambda rows: model().evaluate(X, ZEROS, batch_size=rows, sample_weight=WEIGHTS, verbose=0)

    def trained(**how):
        one = model()
        return [one.train_on_batch(X, ZEROS, **how), one.get_weights()[0].item()]
    return {"unweighted": on_batch(), "weighted": on_batch(WEIGHTS), "weights in a column": on_batch(WEIGHTS.reshape(4, 1)), "evaluate by 2": evaluate(2),
            "evaluate by 3": evaluate(3), "class_weight 2": trained(class_weight={0: 2.0}), "trained, weighted": trained(sample_weight=WEIGHTS)}


@case("reductions of one number", 3)
def _():
    class One(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return mean_square(y_true, y_pred)
    return {str(reduction).lower(): {"weighted": np.sum(One(reduction=reduction)(ZEROS, X, WEIGHTS)), "unweighted": One(reduction=reduction)(ZEROS, X)}
            for reduction in ("sum", "sum_over_batch_size", "mean", "mean_with_sample_weight", None)}


@case("a weighted metric of one number", 2)
def _():
    def distance(y_true, y_pred):
        return mean_distance(y_true, y_pred)

    model = lambda: sequential((1,), unit(), metrics=[distance], weighted_metrics=[mean_distance])
    evaluate = lambda rows: pairs(model().evaluate(X, ZEROS, batch_size=rows, sample_weight=WEIGHTS, verbose=0, return_dict=True))
    return {"on a batch": pairs(model().test_on_batch(X, ZEROS, sample_weight=WEIGHTS, return_dict=True)), "by 2": evaluate(2), "by 3": evaluate(3)}


@case("names resolved by shapes", 2)
def _():
    def third(y_true, y_pred):
        return ops.mean(y_pred, -1)

    scores = array([[.2, .3, .5], [.6, .3, .1]])
    given = [(array([[0], [1]]), array([[.2], [.9]])), (array([[2], [1]], "int32"), scores), (array([2, 1], "int32"), scores),
             (array([[0, 0, 1], [0, 1, 0]]), scores)]
    names = ["Accuracy", "ACC", "crossentropy", "ce", "CE"]
    return [{"y_true": described(y), "y_pred": described(p), "metrics": names,
             "logs": pairs(sequential(p.shape[1:], layers.Activation("linear"), loss=third, metrics=names).test_on_batch(p, y, return_dict=True))} for y, p in given]


@case("names resolved by shapes, weighted", 2)
def _():
    model = sequential((1,), layers.Activation("linear"), metrics=["Accuracy", "crossentropy", "ce"], weighted_metrics=["ce"])
    return pairs(model.test_on_batch(array([[.2], [.9]]), array([[0], [1]]), return_dict=True))


# Integers and booleans


@case("integers to layers")
def _():
    made = {"Dense": (lambda: layers.Dense(2), (2, 3)), "Conv2D": (lambda: layers.Conv2D(2, 2), (2, 4, 4, 3)), "MaxPooling2D": (layers.MaxPooling2D, (2, 4, 4, 3)),
            "GlobalAveragePooling1D": (layers.GlobalAveragePooling1D, (2, 4, 3)), "LSTM": (lambda: layers.LSTM(2), (2, 4, 3)),
            "GRU": (lambda: layers.GRU(2), (2, 4, 3)), "SimpleRNN": (lambda: layers.SimpleRNN(2), (2, 4, 3)), "BatchNormalization": (layers.BatchNormalization, (2, 3)),
            "LayerNormalization": (layers.LayerNormalization, (2, 3)), "Activation": (lambda: layers.Activation("tanh"), (2, 3)),
            "Dropout": (lambda: layers.Dropout(0.5), (2, 3)), "GaussianNoise": (lambda: layers.GaussianNoise(1.0), (2, 3)),
            "Rescaling": (lambda: layers.Rescaling(0.5), (2, 3)), "Flatten": (layers.Flatten, (2, 3))}

    def of(make, shape, dtype):
        layer, x = make(), (np.arange(np.prod(shape)) % (2 if dtype == "bool" else 3)).reshape(shape)
        try:
            y, floats = np.asarray(layer(x.astype(dtype))), np.asarray(layer(x.astype("float32")))
        except Exception as error:
            return type(error).__name__
        return str(y.dtype) if np.allclose(y, floats, 1e-5, 1e-6) else f"{y.dtype}, other numbers"
    return {name: {dtype: of(*how, dtype) for dtype in ("uint8", "int32", "bool")} for name, how in made.items()}


@case("bytes added up")
def _():
    return {dtype: unit()(array([[200, 100]], dtype)) for dtype in ("uint8", "int32", "bool")}


@case("integers merged", 3)
def _():
    whole, small, floats = array([[1, 2]], "int32"), array([[200, 100]], "uint8"), array([[.5, .25]])
    given = [("Add", (whole, floats)), ("Add", (floats, small)), ("Add", (whole, whole)), ("Add", (small, small)), ("Concatenate", (small, whole)),
             ("Concatenate", (small, floats)), ("Concatenate", (small, small))]
    return [{"layer": name, "inputs": [described(each) for each in inputs], **described(getattr(layers, name)()(list(inputs)))} for name, inputs in given]


# Empty arrays


@case("computed of nothing", 3)
def _():
    k, empty, integers = keras.ops, lambda *shape: np.zeros(shape, "float32"), np.zeros((0,), "int32")
    named = {
        "sum [2, 0] over 1": k.sum(empty(2, 0), 1), "sum [0, 3] over 0": k.sum(empty(0, 3), 0), "sum [0, 3] over 1": k.sum(empty(0, 3), 1),
        "sum [2, 0, 3] over 1": k.sum(empty(2, 0, 3), 1), "sum [2, 0]": k.sum(empty(2, 0)), "mean [2, 0] over 1": k.mean(empty(2, 0), 1),
        "mean [0, 3] over 0": k.mean(empty(0, 3), 0), "mean [0, 3] over 1": k.mean(empty(0, 3), 1), "max [0, 3] over 1": k.max(empty(0, 3), 1),
        "softmax [2, 0]": k.softmax(empty(2, 0)), "matmul [2, 0] [0, 2]": k.matmul(empty(2, 0), empty(0, 2)),
        "matmul [3, 2, 0] [3, 0, 2]": k.matmul(empty(3, 2, 0), empty(3, 0, 2)), "concatenate [0, 3] twice": k.concatenate([empty(0, 3)] * 2, 0),
        "broadcast [1] to [0]": k.broadcast_to(np.zeros(1, "float32"), (0,)), "one_hot [0] of 3": k.one_hot(integers, 3),
        "segment_sum [0, 2] to 3": k.segment_sum(empty(0, 2), integers, 3),
        "segment_sum [4, 2] to 0": k.segment_sum(np.ones((4, 2), "float32"), np.zeros(4, "int32"), 0),
        "relu of matmul [2, 0] [0, 2] + 1": k.relu(k.matmul(empty(2, 0), empty(0, 2)) + 1),
        "max_pool [0, 4, 4, 1] by 2": k.max_pool(empty(0, 4, 4, 1), 2, 1, "valid", "channels_last"),
    }
    return {"values": {name: described(value) for name, value in named.items()},
            "refused": {"max [2, 0] over 1": error_of(lambda: k.max(empty(2, 0), 1)), "argmax [2, 0]": error_of(lambda: k.argmax(empty(2, 0), 1)),
                        "take of [0, 3]": error_of(lambda: k.take(empty(0, 3), array([0, 2], "int32"), 0))}}


@case("normalization of nothing")
def _():
    shape_of = lambda layer, shape: list(layer(np.zeros(shape, "float32")).shape)
    return [{"shape": list(shape), "BatchNormalization": shape_of(layers.BatchNormalization(), shape), "LayerNormalization": shape_of(layers.LayerNormalization(), shape)}
            for shape in ((2, 0, 4), (2, 4, 0), (0, 3))]


CLASSES = ("BinaryCrossentropy", "CategoricalCrossentropy", "CosineSimilarity", "Huber", "KLDivergence", "MeanAbsoluteError", "MeanSquaredError", "Poisson")


@case("losses of empty batches", 2)
def _():
    return {name: getattr(keras.losses, name)()(np.zeros((0, 3), "float32"), np.zeros((0, 3), "float32")) for name in CLASSES}


@case("metrics of empty batches")
def _():
    names = [name for name in CLASSES if hasattr(keras.metrics, name)] + ["BinaryAccuracy", "CategoricalAccuracy", "RootMeanSquaredError"]
    return {name: value_of(getattr(keras.metrics, name)(), np.zeros((0, 3), "float32"), np.zeros((0, 3), "float32")) for name in names}


# Loops


ROWS, LABELS = np.sin(np.arange(1, 31) * 1.7).reshape(10, 3).astype("float32"), array([[i % 2] for i in range(10)])


def batches(count):
    """Each of 5 rows once."""
    for i in range(count):
        yield ROWS[i % 2 * 5:][:5], LABELS[i % 2 * 5:][:5]


def recorded(x, y=None, **how):
    model, recorder = sequential((3,), unit(), optimizer=SGD(0.1)), Recorder()
    history = model.fit(x, y, verbose=0, callbacks=[recorder], **how)
    return {"epoch": history.epoch, "history": history.history, "events": recorder.events, "iterations": model.optimizer.iterations}


@case("validation data that comes once", 2)
def _():
    return {"exhausted": recorded(ROWS, LABELS, epochs=4, validation_data=batches(2)),
            "by steps": recorded(ROWS, LABELS, epochs=4, validation_data=batches(3), validation_steps=2)}


@case("an epoch without a batch", 2)
def _():
    return recorded(batches(6), epochs=5, steps_per_epoch=3, validation_data=(ROWS, LABELS))


@case("outputs of executions")
def _():
    def seen(steps_per_execution):
        class Look(keras.callbacks.Callback):
            outputs = []

            def on_predict_batch_end(self, batch, logs=None):
                self.outputs.append(np.concatenate([np.asarray(each) for each in logs["outputs"]] if isinstance(logs["outputs"], list) else [np.asarray(logs["outputs"])]).ravel())
        look = Look()
        sequential((1,), unit(), steps_per_execution=steps_per_execution).predict(array([[0], [1], [2], [3], [4]]), batch_size=2, verbose=0, callbacks=[look])
        return look.outputs
    return {"by 1": seen(1), "by 2": seen(2)}


@case("frozen")
def _():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(3), layers.Dense(1)])
    model.trainable, model.layers[1].trainable = False, True
    return {"model": len(model.trainable_variables), "all": len(model.non_trainable_variables), "its layer": len(model.layers[1].trainable_variables)}


@case("frozen by its own flag", 2)
def _():
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3)])
    inner._trainable = False
    model = keras.Sequential([keras.Input((3,)), inner, layers.Dense(1)])
    return {"inner": len(inner.trainable_variables), "model": len(model.trainable_variables)}


# Callbacks


@case("directions", 3)
def _():
    """For each class with a direction, under the names of its first and second object in a model."""
    needed = {"IoU": (2, [0]), "MeanIoU": (2,), "OneHotIoU": (2, [0]), "OneHotMeanIoU": (2,), "PrecisionAtRecall": (0.5,), "RecallAtPrecision": (0.5,),
              "SensitivityAtSpecificity": (0.5,), "SpecificityAtSensitivity": (0.5,)}
    found = {}
    for name in sorted(dir(keras.metrics)):
        if not (isinstance(given := getattr(keras.metrics, name), type) and issubclass(given, keras.metrics.Metric)) or given is keras.metrics.Metric:
            continue
        keras.utils.clear_session()
        for metric in [given(*needed.get(name, ())) for _ in range(2) if not name.startswith("Mean") or "I" in name or "E" in name]:
            if hasattr(metric, "_direction"):
                found[metric.name] = metric._direction
    return found


@case("directions of names", 2)
def _():
    of = lambda callback: "up" if callback.monitor_op is np.greater else "down"
    return {name: {"EarlyStopping": of(keras.callbacks.EarlyStopping(name)), "ModelCheckpoint": of(keras.callbacks.ModelCheckpoint("file", monitor=name))}
            for name in ("acc", "myacc", "prc_auc", "fmeasure_macro", "val_accuracy", "loss")}


@case("rates of a schedule", 3)
def _():
    def of(callback):
        rate, recorder = keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.9), Recorder()
        model = sequential((3,), unit(), optimizer=SGD(rate))
        error = error_of(lambda: model.fit(ROWS, LABELS, epochs=4, verbose=0, callbacks=[recorder, callback]))
        return {"error": error, "last_event": recorder.events[-1]}
    return {"LearningRateScheduler": of(keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.1)),
            "ReduceLROnPlateau": of(keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1, min_delta=10))}


# Constant


def constants():
    for value, shape in (([1, 2, 3], (2, 3)), ([[4], [5]], (2, 2, 2)), ([[1, 2], [3, 4]], (2, 2)), (0.5, (2, 1))):
        made = keras.initializers.Constant(value if isinstance(value, float) else array(value))
        conformance("initializer", "Constant", {"value": value}, {"shape": shape}, {"value": made(shape, "float32")})
    kernel, bias, x = [[1, 2], [3, 4], [5, 6]], [7, 8], [[1, 1, 1]]
    of = lambda value: keras.initializers.Constant(array(value))
    described = lambda value: {"class": "Constant", "config": {"value": value}}
    conformance("layer", "Dense", {"units": 2, "kernel_initializer": described(kernel), "bias_initializer": described(bias)}, {"calls": [{"args": [x]}]},
                {"value": layers.Dense(2, kernel_initializer=of(kernel), bias_initializer=of(bias))(array(x))})


@case("Constant of an array", 3)
def _():
    made = lambda value, shape: keras.initializers.Constant(array(value))(shape, "float32")
    return {"refused": error_of(lambda: made([1, 2, 3], (3, 2))), "shape of [2, 3] for [3]": made([[0] * 3] * 2, (3,)).shape,
            "config of a list": keras.initializers.Constant([1, 2, 3]).get_config(),
            "config of an array": keras.saving.serialize_keras_object(keras.initializers.Constant(array([[1, 2, 3]])))["config"]}


def write(name, text):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "w") as file:
        file.write(text + "\n")
    print(path)


def main():
    if MAJOR == 2:
        import tensorflow
        by = f"TensorFlow {tensorflow.__version__}"
    else:
        import jax
        by = f"JAX {jax.__version__}"
        ignore_class()
        constants()
        write("conformance/keras3.json", "[\n" + ",\n".join(json.dumps(plain(test), separators=(",", ":")) for test in CONFORMANCE) + "\n]")
    origin = f"tests/golden/make_repairs.py: Keras {keras.__version__} with {by}, NumPy {np.__version__}, Python {platform.python_version()}, float32 on a CPU."
    cases = ",\n".join(f"    {json.dumps(name)}: {json.dumps(plain(content))}" for name, content in CASES.items())
    write(f"keras{MAJOR}.json", f'{{\n  "origin": {json.dumps(origin)},\n  "cases": {{\n{cases}\n  }}\n}}')


if __name__ == "__main__":
    main()
