"""Measures costs for a search in a real run."""

from __future__ import annotations

import statistics
from collections import defaultdict

import torch
import torch.distributed as dist

from .._core import Costs
from .agreeing import message_seconds
from .runtime import ProgramRuntime

TICK = 1e-6
"""Seconds."""


def profile(
    runtime: ProgramRuntime, *args: torch.Tensor, target: torch.Tensor | None = None, steps: int = 5
) -> Costs:
    """Runs a warm-up and `steps` steps. Returns the median times of each stage's passes, in ticks of a microsecond.

    The runtime's schedule must split backwards. Every rank has to call this. Gradients stay as they were.
    Raises ValueError for a stage whose backwards are fused.
    """
    carried = {p: p.grad for module in runtime.modules.values() for p in module.parameters()}
    runtime.step(*args, target=target)
    runtime.times = defaultdict(list)
    for _ in range(steps):
        runtime.step(*args, target=target)
    measured, runtime.times = dict(runtime.times), None
    for p, before in carried.items():
        p.grad = before
    gathered: list[dict[tuple[str, int], list[float]]] = [{}] * dist.get_world_size(runtime.group)
    dist.all_gather_object(gathered, measured, group=runtime.group)
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for of_rank in gathered:
        for key, seconds in of_rank.items():
            times[key] += seconds
    def median(letter: str, stage: int) -> int:
        return max(1, round(statistics.median(times[letter, stage]) / TICK))

    per_stage = []
    for stage in range(runtime.program.stages):
        if not times["I", stage]:
            raise ValueError(f"stage {stage} has fused backwards: profile a schedule that splits them, like zb_h1")
        per_stage.append((median("F", stage), median("I", stage), median("W", stage)))
    return Costs(per_stage=per_stage, transfer=round(_transfer(runtime) / TICK))


def _transfer(runtime: ProgramRuntime) -> float:
    """Seconds of a message of the first stage's output, the same on all ranks of the group."""
    if runtime.program.devices < 2:
        return 0.0
    assert runtime.shapes is not None
    shape, dtype = runtime.shapes[0][0][0]
    result = [message_seconds(shape.numel() * dtype.itemsize, runtime.group, runtime.device)]
    dist.broadcast_object_list(result, src=runtime.global_rank(0), group=runtime.group)
    return result[0]
