#!/usr/bin/env python3
"""Compares plans for several kinds of devices with runs measured on them: AMP's on V100 and T4 (Li et al., 2022).

usage: kinds.py ASHLAR [--page PAGE.md]

The runs, and the times of single layers on each kind and number of tensor ranks, are those of the study in examples/studies/amp: they are given
to `ashlar plan` as measured layers, and nothing is fitted to runs. A backward takes twice its forward, as the authors take it. Their trainer is of 2021.
Links are those of the authors' file: a node's link is shared by its four devices, or not. Each division over ranks that was measured is compared with the
fastest plan of 1F1B without recomputation, if there is one. Memory is not compared: devices have enough. Needs SciPy.
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
VOCABULARY = 52256
PEAK = {"V100": 125e12, "T4": 65e12}  # 16-bit products, NVIDIA's data sheets
PROFILE = {"V100": "gpt2_P3", "T4": "gpt2_G4"}
SETTINGS = {"16 T4": ("homogeneous", ["T4"] * 4), "12 V100 and 4 T4": ("het_cluster", ["V100"] * 3 + ["T4"])}


def measured_list(kind, tensor):
    """Layers on so many tensor ranks: two before the 24 transformer layers, which are 2 to 25, and four behind them."""
    with open(STUDY / "data/layer_forward_s.csv", newline="") as file:
        times = [float(row["forward_s_per_sample"]) for row in csv.DictReader(file)
                 if row["profile"] == PROFILE[kind] and row["tp"] == str(tensor)]
    layers = []
    for number, seconds in enumerate(times):
        is_transformer = 2 <= number < 26
        parameters = 12 * HIDDEN ** 2 if is_transformer else HIDDEN * VOCABULARY if number in (0, 28) else 0
        values = SEQUENCE * HIDDEN if number < 28 else SEQUENCE * VOCABULARY / tensor
        layers.append({"forward_ms": 1e3 * seconds, "backward_ms": 2e3 * seconds, "parameters": parameters / tensor,
                       "kept_bytes": 34 * SEQUENCE * HIDDEN if is_transformer else 0, "output_bytes": 2 * values})
    return {"kind": kind, "tensor": tensor, "layers": layers}


def model(kinds):
    return {"sequence": SEQUENCE, "measured": [measured_list(kind, tensor) for kind in kinds for tensor in (1, 2, 4)]}


def cluster(nodes, links, shared_by):
    return {"kinds": [{"name": kind, "like": "V100", "nodes": nodes.count(kind), "devices_per_node": 4, "flops": PEAK[kind], "memory_bytes": 64e9,
                       "network_bytes_per_s": 4 * links[nodes.index(kind)][0] / shared_by, "node_bytes_per_s": 4 * links[nodes.index(kind)][1]}
                      for kind in dict.fromkeys(nodes)]}


def planned(ashlar, nodes, described, folder):
    """Seconds of plans on all devices, by micro-batch and ranks."""
    layers, machines = Path(folder) / "model.json", Path(folder) / "cluster.json"
    layers.write_text(json.dumps(model(dict.fromkeys(nodes))))
    machines.write_text(json.dumps(described))
    best = {}
    for sharding in ("none", "optimizer"):
        ran = subprocess.run([ashlar, "plan", "--model", layers, "--cluster", machines, "--batch", "32", "--top", "1000", "--as", "json",
                              "--schedules", "1f1b", "--fix", f"precision=fp16,stack=megatron-2021,recompute=none,context=1,chunks=1,sharding={sharding}"],
                             capture_output=True, text=True, check=True)
        for plan in json.loads(ran.stdout)["plans"]:
            ranks = tuple(plan[key] for key in ("micro_batch", "tensor", "data", "pipeline"))
            if math.prod(ranks[1:]) == 16:
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
                plans = planned(options.ashlar, nodes, cluster(nodes, runs[setting]["cluster_bandwidth_floats_per_s"], shared_by), folder)
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
