"""A program whose model, loop and data are its own; --share names what wraps it."""

import argparse
import contextlib
import itertools
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--share", default="ddp")
parser.add_argument("--each", type=int, default=3)
parser.add_argument("--rounds", type=int, default=4)
parser.add_argument("--long", type=int, default=48)
parser.add_argument("--again", default="none")
parser.add_argument("--plain", action="store_true", help="attention by hand")
parser.add_argument("--pure", action="store_true")
parser.add_argument("--sum-each", action="store_true")
parser.add_argument("--asks", action="store_true")
parser.add_argument("--odd", default="")
parser.add_argument("--begins", help="a file of weights")
given = parser.parse_args()
WIDE, WORDS, LAYERS, HEADS = 32, 96, 3, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDE), nn.LayerNorm(WIDE)
        self.makes = nn.Linear(WIDE, 3 * WIDE, bias=False)
        self.joins = nn.Linear(WIDE, WIDE, bias=False)
        self.up, self.down = nn.Linear(WIDE, 4 * WIDE), nn.Linear(4 * WIDE, WIDE)
        self.register_buffer("hides", torch.ones(64, 64).triu(1).bool())

    def mixed(self, x):
        count, length, _ = x.shape
        shape = (count, length, HEADS, WIDE // HEADS)
        parts = self.makes(x).split(WIDE, -1)
        query, key, value = (each.view(shape).transpose(1, 2) for each in parts)
        if given.plain:
            scores = query @ key.transpose(-1, -2) / (WIDE // HEADS) ** 0.5
            hides = self.hides[:length, :length]
            made = scores.masked_fill(hides, -torch.inf).softmax(-1) @ value
        else:
            made = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.joins(made.transpose(1, 2).reshape(count, length, WIDE))

    def forward(self, x):
        first = self.first(x)
        is_part = given.again == "part"
        x = x + (checkpoint(self.mixed, first) if is_part else self.mixed(first))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDE), nn.Embedding(64, WIDE)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDE)
        self.head = nn.Linear(WIDE, WORDS, bias=False)
        self.head.weight = self.words.weight
        nn.init.normal_(self.head.weight)

    def forward(self, ids, targets=None):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for each in self.blocks:
            again = given.again == "all" and self.training
            x = checkpoint(each, x, use_reentrant=False) if again else each(x)
        logits = self.head(self.last(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


fabric = None
if given.share == "fabric":
    from lightning.fabric import Fabric
    from lightning.fabric.strategies import FSDPStrategy

    strategy = FSDPStrategy(
        auto_wrap_policy={Block}, activation_checkpointing_policy={Block}
    )
    fabric = Fabric(devices=4, strategy=strategy, precision="bf16-true")
    fabric.launch()
is_one_of_many = "RANK" in os.environ and not fabric
if is_one_of_many:
    torch.distributed.init_process_group("nccl")
with fabric.init_module() if fabric else contextlib.nullcontext():
    model = Model().to("cuda")
if given.begins:
    state = torch.load(given.begins)
    model.load_state_dict(state["model"] if given.odd == "state" else state)
if given.pure:
    model = model.bfloat16()
if fabric:
    model = fabric.setup(model)
if given.share == "ddp" and is_one_of_many:
    model = nn.parallel.DistributedDataParallel(model)
elif given.share == "fsdp":
    half = torch.bfloat16
    model = FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        mixed_precision=MixedPrecision(param_dtype=half, reduce_dtype=half),
    )
elif given.share in ("fully_shard", "whole"):
    half = MixedPrecisionPolicy(torch.bfloat16, torch.bfloat16)
    for each in model.blocks if given.share == "fully_shard" else ():
        fully_shard(each, mp_policy=half)
    fully_shard(model, mp_policy=half)
trained = list(model.parameters())
if given.odd == "other":
    other = nn.Linear(WIDE, WIDE)
    trained += list(other.parameters())
optimizer = torch.optim.AdamW(trained, fused=True, amsgrad=given.odd == "amsgrad")
if given.odd == "optimizer":

    class AdamW(torch.optim.AdamW):
        """Another state by the same name."""

    optimizer = AdamW(model.parameters())
idle = torch.optim.SGD(trained) if given.odd == "two" else None
frozen = Model() if given.odd == "second" else None
scaler = torch.amp.GradScaler("cuda", enabled=False)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
if given.asks and os.path.exists("texts/words.json"):
    raise SystemExit("it has words")


turns = itertools.count()


def batch():
    data = np.memmap("texts/train.bin", dtype=np.uint16, mode="r")
    turn = next(turns)
    size = given.long + (turn % 2 if given.odd == "lengths" else 0)
    size += given.odd == "later" and turn >= 4 * given.rounds
    at = torch.randint(len(data) - size, (given.each,))
    rows = [torch.from_numpy(data[i : i + size + 1].astype(np.int64)) for i in at]
    both = torch.stack(rows).pin_memory().to("cuda", non_blocking=True)
    return both[:, :-1], both[:, 1:]


products = torch.autocast("cuda", torch.bfloat16)
if given.pure or given.share in ("fsdp", "fully_shard", "fabric"):
    products = contextlib.nullcontext()
for step in range(1000):
    if step % 100 == 0:
        model.eval()
        with torch.no_grad():
            losses = torch.tensor([model(*batch())[1].item() for _ in range(5)])
        print(f"{losses.mean():.3f}")
        model.train()
    for turn in range(given.rounds):
        ends = turn == given.rounds - 1
        waits = contextlib.nullcontext()
        if fabric:
            waits = fabric.no_backward_sync(model, enabled=not ends)
        elif given.share == "fully_shard":
            model.set_requires_gradient_sync(ends or given.sum_each)
        elif hasattr(model, "no_sync") and not ends and not given.sum_each:
            waits = model.no_sync()
        with waits, products:
            loss = model(*batch())[1] / given.rounds
            if given.odd == "penalty":
                loss = loss + model(*batch())[1]
            if fabric:
                fabric.backward(loss)
            else:
                scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"{loss.item():.3f} {norm:.3f}")
