"""The pipeline of existing.py with a searched schedule: torchrun --standalone
--nproc-per-node 2 searched.py
"""

import torch
import torch.distributed as dist
from torch import nn

import ashlar_pp
import ashlar_pp.torch

RANKS, MICRO_BATCHES, STEPS, WIDTH = 2, 8, 3, 64


def part(number):
    """A quarter of the model; the last one has more to do."""
    torch.manual_seed(number)
    depth = 3 if number == 3 else 1
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(depth))
    ).double()


def batch(step):
    torch.manual_seed(1000 + step)
    return torch.randn(2, 16 * MICRO_BATCHES, WIDTH, dtype=torch.double).unbind()


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def searched(stages, known, first, last):
    """Runs a published schedule to measure passes, and searches one for what they
    take.
    """
    inputs, targets = batch(0)
    measured = ashlar_pp.torch.pipeline(stages, known, loss_of, runtime="ashlar")
    costs = ashlar_pp.torch.profile(
        measured, *([inputs] if first else []), target=targets if last else None
    )
    found = ashlar_pp.search(
        known.placement, MICRO_BATCHES, costs, limit=known.peak_activations
    )
    return ashlar_pp.torch.pipeline(
        stages, found.schedule | ashlar_pp.fuse_where_free(), loss_of
    )


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank = dist.get_rank()
    known = ashlar_pp.catalog.v_zb(RANKS, MICRO_BATCHES)
    module = nn.ModuleDict(
        {str(s): part(s) for s in ashlar_pp.torch.stages_of(known, rank)}
    )
    stages = {int(s): one for s, one in module.items()}
    first, last = 0 in stages, known.stages - 1 in stages
    schedule = searched(stages, known, first, last)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for step in range(STEPS):
        inputs, targets = batch(step)
        losses = []
        optimizer.zero_grad()
        schedule.step(
            *([inputs] if first else []),
            **({"target": targets, "losses": losses} if last else {}),
        )
        optimizer.step()
        if last:
            print(f"step {step}: {torch.stack(losses).mean().item():.12f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
