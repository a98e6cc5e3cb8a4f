#!/usr/bin/env python3
"""`ashlar predict` beside llm-analysis, on measured training runs.

usage: predictions.py EVALUATE RUNS.csv MODELS.json CONSTANTS.json

EVALUATE is bench_predict_evaluate; bench/predict/runs.py says what the table of runs has, and bench/predict/fit.py fits our constants.
Prints the tables of docs/comparisons.md. Needs llm-analysis, SciPy and fire.

llm-analysis divides the operations of a step by the peak of the devices times an efficiency, which its user gives. Here each family of
models has, for each kind of device, the efficiency that suits all other families best; our constants, too, are fitted without that
family. Rows are those that llm-analysis has words for: dense models, A100 and H100, 16 bits, no context ranks.
"""
import argparse
import collections
import contextlib
import io
import json
import logging
import math
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "predict"))
from fit import EXPECTED, Fit, leave_out  # noqa: E402
from runs import answers, has_step, read, write  # noqa: E402

from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis  # noqa: E402
from llm_analysis.config import DtypeConfig, ModelConfig, ParallelismConfig, get_gpu_config_by_name  # noqa: E402

DEVICES = {"A100-80": "a100-sxm-80gb", "A100-40": "a100-sxm-40gb", "H100": "h100-sxm-80gb"}
SHARDING = {"none": DSZeRO.NONE, "": DSZeRO.NONE, "optimizer": DSZeRO.STAGE_1, "gradients": DSZeRO.STAGE_2, "full": DSZeRO.STAGE_3}
RECOMPUTATION = {"none": ActivationRecomputation.NONE, "": ActivationRecomputation.NONE, "attention": ActivationRecomputation.SELECTIVE,
                 "full": ActivationRecomputation.FULL}


def is_dense(model):
    return not any(model.get(key) for key in ("num_experts", "num_local_experts", "n_routed_experts"))


def has_words_for(row, models):
    return (row["accelerator"] in DEVICES and row["precision"] in ("bf16", "fp16") and (row["context"] or 1) == 1
            and (row["recompute"] or "") in RECOMPUTATION and is_dense(models[row["model"]]))


def asked(row, model):
    """Runs llm-analysis on a row at an efficiency of 1: seconds, and bytes of the fullest device. None if it refuses."""
    hidden, inner = model["hidden_size"], model.get("intermediate_size") or 4 * model["hidden_size"]
    gated = model.get("hidden_act", "") not in ("gelu", "relu", "squared_relu")
    wide = max(1, round((1.5 if gated else 1) * inner / hidden))  # llm-analysis has two matrices, and whole multiples of the hidden size
    try:
        config = ModelConfig(name=row["model"], num_layers=model["num_hidden_layers"], n_head=model["num_attention_heads"], hidden_dim=hidden,
                             vocab_size=model["vocab_size"], max_seq_len=row["sequence"], ffn_embed_dim=wide * hidden,
                             num_key_value_heads=model.get("num_key_value_heads"))
        analysis = LLMAnalysis(config, get_gpu_config_by_name(DEVICES[row["accelerator"]]), DtypeConfig(),
                               ParallelismConfig(tp_size=row["tensor"], pp_size=row["pipeline"], dp_size=row["data"]), flops_efficiency=1)
        with contextlib.redirect_stdout(io.StringIO()):
            said = analysis.training(batch_size_per_gpu=row["micro_batch"], global_batch_size=row["global_batch"], seq_len=row["sequence"],
                                     activation_recomputation=RECOMPUTATION[row["recompute"] or ""],
                                     ds_zero=SHARDING[row["sharding"] or ""], mlp_gated_linear_units=gated)
    except AssertionError:
        return None
    return said["latency_per_iter"], said["(weight+op_state+grad+act)_memory_per_gpu"]


def without_family(rows, ideal):
    """Error of each row at the median efficiency of other families on the same devices, or on all if there are none."""
    errors = np.full(len(rows), math.nan)
    for i, row in enumerate(rows):
        others = [(other["accelerator"], time / other["step_s"]) for other, time in zip(rows, ideal) if other["family"] != row["family"]]
        same = [share for accelerator, share in others if accelerator == row["accelerator"]]
        errors[i] = ideal[i] / statistics.median(same or [share for _, share in others]) / row["step_s"] - 1
    return errors


def has_peak(row):
    """Whether the highest device's peak was measured."""
    return row["status"] == "ok" and "memory" in row["use"] and row["peak_bytes"] and row["source"] not in ("golden", "mlperf")


def peaks(o, rows, models):
    """Source, our error and that of llm-analysis, for each row with a measured peak."""
    with tempfile.TemporaryDirectory() as folder:
        mine = answers(o.evaluate, write(rows, models, folder), o.constants)
    found = []
    for row, answer in zip(rows, mine):
        said = asked(row, models[row["model"]])
        if said:
            found.append((row["source"], answer["peak_bytes"] / row["peak_bytes"] - 1, said[1] / row["peak_bytes"] - 1))
    return found


def print_table(errors):
    by = collections.OrderedDict()
    for source, mine, other in errors:
        by.setdefault(source, []).append((abs(mine), abs(other)))
    by["all"] = [pair for pairs in by.values() for pair in pairs]
    print("| source | rows | Ashlar: mean | median | within 10 % | llm-analysis: mean | median | within 10 % |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for source, pairs in by.items():
        cells = []
        for of in zip(*pairs):
            cells += [f"{100 * statistics.mean(of):.1f}", f"{100 * statistics.median(of):.1f}",
                      f"{100 * sum(error <= .1 for error in of) / len(of):.0f} %"]
        print(f"| {source} | {len(pairs)} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("evaluate", "runs", "models", "constants"):
        parser.add_argument(name)
    o = parser.parse_args()
    logging.disable(logging.CRITICAL)
    described = json.loads(Path(o.constants).read_text())["constants"]
    round_numbers = {name: each["round"] for name, each in described.items()}
    values = {name: each["value"] for name, each in described.items()}
    all_rows, models = read(o.runs, o.models)
    rows = [row for row in all_rows if has_step(row) and EXPECTED.get(row["source"], .2) < .5]
    with tempfile.TemporaryDirectory() as folder:
        run = Fit(o.evaluate, write(rows, models, folder), rows, o.constants)
        ours = leave_out(run, values, round_numbers, np.full(len(rows), True), lambda row: row["family"])
        run.evaluate.close()
    known = [(row, error, asked(row, models[row["model"]])) for row, error in zip(rows, ours) if has_words_for(row, models)]
    known = [each for each in known if each[2]]
    theirs = without_family([row for row, _, _ in known], [said[0] for _, _, said in known])
    print("Steps")
    print_table([(row["source"], mine, other) for (row, mine, _), other in zip(known, theirs)])
    print("Peaks of memory")
    print_table(peaks(o, [row for row in all_rows if has_peak(row) and has_words_for(row, models)], models))


if __name__ == "__main__":
    main()
