#!/usr/bin/env python3
"""Of layouts that were measured, how much slower the one is that is predicted to be the fastest.

usage: choices.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json [--page PAGE.md]

The runs are those of fit.py. Runs of one source, model, release, machine, number of devices, sequence, batch and precision are a question; each
of its layouts an answer. A question needs two layouts; a rank correlation four.
"""
import argparse
import collections
import re
import tempfile
from pathlib import Path

from scipy.stats import spearmanr

from runs import answers, has_step, read, write

SAME = ("source", "model", "release", "accelerator", "gpus", "sequence", "global_batch", "precision")


def questions(rows, said):
    asked = collections.defaultdict(lambda: collections.defaultdict(list))
    for row, answer in zip(rows, said):
        if "error" in answer:
            continue
        layout = tuple(row[key] for key in ("micro_batch", "tensor", "pipeline", "chunks", "context", "expert", "expert_tensor", "data", "sharding",
                                            "recompute", "recompute_modules", "layout", "schedule"))
        asked[tuple(row[key] for key in SAME)][layout].append((row["step_s"], answer["step_seconds"]))
    for key, layouts in asked.items():
        if len(layouts) > 1:  # of runs of one layout, the mean
            yield key, [tuple(sum(each) / len(runs) for each in zip(*runs)) for runs in layouts.values()]


def table(rows, said):
    by_source = collections.defaultdict(list)
    for key, layouts in questions(rows, said):
        best, chosen = min(layouts)[0], min(layouts, key=lambda layout: layout[1])[0]
        ranks = spearmanr(*zip(*layouts))[0] if len({layout[1] for layout in layouts}) > 3 else None
        by_source[key[0]].append((chosen / best - 1, ranks, len(layouts)))
    lines = ["| source | questions | layouts | slower than the fastest, mean | at worst | rank correlation, mean |", "|---|---|---|---|---|---|"]
    for source, found in by_source.items():
        slower, ranks = [one[0] for one in found], [one[1] for one in found if one[1] is not None]
        lines.append(f"| {source} | {len(found)} | {sum(one[2] for one in found)} | {100 * sum(slower) / len(slower):.1f} % | {100 * max(slower):.1f} % | "
                     + (f"{sum(ranks) / len(ranks):.2f} |" if ranks else "– |"))
    return "\n".join(lines)


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("evaluate", "runs", "models", "constants"):
        parse.add_argument(name)
    parse.add_argument("--page", type=Path)
    given = parse.parse_args()
    rows, models = read(given.runs, given.models)
    rows = [row for row in rows if has_step(row)]
    with tempfile.TemporaryDirectory() as folder:
        made = table(rows, answers(given.evaluate, write(rows, models, folder), given.constants))
    print(made)
    if given.page:
        text = given.page.read_text()
        given.page.write_text(re.sub(r"(<!-- choices: [^\n]*-->\n)\|.*?\n(?=\n)", lambda found: found[1] + made + "\n", text, flags=re.S))


if __name__ == "__main__":
    main()
