#!/usr/bin/env python3
"""Fits the constants of `ashlar predict` to measured runs.

usage: fit.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json [--out CONSTANTS.json] [--page PAGE.md]

--out writes the fitted constants, --page the tables of errors into a page, after the comments that name them.

EVALUATE is bench_predict_evaluate; runs.py describes the table of runs. The fit minimises squares of the logarithms of predicted over measured
steps, linear beyond 4 %. A source weighs its emphasis over its expected error. Constants are drawn weakly to round published numbers.
CONSTANTS.json has these ("round") and the constants that are not fitted: those of memory, link_inside, a fact of NCCL's
measurements, and attention.hopper.flash, of FlashAttention 3's paper.
Then each third of the configurations is left out once, and each family of models once: intervals come from these errors alone.
Those of peaks come from all measured peaks; constants of memory are not fitted.
Needs SciPy.
"""
import argparse
import collections
import hashlib
import json
import math
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from runs import Evaluator, answers, has_step, read, write

# The expected mean error of each source, and how much more one weighs.
EXPECTED = {"dgxc": .05, "mlperf": .08, "megatron_bridge": .12, "nanotron": .10, "mosaic": .10, "torchtitan": .10, "vtrain_multi": .07,
            "megatron2022": .03, "bridge_cards": .2, "vocabulary_parallelism": .2, "sailor": 3.0, "vtrain_single": 1.0}
EMPHASIS = {"dgxc": 1.5, "torchtitan": 2.0, "mosaic": 0.8, "nanotron": 0.8, "mlperf": 0.8}
# The rank whose memory a source reports, if not the most of all devices: Megatron's tests report the last rank's; MLPerf's logs are taken to
# report the first one's.
LOGGED = {"golden": "peak_bytes_last", "mlperf": "peak_bytes_first"}
FIXED = {"link_inside", "attention.hopper.flash", "kept_plain", "logit_bytes", "logit_bytes.plain", "framework_bytes", "outside_bytes"}
SHARES_BELOW_1 = {"tensor_exposed.tuned", "tensor_exposed", "data_exposed", "memory", "link_outside"}
PULL = 0.6  # towards the round numbers
LINEAR_BEYOND = 0.04


def weights(rows):
    count = collections.Counter(row["source"] for row in rows)
    return np.array([EMPHASIS.get(row["source"], 1.0) / count[row["source"]] / EXPECTED.get(row["source"], .2) for row in rows])


class Fit:
    def __init__(self, program, path, rows, constants_path):
        self.rows = rows
        self.evaluate = Evaluator(program, path, constants_path)
        self.measured = np.array([row["step_s"] for row in rows])

    def predicted(self, constants):
        return np.array(self.evaluate(constants))

    def fit(self, start, round_numbers, use, steps):
        """Fits the constants to the rows with use[i]."""
        names = [name for name in start if name not in FIXED]
        first = np.array([math.log(start[name]) for name in names])
        centre = np.array([math.log(round_numbers[name]) for name in names])
        root = 3 * np.sqrt(weights([row for row, used in zip(self.rows, use) if used]))

        def residual(x):
            made = {**start, **{name: math.exp(value) for name, value in zip(names, x)}}
            error = np.log(self.predicted(made) / self.measured)[use]
            size = np.abs(error)
            robust = np.sign(error) * np.sqrt(np.maximum(2 * LINEAR_BEYOND * size - LINEAR_BEYOND ** 2, 0))
            return np.concatenate([root * np.where(size < LINEAR_BEYOND, error, robust), PULL * (x - centre)])

        high = np.array([math.log(.95) if name.startswith("products") else
                         0.0 if name in SHARES_BELOW_1 or name.startswith("attention.") else value + 4
                         for name, value in zip(names, first)])
        low = first - 4
        found = least_squares(residual, np.clip(first, low + 1e-6, high - 1e-6), bounds=(low, high), max_nfev=steps, x_scale=0.3,
                              diff_step=1e-3)
        return {**start, **{name: math.exp(value) for name, value in zip(names, found.x)}}


def third_of(row):
    digest = hashlib.sha256(("fold" + row["group"]).encode()).hexdigest()
    return int(int(digest[:12], 16) / 16.0 ** 12 * 3)


def print_table(rows, errors):
    by = collections.OrderedDict()
    for row, error in zip(rows, errors):
        if error == error:  # left out
            by.setdefault(row["source"], []).append(abs(error))
    for source, all_of in by.items():
        print(f"  {source:24} {len(all_of):5} mean {100 * np.mean(all_of):5.1f}  median {100 * np.median(all_of):5.1f}  "
              f"p90 {100 * np.percentile(all_of, 90):5.1f}  worst {100 * max(all_of):6.1f}")


