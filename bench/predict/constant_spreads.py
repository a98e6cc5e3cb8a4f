#!/usr/bin/env python3
"""How far constants of `ashlar predict` are apart between sources of runs: what --calibrate draws constants to their fitted values with.

usage: constant_spreads.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json [--out CONSTANTS.json]

Each source is taken to have constants of its own, whose logarithms are normal around the fitted ones. Their standard deviations, and those of
errors within a source, are found by expectation and maximisation: each source's constants are fitted as --calibrate does it, to first
order, and the deviations are those of the found constants and of what is left open about them. A source counts for a constant as much as its
runs tell of it. A constant that no source tells of keeps PRIOR, as SOURCES sources would show it. Constants of memory have no spread.
"""
import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np

from fit import FIXED
from runs import Evaluator, has_step, read, write

PRIOR, SOURCES = .25, 2
FEW = 10  # runs that any larger number tells as much as, as in calibrate.cpp
LEAST = 4  # runs of a source that counts
STEP = .95
ROUNDS = 60


def slopes(evaluate, values, names):
    """Logarithms of steps, and how they grow with those of constants: a row a run."""
    base = np.log(evaluate(values))
    columns = [(np.log(evaluate({**values, name: STEP * values[name]})) - base) / math.log(STEP) for name in names]
    return base, np.array(columns).T


def own_constants(x, error, spread, within):
    """A source's constants over the fitted ones, what is left open about them, and its errors. Beyond 2 deviations errors count linearly."""
    weight = np.ones(len(error))
    for _ in range(5):
        w = weight * min(1, FEW / len(error)) / within ** 2
        open_ = np.linalg.inv(np.diag(spread ** -2) + x.T @ (x * w[:, None]))
        found = open_ @ (x.T @ (w * error))
        left = error - x @ found
        weight = np.minimum(1, 2 * within / np.maximum(np.abs(left), 1e-9))
    return found, np.diag(open_), left


def spreads(x, error, sources):
    spread, within = np.full(x.shape[1], PRIOR), {}
    for _ in range(ROUNDS):
        squares, count = SOURCES * PRIOR ** 2 * np.ones(x.shape[1]), SOURCES * np.ones(x.shape[1])
        for source in dict.fromkeys(sources):
            here = sources == source
            if here.sum() < LEAST:
                continue
            found, open_, left = own_constants(x[here], error[here], spread, within.get(source, .08))
            within[source] = max(.02, math.sqrt(np.median(left ** 2) / .455))  # of the normal distribution
            told = 1 - open_ / spread ** 2
            squares += told * (found ** 2 + open_)
            count += told
        spread = np.sqrt(squares / count)
    return spread, count - SOURCES, within


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("evaluate", "runs", "models", "constants"):
        parser.add_argument(name)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    file = json.loads(Path(given.constants).read_text())
    values = {name: each["value"] for name, each in file["constants"].items()}
    # Fitted, or a fact of hardware: memory has a table of errors of its own.
    names = [name for name in values if name not in FIXED or name in ("link_inside", "attention.hopper.flash")]
    rows, models = read(given.runs, given.models)
    rows = [row for row in rows if has_step(row)]
    with tempfile.TemporaryDirectory() as folder:
        evaluate = Evaluator(given.evaluate, write(rows, models, folder), given.constants)
        base, x = slopes(evaluate, values, names)
        evaluate.close()
    measured = np.log([row["step_s"] for row in rows])
    spread, told, within = spreads(x, measured - base, np.array([row["source"] for row in rows]))
    for name, each, sources in zip(names, spread, told):
        print(f"{name:26} {each:.3f}  {sources:.1f} sources")
    for source, each in within.items():
        print(f"{source:26} {each:.3f}  within")
    if not given.out:
        return
    made = dict(zip(names, spread))
    text = Path(given.constants).read_text().splitlines(keepends=True)
    for at, line in enumerate(text):  # a line a constant, as fit.py writes them
        name = line.strip().split('"')[1] if line.startswith('  "') and '"value"' in line else ""
        if name in made:
            entry = {**file["constants"][name], "spread": float(f"{made[name]:.2g}")}
            text[at] = f"  {json.dumps(name)}: {json.dumps(entry)}{',' if line.rstrip().endswith(',') else ''}\n"
    given.out.write_text("".join(text))


if __name__ == "__main__":
    main()
