#!/usr/bin/env python3
"""Compares the search with offload to a general solver (CP-SAT) with the same freedom: any order of passes, and any set of stashes
moved to the host, with copies at any time, also such that passes wait for. It is OptPipe's question (Li et al., 2025), for tiny
pipelines.

usage: exact.py ASHLAR [seconds of a case] [most percent behind]     needs the package `ortools`

Prints a table: the makespan without copies, the one that the search finds with copies, and the least. Exit code 1: a case is
further behind.
"""
import json
import subprocess
import sys

try:
    from ortools.sat.python import cp_model
except ModuleNotFoundError:
    sys.exit(77)  # the test is skipped

TOOL = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 30
MOST = float(sys.argv[3]) if len(sys.argv) > 3 else 2
STASH = 1200  # bytes

EVEN, UNEVEN = (10, 10, 10), (10, 13, 7)
CASES = [(costs, p, m, limit, copy)
         for costs in (EVEN, UNEVEN) for p, m in ((2, 2), (2, 4), (3, 3), (3, 4)) for limit in (1, 2) for copy in (2, 5, 10)]


def searched(costs, p, m, limit, copy):
    command = [TOOL, "search", "-p", str(p), "-m", str(m), "--placement", "linear", "--objective", "makespan", "--forward", str(costs[0]),
               "--backward-input", str(costs[1]), "--backward-weight", str(costs[2]), "--limit-bytes", f"{limit * STASH}B", "--stash-bytes",
               f"{STASH}B", "--budget", "20000", "--as", "json"]
    if copy:
        command += ["--host-bandwidth", str(STASH // copy)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["reached"]


def least(costs, p, m, limit, copy, horizon):
    """The solver's best makespan and its bound."""
    model = cp_model.CpModel()

    def interval(length, name):
        start = model.new_int_var(0, horizon, name)
        return start, model.new_fixed_size_interval_var(start, length, name)

    makespan = model.new_int_var(0, horizon, "makespan")
    starts = {}
    for d in range(p):
        computes, outs, ins, held = [], [], [], []
        for k in range(m):
            for kind, length in zip("FIW", costs):
                starts[kind, d, k], one = interval(length, f"{kind}{d}.{k}")
                computes.append(one)
            forward, back, weight = (starts[kind, d, k] for kind in "FIW")
            end = weight + costs[2]
            model.add(weight >= back + costs[1])
            model.add(back >= forward + costs[0])
            model.add(makespan >= end)
            leaves = model.new_bool_var(f"leaves{d}.{k}")
            out, comes = (model.new_int_var(0, horizon, f"{way}{d}.{k}") for way in ("out", "in"))
            outs.append(model.new_optional_fixed_size_interval_var(out, copy, leaves, ""))
            ins.append(model.new_optional_fixed_size_interval_var(comes, copy, leaves, ""))
            model.add(out >= forward + costs[0]).only_enforce_if(leaves)
            model.add(comes >= out + copy).only_enforce_if(leaves)
            model.add(back >= comes + copy).only_enforce_if(leaves)

            def stay(first, last, when):
                length = model.new_int_var(0, horizon, "")
                return model.new_optional_interval_var(first, length, last, when, "")

            held += [stay(forward, end, ~leaves), stay(forward, out + copy, leaves), stay(comes, end, leaves)]
            if k > 0 and d == 0:  # micro-batches are alike, so they are numbered in the order of the first device
                model.add(starts["F", d, k] >= starts["F", d, k - 1])
        for lane in (computes, outs, ins):
            model.add_no_overlap(lane)
        model.add_cumulative(held, [1] * len(held), limit)
    for k in range(m):
        for d in range(p - 1):
            model.add(starts["F", d + 1, k] >= starts["F", d, k] + costs[0])
            model.add(starts["I", d, k] >= starts["I", d + 1, k] + costs[1])
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = SECONDS
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE), solver.status_name(status)
    return round(solver.objective_value), round(solver.best_objective_bound)


worst = 0
print("| F, I, W | p | m | stashes | copy | without | with | least | behind % |")
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
for costs, p, m, limit, copy in CASES:
    plain = searched(costs, p, m, limit, 0)
    found = searched(costs, p, m, limit, copy)
    best, bound = least(costs, p, m, limit, copy, plain)
    assert bound <= found <= plain, (bound, found, plain)
    behind = 100 * (found / best - 1)
    worst = max(worst, behind)
    print(f"| {', '.join(map(str, costs))} | {p} | {m} | {limit} | {copy} | {plain} | {found} | {best}{'' if best == bound else f' ≥ {bound}'} | "
          f"{behind:.1f} |", flush=True)
print(f"\nat most {worst:.1f} % behind in {len(CASES)} cases")
sys.exit(worst > MOST)