def intervals(kinds, ratios):
    """Intervals of measured over predicted, by kind of run and nodes. With fewer than 40 errors, those of one node and of several are pooled."""
    by = collections.defaultdict(list)
    for kind, ratio in zip(kinds, ratios):
        by[kind].append(ratio)
        by[kind.rsplit(", ", 1)[0]].append(ratio)
    made = {}
    for kind in ("sharded", "classic", "plain", "experts", "dense, 4 bits", "dense, 8 bits", "dense, 16 bits", "dense, 32 bits"):
        for nodes in ("one node", "several nodes"):
            name = f"{kind}, {nodes}"
            used = by[name] if len(by[name]) >= 40 else by[kind]
            if not used:
                sys.exit(f"no run is of the kind {kind}")
            made[name] = {"low": float(f"{min(np.percentile(used, 5), .98):.3g}"), "high": float(f"{max(np.percentile(used, 95), 1.02):.3g}"),
                          "from": len(used), "own": len(by[name])}
    return made


def peaks_by_kind(rows, said):
    """Intervals of measured peaks over predicted, by kind of run, for kinds with at least ten."""
    by = collections.defaultdict(list)
    for row, answer in zip(rows, said):
        if "error" not in answer and row["status"] == "ok" and "memory" in row["use"] and row["peak_bytes"]:
            by[answer["kind_of_run"].rsplit(", ", 1)[0]].append(row["peak_bytes"] / answer[LOGGED.get(row["source"], "peak_bytes")])
    return {kind: {"low": float(f"{min(np.percentile(of, 5), .98):.3g}"), "high": float(f"{max(np.percentile(of, 95), 1.02):.3g}"), "from": len(of)}
            for kind, of in sorted(by.items()) if len(of) >= 10}


def measured_of(rows, said):
    """The machines on which steps were measured, and the largest sizes."""
    steps = [(row, answer["machine"]) for row, answer in zip(rows, said) if has_step(row) and "error" not in answer]
    largest = {name: max(row[column] or 1 for row, _ in steps) for name, column in
               (("sequence", "sequence"), ("devices", "gpus"), ("pipeline", "pipeline"), ("tensor", "tensor"), ("context", "context"), ("expert", "expert"))}
    return {"machines": dict(sorted(collections.Counter(machine for _, machine in steps).items())), **largest}


def write_constants(path, described, values, around, peaks, measured):
    lines = [f"  {json.dumps(name)}: " + json.dumps({**about, "value": float(f"{values[name]:.3g}")}) for name, about in described.items()]
    spreads = [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in around.items()]
    held = [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in peaks.items()]
    sizes = [f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in measured.items()]
    tables = {"constants": lines, "intervals": spreads, "peaks": held, "measured": sizes}
    Path(path).write_text("{\n" + ",\n".join(f' "{name}": {{\n' + ",\n".join(table) + "\n }" for name, table in tables.items()) + "\n}\n")


def percent(share):
    return f"{100 * share:.1f}"


