#!/usr/bin/env python3
"""Ashlar beside other systems that make schedules: what making, validating, lowering and proving takes, and how good the schedules are.

usage: compare.py time|quality [--sizes P,M ...] [--repeat N] [--systems NAME ...]

Run by a Python that has ashlar-pp and as many of torch, megatron-core, elf-pipeline, deepspeed and zbpp-light as there are. Prints a table
of docs/comparisons.md. time: milliseconds of processor time of one thread, the least of N. quality: the orders of each system, under
the same costs, each pass as early as it can; then the best that Ashlar's search finds on the same placement within the memory that
this schedule holds, and the bound.
"""

import argparse
import importlib.util
import sys
import time

import ashlar_pp
from systems import found, places

# Ticks of forward, input pass and weight pass, for a p-th of the model; a message takes one.
COSTS = {"linear": (20, 26, 14), "looped": (10, 13, 7), "v_shape": (10, 13, 7)}
LONG = 2  # seconds after which a step is not repeated, and no larger size is tried


def least(call, repeat):
    """The least processor time of calls, in milliseconds, and the result of the last one."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        made = call()
        best = min(best, time.process_time() - begin)
        if best > LONG:
            break
    return 1000 * best, made


def shown(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def said(error):
    return f"{type(error).__name__}, {str(error).splitlines()[0] if str(error) else 'no words'}"


def times(systems, sizes, repeat):
    print("| system | schedule | p, m | make | validate | lower | check of that |\n|---|---|---|---:|---:|---:|---:|")
    for name, version, entries in systems:
        for entry in entries:
            for p, m in sizes:
                try:
                    make, made = least(lambda: entry.make(p, m), repeat)
                except Exception as refused:
                    print(f"| {name} {version} | {entry.name} | {p}, {m} | none: {said(refused)} | | | |", flush=True)
                    break
                cells, slowest = [shown(make)], make
                lowered = None
                for step in ("validate", "lower", "prove"):
                    function = getattr(entry, step)
                    if function is None:
                        cells.append("–")
                        continue
                    took, given = least(lambda: function(lowered if step == "prove" else made, p, m), repeat)
                    lowered = given if step == "lower" else lowered
                    cells.append(shown(took))
                    slowest = max(slowest, took)
                print(f"| {name} {version} | {entry.name} | {p}, {m} | {' | '.join(cells)} |", flush=True)
                if slowest > 1000 * LONG:
                    break


def quality(systems, sizes):
    print("| p, m | placement | schedule | span | activations | found with as much memory | no less than |\n|---|---|---|---:|---:|---:|---:|")
    for p, m in sizes:
        for name, _, entries in systems:
            for entry in entries:
                costs = ashlar_pp.Costs(*COSTS[entry.placement], transfer=1)
                chunks = len(places(entry.placement, p)) // p
                where = getattr(ashlar_pp, entry.placement)(*([p] if entry.placement != "looped" else [p, 2]))
                try:
                    s = ashlar_pp.schedule(where, entry.orders(entry.make(p, m), p, m), costs)
                except Exception as refused:
                    print(f"| {p}, {m} | {entry.placement} | {name}: {entry.name} | none: {said(refused)} | | | |", flush=True)
                    continue
                held = max(s.peak_activations)
                best = ashlar_pp.search(where, m, costs, limit=held, budget=20000)
                row = f"{s.span} | {held / chunks:g} | {best.reached:g} | {best.bound:g}"
                print(f"| {p}, {m} | {entry.placement} | {name}: {entry.name} | {row} |", flush=True)


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("what", choices=["time", "quality"])
    ask.add_argument("--sizes", nargs="+", default=None)
    ask.add_argument("--repeat", type=int, default=5)
    ask.add_argument("--systems", nargs="+", default=None, help="these alone")
    options = ask.parse_args()
    default = {"time": ["4,8", "8,64", "16,256"], "quality": ["4,8", "8,32"]}[options.what]
    sizes = [tuple(map(int, one.split(","))) for one in options.sizes or default]
    systems = [one for one in found() if options.systems is None or one[0] in options.systems]
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
    for name, version, _ in systems:
        print(f"{name}: {version}", file=sys.stderr)
    if options.what == "time":
        times(systems, sizes, options.repeat)
    else:
        quality(systems, sizes)


if __name__ == "__main__":
    main()
