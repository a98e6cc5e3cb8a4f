#!/usr/bin/env python3
"""How much slower the layout predicted to be the fastest is than the fastest of those measured.

usage: choices.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json [--sweep SWEEP.csv] [--tool ASHLAR] [--page PAGE.md]

The runs are those of fit.py. Runs of one source, model, release, machine, number of devices, sequence, batch and precision form a question, with
a layout as its answer. A question needs two layouts; a rank correlation four.

--tool: also uses constants that ASHLAR, by `ashlar predict --calibrate`, fits to the runs of the same source's other models.

--sweep: trials of layouts on A100s, as their authors publish them (Hagemann et al. 2023): sweep, model, seq, gpus, act_ckpt, kernel, micro_batch,
tp, pp, seq_parallel, status and step_s of LLaMA's shapes with a vocabulary of 128,000, and 4 million tokens a batch. Only trials with
FlashAttention 2 are used. Their program overlaps no sums, so it counts as `plain`, and predictions are told whether norms are fused. Trials with and without fused norms, or with and without
sequences split over tensor ranks, are different programs, and so different questions.
"""
import argparse
import collections
import csv
import re
import subprocess
import tempfile
from pathlib import Path

from scipy.stats import spearmanr

from runs import answers, has_step, read, write

SAME = ("source", "model", "release", "accelerator", "gpus", "sequence", "global_batch", "precision")


SHAPES = {"13B": (40, 5120, 40, 13824), "30B": (60, 6656, 52, 17920), "65B": (80, 8192, 64, 22016)}


def sweep_rows(path, models):
    """Yields trials that ran as rows of measured runs, and adds their models to `models`."""
    for name, (layers, hidden, heads, width) in SHAPES.items():
        models[f"llama-{name}"] = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": width,
                                   "vocab_size": 128000, "hidden_act": "silu", "tie_word_embeddings": False}
    with open(path, newline="") as file:
        for trial in csv.DictReader(file):
            if trial["status"] != "ok" or "flash_attention2" not in trial["kernel"]:
                continue
            gpus, tensor, pipeline, sequence = (int(trial[key]) for key in ("gpus", "tp", "pp", "seq"))
            row = dict.fromkeys(("context", "chunks", "expert", "expert_tensor", "recompute_modules", "attention", "layout", "schedule"), "")
            yield row | {"source": "layouts", "release": " ".join(trial[key] for key in ("sweep", "kernel", "seq_parallel")), "model": f"llama-{trial['model']}", "accelerator": "A100-80", "gpus": gpus,
                         "gpus_per_node": 8, "precision": "bf16", "sequence": sequence, "global_batch": 2 ** 22 // sequence,
                         "micro_batch": int(trial["micro_batch"]), "tensor": tensor, "pipeline": pipeline, "data": gpus // tensor // pipeline,
                         "sharding": "optimizer", "recompute": "full" if trial["act_ckpt"] == "every_layer" else "none", "stack": "plain",
                         "fact": "" if "RMS kernel" in trial["kernel"] else "fused-norm=off", "sequence_parallel": "yes" if trial["seq_parallel"] == "True" else "no",
                         "use": ["step"], "status": "ok", "step_s": float(trial["step_s"])}


def questions(rows, said):
    asked = collections.defaultdict(lambda: collections.defaultdict(list))
    for row, answer in zip(rows, said):
        if "error" in answer:
            continue
        layout = tuple(row[key] for key in ("micro_batch", "tensor", "pipeline", "chunks", "context", "expert", "expert_tensor", "data", "sharding",
                                            "recompute", "recompute_modules", "layout", "schedule"))
        asked[tuple(row[key] for key in SAME)][layout].append((row["step_s"], answer["step_seconds"]))
    for key, layouts in asked.items():
        if len(layouts) > 1:  # takes the mean of runs of one layout
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


def calibrated(rows, models, evaluate, constants, tool):
    """A line for each source with several models: the choices for each model with constants fitted to the others' runs."""
    lines = ["| source | error of a step, mean | fitted | slower than the fastest, mean | at worst | rank correlation, mean |", "|---|---|---|---|---|---|"]
    for source in dict.fromkeys(row["source"] for row in rows):
        ours = [row for row in rows if row["source"] == source]
        names = list(dict.fromkeys(row["model"] for row in ours))
        if len(names) < 2 or len(names) > 8:
            continue
        tried, said, before = [], [], []
        for name in names:
            others, these = ([row for row in ours if (row["model"] == name) == same] for same in (False, True))
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as own:
                fitted = f"{own}/constants.json"
                subprocess.run([tool, "predict", "--calibrate", write(others, models, own), "-o", fitted], check=True, capture_output=True)
                tried += these
                said += answers(evaluate, write(these, models, folder), fitted)
                before += answers(evaluate, folder + "/runs.csv", constants)
        error = [sum(abs(a["step_seconds"] / row["step_s"] - 1) for row, a in zip(tried, each) if "error" not in a) / len(tried) for each in (before, said)]
        made = table(tried, said).splitlines()
        if len(made) == 3:
            cells = made[2].split("|")
            lines.append(f"| {source} | {100 * error[0]:.1f} % | {100 * error[1]:.1f} % |" + "|".join(cells[4:]))
    return "\n".join(lines)


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("evaluate", "runs", "models", "constants"):
        parse.add_argument(name)
    parse.add_argument("--page", type=Path)
    parse.add_argument("--sweep")
    parse.add_argument("--tool")
    given = parse.parse_args()
    rows, models = read(given.runs, given.models)
    rows = [row for row in rows if has_step(row)]
    if given.sweep:
        rows += sweep_rows(given.sweep, models)
    with tempfile.TemporaryDirectory() as folder:
        made = table(rows, answers(given.evaluate, write(rows, models, folder), given.constants))
    tables = {"choices": made}
    if given.tool:
        tables["calibrated"] = calibrated(rows, models, given.evaluate, given.constants, given.tool)
    print(*tables.values(), sep="\n\n")
    if given.page:
        text = given.page.read_text()
        for mark, lines in tables.items():
            text = re.sub(rf"(<!-- {mark}: [^\n]*-->\n)\|.*?\n(?=\n)", lambda found: found[1] + lines + "\n", text, flags=re.S)
        given.page.write_text(text)


if __name__ == "__main__":
    main()
