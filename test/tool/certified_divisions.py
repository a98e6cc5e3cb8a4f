#!/usr/bin/env python3
"""Certificates of divisions and of deals: what `ashlar layout` and `ashlar deal` write holds, and no wrong one is accepted.

usage: certified_divisions.py ASHLAR PYTHON_FOLDER [CASES [SEED]]

* Runs of several models, sizes and clusters have certificates that hold, with the time that is printed, or the tool says that it has none.
* CASES random certificates (2000) of few parts or samples, half of which claim too much or have a random change. Where the verifier
  accepts one, every division, or every deal, is tried.
"""
import collections
import copy
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ASHLAR = sys.argv[1]
sys.path.insert(0, sys.argv[2])

from ashlar_verify import claims_of  # noqa: E402

LAYOUTS = [
    "--model 8B --sequence 4096 --cluster 2x8xH100 --batch 64 --pipeline 4",
    "--model 8B --sequence 4096 --cluster 2x8xH100 --batch 64 --pipeline 8 --tensor 2 --sharding optimizer",
    "--model llama3-70b --cluster 8x8xH100 --sequence 8192 --batch 128 --tensor 8 --pipeline 8 --sharding optimizer",
    "--model llama3.1-405b --cluster 128x8xH100 --sequence 8192 --batch 512 --tensor 8 --pipeline 16 --sharding optimizer",
    "--model deepseek-v3 --cluster 128x8xH100 --sequence 4096 --batch 8192 --tensor 2 --pipeline 16 --expert 64 --sharding optimizer "
    "--recompute full",
    "--model deepseek-v3 --cluster 128x8xH100 --sequence 4096 --batch 8192 --tensor 2 --pipeline 16 --chunks 2 --expert 64 "
    "--sharding optimizer --recompute full",
]
DEALS = ["-m 4", "-m 3 --causal 30", "-m 5 --causal 30,46 --tokens 4096 --forward 20ms --backward-input 26ms --backward-weight 14ms",
         "-m 4 --max-tokens 20000 --forward 3 --backward-input 4"]


def states_of(certificate):
    return [claim.state for claim in claims_of({"ashlar_certificates": 1, "certificates": [certificate]})]


def is_accepted(certificate):
    return set(states_of(certificate)) == {"shown"}


def written(line, folder):
    """What the tool prints, and its certificates."""
    file = Path(folder, "claims.json")
    ran = subprocess.run([ASHLAR, *line.split(), "--certificate", str(file)], capture_output=True, text=True)
    assert ran.returncode == (4 if "no certificate for " in ran.stderr else 0), (line, ran)
    return ran.stdout, json.loads(file.read_text())["certificates"]


def must_hold(folder):
    counts = collections.Counter()
    for options in LAYOUTS:
        said, certificates = written(f"layout {options}", folder)
        assert len(certificates) == ("--chunks" not in options), options
        for one in certificates:
            assert is_accepted(one), (options, states_of(one))
            json_said = json.loads(written(f"layout {options} --as json", folder)[0])
            assert abs(json_said["step_seconds"] - one["nanoseconds"] * 1e-9) < 1e-6 * json_said["step_seconds"], options
            assert "no division is faster" in said and one["nanoseconds"] - one["least"] == len(one["ends"]) + 1
        counts["divisions"] += len(certificates)
    dice = random.Random(5)
    file = Path(folder, "lengths.txt")
    for options in DEALS:
        file.write_text("".join(f"{dice.randint(100, 4000)}\n" for _ in range(24)))
        said, (one,) = written(f"deal {file} {options}", folder)
        assert is_accepted(one), (options, [str(claim) for claim in claims_of(one)])
        gap = float(re.search(r"gap (\S+) %", said)[1])
        assert abs(gap - 100 * (one["longest"] / one["least"] - 1)) < 0.02, (said, one["longest"], one["least"])
        counts["deals"] += 1
    print(f"{counts['divisions']} certificates of divisions and {counts['deals']} of deals hold")


def time_of(c, ends):
    """The step of a division; None if it does not fit."""
    pieces = {tuple(one[:2]): one[2:] for one in c["pieces"]}
    own = [pieces[piece] for piece in zip([0, *ends], ends)]
    if any(resident + held * kept > c["room"] for (_, _, resident, kept), held in zip(own, c["in_flight"])):
        return None
    return max(one[0] for one in own) + sum(one[1] for one in own)


def all_times(c):
    """By the ends of the stages, of divisions that fit."""
    parts, stages = c["parts"], len(c["in_flight"])
    every = [(*cut, parts) for cut in itertools.combinations(range(1, parts), stages - 1)]
    return {ends: time for ends in every if (time := time_of(c, ends)) is not None}


