"""From a schedule and the stages of a rank to something with a `step`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _ComputationType, _PipelineScheduleRuntime

from .. import _core
from .._core import Program, Schedule
from .runtime import ProgramRuntime

Modules = Mapping[int, nn.Module] | Callable[[int], nn.Module]


def installed_dialect() -> str:
    """Of PyTorch's CSV, as the installed torch reads it."""
    words = _ComputationType.__members__
    if "WAIT_SEND_F" in words:
        return "waits"
    if "REDUCE_GRAD" in words:
        return "reduce-grad"
    return "i-b" if "BACKWARD_INPUT" in words else "b-bw"


def stages_of(schedule: Schedule | Program, device: int) -> list[int]:
    """The stages that a device holds, in ascending order."""
    return sorted(
        {stage for route in schedule.placement.routes for stage, owner in enumerate(route) if owner == device}
    )


def pipeline(
    stages: Modules | Iterable[PipelineStage],
    schedule: Schedule,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    *,
    group: dist.ProcessGroup | None = None,
    device: torch.device | str = "cpu",
    data_group: dist.ProcessGroup | None = None,
    data_ranks: int = 1,
    sharding: str = "none",
    scale_grads: bool = True,
    runtime: str = "auto",
) -> Any:
    """What runs the schedule on this rank; device d of the schedule is rank d of `group`.

    stages: this rank's modules by stage, or a function that makes the module of a stage, or PipelineStages.
    loss_fn(output, target): of a micro-batch. scale_grads: gradients are divided by the number of micro-batches.
    data_ranks, sharding: of stages in fully_shard (pytorch) or copies summed over `data_group` (ashlar).
    runtime: `pytorch` is PyTorch's own, with our communication; `ashlar` is ours, which also runs several
    routes, recomputes, and sequences in chunks; `auto` is PyTorch's where it can run the schedule.

    The result has step(*inputs, target=, losses=). Every rank of the group has to call this.
    Raises ValueError with the reason where `pytorch` cannot run the schedule.
    """
    if runtime not in ("auto", "pytorch", "ashlar"):
        raise ValueError(f"runtime must be auto, pytorch or ashlar, not '{runtime}'")
    rank = dist.get_rank(group)
    program = _core.lower(schedule, data_ranks=data_ranks, sharding=sharding, lanes="one")
    obstacle = program.pytorch_obstacle()
    if not obstacle and program.devices != dist.get_world_size(group):
        obstacle = f"it has {program.devices} devices, and the group {dist.get_world_size(group)} ranks"
    if runtime == "pytorch" and obstacle:
        raise ValueError(f"PyTorch cannot run it: {obstacle}")
    mine = _modules(stages, stages_of(program, rank))
    if runtime == "ashlar" or obstacle:
        if sharding != "none":
            raise ValueError("the runtime of our own keeps parameters whole: sharding must be 'none'")
        return ProgramRuntime(
            {stage: getattr(m, "submod", m) for stage, m in mine.items()},
            schedule,
            loss_fn,
            group=group,
            device=device,
            data_group=data_group,
            scale_grads=scale_grads,
        )
    made = [
        m if isinstance(m, PipelineStage) else PipelineStage(m, stage, program.stages, torch.device(device), group=group)
        for stage, m in mine.items()
    ]
    return _loaded(made, program, loss_fn, scale_grads)


def _modules(stages: Modules | Iterable[PipelineStage], wanted: list[int]) -> dict[int, Any]:
    if callable(stages):
        return {stage: stages(stage) for stage in wanted}
    given = dict(stages) if isinstance(stages, Mapping) else {stage.stage_index: stage for stage in stages}
    if sorted(given) != wanted:
        raise ValueError(f"the schedule has stages {wanted} on this rank, but it was given {sorted(given)}")
    return given


def _loaded(
    stages: list[PipelineStage], program: Program, loss_fn: Callable[..., torch.Tensor] | None, scale_grads: bool
) -> _PipelineScheduleRuntime:
    program.check()
    runtime = _PipelineScheduleRuntime(stages, program.micro_batches, loss_fn=loss_fn, scale_grads=scale_grads)
    handle, path = tempfile.mkstemp(suffix=".csv")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(program.pytorch(installed_dialect()))
        runtime._load_csv(path, format="compute_comms")
    finally:
        os.remove(path)
    return runtime
