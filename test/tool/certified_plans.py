#!/usr/bin/env python3
"""Certificates of partitions, of trade-offs and of plans: what the tool writes holds, and no wrong one is accepted.

usage: certified_plans.py ASHLAR PYTHON_FOLDER [CASES [SEED]]

* Random graphs of operators, and runs of several models and clusters have certificates that hold, or the tool says that they have none.
* CASES random certificates (2000), most of which claim too much or have a random change. Where the verifier accepts one, every
  partition is tried, with all sizes and devices; steps, costs and layouts are computed from their definitions, and the schedules of
  steps are judged as in `certificates.py`.
"""
import collections
import copy
import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import certificates
import partitions
from certified_divisions import ASHLAR, changed, is_accepted, states_of

PLANS = [
    "--model 8B --sequence 4096 --cluster 2x8xH100 --batch 64",
    "--model 70B --sequence 4096 --cluster 8x8xH100 --batch 128 --fix tensor=8,pipeline=4,sharding=optimizer",
    "--model 70B --sequence 4096 --cluster 8x8xH100 --batch 128 --fix tensor=8,pipeline=4,chunks=1 --schedules 1f1b",
    "--model 8B --sequence 4096 --cluster 2x8xH100 --batch 64 --objective cost",
    "--model 70B --sequence 4096 --cluster 2xH100 --batch 64",
]
TRADEOFFS = []
"""Certificates of small studies, by the tool."""


def written(line, folder):
    """The certificates of a command, and how it ended."""
    claims = Path(folder, "claims.json")
    claims.unlink(missing_ok=True)
    ran = subprocess.run([ASHLAR, *line.split(), "--certificate", str(claims)], capture_output=True, text=True)
    assert (ran.returncode == 4) == ("no certificate for " in ran.stderr) or ran.returncode == 1, (line, ran)
    return ran, json.loads(claims.read_text())["certificates"]


def find_tradeoffs(folder, dice, cases):
    model, cluster = Path(folder, "model.json"), Path(folder, "cluster.json")
    for _ in range(cases):
        p = dice.choice([1, 2, 2])
        times = {"forward": dice.randint(1, 4), "backward": dice.randint(2, 7), "transfer": dice.randint(0, 2), "reduction": dice.randint(0, 5)}
        model.write_text(json.dumps({"layers": 4, **times, "micro_batch": dice.randint(1, 3), "critical_batch": dice.choice([3, 20, 100])}))
        names = dice.sample(["gpipe", "1f1b", "zb-h1", "breadth-first", "v-half"], 2)
        study = {"pipeline": p, "loops": [1, 2], "micro_batches": [2, 3], "devices": [p, 4 * p, 40 * p], "schedules": names}
        cluster.write_text(json.dumps({**study, "blocking": names[:dice.randrange(2)]}))
        for one in written(f"tradeoff --model {model} --cluster {cluster}", folder)[1]:
            assert is_accepted(one) and is_true_tradeoff(one), (json.dumps(one), states_of(one))
            TRADEOFFS.extend([one] * (len(one["points"]) > 0))
    print(f"{len(TRADEOFFS)} certificates of trade-offs hold")
    assert len(TRADEOFFS) > cases, TRADEOFFS
    for one in TRADEOFFS:  # the last claim is about the trade-off itself, and needs those of all schedules
        for unargued in range(1, len(one["schedules"]) + 1):
            spoiled = copy.deepcopy(one)
            for of in spoiled["schedules"][:unargued]:
                of["makespan_bound"] = 1
            assert states_of(spoiled)[-1] == "open", json.dumps(spoiled)


def step_of(c, ticks, blocks):
    """The step of a schedule with sums of these ticks; and what comes behind the last pass of any schedule."""
    ready, ends = collections.defaultdict(dict), [0]
    for d, (tokens, starts) in enumerate(zip(c["orders"], c["starts"])):
        for token, start in zip(tokens, starts):
            letter = next(one for one in token if one.isalpha())
            stage, k = map(int, token.split(letter))
            ends.append(start + certificates.length_of(c, letter, stage, k, d))
            if letter in "BW":
                ready[d][stage] = max(ready[d].get(stage, 0), ends[-1])
    step, most = max(ends), max(map(len, ready.values()), default=0)
    for of in ready.values():
        now = max(ends) if blocks else 0
        for at in sorted(of.values()):
            now = max(now, at) + ticks
        step = max(step, now)
    return step, ticks * most if blocks else ticks * (most > 0)


