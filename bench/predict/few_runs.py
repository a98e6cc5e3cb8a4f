#!/usr/bin/env python3
"""How well a few runs of a source that had no part in the fit tell the others, by `ashlar predict --calibrate`.

usage: few_runs.py ASHLAR RUNS.csv [--few 0 2 4 8] [--draws 50] [--page PAGE.md]

RUNS.csv has a column for each option of `ashlar predict` that differs, and step_seconds. For each number, runs are chosen at random; constants
are fitted to them, and all other runs are predicted.
"""
import argparse
import csv
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path
from statistics import fmean


def predicted(ashlar, run, constants):
    words = [ashlar, "predict", "--as", "json", *constants]
    for name, value in run.items():
        if name != "step_seconds" and value:
            words += ["--" + name, value]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def errors(ashlar, runs, constants):
    """Of each run: the error of the step, whether it was within its interval, and the ratio of the interval's ends."""
    for run in runs:
        measured, answer = float(run["step_seconds"]), predicted(ashlar, run, constants)
        interval = answer["interval"]
        yield abs(answer["step_seconds"] / measured - 1), interval["low"] <= measured <= interval["high"], interval["high"] / interval["low"]


def tried(ashlar, runs, few, seed):
    if few == 0:
        return list(errors(ashlar, runs, []))
    chosen = set(random.Random(seed).sample(range(len(runs)), few))
    with tempfile.TemporaryDirectory() as folder:
        own, made = Path(folder) / "own.csv", Path(folder) / "made.json"
        with open(own, "w", newline="") as file:
            writer = csv.DictWriter(file, runs[0])
            writer.writeheader()
            writer.writerows(runs[i] for i in sorted(chosen))
        subprocess.run([ashlar, "predict", "--calibrate", own, "-o", made], check=True, capture_output=True)
        return list(errors(ashlar, [run for i, run in enumerate(runs) if i not in chosen], ["--constants", str(made)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ashlar")
    parser.add_argument("runs", type=Path)
    parser.add_argument("--few", type=int, nargs="+", default=[0, 2, 4, 8])
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    with open(given.runs, newline="") as file:
        runs = list(csv.DictReader(file))
    lines = ["| runs of its own | draws | error of the others, mean | of nine draws in ten at most | within the interval | its ends |", "|---|---|---|---|---|---|"]
    for few in given.few:
        draws = [tried(given.ashlar, runs, few, seed) for seed in range(given.draws if few else 1)]
        means = sorted(fmean(error for error, _, _ in each) for each in draws)
        held, ends = (fmean(fmean(one[at] for one in each) for each in draws) for at in (1, 2))
        lines.append(f"| {few} | {len(draws)} | {100 * fmean(means):.1f} % | {100 * means[int(.9 * (len(means) - 1) + .5)]:.1f} % "
                     f"| {100 * held:.0f} % | 1 : {ends:.2f} |")
    print(*lines, sep="\n")
    if given.page:
        text = given.page.read_text()
        mark = re.compile(r"(<!-- few runs: by bench/predict/few_runs.py -->\n)(?:\|.*\n)*")
        given.page.write_text(mark.sub(lambda found: found[1] + "\n".join(lines) + "\n", text))


if __name__ == "__main__":
    main()
