"""Fuses split backwards."""

from __future__ import annotations

from . import _core
from ._core import Schedule
from .algebra import Operation


def fuse_where_free() -> Operation:
    """Moves weight passes up to their input passes and fuses them, where that makes the schedule no longer.

    Autograd takes longer for both than for one backward, which walks the graph once. For schedules of one route that
    PyTorch's CSV can express. Keeps costs and memory limits, because activations are freed no later.
    """
    return Operation(_fused)


def fuse_backwards() -> Operation:
    """Moves all weight passes up to their input passes and fuses them, even if that makes the schedule longer.

    For runtimes and models that cannot walk a graph in two parts. Takes the schedules that `fuse_where_free` takes.
    """
    return Operation(_all_fused)


def _fused(schedule: Schedule) -> Schedule:
    lines = _orders(schedule)
    best = _of_orders(lines, schedule)
    for device, line in enumerate(lines):
        for weight in [token for token in line if "W" in token]:
            fused = _with_one_fused(lines[device], weight)
            tried = _of_orders([*lines[:device], fused, *lines[device + 1 :]], schedule)
            if tried.makespan <= best.makespan and tried.span <= best.span:
                best, lines[device] = tried, fused
    return best


def _all_fused(schedule: Schedule) -> Schedule:
    lines = _orders(schedule)
    for device, line in enumerate(lines):
        for weight in [token for token in line if "W" in token]:
            lines[device] = _with_one_fused(lines[device], weight)
    return _of_orders(lines, schedule)


def _orders(schedule: Schedule) -> list[list[str]]:
    return [line.split(",") for line in _core.write_pytorch(schedule, "i-b").splitlines()]


def _of_orders(order: list[list[str]], like: Schedule) -> Schedule:
    text = "".join(",".join(line) + "\n" for line in order)
    return _core.retime(_core.read_pytorch(text), like.costs)


def _with_one_fused(line: list[str], weight: str) -> list[str]:
    fused = list(line)
    fused.remove(weight)
    fused[fused.index(weight.replace("W", "I"))] = weight.replace("W", "B")
    return fused
