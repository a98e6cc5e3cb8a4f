"""The processes that measure together, and the devices that they have."""

import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist


@dataclasses.dataclass(frozen=True)
class Team:
    """A process, its device, and the groups that it exchanges with."""

    device: torch.device
    rank: int = 0
    size: int = 1
    domain: int = 1  # processes whose devices the fast link joins
    # Groups are of no one type: a process outside has a number.
    inside: Any = None  # the domain's
    outside: Any = None  # one process of each domain

    @property
    def domains(self) -> int:
        return self.size // self.domain

    @property
    def has_gpu(self) -> bool:
        return self.device.type == "cuda"

    def wait(self) -> None:
        """Returns when the device has nothing left to do."""
        if self.has_gpu:
            torch.cuda.synchronize()

    def meet(self) -> None:
        if self.size > 1:
            dist.barrier()

    def agreed(self, number: float) -> float:
        """The first process's number."""
        if self.size == 1:
            return number
        box = torch.tensor([number], dtype=torch.float64, device=self.device)
        dist.broadcast(box, 0)
        return float(box)

    def slowest(self, seconds: list[float]) -> list[float]:
        """The longest of all processes' times, one by one."""
        if self.size == 1 or not seconds:
            return seconds
        box = torch.tensor(seconds, dtype=torch.float64, device=self.device)
        dist.all_reduce(box, dist.ReduceOp.MAX)
        return [float(each) for each in box.tolist()]


def alone(device: torch.device) -> Team:
    return Team(device)


def joined(domain: int | None, kind: str) -> Team:
    """The team that torchrun started, or this process alone. A process group that is
    there already stays.

    Raises ValueError if `domain` does not divide the processes.
    """
    has_gpu = kind == "cuda" or kind == "auto" and torch.cuda.is_available()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return alone(device)
    here = domain or int(os.environ.get("LOCAL_WORLD_SIZE", str(size)))
    if here > size or size % here:
        raise ValueError(f"--domain {here} must divide the {size} processes")
    if not dist.is_initialized():
        dist.init_process_group("nccl" if has_gpu else "gloo")
    rank = dist.get_rank()
    inside = outside = None
    # Each process makes all groups, in one order.
    for first in range(0, size, here):
        made = dist.new_group(list(range(first, first + here)))
        inside = made if first <= rank < first + here else inside
    for each in range(here):
        made = dist.new_group(list(range(each, size, here)))
        outside = made if rank % here == each else outside
    return Team(device, rank, size, here, inside, outside)


def repeats(team: Team, call: Callable[[], object], least: float) -> int:
    """How often a call fills about `least` seconds: one number for all processes."""
    call()
    team.wait()
    began = time.perf_counter()
    call()
    team.wait()
    once = max(time.perf_counter() - began, 1e-9)
    return int(team.agreed(max(1, min(200, int(least / once)))))


def timed(team: Team, call: Callable[[], object], least: float) -> float:
    """Mean seconds of a call, repeated for about `least` seconds on all processes."""
    times = repeats(team, call, least)
    team.meet()
    began = time.perf_counter()
    for _ in range(times):
        call()
    team.wait()
    return (time.perf_counter() - began) / times


def launched(team: Team, call: Callable[[], object], least: float) -> float:
    """Mean seconds until a call returns, whether or not the device is through."""
    times = repeats(team, call, least)
    team.meet()
    spent = 0.0
    for _ in range(times):
        began = time.perf_counter()
        call()
        spent += time.perf_counter() - began
        team.wait()  # so that no queue is full
    return spent / times
