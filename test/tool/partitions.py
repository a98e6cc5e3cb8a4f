"""Certificates of partitions: random ones, what `ashlar partition` writes, and brute force over all partitions."""
import collections
import itertools
import json
import subprocess
from pathlib import Path

from certified_divisions import ASHLAR, is_accepted, states_of

COSTS = ("launch", "forward", "backward_input", "backward_weight", "weights", "kept", "output")


def random_operators(dice, count):
    return [[dice.randint(0, 4), *(dice.randint(0, 5) for _ in range(3)), dice.randint(0, 8), dice.randint(0, 4), dice.randint(0, 9)]
            for _ in range(count)]


def random_edges(dice, count):
    likely = dice.choice([0, 0.3, 0.6, 1])
    return [[a, b] for b in range(count) for a in range(b) if dice.random() < likely and (likely < 1 or a == b - 1)]


def must_hold(folder, dice, cases):
    """Of random graphs of operators."""
    counts = collections.Counter()
    model, claims = Path(folder, "operators.json"), Path(folder, "claims.json")
    for _ in range(cases):
        count = dice.choice([3, 5, 9, 20])
        rows, edges = random_operators(dice, count), random_edges(dice, count)
        model.write_text(json.dumps({"operators": [dict(zip(COSTS, row)) for row in rows], "edges": edges}))
        options = ["-p", str(dice.randint(1, 6)), "--samples", "8", "--largest-micro-batch", dice.choice(["1", "4"])]
        options += ["--memory", f"{dice.randint(5, 60)}B"] * dice.randrange(2) + ["--bandwidth", "3"] * dice.randrange(2)
        ran = subprocess.run([ASHLAR, "partition", str(model), *options, "--certificate", str(claims)], capture_output=True, text=True)
        assert ran.returncode in (0, 1, 4) and (ran.returncode != 4 or "no certificate for " in ran.stderr), ran
        found = json.loads(claims.read_text())["certificates"]
        for one in found:
            assert is_accepted(one), (json.dumps(one), states_of(one))
            counts[one["certificate"]] += 1
            counts["with the least load"] += "least" in one
        nowhere = [one for one in found if "stages" not in one and one["certificate"] == "partition"]
        assert (len(nowhere) or "for that no partition fits" in ran.stderr) == (ran.returncode == 1), ran
        counts["that fit nowhere"] += len(nowhere)
    print("hold: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    assert min(counts["partition"], counts["with the least load"], counts["that fit nowhere"], counts["schedule"]) > cases / 20, counts


def rated(c, stages):
    """The longest that a device or a message takes, by the definitions; None: it does not fit, or is no partition."""
    of = {one: s for s, (_, _, operators) in enumerate(stages) for one in operators}
    edges = {(of[a], of[b]) for a, b in c["edges"] if of[a] != of[b]}
    order, left = [], set(range(len(stages)))
    while left:  # last stages first
        last = next((s for s in left if not any(a == s and b in left for a, b in edges)), None)
        if last is None:
            return None
        order.append(last)
        left.remove(last)
    held, longest = {}, 0
    for s in order:
        size, devices, operators = stages[s]
        held[s] = max([size, *(held[b] + max(size, stages[b][0]) for a, b in edges if a == s)])
        launch, forward, inputs, weights, always, kept = (sum(c["operators"][one][i] for one in operators) for i in range(6))
        share, count = -(-size // devices), min(-(-held[s] // size), c["samples"] // size)
        if always + count * share * kept > c.get("memory", 10**9):
            return None
        one = max(1, launch + forward * share) + max(1, launch + inputs * share) + max(1, weights * share)
        longest = max(longest, c["samples"] // size * one)
    for a, b in c["edges"]:
        if of[a] != of[b] and c.get("bandwidth"):
            longest = max(longest, -(-c["operators"][a][6] * c["samples"] // c["bandwidth"]))
    return longest


def all_partitions(c):
    """Every partition, in all sizes and devices, with its longest time."""
    count, sizes = len(c["operators"]), [2**i for i in range(20) if 2**i <= c["largest_micro_batch"] and c["samples"] % 2**i == 0]

    def cut(at, groups):
        if at == count:
            yield groups
            return
        for i in range(min(len(groups) + 1, c["devices"])):
            yield from cut(at + 1, [*groups[:i], [*groups[i], at], *groups[i + 1:]] if i < len(groups) else [*groups, [at]])

    for groups in cut(0, []):
        each = [[(size, d) for size in sizes for d in range(1, size + 1)]] * len(groups)
        for how in itertools.product(*each):
            if sum(d for _, d in how) <= c["devices"]:
                stages = [[*one, group] for one, group in zip(how, groups)]
                longest = rated(c, stages)
                if longest is not None:
                    yield longest, stages


def in_order(c, stages):
    """So that edges lead to later stages."""
    done, left, found = set(), list(stages), []
    while left:
        one = next(s for s in left if all(a in done or a in s[2] for a, b in c["edges"] if b in s[2]))
        found.append(one)
        done |= set(one[2])
        left.remove(one)
    return found


def random_partition(dice):
    count = dice.randint(1, 4)
    c = {"certificate": "partition", "schedule": "it", "operators": random_operators(dice, count), "edges": random_edges(dice, count),
         "devices": dice.randint(1, 3), "samples": dice.choice([2, 4, 6]), "largest_micro_batch": dice.choice([1, 2, 2])}
    if dice.random() < 0.6:
        c["memory"] = dice.randint(4, 40)
    if dice.random() < 0.4:
        c["bandwidth"] = dice.randint(1, 4)
    every = [*all_partitions(c)]
    if not every:
        return c
    least = min(time for time, _ in every)
    longest, stages = dice.choice([one for one in every if one[0] == least or dice.random() < 0.02])
    made = {**c, "stages": in_order(c, stages), "busiest": longest}
    return {**made, "least": max(0, least - dice.choice([0, 0, 1]))} if dice.random() < 0.9 else made


def is_true_partition(c):
    every = [time for time, _ in all_partitions(c)]
    if "stages" not in c:
        return not every
    used = sum(devices for _, devices, _ in c["stages"])
    members = sorted(one for *_, operators in c["stages"] for one in operators)
    sizes = [2**i for i in range(20) if 2**i <= c["largest_micro_batch"] and c["samples"] % 2**i == 0]
    is_right = used <= c["devices"] and members == [*range(len(c["operators"]))] and all(size in sizes for size, *_ in c["stages"])
    return is_right and rated(c, c["stages"]) == c["busiest"] and c.get("least", 0) <= min(every)
