#!/usr/bin/env python3
"""Compares plans for several kinds of devices with runs measured on them: AMP's on V100 and T4 (Li et al., 2022).

usage: kinds.py ASHLAR [--page PAGE.md]

The runs, and the times of single layers on each device, are those of the study in examples/studies/amp. A kind's matrix products take as long
as its transformer layers took alone, on one tensor rank. Links are those of the authors' file: a node's link is shared by its four devices, or
not. Each division over ranks that was measured is compared with the fastest plan of 1F1B without recomputation, if there is one. Memory is not
compared: devices have enough. Needs SciPy.
"""
import argparse
import csv
import json
import math
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from scipy.stats import spearmanr

STUDY = Path(__file__).parents[2] / "examples/studies/amp"
HIDDEN = SEQUENCE = 1024
MODEL = {"layers": 24, "hidden": HIDDEN, "heads": 16, "vocabulary": 52256, "sequence": SEQUENCE, "tied": True, "precision": "fp16"}
PEAK = {"V100": 125e12, "T4": 65e12}  # 16-bit products, NVIDIA's data sheets
PROFILE = {"V100": "gpt2_P3", "T4": "gpt2_G4"}
SETTINGS = {"16 T4": ("homogeneous", ["T4"] * 4), "12 V100 and 4 T4": ("het_cluster", ["V100"] * 3 + ["T4"])}


def layer_seconds(kind):
    """Seconds of a transformer layer's forward of one sequence."""
    with open(STUDY / "data/layer_forward_s.csv", newline="") as file:
        return statistics.median(float(row["forward_s_per_sample"]) for row in csv.DictReader(file)
                                 if row["profile"] == PROFILE[kind] and row["tp"] == "1" and 2 <= int(row["layer"]) < 26)


def cluster(nodes, links, shared_by):
    at_peak = (24 * HIDDEN ** 2 * SEQUENCE + 2 * SEQUENCE ** 2 * HIDDEN)
    return {"kinds": [{"name": kind, "nodes": nodes.count(kind), "devices_per_node": 4, "flops": PEAK[kind], "memory_bytes": 64e9,
                       "network_bytes_per_s": 4 * links[nodes.index(kind)][0] / shared_by, "node_bytes_per_s": 4 * links[nodes.index(kind)][1],
                       "products": layer_seconds(kind) * PEAK[kind] / at_peak, "exchange": 1} for kind in dict.fromkeys(nodes)]}


def planned(ashlar, described, folder):
    """Seconds of plans on all devices, by micro-batch and ranks."""
    model, machines = Path(folder) / "model.json", Path(folder) / "cluster.json"
    model.write_text(json.dumps(MODEL))
    machines.write_text(json.dumps(described))
    ran = subprocess.run([ashlar, "plan", "--model", model, "--cluster", machines, "--batch", "32", "--top", "1000", "--as", "json", "--schedules", "1f1b",
                          "--search", "0", "--memory-margin", "0"], capture_output=True, text=True, check=True)
    best = {}
    for plan in json.loads(ran.stdout)["plans"]:
        ranks = tuple(plan[key] for key in ("micro_batch", "tensor", "data", "pipeline"))
        if math.prod(ranks[1:]) == 16 and plan["recomputation"] == "none" and plan["sharding"] in ("none", "optimizer"):
            best[ranks] = min(best.get(ranks, math.inf), plan["seconds"])
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ashlar")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    runs = json.loads((STUDY / "amp.json").read_text())["settings"]
    lines = ["| devices | tensor ranks | a node's link | compared | rank correlation | seconds, median error | first choice, s | fastest, s |", "|---|---|---|---:|---:|---:|---:|---:|"]
    for name, (setting, nodes) in SETTINGS.items():
        for shared_by in (1, 4):
            with tempfile.TemporaryDirectory() as folder:
                plans = planned(options.ashlar, cluster(nodes, runs[setting]["cluster_bandwidth_floats_per_s"], shared_by), folder)
            measured = {(row["micro_batch"], row["tp"], row["dp"], row["pp"]): row["measured_s"] for row in runs[setting]["rows"]
                        if isinstance(row["measured_s"], float) and math.isfinite(row["measured_s"])}
            for most in (1, 4):
                both = [(plans[ranks], seconds) for ranks, seconds in measured.items() if ranks in plans and ranks[1] <= most]
                error = statistics.median(plan / seconds - 1 for plan, seconds in both)
                lines.append(f"| {name} | {'one' if most == 1 else 'any'} | {'of each device' if shared_by == 1 else 'shared by 4'} | {len(both)} "
                             f"| {spearmanr(*zip(*both))[0]:.2f} | {100 * error:+.0f} % | {min(both)[1]:.2f} | {min(seconds for _, seconds in both):.2f} |")
    print("\n".join(lines))
    if options.page:
        text = options.page.read_text()
        options.page.write_text(re.sub(r"(<!-- kinds: [^\n]*-->\n)(?:\|.*\n)*", lambda found: found[1] + "\n".join(lines) + "\n", text))


if __name__ == "__main__":
    main()
