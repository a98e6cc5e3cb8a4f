#!/usr/bin/env python3
"""Fits the constants of `ashlar predict` to measured runs.

usage: fit.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json [--out CONSTANTS.json] [--page PAGE.md]

--out writes the fitted constants, --page the tables of errors into a page, after the comments that name them.

EVALUATE is bench_predict_evaluate; runs.py describes the table of runs. The fit minimises squares of the logarithms of predicted over measured
steps, linear beyond 4 %. A source weighs its emphasis over its expected error. Constants are drawn weakly to round published numbers.
CONSTANTS.json has these ("round") and the constants that are not fitted: those of memory, link_inside, a fact of NCCL's
measurements, and attention.hopper.flash, of FlashAttention 3's paper.
Then each third of the configurations is left out once, each family of models once, and each source once: intervals come from errors of the
last alone (spreads.py). Those of peaks come from all measured peaks; constants of memory are not fitted.
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

from runs import Evaluator, answers, has_step, offload, read, write
from spreads import beyond, deviations, spreads

# The expected mean error of each source, and how much more one weighs.
EXPECTED = {"dgxc": .05, "mlperf": .08, "megatron_bridge": .12, "nanotron": .10, "mosaic": .10, "torchtitan": .10, "vtrain_multi": .07,
            "megatron2022": .03, "bridge_cards": .2, "vocabulary_parallelism": .2, "sailor": 3.0, "vtrain_single": 1.0}
EMPHASIS = {"dgxc": 1.5, "torchtitan": 2.0, "mosaic": 0.8, "nanotron": 0.8, "mlperf": 0.8}
# The rank whose memory a source reports, if not the most of all devices: Megatron's tests report the last rank's; MLPerf's logs are taken to
# report the first one's.
LOGGED = {"golden": "peak_bytes_last", "mlperf": "peak_bytes_first"}
FIXED = {"link_inside", "attention.hopper.flash", "kept_plain", "logit_bytes", "logit_bytes.plain", "framework_bytes", "outside_bytes"}
SHARES_BELOW_1 = {"tensor_exposed.tuned", "tensor_exposed", "host_graphs", "data_exposed", "memory", "link_outside"}
PULL = 0.6  # towards the round numbers
LINEAR_BEYOND = 0.04


def weights(rows):
    count = collections.Counter(row["source"] for row in rows)
    return np.array([EMPHASIS.get(row["source"], 1.0) / count[row["source"]] / EXPECTED.get(row["source"], .2) for row in rows])


class Fit:
    """Predictions of rows, and fits to those of them that count."""

    def __init__(self, program, folder, rows, models, counts, constants_path):
        self.rows = rows
        self.counted = [row for row, counts_too in zip(rows, counts) if counts_too]
        self.measured = np.array([row["step_s"] for row in rows])
        self.measured_counted = np.array([row["step_s"] for row in self.counted])
        self.all, self.few = (Evaluator(program, write(some, models, Path(folder) / name), constants_path)
                              for name, some in (("all", rows), ("counted", self.counted)))

    def predicted(self, constants):
        return np.array(self.all(constants))

    def close(self):
        self.all.close()
        self.few.close()

    def fit(self, start, round_numbers, use, steps):
        """Fits the constants to the counted rows of which use() says so."""
        used_rows = np.array([use(row) for row in self.counted])
        names = [name for name in start if name not in FIXED]
        first = np.array([math.log(start[name]) for name in names])
        centre = np.array([math.log(round_numbers[name]) for name in names])
        root = 3 * np.sqrt(weights([row for row, used in zip(self.counted, used_rows) if used]))

        def residual(x):
            made = {**start, **{name: math.exp(value) for name, value in zip(names, x)}}
            error = np.log(np.array(self.few(made)) / self.measured_counted)[used_rows]
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


def peaks_of(rows, said):
    """Kind of run, source and logarithm of measured over predicted of each measured peak."""
    found = [(answer["kind_of_run"], row["source"], math.log(row["peak_bytes"] / answer[LOGGED.get(row["source"], "peak_bytes")]))
             for row, answer in zip(rows, said)
             if "error" not in answer and row["status"] == "ok" and "memory" in row["use"] and row["peak_bytes"]]
    return tuple(zip(*found))


def spread_table(errors, more):
    """Spreads of errors, where the interval ends, and how much wider it is for each property that no run has."""
    made = spreads(*errors)
    return {**deviations(made, *errors), "beyond": beyond(made, more) if more else 0.15, "kinds": made}


def measured_of(rows, said):
    """The machines on which steps were measured, the largest sizes, and the slowest link to a host that layers were offloaded over."""
    steps = [(row, answer["machine"]) for row, answer in zip(rows, said) if has_step(row) and "error" not in answer]
    largest = {name: max(row[column] or 1 for row, _ in steps) for name, column in
               (("sequence", "sequence"), ("devices", "gpus"), ("pipeline", "pipeline"), ("tensor", "tensor"), ("context", "context"), ("expert", "expert"))}
    kernels = collections.Counter(answer["kernels"] for row, answer in zip(rows, said) if has_step(row) and "error" not in answer)
    return {"machines": dict(sorted(collections.Counter(machine for _, machine in steps).items())), "kernels": dict(sorted(kernels.items())),
            **largest,
            "host_link": min(answer["host_link"] for row, answer in zip(rows, said) if "error" not in answer and has_step(row) and offload(row) != "none")}


def write_constants(path, described, values, steps, peaks, measured):
    tables = {"constants": {name: {**about, "value": float(f"{values[name]:.3g}")} for name, about in described.items()},
              "steps": steps, "peaks": peaks, "measured": measured}

    def lines(table, indent):
        if not isinstance(table, dict) or not any(isinstance(each, dict) for each in table.values()) and indent > 1:
            return json.dumps(table)
        space = " " * indent
        return "{\n" + ",\n".join(f"{space}{json.dumps(name)}: {lines(each, indent + 1)}" for name, each in table.items()) + f"\n{space[1:]}}}"

    Path(path).write_text(lines(tables, 1) + "\n")


def percent(share):
    return f"{100 * share:.1f}"


def table_of_steps(rows, columns, within, width):
    """A line a source: mean errors of each column, the 90th percentile of the last, the expected error, rows within their interval, and its
    ends' mean ratio."""
    lines = ["| source | rows | " + " | ".join(columns) + " | p90 | expected | within the interval | its ends |", "|---" * (6 + len(columns)) + "|"]
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
        cells += [percent(expected) if expected < .2 else "–", f"{100 * within[here].mean():.0f} %",
                  f"1 : {np.exp(np.log(width[here]).mean()):.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def takes_no_less(ran, row):
    """Whether a run takes no less memory than another by its sizes alone: as many layers a stage and as long sequences, no fewer of them, and no
    more ranks that parameters, gradients and the optimizer are divided among."""
    alike = ("model", "sequence", "pipeline", "chunks", "context", "expert", "recompute", "precision")
    return (all(ran[name] == row[name] for name in alike) and ran["micro_batch"] >= row["micro_batch"] and ran["tensor"] <= row["tensor"]
            and (ran["sharding"] == "none" or ran["sharding"] == row["sharding"] and ran["data"] <= row["data"]))


def failed_for_memory(rows):
    """Whether memory can be why a row failed: no run of its source that takes no less memory ran."""
    ran = collections.defaultdict(list)
    for row in rows:
        if row["status"] == "ok" and "fit" in row["use"]:
            ran[row["source"], row["model"]].append(row)
    return [row["status"] != "ok" and not any(takes_no_less(other, row) for other in ran[row["source"], row["model"]]) for row in rows]


def table_of_memory(rows, said):
    """Errors of peaks by source, and how many runs that ran, or failed, are predicted to fit, or not."""
    lines = ["| source | peaks | mean | median | bias | ran: fits | failed: does not | failed, and no larger run ran: does not |", "|---" * 8 + "|"]
    for_memory = failed_for_memory(rows)
    for source in dict.fromkeys(row["source"] for row in rows):
        errors, fits = [], collections.Counter()
        for row, answer, has_reason in zip(rows, said, for_memory):
            if row["source"] != source or "error" in answer:
                continue
            if row["status"] == "ok" and "memory" in row["use"] and row["peak_bytes"]:
                peak = answer[LOGGED.get(source, "peak_bytes")]
                errors.append(peak / row["peak_bytes"] - 1)
            if "fit" in row["use"]:
                for outcome in ["ran"] if row["status"] == "ok" else ["failed", "memory"] if has_reason else ["failed"]:
                    fits[outcome, answer["fits"]] += 1
        share = [f"{fits[outcome, outcome == 'ran']} of {fits[outcome, True] + fits[outcome, False]}" if fits[outcome, True] + fits[outcome, False] else "–"
                 for outcome in ("ran", "failed", "memory")]
        size = np.abs(errors)
        cells = [str(len(errors)), percent(size.mean()), percent(np.median(size)), f"{100 * np.mean(errors):+.1f}"] if errors else ["–"] * 4
        if errors or set(share) != {"–"}:
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


def leave_out(run, start, round_numbers, part_of, steps):
    """Error of each row by constants fitted without it, from these on."""
    errors = np.full(len(run.rows), math.nan)
    for part in sorted({part_of(row) for row in run.rows} - {None}):
        out = np.array([part_of(row) == part for row in run.rows])
        found = run.fit(start, round_numbers, lambda row: part_of(row) != part, steps)
        errors[out] = (run.predicted(found) / run.measured - 1)[out]
    return errors


def without(property_of, value):
    """The part of a row if rows with this property are left out together, and no others."""
    return lambda row: value if property_of(row) == value else None


# Rows that are left out together, to see how far off a property is that no run has: 8 or 4 bits, a mixture, a family of devices, and the
# makers of most programs here.
NVIDIA = {"dgxc", "mlperf", "megatron_bridge", "bridge_cards", "megatron2022"}
UNSEEN = {
    "low precision": without(lambda row: row["precision"] not in ("bf16", "fp16", "fp32"), True),
    "experts": without(lambda row: (row["expert"] or 1) > 1, True),
    "Blackwell": without(lambda row: row["accelerator"][:2] in ("B2", "B3", "GB"), True),
    "NVIDIA's programs": without(lambda row: row["source"] in NVIDIA, True)}


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
    sources = [row["source"] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = write(rows, models, folder)
        kinds = [each["kind_of_run"] for each in answers(o.evaluate, path, o.constants)]
        counted, counts = collections.Counter(), []
        for row in rows:  # keeps each twelfth row of the source with a thousand similar ones
            counted[row["source"]] += 1
            counts.append(row["source"] != "vtrain_single" or counted[row["source"]] % 12 == 0)
        run = Fit(o.evaluate, folder, rows, models, counts, o.constants)

        start = {name: each["value"] if name in FIXED else each["round"] for name, each in described.items()}
        values = run.fit(start, round_numbers, lambda row: True, 15)
        # A fit without a few rows is near the one with them; a source may be all that shows a constant.
        columns = {"fitted": run.predicted(values) / run.measured - 1,
                   "a third left out": leave_out(run, values, round_numbers, third_of, 3),
                   "family left out": leave_out(run, values, round_numbers,
                                                lambda row: row["family"] if EXPECTED.get(row["source"], .2) < .5 else None, 2),
                   "source left out": leave_out(run, start, round_numbers, lambda row: row["source"], 5)}
        unseen = {title: leave_out(run, start, round_numbers, part_of, 5) for title, part_of in UNSEEN.items()}
        run.close()
        for title, errors in {**columns, **unseen}.items():
            print(title)
            print_table(rows, errors)
        made = Path(o.out or Path(folder) / "constants.json")

        def logarithms(errors):
            return kinds, sources, -np.log1p(errors)

        steps = spread_table(logarithms(columns["source left out"]), [logarithms(errors) for errors in unseen.values()])
        path = write(all_rows, models, folder)
        said = answers(o.evaluate, path, o.constants)
        measured = measured_of(all_rows, said)
        write_constants(made, described, values, steps, {"low": -1, "high": 1, "beyond": 0, "kinds": {}}, measured)
        said = answers(o.evaluate, path, made)
        write_constants(made, described, values, steps, spread_table(peaks_of(all_rows, said), []), measured)
        if o.page:
            said = answers(o.evaluate, path, made)
            answered = [answer for row, answer in zip(all_rows, said) if has_step(row)]
            low, high = (np.array([answer["interval"][end] / answer["step_seconds"] for answer in answered]) for end in ("low", "high"))
            ratio = 1 / (1 + columns["source left out"])
            within = (low <= ratio) & (ratio <= high)
            errors = np.array([answer["step_seconds"] / row["step_s"] - 1 for row, answer in zip(rows, answered)])
            write_page(o.page, {"steps": table_of_steps(rows, columns, within, high / low), "memory": table_of_memory(all_rows, said),
                                "worst": table_of_worst(rows, errors, answered)})


if __name__ == "__main__":
    main()
