"""Backwards that need not be split."""

from __future__ import annotations

from . import _core
from ._core import Schedule
from .algebra import Operation


def fuse_where_free() -> Operation:
    """Weight passes move up to their input passes and fuse with them, where that makes the schedule no longer.

    Both together take autograd longer than one backward, which walks the graph once. For schedules of one route
    that PyTorch's CSV can express; costs and memory limits stay kept, because activations are freed no later.
    """
    return Operation(_fused)


def _fused(schedule: Schedule) -> Schedule:
    lines = [line.split(",") for line in _core.write_pytorch(schedule, "i-b").splitlines()]

    def made(order: list[list[str]]) -> Schedule:
        text = "".join(",".join(line) + "\n" for line in order)
        return _core.retime(_core.read_pytorch(text), schedule.costs)

    best = made(lines)
    for device, line in enumerate(lines):
        for weight in [token for token in line if "W" in token]:
            fused = list(lines[device])
            fused.remove(weight)
            fused[fused.index(weight.replace("W", "I"))] = weight.replace("W", "B")
            tried = made([*lines[:device], fused, *lines[device + 1 :]])
            if tried.makespan <= best.makespan and tried.span <= best.span:
                best, lines[device] = tried, fused
    return best
