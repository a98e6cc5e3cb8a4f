"""Makes a runtime from a schedule and the stages of a rank."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage

from .. import _core
from .._core import Program, Residency, Schedule
from ..certificates import must_be_certified
from . import guards
from .agreement import make_equal
from .layout import Parameters, fault_in, fault_in_stages, parameters_of
from .pytorch_runtime import PytorchRuntime, installed_dialect, installed_lanes, prepare
from .replicas import out_of_ddp
from .runtime import ProgramRuntime
from .split import keeps_saved_tensors
from .waits import Waits

__all__ = ["installed_dialect", "installed_lanes", "pipeline", "stages_of"]

Modules = Mapping[int, nn.Module] | Callable[[int], nn.Module]


def stages_of(schedule: Schedule | Program, device: int) -> list[int]:
    """Returns the stages that a device holds.

    Args:
        schedule (Schedule or Program): Has the placement.
        device (int): Its number in the schedule.

    Returns:
        list[int]: in ascending order.
    """
    return sorted(
        {
            stage
            for route in schedule.placement.routes
            for stage, owner in enumerate(route)
            if owner == device
        }
    )


def pipeline(
    stages: Modules | Iterable[PipelineStage],
    schedule: Schedule,
    loss_fn: Callable[..., torch.Tensor] | None = None,
    *,
    group: dist.ProcessGroup | None = None,
    device: torch.device | str | None = None,
    data_group: dist.ProcessGroup | None = None,
    data_ranks: int = 1,
    sharding: str = "none",
    residency: Residency | None = None,
    scale_grads: bool = True,
    runtime: str = "auto",
    lanes: str | None = None,
    receives: str = "when_sent",
    dynamic_shapes: bool = False,
    timeout: float | datetime.timedelta | None = None,
    whole: nn.Module | None = None,
    require_certificate: bool = False,
) -> Any:
    """Makes a runtime of the schedule on this rank.

    Device d of the schedule is rank d of `group`, every rank of which has to call this.
    The result has step(*inputs, target=, losses=, ...) and eval(), with the arguments
    of PyTorch's own. Its first step raises RuntimeError if a trainable parameter that
    the loss may depend on got no gradient.

    Args:
        stages (dict[int, nn.Module] or Callable or iterable of PipelineStage): This
            rank's modules by stage, or a function that makes the module of a stage.
            Copies of a stage must have the same parameters.
        schedule (Schedule): What runs.
        loss_fn (Callable, optional): Takes output and target of a micro-batch, and
            gives its loss.
        group (ProcessGroup, optional): The ranks of the pipeline. Default: all.
        device (torch.device or str, optional): Device of received tensors. Default:
            that of the parameters of this rank's modules.
        data_group (ProcessGroup, optional): The ranks with the same stages, each with
            data of its own. They begin with the weights of the first, and gradients are
            averaged over them, as DistributedDataParallel does. Default: the group of
            stages that are in DistributedDataParallel, if any.
        data_ranks (int): Ranks of stages in fully_shard, which averages over its own
            mesh. Default: 1.
        sharding (str): What such a rank keeps a shard of: ``none``, ``optimizer``,
            ``gradients``, ``weights`` or ``full``.
        residency (Residency, optional): When a device has the weights of its stages
            whole, as `choose_residency` plans it. Default: one stage at a time.
        scale_grads (bool): Divides gradients by the number of micro-batches.
            Default: ``True``.
        runtime (str): ``pytorch`` is PyTorch's own, with our communication; ``ashlar``
            is ours, which also runs several routes, recomputes, and sequences in
            chunks; ``auto`` is PyTorch's if it can run the schedule.
        lanes (str, optional): Which transfers share a communicator in PyTorch: ``one``,
            ``one_a_kind`` or ``one_a_direction``. Default: as torch is set.
        receives (str): When PyTorch issues a receive: ``when_sent``, or
            ``when_needed``: as late as the lanes allow. On a GPU, a waiting receive
            delays transfers of its communicator; a late one is not hidden behind
            passes.
        dynamic_shapes (bool): Micro-batches may differ in shape; each step then begins
            with messages about shapes (``ashlar`` only).
        timeout (float or timedelta, optional): Seconds after which a rank that does not
            answer is named (``ashlar`` only). Default: the group's timeout.
        whole (nn.Module, optional): The model that the stages are parts of, if they
            keep its names; it may be on the meta device. Each of its parameters must
            then be in exactly one stage.
        require_certificate (bool): Refuses a schedule whose program `ashlar_verify`
            does not accept. Default: ``False``.

    Returns:
        PytorchRuntime or ProgramRuntime: the runtime of this rank.

    Raises:
        ValueError: with the reason, if the runtime cannot run the schedule, the stages
            are not those of the schedule, or a certificate is required and the program
            has none.
        LostRank: if another rank fails or is lost.
    """
    seconds = (
        timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
    )
    alone = (
        dist.get_world_size(group) == 1 and data_group is None and sharding == "none"
    )
    waits = Waits(group, seconds, alone=alone)
    with waits.call("pipeline()", makes=True):
        must_be_runtime(runtime)
        guards.must_have_no_parameters(loss_fn)
        rank = dist.get_rank(group)
        program = _core.lower(
            schedule,
            data_ranks=data_ranks,
            sharding=sharding,
            lanes=lanes or installed_lanes(),
            receives=receives,
            residency=residency,
        )
        if require_certificate:
            must_be_certified(program)
        obstacle = program.pytorch_obstacle()
        if not obstacle and program.devices != dist.get_world_size(group):
            obstacle = (
                f"it has {program.devices} devices, and the group "
                f"{dist.get_world_size(group)} ranks"
            )
        if runtime == "pytorch" and obstacle:
            raise ValueError(f"PyTorch cannot run it: {obstacle}")
        if program.devices > dist.get_world_size(group):
            raise ValueError(
                f"the schedule has {program.devices} devices, but the group "
                f"{dist.get_world_size(group)} ranks"
            )
        if sharding != "none" and (runtime == "ashlar" or obstacle):
            raise ValueError(
                "the runtime of our own keeps parameters whole: sharding must be "
                f"'none'{_aside(obstacle)}"
            )
        if data_group is not None and sharding != "none":
            raise ValueError(
                "stages in fully_shard are averaged over their own mesh: data_group is "
                "for whole copies"
            )
        with _all_or_none(group) as together:
            mine = _modules(stages, stages_of(program, rank))
            plain, data_group = out_of_ddp(
                {stage: getattr(m, "submod", m) for stage, m in mine.items()},
                data_group,
            )
            place = (
                torch.device(device)
                if device is not None
                else _device_of(plain.values())
            )
            guards.must_fit(plain, sharding)
            together.parameters = {
                stage: parameters_of(module) for stage, module in plain.items()
            }
            together.data_ranks = (
                1 if data_group is None else dist.get_world_size(data_group)
            )
        together.must_agree(program, {} if whole is None else parameters_of(whole))
        if data_group is not None:
            _must_be_copies(together.parameters, data_group)
        if not obstacle and runtime != "ashlar":
            if dynamic_shapes:
                obstacle = (
                    "micro-batches of different shapes need the runtime of our own"
                )
            if not obstacle and timeout is not None:
                obstacle = (
                    "PyTorch's runtime has the timeout of its group, and tells no one "
                    "who hangs"
                )
            if obstacle and runtime == "pytorch":
                raise ValueError(f"PyTorch would not run it right: {obstacle}")
        if runtime == "ashlar" or obstacle:
            if sharding != "none":
                raise ValueError(
                    "the runtime of our own keeps parameters whole: sharding must be "
                    f"'none'{_aside(obstacle)}"
                )
            prepare(plain, schedule)
            return ProgramRuntime(
                plain,
                schedule,
                loss_fn,
                group=group,
                device=place,
                data_group=data_group,
                scale_grads=scale_grads,
                dynamic_shapes=dynamic_shapes,
                waits=waits,
                require_certificate=require_certificate,
            )
        if data_group is not None:
            for stage in sorted(plain):
                make_equal(plain[stage], data_group, place)
        for stage, m in mine.items():
            if isinstance(m, PipelineStage):
                m.submod = plain[stage]
        made = [
            m
            if isinstance(m, PipelineStage)
            else PipelineStage(plain[stage], stage, program.stages, place, group=group)
            for stage, m in mine.items()
        ]
        program.check()
        prepare(plain, schedule)
        return PytorchRuntime(
            made,
            program,
            loss_fn,
            scale_grads=scale_grads,
            data_group=data_group,
            keeps_saved=keeps_saved_tensors(plain.values(), schedule),
            waits=waits,
        )


def must_be_runtime(name: str) -> None:
    """Raises ValueError for what is not the name of a runtime."""
    if name not in ("auto", "pytorch", "ashlar"):
        raise ValueError(f"runtime must be auto, pytorch or ashlar, not '{name}'")


def _modules(
    stages: Modules | Iterable[PipelineStage], wanted: list[int]
) -> dict[int, Any]:
    if callable(stages):
        return {stage: stages(stage) for stage in wanted}
    given = (
        dict(stages)
        if isinstance(stages, Mapping)
        else {stage.stage_index: stage for stage in stages}
    )
    if sorted(given) != wanted:
        raise ValueError(
            f"the schedule has stages {wanted} on this rank, but it was given "
            f"{sorted(given)}"
        )
    return given


def _device_of(modules: Iterable[nn.Module]) -> torch.device:
    return next(
        (p.device for module in modules for p in module.parameters()),
        torch.get_default_device(),
    )


def _aside(obstacle: str) -> str:
    return f" (PyTorch's is not taken: {obstacle})" if obstacle else ""


class _all_or_none:
    """Raises on all ranks if one fails inside. Gathers the parameters of all ranks."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self._group = group
        self.parameters: dict[int, Parameters] = {}
        """Parameters by stage."""
        self.data_ranks = 1
        self._everyone: list[Any] = []

    def __enter__(self) -> _all_or_none:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        words = "" if error is None else str(error) or repr(error)
        self._everyone = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(
            self._everyone, (words, self.parameters, self.data_ranks), group=self._group
        )
        failed = next(
            (rank for rank, (words, *_) in enumerate(self._everyone) if words), None
        )
        if error is None and failed is not None:
            raise ValueError(
                f"rank {failed} of the group cannot make its stages: "
                f"{self._everyone[failed][0]}"
            )

    def must_agree(self, program: Program, whole: Parameters) -> None:
        """Raises ValueError if copies of a stage differ, if ranks average gradients
        over different numbers of ranks, or if a parameter of the whole model is not in
        exactly one stage.
        """
        given = [
            {} if rank >= program.devices else parameters
            for rank, (_, parameters, _) in enumerate(self._everyone)
        ]
        layout = {}
        for stage in range(program.stages):
            holders = program.holders(stage)
            for name, (shape, _) in given[holders[0]][stage].items():
                layout[f"{name} of stage {stage}"] = (shape, holders)
        if fault := fault_in([_named(parameters) for parameters in given], layout):
            raise ValueError(f"copies of a stage differ: {fault}")
        stages = [
            given[program.holders(stage)[0]][stage] for stage in range(program.stages)
        ]
        if whole and (fault := fault_in_stages(stages, whole)):
            raise ValueError(f"the stages are not the whole model: {fault}")
        averages = {
            rank: count
            for rank, (_, parameters, count) in enumerate(self._everyone)
            if any(
                trains for stage in parameters.values() for _, trains in stage.values()
            )
        }
        first = next(iter(averages), 0)
        for rank, count in averages.items():
            if count != averages[first]:
                raise ValueError(
                    f"rank {first} averages its gradients over {averages[first]} data "
                    f"ranks, and rank {rank} over {count}: give "
                    "data_group, or DistributedDataParallel, on all ranks of the "
                    "pipeline"
                )


def _named(parameters: Mapping[int, Parameters]) -> Parameters:
    return {
        f"{name} of stage {stage}": one
        for stage, found in parameters.items()
        for name, one in found.items()
    }


def _must_be_copies(
    mine: Mapping[int, Parameters], data_group: dist.ProcessGroup
) -> None:
    """Raises ValueError on all ranks of the group if stages differ."""
    everyone: list[Any] = [None] * dist.get_world_size(data_group)
    dist.all_gather_object(everyone, _named(mine), group=data_group)
    every_rank = range(len(everyone))
    if fault := fault_in(
        everyone,
        {name: (shape, every_rank) for name, (shape, _) in everyone[0].items()},
    ):
        raise ValueError(f"copies of the pipeline in data_group differ: {fault}")
