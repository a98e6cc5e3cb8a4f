"""Functions that the processes of test_changed.py run: one each, with a rank in a
group.
"""

import random
import sys
import tempfile

import front_ranks
import numpy as np
import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

import ashlar_pp.torch

WIDTH, MICRO_BATCHES = 8, 4
words_of = front_ranks.words_of


class Tied(nn.Module):
    """A model whose embedding is also its head."""

    def __init__(self, depth=4):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(depth)
        )
        self.head = nn.Linear(WIDTH, 11, bias=False)
        self.head.weight = self.embed.weight
        self.extra = torch.zeros(())

    def forward(self, tokens):
        x = first = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        if self.extra > 0:
            x = x + self.extra * first
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), tokens.flatten())


LATER = []
"""What the next model does before its layers, once it is a pipeline."""


class Late(Tied):
    def forward(self, tokens):
        for act in LATER:
            act(tokens)
        return super().forward(tokens)


def tokens(rows, seed=3):
    return torch.randint(11, (rows, 5), generator=torch.Generator().manual_seed(seed))


def made(kind=Tied, seed=1):
    torch.manual_seed(seed)
    return kind().double()


def piped(model, schedule="1f1b", **options):
    given = {
        "micro_batches": MICRO_BATCHES,
        "repeats": 1,
        "trials": 0,
        "schedule": schedule,
    }
    return ashlar_pp.torch.Pipeline(
        model, {"tokens": tokens(2)}, **{**given, **options}
    )


def off(pipe, model, batch):
    """The largest difference between the pipeline's gradients and the model's."""
    for part in batch.chunk(MICRO_BATCHES):
        (model(part) / MICRO_BATCHES).backward()
    known = dict(model.named_parameters(remove_duplicate=False))
    return max(
        float((p.grad - known[name].grad).abs().max())
        for name, p in pipe.named_parameters()
    )


def ties(_):
    """Tries tied weights that are frozen at first, on all ranks or one, or have hooks;
    and a term traced on request.
    """
    model, whole = made(), made()
    model.embed.weight.requires_grad_(False)
    pipe, batch = piped(model), tokens(8)
    shared = next(
        p
        for name, p in pipe.named_parameters()
        if name in ("embed.weight", "head.weight")
    )
    found = {}
    if dist.get_rank() == 1:
        shared.requires_grad_(True)
    found["on one rank"] = words_of(lambda: pipe.step(tokens=batch))
    shared.requires_grad_(True)
    hook = shared.register_hook(lambda g: g.clamp(-1, 1))
    found["hook"] = words_of(lambda: pipe.step(tokens=batch))
    hook.remove()
    pipe.step(tokens=batch)
    found["off"] = off(pipe, whole, batch)
    for one in (model, whole):
        one.zero_grad()
        one.extra = torch.ones((), dtype=torch.double)
    pipe.zero_grad()
    pipe.trace_again(tokens=batch)
    pipe.step(tokens=batch)
    found["off with another term"] = off(pipe, whole, batch)
    return found


def batches(_):
    """Tries ranks with other batches, or other rows of the same, in any step; and rows
    of one micro-batch for all.
    """
    pipe, batch, rank = piped(made()), tokens(8), dist.get_rank()
    pipe.step(tokens=batch)
    found = {
        "other": words_of(lambda: pipe.step(tokens=tokens(8, 3 + rank))),
        "turned": words_of(lambda: pipe.step(tokens=batch.roll(rank, 0))),
        "mode": words_of(lambda: (pipe.train(rank == 0), pipe.step(tokens=batch))),
    }
    pipe.train()
    found["evaluates"] = words_of(
        lambda: (pipe.step if rank == 0 else pipe.evaluate)(tokens=batch)
    )
    found["short on one rank"] = words_of(lambda: pipe.step(tokens=batch[: 8 - rank]))
    small = ashlar_pp.torch.Pipeline(
        made(),
        {"tokens": tokens(1)},
        micro_batches=MICRO_BATCHES,
        repeats=1,
        trials=0,
        schedule="1f1b",
    )
    found["one row"] = words_of(lambda: small.step(tokens=tokens(1)))
    found["trains on"] = float(pipe.step(tokens=batch)) > 0
    return found


def later(name):
    """Trains a model whose own forward does something new once it is a pipeline."""
    pipe, batch = piped(made(Late)), tokens(8)
    pipe.step(tokens=batch)
    before = [p.grad.clone() for p in pipe.parameters()]
    LATER.append(
        {
            "writes": lambda given: given.clamp_(0),
            "python": lambda _: random.random(),
            "numpy": lambda _: np.random.rand(),
        }[name]
    )
    return {
        "words": words_of(lambda: pipe.step(tokens=batch)),
        "undone": all(
            torch.equal(p.grad, g) for p, g in zip(pipe.parameters(), before)
        ),
    }


