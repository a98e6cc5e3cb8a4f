"""A pipeline of two ranks with PyTorch's 1F1B: torchrun --standalone --nproc-per-node 2
existing.py
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

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


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank = dist.get_rank()
    module = nn.Sequential(part(2 * rank), part(2 * rank + 1))
    stage = PipelineStage(module, rank, RANKS, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICRO_BATCHES, loss_fn=loss_of)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    first, last = rank == 0, rank == RANKS - 1
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