def random_division(dice):
    parts = dice.randint(1, 6)
    stages = dice.randint(1, parts)
    c = {"certificate": "division", "schedule": "it", "parts": parts, "in_flight": sorted((dice.randint(1, 4) for _ in range(stages)), reverse=True),
         "room": dice.randint(15, 60)}
    c["pieces"] = [[i, j, dice.randint(0, 9) + j - i, dice.randint(0, 9) + j - i, dice.randint(0, 6) * (j - i), dice.randint(0, 3) * (j - i)]
                   for i in range(parts) for j in range(i + 1, parts + 1)]
    times = all_times(c)
    if not times:
        return None
    least = min(times.values())
    ends = dice.choice([ends for ends, time in times.items() if time == least or dice.random() < 0.1] or [*times])
    return {**c, "ends": [*ends], "nanoseconds": times[ends], "least": least - dice.choice([0, 0, 1])}


def is_true_division(c):
    times = all_times(c)
    return times.get(tuple(c["ends"])) == c["nanoseconds"] and c["least"] <= min(times.values())


def weight_of(c, length):
    share = Fraction(length, c["tokens"])
    return sum(ticks * (Fraction(100 - part, 100) * share + Fraction(part, 100) * share**2) for ticks, part in c["passes"])


def random_deal(dice):
    count = dice.randint(1, 6)
    m = dice.randint(1, min(3, count))
    c = {"certificate": "deal", "schedule": "it", "tokens": dice.randint(1, 9),
         "passes": [[dice.randint(0, 5000), dice.choice([0, 30, 100])] for _ in range(3)],
         "lengths": [dice.randint(1, 9) for _ in range(count)]}
    samples = [*range(count)]
    dice.shuffle(samples)
    c["micro_batches"] = [samples[k::m] for k in range(m)]
    if dice.random() < 0.5:
        c["most_tokens"] = max(sum(c["lengths"][i] for i in one) for one in c["micro_batches"]) + dice.randint(0, 2)
    weights = sorted((weight_of(c, length) for length in c["lengths"]), reverse=True)
    longest = max(sum(weight_of(c, c["lengths"][i]) for i in one) for one in c["micro_batches"])
    least = max(sum(weights) / m, weights[0], sum(weights[m - 1:m + 1]))
    return {**c, "longest": -(-longest // 1), "least": int(least)}


def is_true_deal(c):
    lengths, m = c["lengths"], len(c["micro_batches"])
    if sorted(i for one in c["micro_batches"] for i in one) != [*range(len(lengths))] or not all(c["micro_batches"]):
        return False
    if max(sum(lengths[i] for i in one) for one in c["micro_batches"]) > c.get("most_tokens", 10**9):
        return False
    weights = [weight_of(c, length) for length in lengths]
    longest = max(sum(weights[i] for i in one) for one in c["micro_batches"])
    best = min(max(sum(w for w, to in zip(weights, deal) if to == k) for k in range(m))
               for deal in itertools.product(range(m), repeat=len(lengths)))
    return longest <= c["longest"] and c["least"] <= best


def numbers_in(node):
    """Where a document has numbers: a list or an object, and the place in it."""
    places = enumerate(node) if isinstance(node, list) else node.items()
    for key, value in [*places]:
        if isinstance(value, (list, dict)):
            yield from numbers_in(value)
        elif isinstance(value, int):
            yield node, key


def changed(certificate, dice, keys=("least", "nanoseconds", "longest")):
    c = copy.deepcopy(certificate)
    for _ in range(dice.choice([1, 1, 2])):
        claims = [(c, key) for key in keys if key in c]
        node, key = dice.choice([*numbers_in(c)] if dice.random() < 0.6 or not claims else claims)
        node[key] = max(0, node[key] + dice.choice([-2, -1, 1, 1, 2]))
    lists = [key for key, value in c.items() if isinstance(value, list) and value]
    if lists and dice.random() < 0.1:
        of = c[dice.choice(lists)]
        of.pop(dice.randrange(len(of))) if dice.random() < 0.5 else of.append(copy.deepcopy(dice.choice(of)))
    return c


def must_refute(dice, cases):
    counts = collections.Counter()
    for _ in range(cases):
        kind, made_by, is_true = dice.choice([("division", random_division, is_true_division), ("deal", random_deal, is_true_deal)])
        made = made_by(dice)
        if made is None:
            continue
        is_own = dice.random() < 0.3
        made = made if is_own else changed(made, dice)
        accepted = is_accepted(made)
        try:
            true = is_true(made)
        except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
            true = False
        assert not (accepted and not true), json.dumps(made)
        assert accepted or not is_own, (json.dumps(made), [str(claim) for claim in claims_of(made)])
        counts[f"{kind}s {'accepted' if accepted else 'refused, though true' if true else 'refused, and wrong'}"] += 1
    print(f"{cases} certificates: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    assert min(counts[f"{kind} refused, and wrong"] for kind in ("divisions", "deals")) > cases / 10, counts


def main():
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    dice = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 13)
    with tempfile.TemporaryDirectory() as folder:
        must_hold(folder)
    must_refute(dice, cases)


if __name__ == "__main__":
    main()