def is_true_tradeoff(c):
    each = []
    for point, of in zip(c["points"], c["schedules"], strict=True):
        certificates.refute_schedule(of)
        stages, m, p = len(of["placement"][0]), point["micro_batches"], len(of["orders"])
        layers, stop = Fraction(c["layers"] * m, stages * len(of["route"])), c["transfer"] * point["blocks"]
        for row in of["costs"]["per_stage"]:
            both = row["backward_input"] + row["backward_weight"]
            if (row["forward"], both) != (layers * c["forward"] + stop, layers * c["backward"] + stop):
                return False
        step, behind = step_of(of, c["layers"] // stages * c["reduction"], point["blocks"])
        known = [least for one in of["bounds"] if (least := certificates.least_of(of, one)) is not None]
        least = min(known, default=of["makespan"]) + behind
        if point["step"] != step or point.get("least", 0) > least or of["costs"]["transfer"] != c["transfer"] - stop:
            return False
        used = Fraction((c["forward"] + c["backward"]) * c["layers"] * m, p * step)
        each.append((Fraction(c["samples"] * m, p) / c["critical_batch"], used))
    for n, at in c["best"]:
        costs = [(1 + batch * n) / used for batch, used in each]
        if at < 0 or n < 1 or costs[at] > min(costs):
            return False
    return True


def changed_tradeoff(c, dice):
    """A step, a bound, the best point; or any number."""
    if dice.random() < 0.4:
        return changed(c, dice, ("forward", "backward", "transfer", "reduction", "samples", "critical_batch", "layers"))
    c = copy.deepcopy(c)
    point = dice.choice(c["points"])
    if dice.random() < 0.3:
        of = dice.choice(c["best"])
        of[dice.randrange(2)] = dice.randrange(len(c["points"]) + 1)
    else:
        key = dice.choice([key for key in ("step", "least", "micro_batches") if key in point])
        point[key] += dice.choice([-1, 1, 1, 2])
    if dice.random() < 0.2:
        point["blocks"] = not point["blocks"]
    return c


def time_of(row):
    own = sum(row["micro_batches"] * ticks for of in row["passes"] for ticks in of) + row["fill"] + row["rest"]
    return row.get("simulated", own)


def random_row(dice):
    passes = [[dice.randint(0, 9), dice.randint(0, 9)] for _ in range(dice.randint(1, 2))]
    of = {"layout": "it", "micro_batches": dice.randint(1, 4), "passes": passes, "fill": dice.randint(0, 9), "rest": dice.randint(0, 9),
          "bytes": dice.randint(0, 20)}
    return {**of, "simulated": time_of(of) + dice.randint(0, 5)} if dice.random() < 0.2 else of


def random_plan(dice):
    rows = [random_row(dice) for _ in range(dice.randint(0, 6))]
    c = {"certificate": "plan", "schedule": "it", "room": dice.randint(5, 20), "layouts": rows}
    fitting = [one for one in rows if one["bytes"] <= c["room"]]
    if not fitting:
        return c
    first = min(fitting, key=time_of)
    return {**c, "first": copy.deepcopy(first), "nanoseconds": time_of(first), "least": max(0, time_of(first) - dice.choice([0, 0, 1]))}


def is_true_plan(c):
    times = [time_of(one) for one in c["layouts"] if one["bytes"] <= c["room"]]
    if "first" not in c:
        return not times
    is_first = c["first"]["bytes"] <= c["room"] and time_of(c["first"]) == c["nanoseconds"]
    return is_first and all(c["least"] <= time for time in times)


def must_hold_of_plans(folder):
    counts = collections.Counter()
    for options in PLANS:
        ran, found = written(f"plan {options}", folder)
        for one in found:
            assert is_accepted(one), (options, states_of(one))
            counts[one["certificate"]] += 1
            if one["certificate"] == "plan":
                assert is_true_plan(one), options
                tried = int(ran.stdout.split(" layouts were tried")[0].split()[-1])
                assert len(one["layouts"]) >= tried, (options, len(one["layouts"]), tried)
                counts["layouts"] += tried
        counts["refused"] += ran.stderr.count("no certificate for ")
        assert found or "no certificate for " in ran.stderr, (options, ran)
    print("plans: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    assert counts["plan"] >= 3 and counts["division"] >= 1 and counts["refused"] >= 1, counts


KINDS = {
    "partition": (
        partitions.random_partition,
        partitions.is_true_partition,
        lambda c, dice: changed(c, dice, ("least", "busiest", "memory")),
    ),
    "tradeoff": (lambda dice: dice.choice(TRADEOFFS), is_true_tradeoff, changed_tradeoff),
    "plan": (random_plan, is_true_plan, lambda c, dice: changed(c, dice, ("least", "nanoseconds", "room"))),
}


def must_refute(dice, cases):
    counts = collections.Counter()
    for _ in range(cases):
        kind = dice.choice([*KINDS])
        made_by, is_true, change = KINDS[kind]
        made, is_own = made_by(dice), dice.random() < 0.3
        made = made if is_own else change(made, dice)
        accepted = is_accepted(made)
        try:
            true = is_true(made)
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, certificates.Refuted):
            true = False
        assert not (accepted and not true), json.dumps(made)
        assert accepted or not is_own, (json.dumps(made), states_of(made))
        counts[f"{kind}s {'accepted' if accepted else 'refused, though true' if true else 'refused, and wrong'}"] += 1
    print(f"{cases} certificates: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    assert min(counts[f"{kind}s refused, and wrong"] for kind in KINDS) > cases / len(KINDS) / 6, counts


def main():
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    dice = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 17)
    with tempfile.TemporaryDirectory() as folder:
        partitions.must_hold(folder, dice, 60)
        find_tradeoffs(folder, dice, 12)
        must_hold_of_plans(folder)
    must_refute(dice, cases)


if __name__ == "__main__":
    main()
