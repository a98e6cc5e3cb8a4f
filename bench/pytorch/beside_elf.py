"""Measures `ashlar_pp.torch.Pipeline` beside ELF (PyPI's elf-pipeline): the same model, batch and ranks, in turns.

usage: MALLOC_MMAP_THRESHOLD_=65536 torchrun --standalone --nproc-per-node 2 beside_elf.py [--rounds 20] [--width 256] [--vocabulary 1024] [--only pipeline]
           [--device cuda]

Both get an uncut model, and cut it by their own measurements: layers of an MLP with a head that makes the last part longer.
ELF runs each of its schedules, and `Pipeline` those that it finds within each limit on memory (None: as many activations as
1F1B has). Prints the median and least step, the most memory (of the processor or the GPU) that a step took beyond that before
it, on the rank with the most, and the loss of the first step, which must be the same for all.
"""

import argparse
import importlib
import statistics
import time

import elf_on_cpu
import torch
import torch.distributed as dist
from layers import Layer
from meeting import all_done, join
from torch import nn

from ashlar_pp.torch import Pipeline

OF_ELF = ["afab", "1f1b", "zbh1", "zbh2", "hanayo", "zbv"]


def model(options):
    torch.manual_seed(0)
    return nn.Sequential(*(Layer(options.width) for _ in range(options.layers)), nn.Linear(options.width, options.vocabulary))


def elf_for(device):
    """The package elf, changed for CPUs if there is no GPU."""
    return importlib.import_module("elf") if device == "cuda" else elf_on_cpu.installed()


class OfElf:
    def __init__(self, scheduler, options, batch):
        self.rows, self.batch = options.rows, batch
        self.pipe = elf_for(options.device).Pipeline(model(options), [batch[0][: options.rows]], scheduler=scheduler)

    def step(self):
        _, loss = self.pipe.step(*self.batch, nn.functional.cross_entropy, split_size=self.rows)
        return loss


class OfAshlar:
    def __init__(self, memory, options, batch):
        self.batch = batch
        example, target = (x[: options.rows] for x in batch)
        self.pipe = Pipeline(
            model(options), example, target=target, loss_fn=nn.functional.cross_entropy,
            micro_batches=options.micro_batches, memory=memory, budget=options.budget,
        )  # fmt: skip

    def step(self):
        return self.pipe.step(self.batch[0], target=self.batch[1])


def status(field):
    """MiB of this process: VmRSS is its memory now, VmHWM the most since the last reset."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


class Memory:
    """Measures the most MiB used from now on, beyond those used now."""

    def __init__(self, device):
        self.on_gpu = device == "cuda"
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated() / 2**20
            return
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets VmHWM
        self.before = status("VmRSS")

    def most(self):
        return (torch.cuda.max_memory_allocated() / 2**20 if self.on_gpu else status("VmHWM")) - self.before


def timed_step(one, device):
    """Seconds of a step, the most MiB that it took, and its loss on the rank that has it."""
    one.pipe.zero_grad()
    all_done()
    memory = Memory(device)
    started = time.perf_counter()
    loss = one.step()
    all_done()
    return time.perf_counter() - started, memory.most(), loss


def most_of_ranks(number):
    value = torch.tensor([number], dtype=torch.double)
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return value.item()


def main():
    parser = argparse.ArgumentParser()
    for name, value in [("rounds", 20), ("width", 256), ("rows", 192), ("layers", 8), ("micro-batches", 8), ("vocabulary", 1024), ("budget", 3000)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--memory", nargs="*", default=["64GiB"], help="limits of Pipeline")
    parser.add_argument("--only", default="", help="those with this in their name")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options = parser.parse_args()
    join(options.device)
    torch.manual_seed(1)
    rows = options.rows * options.micro_batches
    batch = torch.randn(rows, options.width), torch.randint(options.vocabulary, (rows,))
    makers = {f"ELF, {name}": (OfElf, name) for name in OF_ELF}
    makers |= {f"Pipeline, memory={memory}": (OfAshlar, memory) for memory in [None, *options.memory]}
    pipes, losses, refusals = {}, {}, {}
    for name, (make, argument) in makers.items():
        if options.only not in name:
            continue
        one = make(argument, options, batch)
        try:
            loss = timed_step(one, options.device)[2]
        except AssertionError as refused:  # raised on all ranks: ELF's zbv takes twice as many micro-batches as ranks
            refusals[name] = str(refused)
            continue
        pipes[name] = one
        losses[name] = most_of_ranks(float("-inf") if loss is None else float(loss))
    times, peaks = {name: [] for name in pipes}, {name: [] for name in pipes}
    for turn in range(options.rounds):
        names = list(pipes)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            seconds, peak, _ = timed_step(pipes[name], options.device)
            times[name].append(1000 * seconds)
            peaks[name].append(most_of_ranks(peak))
    if dist.get_rank() == 0:
        print("| | median, ms | least, ms | memory of a step, MiB | first loss |\n|---|---:|---:|---:|---:|")
        for name in pipes:
            print(f"| {name} | {statistics.median(times[name]):.1f} | {min(times[name]):.1f} | {statistics.median(peaks[name]):.1f} | {losses[name]:.6f} |")
        for name, why in refusals.items():
            print(f"| {name} | refuses: {why} | | | |")
        for name, one in pipes.items():
            if isinstance(one, OfAshlar):
                print(f"\n{name}:\n{one.pipe.explain()}")
    if max(losses.values()) - min(losses.values()) > 1e-5 * max(losses.values()):
        raise SystemExit(f"the losses differ: {losses}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
