"""Measures a step of ours against a step of PyTorch's own runtime with the same orders, in turns.

usage: torchrun --standalone --nproc-per-node 2 overhead.py [--rounds 20] [--width 256] [--rows 192] [--micro-batches 8] [--only 1f1b]
           [--device cuda] [--type bfloat16]

PyTorch's runtime (_PipelineScheduleRuntime) gets the passes alone, and adds the transfers itself, as with a file of its
own. Ours is `ashlar_pp.torch.pipeline`: PyTorch's runtime with our transfers and checks, and the runtime of our own. The
order within a round changes from round to round. Prints for each schedule the median step of PyTorch's, and the
differences of the others in the same rounds: median and quartiles.
"""

import argparse
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
from layers import Layer
from meeting import all_done, join
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

import ashlar_pp
import ashlar_pp.torch
from ashlar_pp import catalog

SCHEDULES = {
    "gpipe": catalog.gpipe,
    "1f1b": catalog.one_f_one_b,
    "zb-h1": catalog.zb_h1,
    "breadth-first": catalog.breadth_first,
    "depth-first": catalog.depth_first,
    "v-half": catalog.v_half,
    "v-zb": catalog.v_zb,
}


def stage(number, count, options):
    torch.manual_seed(number)
    layers = options.layers // count
    return nn.Sequential(*(Layer(options.width) for _ in range(layers))).to(getattr(torch, options.type))


def pytorchs(schedule, options):
    """PyTorch's runtime, which adds the transfers to the passes of the schedule."""
    mine = ashlar_pp.torch.stages_of(schedule, dist.get_rank())
    count = len(schedule.placement.routes[0])
    stages = [PipelineStage(stage(s, count, options), s, count, torch.device(options.device)) for s in mine]
    pipe = _PipelineScheduleRuntime(stages, options.micro_batches, loss_fn=nn.functional.mse_loss)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "passes.csv")
        with open(path, "w") as file:
            file.write(ashlar_pp.emit(schedule, "pytorch", dialect=ashlar_pp.torch.installed_dialect()))
        pipe._load_csv(path, format="compute_only")
    return pipe


def ours(schedule, options, runtime):
    count = len(schedule.placement.routes[0])
    return ashlar_pp.torch.pipeline(lambda s: stage(s, count, options), schedule, nn.functional.mse_loss, runtime=runtime)


def timed_step(pipe, schedule, batch):
    mine = ashlar_pp.torch.stages_of(schedule, dist.get_rank())
    last = len(schedule.placement.routes[0]) - 1
    args = (batch[0],) if 0 in mine else ()
    target = {"target": batch[1]} if last in mine else {}
    all_done()
    started = time.perf_counter()
    pipe.step(*args, **target, return_outputs=False)
    all_done()
    return time.perf_counter() - started


def gradients(pipe):
    modules = [s.submod for s in pipe._stages] if hasattr(pipe, "_stages") else list(pipe.modules.values())
    return sum(p.grad.double().square().sum() for m in modules for p in m.parameters())


def measure(name, options, batch):
    schedule = SCHEDULES[name](dist.get_world_size(), options.micro_batches)
    pipes = {
        "theirs": pytorchs(schedule, options),
        "pytorch": ours(schedule, options, "pytorch"),
        "ashlar": ours(schedule, options, "ashlar"),
    }
    for pipe in pipes.values():
        timed_step(pipe, schedule, batch)  # warm-up
    norms = [gradients(pipe) for pipe in pipes.values()]
    if not all(torch.isclose(n, norms[0], rtol=1e-5 if options.type == "float32" else 1e-2) for n in norms):
        raise SystemExit(f"{name}: the runtimes disagree about gradients: {norms}")
    times = {one: [] for one in pipes}
    for turn in range(options.rounds):
        names = list(pipes)
        for one in names[turn % 3 :] + names[: turn % 3]:
            times[one].append(timed_step(pipes[one], schedule, batch))
    if dist.get_rank() == 0:
        cells = [f"{1000 * statistics.median(times['theirs']):.1f}"]
        for one in ("pytorch", "ashlar"):
            over = [100 * (a / b - 1) for a, b in zip(times[one], times["theirs"])]
            low, median, high = statistics.quantiles(over, n=4)
            cells.append(f"{median:+.1f} ({low:+.1f} to {high:+.1f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return times


def main():
    parser = argparse.ArgumentParser()
    for name, value in [("rounds", 20), ("width", 256), ("rows", 192), ("layers", 8), ("micro-batches", 8)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", default="", help="schedules with this in their name")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--type", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    join(options.device)
    torch.manual_seed(0)
    rows = options.micro_batches * options.rows
    batch = torch.randn(2, rows, options.width).to(getattr(torch, options.type)).unbind()
    if dist.get_rank() == 0:
        print("| schedule | PyTorch's runtime, ms | ours in PyTorch's runtime, % | our runtime, % |\n|---|---:|---:|---:|")
    over = {"pytorch": [], "ashlar": []}
    for name in SCHEDULES:
        if options.only in name:
            times = measure(name, options, batch)
            for one, all_of_them in over.items():
                all_of_them += [100 * (a / b - 1) for a, b in zip(times[one], times["theirs"])]
    if dist.get_rank() == 0:
        print("| all rounds | | " + " | ".join(f"{statistics.median(o):+.1f}" for o in over.values()) + " |")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
