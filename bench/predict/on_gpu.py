"""Measures steps of models of `transformers` on this GPU, as a file for `ashlar predict --calibrate` or to lay beside its predictions.

usage: python on_gpu.py FOLDER [--steps 5] [--only llama] [--ashlar ASHLAR --measured MEASURED]

A plain loop of PyTorch on one GPU: weights in bf16, scaled_dot_product_attention, several micro-batches, fused AdamW. Writes a
config.json for each model and runs.csv with a row for each run: options of `ashlar predict`, the median step, and the most memory.
With --measured, a folder that `python -m ashlar_pp.measure` wrote on this GPU, the steps are predicted from it, too.
"""

import argparse
import csv
import pathlib
import statistics
import time

import torch
import transformers
from asked import predicted_seconds, table

WIDTHS = {
    "llama-1b": dict(hidden_size=2048, intermediate_size=8192, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=16),
    "llama-2b": dict(hidden_size=2560, intermediate_size=6912, num_attention_heads=20, num_key_value_heads=20, num_hidden_layers=24),
    "llama-8b-part": dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=8),
    "llama-70b-part": dict(hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_key_value_heads=8, num_hidden_layers=2),
}
RUNS = [  # model, tokens of a sequence, sequences of a micro-batch
    ("llama-1b", 2048, 1), ("llama-1b", 2048, 4), ("llama-1b", 8192, 1),
    ("llama-2b", 2048, 2), ("llama-8b-part", 4096, 1), ("llama-8b-part", 4096, 2), ("llama-8b-part", 16384, 1),
    ("llama-70b-part", 4096, 1),
]  # fmt: skip
MICRO_BATCHES = 4
VOCABULARY = 32768


def step_of(model, optimizer, batch, rows):
    for tokens in batch.split(rows):
        (model(input_ids=tokens, labels=tokens).loss / MICRO_BATCHES).backward()
    optimizer.step()
    optimizer.zero_grad()


def seconds(call):
    torch.cuda.synchronize()
    started = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--only", default="", help="models with this in their name")
    parser.add_argument("--ashlar", help="the tool, for --measured")
    parser.add_argument("--measured", type=pathlib.Path, help="constants measured here")
    options = parser.parse_args()
    if (options.ashlar is None) != (options.measured is None):
        parser.error("--ashlar and --measured go together")
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_default_device("cuda")
    rows = []
    for name, sequence, micro_batch in RUNS:
        if options.only not in name:
            continue
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            **WIDTHS[name], vocab_size=VOCABULARY, max_position_embeddings=sequence, tie_word_embeddings=False,
            use_cache=False, attn_implementation="sdpa",
        )  # fmt: skip
        torch.set_default_dtype(torch.bfloat16)
        model = transformers.LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        batch = torch.randint(VOCABULARY, (MICRO_BATCHES * micro_batch, sequence))
        for _ in range(2):
            step_of(model, optimizer, batch, micro_batch)
        torch.cuda.reset_peak_memory_stats()
        times = [seconds(lambda: step_of(model, optimizer, batch, micro_batch)) for _ in range(options.steps)]
        (options.folder / f"{name}.json").write_text(config.to_json_string())
        rows.append({
            "model": f"{name}.json", "cluster": f"1x{torch.cuda.get_device_name().split()[1]}", "sequence": sequence,
            "batch": MICRO_BATCHES * micro_batch, "micro_batch": micro_batch, "stack": "plain",
            "step_seconds": round(statistics.median(times), 5), "least_seconds": round(min(times), 5),
            "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 3),
        })  # fmt: skip
        print(rows[-1], flush=True)
        del model, optimizer
        torch.cuda.empty_cache()
    with open(options.folder / "runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    if options.measured:
        seconds = [predicted_seconds(options.ashlar, options.folder, row, options.measured) for row in rows]
        print(table(rows, seconds, ("model", "sequence", "micro_batch", "batch")))


if __name__ == "__main__":
    main()