def table_of_steps(rows, columns, within):
    """A line a source: mean errors of each column, the 90th percentile of the last, the expected error, and rows within their interval."""
    lines = ["| source | rows | " + " | ".join(columns) + " | p90 | expected | within the interval |", "|---" * (5 + len(columns)) + "|"]
    last = list(columns)[-1]
    for source in dict.fromkeys(row["source"] for row in rows):
        here = np.array([row["source"] == source for row in rows])
        cells = [source, str(here.sum())]
        for errors in columns.values():
            some = np.abs(errors[here])
            cells.append("–" if np.isnan(some).all() else percent(np.nanmean(some)))
        tail = columns[last][here]
        cells.append("–" if np.isnan(tail).all() else percent(np.nanpercentile(np.abs(tail), 90)))
        expected = EXPECTED.get(source, .2)
        cells += [percent(expected) if expected < .2 else "–", f"{100 * within[here].mean():.0f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def table_of_memory(rows, said):
    """Errors of peaks by source, and how many runs that ran, or failed, are predicted to fit, or not."""
    lines = ["| source | peaks | mean | median | bias | ran: fits | failed: does not |", "|---|---|---|---|---|---|---|"]
    for source in dict.fromkeys(row["source"] for row in rows):
        errors, fits = [], collections.Counter()
        for row, answer in zip(rows, said):
            if row["source"] != source or "error" in answer:
                continue
            if row["status"] == "ok" and "memory" in row["use"] and row["peak_bytes"]:
                peak = answer[LOGGED.get(source, "peak_bytes")]
                errors.append(peak / row["peak_bytes"] - 1)
            if "fit" in row["use"]:
                fits[row["status"] == "ok", answer["fits"]] += 1
        share = [f"{fits[ok, ok]} of {fits[ok, True] + fits[ok, False]}" if fits[ok, True] + fits[ok, False] else "–" for ok in (True, False)]
        size = np.abs(errors)
        cells = [str(len(errors)), percent(size.mean()), percent(np.median(size)), f"{100 * np.mean(errors):+.1f}"] if errors else ["–"] * 4
        if errors or share != ["–", "–"]:
            lines.append("| " + " | ".join([source, *cells, *share]) + " |")
    return lines


def table_of_worst(rows, errors, said):
    """The three worst configurations of each source that are at least 20 % off, a row each."""
    lines = ["| source | run | measured | predicted | error |", "|---|---|---|---|---|"]
    seen = set()
    for i in sorted(range(len(rows)), key=lambda i: -abs(errors[i])):
        row = rows[i]
        count = sum(source == row["source"] for source, _ in seen)
        if abs(errors[i]) < .2 or count >= 3 or (row["source"], row["group"]) in seen:
            continue
        seen.add((row["source"], row["group"]))
        sizes = " ".join(f"{short}{row[size]}" for short, size in [("t", "tensor"), ("p", "pipeline"), ("c", "context"), ("e", "expert"),
                                                                    ("d", "data")] if (row[size] or 1) > 1)
        lines.append(f"| {row['source']} | {row['model']}, {row['gpus']} {row['accelerator']}, {row['precision']}, {sizes}"
                     f"{', ' + row['release'] if row['release'] else ''} | {row['step_s']:.3g} s | {said[i]['step_seconds']:.3g} s "
                     f"| {100 * errors[i]:+.0f} % |")
    return lines


def write_page(path, tables):
    text = Path(path).read_text()
    for name, lines in tables.items():
        mark = re.compile(rf"(<!-- {name}: by bench/predict/fit.py -->\n)(?:\|.*\n)*")
        if not mark.search(text):
            sys.exit(f"{path} has no comment for the table {name}")
        text = mark.sub(lambda found: found[1] + "\n".join(lines) + "\n", text)
    Path(path).write_text(text)


def leave_out(run, values, round_numbers, thinned, part_of):
    """Error of each row by constants fitted without it."""
    errors = np.full(len(run.rows), math.nan)
    for part in sorted({part_of(row) for row in run.rows} - {None}):
        out = np.array([part_of(row) == part for row in run.rows])
        found = run.fit(values, round_numbers, thinned & ~out, 5)
        errors[out] = (run.predicted(found) / run.measured - 1)[out]
    return errors


def main():
    parser = argparse.ArgumentParser()
    for name in ("evaluate", "runs", "models", "constants"):
        parser.add_argument(name)
    parser.add_argument("--out")
    parser.add_argument("--page")
    o = parser.parse_args()
    described = json.loads(Path(o.constants).read_text())["constants"]
    round_numbers = {name: each["round"] for name, each in described.items()}
    all_rows, models = read(o.runs, o.models)
    rows = [row for row in all_rows if has_step(row)]
    with tempfile.TemporaryDirectory() as folder:
        path = write(rows, models, folder)
        kinds = [each["kind_of_run"] for each in answers(o.evaluate, path, o.constants)]
        run = Fit(o.evaluate, path, rows, o.constants)
        counted, thinned = collections.Counter(), []
        for row in rows:  # keeps each twelfth row of the source with a thousand similar ones
            counted[row["source"]] += 1
            thinned.append(row["source"] != "vtrain_single" or counted[row["source"]] % 12 == 0)
        thinned = np.array(thinned)

        start = {name: each["value"] if name in FIXED else each["round"] for name, each in described.items()}
        values = run.fit(start, round_numbers, thinned, 20)
        columns = {"fitted": run.predicted(values) / run.measured - 1,
                   "a third left out": leave_out(run, values, round_numbers, thinned, third_of),
                   "family left out": leave_out(run, values, round_numbers, thinned,
                                                lambda row: row["family"] if EXPECTED.get(row["source"], .2) < .5 else None)}
        run.evaluate.close()
        for title, errors in columns.items():
            print(title)
            print_table(rows, errors)
        left_out = [(kind, 1 / (1 + error)) for errors in list(columns.values())[1:] for kind, error in zip(kinds, errors) if error == error]
        made = Path(o.out or Path(folder) / "constants.json")
        around = intervals([kind for kind, _ in left_out], [ratio for _, ratio in left_out])
        path = write(all_rows, models, folder)
        said = answers(o.evaluate, path, o.constants)
        measured = measured_of(all_rows, said)
        write_constants(made, described, values, around, {}, measured)
        said = answers(o.evaluate, path, made)
        write_constants(made, described, values, around, peaks_by_kind(all_rows, said), measured)
        if o.page:
            steps = [answer for row, answer in zip(all_rows, said) if has_step(row)]
            within = np.array([answer["interval"]["low"] <= row["step_s"] <= answer["interval"]["high"] for row, answer in zip(rows, steps)])
            errors = np.array([answer["step_seconds"] / row["step_s"] - 1 for row, answer in zip(rows, steps)])
            write_page(o.page, {"steps": table_of_steps(rows, columns, within), "memory": table_of_memory(all_rows, said),
                                "worst": table_of_worst(rows, errors, steps)})


if __name__ == "__main__":
    main()
