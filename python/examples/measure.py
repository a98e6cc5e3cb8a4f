"""Measures searched schedules beside PyTorch's own, for the same model on the same
ranks, in turns.

usage: torchrun --nproc-per-node 2 measure.py [--micro-batches 8] [--rounds 10] [--width
192] [--vocabulary 2048] [--only V]

The model is a language model in two stages a rank, whose head makes the last stage
longer than the others. Its passes are measured, schedules are searched for these times,
and then all are run: PyTorch's as PyTorch makes them, the searched ones in PyTorch's
runtime and in ours. Prints the median and the least time of a step, and the difference
of the searched ones to the best of PyTorch's in the same rounds.
"""

import argparse
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, schedules

import ashlar_pp
import ashlar_pp.torch

STAGES_A_RANK = 2


class Layer(nn.Module):
    """The MLP of a transformer, with a residual."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def stage(number, count, options):
    torch.manual_seed(number)
    layers = [Layer(options.width) for _ in range(options.layers)]
    if number + 1 == count:
        layers.append(nn.Linear(options.width, options.vocabulary))
    return nn.Sequential(*layers)


def joined(number, ranks, options):
    """Joins both stages of a rank, for schedules with one stage a rank."""
    count = STAGES_A_RANK * ranks
    return nn.Sequential(
        *(
            stage(STAGES_A_RANK * number + k, count, options)
            for k in range(STAGES_A_RANK)
        )
    )


def loss_of(output, target):
    return nn.functional.cross_entropy(output, target)


def theirs(options, ranks):
    """Yields PyTorch's own schedules: the name, the stages of this rank, and the
    schedule.
    """
    rank, count = dist.get_rank(), STAGES_A_RANK * ranks
    looped, v = [rank, rank + ranks], [rank, count - 1 - rank]
    for name, mine in [
        ("ScheduleGPipe", None),
        ("Schedule1F1B", None),
        ("ScheduleLoopedBFS", looped),
        ("ScheduleInterleaved1F1B", looped),
        ("ScheduleInterleavedZeroBubble", looped),
        ("ScheduleZBVZeroBubble", v),
        ("ScheduleDualPipeV", v),
    ]:
        made = getattr(schedules, name)
        if mine is None:
            one = PipelineStage(
                joined(rank, ranks, options), rank, ranks, torch.device("cpu")
            )
            yield name, made(one, options.micro_batches, loss_fn=loss_of), [rank], ranks
        else:
            stages = [
                PipelineStage(stage(s, count, options), s, count, torch.device("cpu"))
                for s in mine
            ]
            yield (
                name,
                made(stages, options.micro_batches, loss_fn=loss_of),
                mine,
                count,
            )


def searched(options, ranks, batch):
    """Yields the best schedules found for measured costs on the placements of PyTorch's
    schedules, in both runtimes.
    """
    rank, count = dist.get_rank(), STAGES_A_RANK * ranks
    first = ashlar_pp.catalog.v_zb(ranks, options.micro_batches)
    mine = ashlar_pp.torch.stages_of(first, rank)
    build = lambda number: stage(number, count, options)  # noqa: E731
    args, last = for_stages(mine, count, batch)
    costs = ashlar_pp.torch.profile(
        ashlar_pp.torch.pipeline(build, first, loss_of, runtime="ashlar"),
        *args,
        **last,
        steps=3,
    )
    if rank == 0:
        print(
            "us of (forward, input pass, weight pass) by stage:",
            costs.per_stage,
            "transfer:",
            costs.transfer,
            flush=True,
        )
    for name, placement in [
        ("V", ashlar_pp.v_shape(ranks)),
        ("looped", ashlar_pp.looped(ranks, STAGES_A_RANK)),
    ]:
        found = ashlar_pp.search(
            placement,
            options.micro_batches,
            costs,
            aim="makespan",
            budget=options.budget,
        )
        schedule = found.schedule | ashlar_pp.fuse_where_free()
        mine = ashlar_pp.torch.stages_of(schedule, rank)
        if rank == 0:
            print(f"{name}: {found}", flush=True)
        for runtime in ("pytorch", "ashlar"):
            pipe = ashlar_pp.torch.pipeline(build, schedule, loss_of, runtime=runtime)
            yield f"searched, {name}, runtime {runtime}", pipe, mine, count


def for_stages(mine, count, batch):
    """Arguments of a step on a rank with these stages."""
    return (batch[0],) if 0 in mine else (), {
        "target": batch[1]
    } if count - 1 in mine else {}


def timed_step(pipe, mine, count, batch):
    args, last = for_stages(mine, count, batch)
    dist.barrier()
    started = time.perf_counter()
    pipe.step(*args, **last)
    dist.barrier()
    took = time.perf_counter() - started
    # operating systems pause a process that always runs and never rests
    time.sleep(took / 10)
    return took


def report(times):
    for name, ms in times.items():
        print(f"| {name} | {statistics.median(ms):.1f} | {min(ms):.1f} |")
    of_pytorch = [name for name in times if name.startswith("Schedule")]
    best = min(
        of_pytorch, key=lambda name: statistics.median(times[name]), default=None
    )
    if best is None:
        return
    for name in (name for name in times if name.startswith("searched")):
        quarter, median, most = statistics.quantiles(
            (100 * (a / b - 1) for a, b in zip(times[name], times[best])), n=4
        )
        print(
            f"{name} over {best}: {median:+.1f} %, half of the rounds from "
            f"{quarter:+.1f} to {most:+.1f}"
        )


def main():
    parser = argparse.ArgumentParser()
    for name, value in [
        ("micro-batches", 8),
        ("rounds", 10),
        ("width", 192),
        ("layers", 2),
        ("vocabulary", 2048),
        ("rows", 128),
        ("budget", 3000),
    ]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", default="", help="run those with this in their name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    torch.manual_seed(0)
    rows = options.micro_batches * options.rows
    batch = torch.randn(rows, options.width), torch.randint(options.vocabulary, (rows,))
    made = [*theirs(options, ranks), *searched(options, ranks, batch)]
    pipes = {name: rest for name, *rest in made if options.only in name}
    times = {name: [] for name in pipes}
    for pipe in pipes.values():
        timed_step(*pipe, batch)  # warm-up
    for turn in range(options.rounds):
        names = list(pipes)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(1000 * timed_step(*pipes[name], batch))
    if dist.get_rank() == 0:
        report(times)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
