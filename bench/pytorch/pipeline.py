"""Measures `ashlar_pp.torch.Pipeline` against PyTorch's Schedule1F1B, in turns.

usage: torchrun --standalone --nproc-per-node 2 pipeline.py [--rounds 20] [--width 256 512] [--rows 192] [--layers 8] [--micro-batches 8]

Four ways to run the same layers: Schedule1F1B with stages of equally many layers; `Pipeline(schedule="1f1b")` in PyTorch's runtime and
in its own; and `Pipeline` as it is by default, whose plan is the one found or 1F1B, whichever took less time when it was made. The
order within a round changes from round to round. Prints for each width the median step of PyTorch's, and for the others the ratio of the
same rounds: median and quartiles, of time and of the processor time of all ranks. Losses of the first step have to be equal.
"""

import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
from layers import Layer
from meeting import all_done, join
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

from ashlar_pp.torch import Pipeline


def model(width, layers):
    torch.manual_seed(0)
    return nn.Sequential(*(Layer(width) for _ in range(layers)))


class OfPytorch:
    def __init__(self, width, options, batch):
        self.batch, self.rank, ranks = batch, dist.get_rank(), dist.get_world_size()
        each = options.layers // ranks
        part = nn.Sequential(*model(width, options.layers)[self.rank * each : (self.rank + 1) * each])
        self.is_last = self.rank + 1 == ranks
        self.stage = PipelineStage(part, self.rank, ranks, torch.device("cpu"))
        self.pipe = Schedule1F1B(self.stage, options.micro_batches, loss_fn=nn.functional.mse_loss)

    def step(self):
        self.stage.submod.zero_grad()
        losses = []
        self.pipe.step(
            *([self.batch[0]] if self.rank == 0 else []),
            **({"target": self.batch[1], "losses": losses} if self.is_last else {}),
            return_outputs=False,
        )
        return torch.stack(losses).mean().item() if losses else None


class OfAshlar:
    def __init__(self, width, options, batch, **how):
        self.batch = batch
        example, target = (x[: options.rows] for x in batch)
        self.pipe = Pipeline(
            model(width, options.layers), example, target=target, loss_fn=nn.functional.mse_loss,
            micro_batches=options.micro_batches, **how,
        )  # fmt: skip

    def step(self):
        self.pipe.zero_grad()
        return self.pipe.step(self.batch[0], target=self.batch[1]).item()


def timed_step(one):
    """Seconds of a step, those of the processors of all ranks, and the loss where it is known."""
    all_done()
    before, started = os.times(), time.perf_counter()
    loss = one.step()
    after = os.times()
    all_done()
    taken = time.perf_counter() - started
    processors = torch.tensor([after.user + after.system - before.user - before.system], dtype=torch.double)
    dist.all_reduce(processors)
    return taken, processors.item(), loss


def shown(ratios):
    low, median, high = statistics.quantiles(ratios, n=4)
    return f"{median:.3f} ({low:.3f} to {high:.3f})"


def measure(width, options):
    torch.manual_seed(1)
    batch = torch.randn(2, options.rows * options.micro_batches, width).unbind()
    ways = {
        "PyTorch's 1F1B": OfPytorch(width, options, batch),
        "Pipeline, 1f1b, runtime pytorch": OfAshlar(width, options, batch, schedule="1f1b", runtime="pytorch"),
        "Pipeline, 1f1b": OfAshlar(width, options, batch, schedule="1f1b"),
        "Pipeline": OfAshlar(width, options, batch),
    }
    losses = [timed_step(one)[2] for one in ways.values()]
    if None not in losses and max(losses) - min(losses) > 1e-5 * abs(losses[0]):
        raise SystemExit(f"the losses differ: {losses}")
    taken = {name: [] for name in ways}
    for turn in range(options.rounds):
        names = list(ways)
        begin = turn % len(names)
        for name in names[begin:] + names[:begin]:
            taken[name].append(timed_step(ways[name])[:2])
    if dist.get_rank() == 0:
        first = taken["PyTorch's 1F1B"]
        cells = [f"{width}", f"{1000 * statistics.median(time for time, _ in first):.1f}"]
        for name in list(ways)[1:]:
            for k in range(2):
                cells.append(shown([a[k] / b[k] for a, b in zip(taken[name], first)]))
        print(f"| {' | '.join(cells)} | {ways['Pipeline'].pipe.plan.name} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name, value in [("rounds", 20), ("rows", 192), ("layers", 8), ("micro-batches", 8)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--width", type=int, nargs="*", default=[64, 256, 512])
    options = parser.parse_args()
    join("cpu")
    if dist.get_rank() == 0:
        names = ["1f1b, runtime pytorch", "1f1b", "Pipeline"]
        print(f"| width | PyTorch's 1F1B, ms | {' | its processor time | '.join(names)} | its processor time | runs |")
        print("|---:|---:|" + "---:|---:|" * len(names) + "---|")
    for width in options.width:
        measure(width, options)
    if dist.get_rank() == 0:
        print(f"\nload over the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
