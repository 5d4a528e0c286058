"""Writes searches.json: recorded searches, by the rules of Determined's searchers (master/pkg/searcher/asha_stopping.go,
adaptive_asha.go) and of core/etude/experiment/search/space.cpp, in Python alone. Run from any folder."""
import bisect
import json
import math
import pathlib

MASK = 0xFFFFFFFF


def philox(key, counter):
    """Philox4x32-10."""
    k0, k1 = key & MASK, key >> 32
    c = list(counter)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


SEARCH = 4


def draw(seed, trial, place):
    bits = philox(seed, (place, trial, 0, SEARCH))
    return ((bits[0] << 32 | bits[1]) >> 11) * 2.0**-53


def sample(space, seed, trial):
    result = {}
    for place, (name, h) in enumerate(space.items()):
        u = draw(seed, trial, place)
        if h["type"] == "int":
            result[name] = int(h["minval"] + math.floor(u * (h["maxval"] - h["minval"] + 1)))
        elif h["type"] == "double":
            result[name] = h["minval"] + u * (h["maxval"] - h["minval"])
        elif h["type"] == "log":
            result[name] = float("%.11e" % 10 ** (h["minval"] + u * (h["maxval"] - h["minval"])))
        else:
            result[name] = h["vals"][int(u * len(h["vals"]))]
    return result


class Search:
    """One bracket of asha, or several of adaptive_asha."""

    def __init__(self, config, brackets):
        self.config, self.options = config, config["searcher"]
        self.brackets = [{"most": most, "initial": initial, "times": times, "rungs": [[] for _ in times]}
                         for most, initial, times in brackets]
        self.trials = []  # [bracket, rung, stopped, replaced, status]

    def create(self, bracket):
        self.trials.append([bracket, 0, False, False, 0])
        trial = len(self.trials)
        seed = philox(self.config["seed"], (MASK, trial, 0, SEARCH))[0] >> 1
        hparams = sample(self.config["hyperparameters"], self.config["seed"], trial)
        return {"kind": "create", "trial": trial, "trialSeed": seed, "hparams": hparams}

    def start(self):
        return [self.create(b) for b, bracket in enumerate(self.brackets) for _ in range(bracket["initial"])]

    def replace(self, t):
        if t[3]:
            return []
        bracket = self.brackets[t[0]]
        mine = [each for each in self.trials if each[0] == t[0]]
        invalid = sum(each[4] == 3 for each in mine)
        if len(mine) - min(invalid, bracket["most"]) >= bracket["most"]:
            return []
        t[3] = True
        return [self.create(t[0])]

    def insert(self, rung, trial, metric):
        rank = bisect.bisect_left([m for _, m in rung], metric)
        rung.insert(rank, [trial, metric])
        return rank

    def validated(self, trial, metric, time):
        t = self.trials[trial - 1]
        if t[2] or t[4]:
            return []
        value = metric if self.options.get("smaller_is_better", True) else -metric
        bracket = self.brackets[t[0]]
        while time >= bracket["times"][t[1]]:
            rung = bracket["rungs"][t[1]]
            rank = self.insert(rung, trial, value)
            if t[1] == len(bracket["rungs"]) - 1 or rank >= max(int(len(rung) / self.options["divisor"]), 1):
                t[2] = True
                return [{"kind": "stop", "trial": trial}] + self.replace(t)
            t[1] += 1
        return []

    def exited(self, trial, end):
        t = self.trials[trial - 1]
        t[4] = {"finished": 1, "failed": 2, "invalid": 3}[end]
        rungs = self.brackets[t[0]]["rungs"]
        if end == "invalid":
            for rung in rungs:
                rung[:] = [entry for entry in rung if entry[0] != trial]
        elif end == "failed" and not t[2]:
            self.insert(rungs[t[1]], trial, 1.7976931348623157e308)
        operations = self.replace(t)
        return operations if any(each[4] == 0 for each in self.trials) else operations + [{"kind": "done"}]

    def snapshot(self):
        return {"version": 1, "trials": self.trials, "brackets": [bracket["rungs"] for bracket in self.brackets]}


def record(config, brackets):
    """Trials train in turns, a step at a time; some fail, and some are invalid."""
    search, events = Search(config, brackets), []

    def call(name, *given):
        events.append({"call": [name, *given], "operations": getattr(search, name)(*given)})

    call("start")
    steps = {}
    while any(t[4] == 0 for t in search.trials):
        for trial in range(1, len(search.trials) + 1):
            t = search.trials[trial - 1]
            if t[4] != 0:
                continue
            if t[2]:
                call("exited", trial, "finished")
                continue
            steps[trial] = steps.get(trial, 0) + 1
            if trial % 7 == 0 and steps[trial] == 2:
                call("exited", trial, "failed")
            elif trial % 11 == 0 and steps[trial] == 2:
                call("exited", trial, "invalid")
            else:
                call("validated", trial, math.floor(1000 * draw(99, trial, steps[trial])) / 1000 + 1 / steps[trial], steps[trial])
    return {"config": config, "events": events, "snapshot": search.snapshot()}


# Sorted by name, because a reader of JSON may sort them, and they are drawn in their order.
SPACE = {
    "drop": {"type": "double", "minval": 0, "maxval": 0.5},
    "kind": {"type": "categorical", "vals": ["relu", ["tanh", 1], None]},
    "rate": {"type": "log", "minval": -4, "maxval": -1},
    "units": {"type": "int", "minval": 4, "maxval": 64},
}


def config_of(seed, **searcher):
    return {"searcher": {"metric": "loss", "divisor": 3, **searcher}, "hyperparameters": SPACE, "seed": seed}


RECORDS = [
    # 9 trials guarantee that one reaches the third rung.
    record(config_of(7, name="asha", max_time=9, max_trials=24, max_rungs=3), [(24, 9, [1, 3, 9])]),
    record(config_of(1, name="asha", smaller_is_better=False, max_time=9, max_trials=12, max_rungs=3, max_concurrent_trials=2), [(12, 2, [1, 3, 9])]),
    # Brackets of 3, 2 and 1 rungs: weights 9/3, 3/2 and 1; each begins as many trials as the last one has.
    record(config_of(3, name="adaptive_asha", mode="conservative", max_time=9, max_trials=22, max_rungs=3),
           [(12, 4, [1, 3, 9]), (6, 4, [3, 9]), (4, 4, [9])]),
]
path = pathlib.Path(__file__).with_name("searches.json")
path.write_text("[\n" + ",\n".join(json.dumps(each, separators=(",", ":")) for each in RECORDS) + "\n]\n")
for each in RECORDS:
    print(each["config"]["searcher"]["name"], len(each["snapshot"]["trials"]), "trials,", len(each["events"]), "events")
