#!/usr/bin/env python3
"""Asks a general solver (CP-SAT) whether the search or its bound is loose, in cases with a gap between them.

usage: exact.py ASHLAR [seconds of a case] [small | large]      needs the package `ortools`

Prints a table: the span that the search finds and its bound; the least span and the best bound of the solver, which is given no order
but that of micro-batches, which are alike; and the bound's share of the gap. The large case shows how far the solver gets where the
search takes seconds.
"""
import json
import subprocess
import sys

from ortools.sat.python import cp_model

TOOL = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 60
SIZE = sys.argv[3] if len(sys.argv) > 3 else "small"

# Costs are forward, input and weight gradient, transfer. chunks: 1 puts stage d on device d, 2 is a V.
UNEVEN = (10, 13, 7, 1)
UNIT = (1, 1, 1, 0)
SMALL = [
    (UNIT, 2, 2, 4, 2), (UNIT, 2, 2, 4, 3), (UNEVEN, 2, 2, 4, 2), (UNEVEN, 2, 2, 6, 3), (UNIT, 3, 2, 4, 3), (UNEVEN, 3, 2, 4, 3),
    (UNEVEN, 3, 2, 6, 4), (UNIT, 4, 2, 4, 3), (UNEVEN, 4, 2, 4, 3), (UNEVEN, 4, 2, 4, 4), (UNIT, 4, 1, 6, 2), (UNEVEN, 4, 1, 6, 2),
    (UNEVEN, 4, 2, 8, 4), (UNEVEN, 4, 2, 8, 8),
]
LARGE = [(UNEVEN, 8, 2, 16, 8)]


def searched(costs, p, chunks, m, limit):
    """The result of `ashlar search`: the span of the schedule and its bound, in ticks."""
    forward, backward_input, backward_weight, transfer = costs
    said = subprocess.run(
        [TOOL, "search", "-p", str(p), "-m", str(m), "--placement", "v" if chunks == 2 else "linear", "--limit", str(limit),
         "--objective", "span", "--forward", str(forward), "--backward-input", str(backward_input), "--backward-weight",
         str(backward_weight), "--transfer", str(transfer), "--budget", "200000", "--as", "json"],
        check=True, capture_output=True, text=True).stdout
    found = json.loads(said)
    return found["reached"], found["bound"]


class Model:
    """All schedules of a case: passes in any order, no device with two at once or with more activations than the limit."""

    def __init__(self, costs, p, chunks, m, limit, horizon):
        forward, backward_input, backward_weight, transfer = costs
        self.model = model = cp_model.CpModel()
        stages = p * chunks
        device = [s if s < p else 2 * p - 1 - s for s in range(stages)]
        lengths = {"F": forward, "I": backward_input, "W": backward_weight}
        start = {(kind, s, k): model.new_int_var(0, horizon - length, f"{kind}{s}.{k}")
                 for kind, length in lengths.items() for s in range(stages) for k in range(m)}
        end = {x: start[x] + lengths[x[0]] for x in start}

        def after(x, y, hop):
            model.add(start[y] >= end[x] + hop)

        for k in range(m):
            for s in range(stages):
                if s > 0:
                    hop = transfer if device[s] != device[s - 1] else 0
                    after(("F", s - 1, k), ("F", s, k), hop)
                    after(("I", s, k), ("I", s - 1, k), hop)
                after(("I", s, k), ("W", s, k), 0)
            after(("F", stages - 1, k), ("I", stages - 1, k), 0)
            # Micro-batches are alike: sorting the starts of each stage and kind keeps a schedule valid (the k-th successor starts no
            # earlier than the k-th predecessor, and devices run and hold the same).
            if k > 0:
                for kind in lengths:
                    for s in range(stages):
                        after((kind, s, k - 1), (kind, s, k), 0)

        self.span = model.new_int_var(0, horizon, "span")
        for d in range(p):
            mine = [x for x in start if device[x[1]] == d]
            model.add_no_overlap([model.new_fixed_size_interval_var(start[x], lengths[x[0]], str(x)) for x in mine])
            held = [(start["F", s, k], end["W", s, k]) for s in range(stages) if device[s] == d for k in range(m)]
            model.add_cumulative(
                [model.new_interval_var(a, model.new_int_var(0, horizon, ""), b, "") for a, b in held], [1] * len(held), limit)
            first, last = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon, "")
            model.add_min_equality(first, [start[x] for x in mine])
            model.add_max_equality(last, [end[x] for x in mine])
            model.add(self.span >= last - first)
        model.minimize(self.span)

    def solve(self):
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = SECONDS
        solver.parameters.num_workers = 2
        status = solver.solve(self.model)
        found = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
        return found, round(solver.best_objective_bound), solver.wall_time


def main():
    print("| costs | p | chunks | m | limit | bound | found | solver: bound | found | s | of the gap the bound's |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for case in SMALL if SIZE == "small" else LARGE:
        costs, p, chunks, m, limit = case
        reached, bound = searched(*case)
        least, proved, seconds = Model(*case, horizon=int(2 * reached) + 1).solve()
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


main()
