"""Measures steps of small models on two processes of this machine, and predicts them by constants measured just before.

usage: OMP_NUM_THREADS=1 torchrun --nproc-per-node 2 on_cpu.py ASHLAR FOLDER [--steps 7] [--minutes 1]

A plain loop of PyTorch with gloo, in 32 bits: two data ranks whose gradients are summed at the end, or two pipeline ranks in 1F1B.
First runs `ashlar_pp.measure` into FOLDER/measured, on the same processes. Writes a config.json for each model and runs.csv, as on_gpu.py
does, and prints a table.
"""

import argparse
import csv
import json
import pathlib
import statistics
import time

import torch
import torch.distributed as dist
from asked import predicted_seconds, table
from torch import nn
from torch.nn import functional

VOCABULARY = 2048
MODELS = {  # hidden, width, layers
    "small": (256, 704, 4),
    "middle": (512, 1408, 4),
    "deep": (384, 1024, 8),
}
RUNS = [  # model, way, tokens of a sequence, sequences of a micro-batch, micro-batches of a rank
    ("small", "data", 256, 2, 4), ("middle", "data", 256, 2, 2), ("middle", "data", 512, 1, 4), ("deep", "data", 256, 2, 2),
    ("small", "pipeline", 256, 2, 8), ("middle", "pipeline", 256, 2, 4), ("middle", "pipeline", 512, 1, 8), ("deep", "pipeline", 256, 2, 8),
]  # fmt: skip


class Layer(nn.Module):
    def __init__(self, hidden, width):
        super().__init__()
        self.heads = hidden // 64
        self.norms = nn.ModuleList(nn.RMSNorm(hidden) for _ in range(2))
        self.wide, self.out, self.gate, self.up, self.down = (
            nn.Linear(*sizes, bias=False) for sizes in
            ((hidden, 3 * hidden), (hidden, hidden), (hidden, width), (hidden, width), (width, hidden))
        )  # fmt: skip

    def turned(self, x):
        angles = torch.arange(x.shape[2])[:, None] * torch.logspace(0, -4, 32)
        cos, sin = (each.repeat(1, 2) for each in (angles.cos(), angles.sin()))
        return x * cos + torch.cat((-x[..., 32:], x[..., :32]), dim=-1) * sin

    def forward(self, x):
        q, k, v = self.wide(self.norms[0](x)).view(*x.shape[:2], 3, self.heads, 64).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        normed = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Part(nn.Module):
    """Consecutive layers of a model, with its embedding if they are the first, and its head and loss if they are the last."""

    def __init__(self, hidden, width, layers, is_first, is_last):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, hidden) if is_first else nn.Identity()
        self.layers = nn.Sequential(*(Layer(hidden, width) for _ in range(layers)))
        self.norm, self.head = (nn.RMSNorm(hidden), nn.Linear(hidden, VOCABULARY, bias=False)) if is_last else (None, None)

    def forward(self, x, wanted):
        x = self.layers(self.embedding(x))
        if self.head is None:
            return x
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), wanted.flatten())


def data_step(part, batches):
    for tokens in batches:
        (part(tokens, tokens) / len(batches)).backward()
    # One sum of all gradients: as many bytes and fewer starts than one for each.
    flat = torch.cat([p.grad.flatten() for p in part.parameters()])
    dist.all_reduce(flat)
    at = 0
    for p in part.parameters():
        p.grad.copy_(flat[at : at + p.numel()].view_as(p)).div_(dist.get_world_size())
        at += p.numel()


def pipeline_step(part, batches, hidden):
    """1F1B on two stages: the first is one forward ahead."""
    rank, kept, sent = dist.get_rank(), [], []

    def send(x):  # both ranks may send at once, so that neither waits
        sent.append((dist.isend(x, 1 - rank), x))

    def forward(tokens):
        if rank == 0:
            out = part(tokens, None)
            send(out.detach())
            kept.append((None, out))
        else:
            x = torch.empty(*tokens.shape, hidden)
            dist.recv(x, 0)
            kept.append((x.requires_grad_(), part(x, tokens) / len(batches)))

    def backward():
        x, out = kept.pop(0)
        if rank == 0:
            slope = torch.empty_like(out)
            dist.recv(slope, 1)
            out.backward(slope)
        else:
            out.backward()
            send(x.grad)

    ahead = 1 - rank
    for i, tokens in enumerate(batches):
        forward(tokens)
        if i >= ahead:
            backward()
    while kept:
        backward()
    for work, _ in sent:
        work.wait()


def config(hidden, width, layers):
    return {"model_type": "llama", "hidden_size": hidden, "intermediate_size": width, "num_hidden_layers": layers,
            "num_attention_heads": hidden // 64, "num_key_value_heads": hidden // 64, "vocab_size": VOCABULARY,
            "tie_word_embeddings": False}  # fmt: skip


def measured_row(run, steps):
    name, way, sequence, micro_batch, micro_batches = run
    hidden, width, layers = MODELS[name]
    rank, splits = dist.get_rank(), way == "pipeline"
    torch.manual_seed(0)
    part = Part(hidden, width, layers // 2 if splits else layers, not splits or rank == 0, not splits or rank == 1)
    optimizer = torch.optim.AdamW(part.parameters(), fused=True)
    batches = torch.randint(VOCABULARY, (micro_batches, micro_batch, sequence)).unbind()

    def step():
        dist.barrier()
        began = time.perf_counter()
        if splits:
            pipeline_step(part, batches, hidden)
        else:
            data_step(part, batches)
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()
        return time.perf_counter() - began

    step()
    seconds = statistics.median(step() for _ in range(steps))
    ranks = {"pipeline": 2, "data": 1} if splits else {"pipeline": 1, "data": 2}
    batch = micro_batch * micro_batches * ranks["data"]
    return {"model": f"{name}.json", "sequence": sequence, "batch": batch, "micro_batch": micro_batch, **ranks, "stack": "plain",
            "precision": "fp32", "attention": "sdpa", "step_seconds": round(seconds, 6)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ashlar")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=1, help="of ashlar_pp.measure")
    given = parser.parse_args()
    from ashlar_pp.measure.__main__ import arguments, run

    dist.init_process_group("gloo")
    run(arguments().parse_args([str(given.folder / "measured"), "--device", "cpu", "--minutes", str(given.minutes)]))
    rows = [measured_row(each, given.steps) for each in RUNS]
    if dist.get_rank() == 0:
        for name, sizes in MODELS.items():
            (given.folder / f"{name}.json").write_text(json.dumps(config(*sizes)))
        with open(given.folder / "runs.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        seconds = [predicted_seconds(given.ashlar, given.folder, row, given.folder / "measured") for row in rows]
        print(table(rows, seconds, ("model", "data", "pipeline", "sequence", "micro_batch", "batch")))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