class Fused(torch.autograd.Function):
    """Accumulates the gradient of its weight by itself."""

    @staticmethod
    def forward(ctx, x, weight, place):
        ctx.save_for_backward(x)
        ctx.weight, ctx.place = weight, place
        return x @ weight.T

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        found = g.flatten(0, 1).T @ x.flatten(0, 1)
        if ctx.place == "main_grad":
            ctx.weight.main_grad += found
        else:
            ctx.weight.grad = (
                found if ctx.weight.grad is None else ctx.weight.grad + found
            )
        return g @ ctx.weight, None, None


class Adds(nn.Module):
    def __init__(self, place):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(WIDTH))
        self.weight.main_grad = torch.zeros(WIDTH, WIDTH, dtype=torch.double)
        self.place = place

    def forward(self, x):
        return Fused.apply(x, self.weight, self.place)


def lengths(_):
    """Steps with sequences of other lengths than the example's, some of them again."""
    pipe, kept = piped(made()), []
    found = []
    for length in (5, 9, 5, 3, 9):
        batch = torch.randint(11, (8, length))
        dist.broadcast(batch, 0)
        for p in pipe.parameters():
            p.grad = None
        pipe.step(tokens=batch)
        found.append(off(pipe, made(), batch))
        kept.append(len(pipe._by_mode))
    return {"off": found, "kept": kept}


def accumulates(_):
    """Tries layers whose backward fills another place than `.grad`, or fills `.grad`
    itself.
    """

    def of(place):
        model = made()
        model.layers[1] = Adds(place).double()
        model.layers[1].weight.main_grad = torch.zeros(WIDTH, WIDTH, dtype=torch.double)
        return model, words_of(lambda: piped(model))

    model, words = of("main_grad")
    return {
        "main_grad": words,
        "left": float(model.layers[1].weight.main_grad.abs().max()),
        "grad": of("grad")[1],
    }


SCALER = torch.amp.GradScaler("cpu", init_scale=2.0**8)


def scalers(_):
    """Tries a scaler of this rank's gradients alone, global and enclosed, and one that
    decides for all ranks.
    """
    inner = torch.amp.GradScaler("cpu")
    found = {
        "global": words_of(
            lambda: piped(made(), loss_fn=lambda loss, _: SCALER.scale(loss))
        ),
        "enclosed": words_of(
            lambda: piped(made(), loss_fn=lambda loss, _: inner.scale(loss))
        ),
    }
    scaler = ShardedGradScaler(device="cpu", init_scale=2.0**8)
    pipe = piped(made(), loss_fn=lambda loss, _: scaler.scale(loss))
    optimizer = torch.optim.SGD(pipe.parameters(), lr=0.1)
    pipe.step(tokens=tokens(8))
    if dist.get_rank() == 1:
        # the measured cut decides which layers are here
        given = next(p.grad for p in pipe.parameters() if p.grad is not None)
        given.view(-1)[0] = float("inf")
    before = {name: p.detach().clone() for name, p in pipe.named_parameters()}
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return {
        **found,
        "stepped": any(
            not torch.equal(before[name], p) for name, p in pipe.named_parameters()
        ),
        "scale": scaler.get_scale(),
    }


def optimizers(_):
    """Loads states of optimizers where layers are dealt otherwise: by number, and by
    name with tied weights.
    """
    batch = tokens(8)
    pipe = piped(made(), layers=["layers"])
    optimizer = torch.optim.AdamW(pipe.parameters(), lr=0.1)
    pipe.step(tokens=batch)
    optimizer.step()
    other = piped(made(), "depth-first", layers=["layers"])
    loaded = torch.optim.AdamW(other.parameters(), lr=0.1)
    other.step(tokens=batch)
    names = (
        [name for name, _ in pipe.named_parameters()],
        [name for name, _ in other.named_parameters()],
    )
    state = optimizer.state_dict()
    of = [state["state"][k % len(state["state"])] for k in range(len(names[1]))]
    loaded.load_state_dict(
        {
            "state": dict(enumerate(of)),
            "param_groups": loaded.state_dict()["param_groups"],
        }
    )
    found = {
        "by number": words_of(loaded.step),
        "dealt otherwise": names[0] != names[1],
    }
    loaded = torch.optim.AdamW(other.parameters(), lr=0.1)
    with tempfile.TemporaryDirectory() as folder:
        names = [folder]
        dist.broadcast_object_list(names)
        dcp.save(
            {"model": pipe, "optimizer": pipe.optimizer_state(optimizer)},
            checkpoint_id=names[0],
        )
        other.load_state_dict(made(seed=9).state_dict())
        dcp.load(
            {"model": other, "optimizer": other.optimizer_state(loaded)},
            checkpoint_id=names[0],
        )
        dist.barrier()
    pipe.zero_grad()
    other.zero_grad()
    for one, of in ((pipe, optimizer), (other, loaded)):
        one.step(tokens=batch)
        of.step()
    mine, theirs = pipe.whole_state_dict(), other.whole_state_dict()
    found["off"] = max(
        (float((mine[name] - theirs[name]).abs().max()) for name in mine), default=0.0
    )
    found["whole"] = (
        sorted(mine) == sorted(made().state_dict())
        if dist.get_rank() == 0
        else mine == {}
    )
    return found


if __name__ == "__main__":
    ranks.main(globals(), *sys.argv[1:])
