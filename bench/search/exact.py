#!/usr/bin/env python3
"""Asks a general solver (CP-SAT) whether the search or its bound is loose.

usage: exact.py ASHLAR [seconds of a case] [small | large | least] [cases]      needs the package `ortools`

`small` and `large` print a table of cases with a gap: the span that the search finds and its bound; the least span and the best bound
of the solver, which is given no order but that of micro-batches, which are alike; and the bound's share of the gap. The large case
shows how far the solver gets where the search takes seconds. `least` tries random small cases (300) at the least memory that any order
needs, one in ten with an activation more, and counts those that the solver settles and whose optimum the search finds in its default
budget; it ends with exit code 1 if these are fewer than 99 %, or if a bound is above a schedule.
"""
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ortools.sat.python import cp_model

TOOL = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 60
SIZE = sys.argv[3] if len(sys.argv) > 3 else "small"
CASES = int(sys.argv[4]) if len(sys.argv) > 4 else 300


@dataclass
class Case:
    """`device` and `costs` (forward, input and weight gradient) are by stage; a device holds at most `limit` activations."""

    device: list
    costs: list
    transfer: int
    m: int
    limit: int
    objective: str = "span"

    @classmethod
    def of_equal_stages(cls, costs, p, chunks, m, limit):
        """chunks: 1 puts stage d on device d, 2 is a V."""
        stages = range(p * chunks)
        return cls([s if s < p else 2 * p - 1 - s for s in stages], [costs[:3]] * len(stages), costs[3], m, limit)

    @classmethod
    def at_the_least_memory(cls, dice):
        """Two to four devices with one to three stages each, looped or as a wave; up to 24 stages times micro-batches."""
        p, chunks = dice.randint(2, 4), dice.randint(1, 3)
        m = dice.randint(2, 24 // (p * chunks))
        folds = dice.random() < 0.5
        device = [p - 1 - s % p if folds and s // p % 2 == 1 else s % p for s in range(p * chunks)]
        costs = [[dice.randint(0, 20) for _ in range(3)] for _ in device]
        limit = chunks + (1 if dice.random() < 0.1 else 0)
        return cls(device, costs, dice.randint(0, 3), m, limit, dice.choice(["span", "makespan"]))

    @property
    def devices(self):
        return max(self.device) + 1


# Forward, input and weight gradient, transfer; devices, chunks, micro-batches, limit.
UNEVEN = (10, 13, 7, 1)
UNIT = (1, 1, 1, 0)
SMALL = [
    (UNIT, 2, 2, 4, 2), (UNIT, 2, 2, 4, 3), (UNEVEN, 2, 2, 4, 2), (UNEVEN, 2, 2, 6, 3), (UNIT, 3, 2, 4, 3), (UNEVEN, 3, 2, 4, 3),
    (UNEVEN, 3, 2, 6, 4), (UNIT, 4, 2, 4, 3), (UNEVEN, 4, 2, 4, 3), (UNEVEN, 4, 2, 4, 4), (UNIT, 4, 1, 6, 2), (UNEVEN, 4, 1, 6, 2),
    (UNEVEN, 4, 2, 8, 4), (UNEVEN, 4, 2, 8, 8),
]
LARGE = [(UNEVEN, 8, 2, 16, 8)]


def searched(case, *options):
    """The result of `ashlar search` and its bound, in ticks."""
    with tempfile.TemporaryDirectory() as folder:
        costs = Path(folder) / "costs.csv"
        costs.write_text("".join(",".join(map(str, c)) + "\n" for c in case.costs), encoding="utf-8")
        said = subprocess.run(
            [TOOL, "search", "-p", str(case.devices), "-m", str(case.m), "--placement", ",".join(map(str, case.device)), "--limit",
             str(case.limit), "--objective", case.objective, "--per-stage", str(costs), "--transfer", str(case.transfer), "--as",
             "json", *options],
            check=True, capture_output=True, text=True).stdout
    found = json.loads(said)
    return found["reached"], found["bound"]


class Model:
    """All schedules of a case: passes in any order, no device with two at once or with more activations than the limit."""

    def __init__(self, case, horizon):
        self.model = model = cp_model.CpModel()
        device, stages, m = case.device, len(case.device), case.m
        length = {(kind, s): case.costs[s][i] for i, kind in enumerate("FIW") for s in range(stages)}
        start = {(kind, s, k): model.new_int_var(0, horizon - length[kind, s], f"{kind}{s}.{k}")
                 for kind, s in length for k in range(m)}
        end = {x: start[x] + length[x[:2]] for x in start}

        def after(x, y, hop):
            model.add(start[y] >= end[x] + hop)

        for k in range(m):
            for s in range(stages):
                if s > 0:
                    hop = case.transfer if device[s] != device[s - 1] else 0
                    after(("F", s - 1, k), ("F", s, k), hop)
                    after(("I", s, k), ("I", s - 1, k), hop)
                after(("I", s, k), ("W", s, k), 0)
            after(("F", stages - 1, k), ("I", stages - 1, k), 0)
            # Micro-batches are alike: sorting the starts of each stage and kind keeps a schedule valid (the k-th successor starts no
            # earlier than the k-th predecessor, and devices run and hold the same).
            if k > 0:
                for kind, s in length:
                    model.add(start[kind, s, k] >= start[kind, s, k - 1])

        self.reached = model.new_int_var(0, horizon, case.objective)
        for d in range(case.devices):
            mine = [x for x in start if device[x[1]] == d]
            model.add_no_overlap([model.new_fixed_size_interval_var(start[x], length[x[:2]], str(x)) for x in mine])
            held = [(start["F", s, k], end["W", s, k]) for s in range(stages) if device[s] == d for k in range(m)]
            model.add_cumulative(
                [model.new_interval_var(a, model.new_int_var(0, horizon, ""), b, "") for a, b in held], [1] * len(held), case.limit)
            first = 0
            if case.objective == "span":
                first = model.new_int_var(0, horizon, "")
                model.add_min_equality(first, [start[x] for x in mine])
            for x in mine:
                model.add(self.reached >= end[x] - first)
        model.minimize(self.reached)

    def solve(self):
        """The least that is found, none if nothing; the bound; whether they are proved to meet; seconds."""
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = SECONDS
        solver.parameters.num_workers = 2
        status = solver.solve(self.model)
        found = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
        return found, round(solver.best_objective_bound), status == cp_model.OPTIMAL, solver.wall_time


def print_gaps(cases):
    print("| costs | p | chunks | m | limit | bound | found | solver: bound | found | s | of the gap the bound's |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for costs, p, chunks, m, limit in cases:
        case = Case.of_equal_stages(costs, p, chunks, m, limit)
        reached, bound = searched(case, "--budget", "200000")
        least, proved, _, seconds = Model(case, horizon=int(2 * reached) + 1).solve()
        best = min(reached, least) if least is not None else reached
        known = max(proved, bound)
        if reached == bound:
            share = "no gap"
        elif known == bound < best:
            share = "open"
        else:
            share = f"{100 * (known - bound) / (reached - bound):.0f} %" + (" or more" if known < best else "")
        print(f"| {', '.join(map(str, costs[:3]))}; {costs[3]} | {p} | {chunks} | {m} | {limit} | {bound:g} | {reached:g} | {proved} "
              f"| {least if least is not None else 'none'} | {seconds:.0f} | {share} |", flush=True)


def count_optima():
    dice = random.Random(58)
    settled = optimal = behind = wrong = 0
    for number in range(1, CASES + 1):
        case = Case.at_the_least_memory(dice)
        reached, bound = searched(case)
        least, _, is_proved, _ = Model(case, horizon=int(2 * reached) + 1).solve()
        settled += is_proved
        optimal += is_proved and reached == least
        if least is not None and reached > least:
            behind += not is_proved
            print(f"found {reached:g}, the solver {least}: {case}", flush=True)
        if least is not None and (bound > least or (is_proved and reached < least)):
            wrong += 1
            print(f"wrong: found {reached:g}, bound {bound:g}, the solver {least}: {case}", flush=True)
        if number % 50 == 0 or number == CASES:
            print(f"{number} cases: {settled} settled, {optimal} of these found; {behind} of the others longer than the solver's",
                  flush=True)
    return 0 if wrong == 0 and 100 * optimal >= 99 * settled else 1


if SIZE == "least":
    sys.exit(count_optima())
print_gaps(SMALL if SIZE == "small" else LARGE)
