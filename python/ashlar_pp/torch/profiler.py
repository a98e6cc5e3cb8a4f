"""Measures costs for a search in a real run."""

from __future__ import annotations

from collections import defaultdict

import torch
import torch.distributed as dist

from .._core import Costs
from .agreement import gathered, message_seconds
from .clock import TICK
from .costs import medians
from .runtime import ProgramRuntime


def profile(
    runtime: ProgramRuntime,
    *args: torch.Tensor,
    target: torch.Tensor | None = None,
    steps: int = 5,
) -> Costs:
    """Measures costs in a real run: a warm-up, and steps whose medians count.

    Every rank has to call this. Gradients stay as they were.

    Args:
        runtime (ProgramRuntime): Has a schedule that splits backwards.
        *args (Tensor): Inputs of a step, on the rank of stage 0.
        target (Tensor, optional): On the rank of the last stage.
        steps (int): Steps to measure. Default: 5.

    Returns:
        Costs: median times of each stage's passes, in ticks of a microsecond.

    Raises:
        ValueError: for a stage whose backwards are fused.
    """
    carried = {
        p: p.grad for module in runtime.modules.values() for p in module.parameters()
    }
    runtime.step(*args, target=target)
    runtime.times = defaultdict(list)
    for _ in range(steps):
        runtime.step(*args, target=target)
    measured, runtime.times = dict(runtime.times), None
    for p, before in carried.items():
        p.grad = before
    taken = medians(gathered(measured, runtime.group))
    per_stage = []
    for stage in range(runtime.program.stages):
        if ("I", stage) not in taken:
            raise ValueError(
                f"stage {stage} has fused backwards: profile a schedule that splits "
                "them, like zb_h1"
            )
        forward, inputs, weights = (
            max(1, round(taken[letter, stage] / TICK)) for letter in "FIW"
        )
        per_stage.append((forward, inputs, weights))
    return Costs(per_stage=per_stage, transfer=round(_transfer(runtime) / TICK))


def _transfer(runtime: ProgramRuntime) -> float:
    """Seconds of a message of the first stage's output, the same on all ranks of the
    group.
    """
    if runtime.program.devices < 2:
        return 0.0
    assert runtime.shapes is not None
    shape, dtype = runtime.shapes[0][0][0]
    result = [
        message_seconds(shape.numel() * dtype.itemsize, runtime.group, runtime.device)
    ]
    dist.broadcast_object_list(result, src=runtime.global_rank(0), group=runtime.group)
    return result[0]
