"""Schedules in torchtitan: any placement, our transfers, and a search for a schedule
while training.

    config.model_spec = dataclasses.replace(
        config.model_spec, pipelining_fn=ashlar_pp.torchtitan.pipelining(schedule)
    )

For torchtitan 0.3, and models that its `pipeline_llm` divides. The schedule gives the
stages, their ranks, and the number of micro-batches; the flags
pipeline_parallel_schedule and pipeline_parallel_schedule_csv are ignored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
import torchtitan.components.metrics as metrics
import torchtitan.distributed.pipeline_parallel as own
import torchtitan.trainer as trainer
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
from torchtitan.tools.logging import logger

from . import _core
from ._core import Costs, Program, Schedule
from .algebra import fuse_backwards, fuse_where_free, retime
from .certificates import must_be_certified
from .searches import search
from .torch import stages_of
from .torch.actions import WatchedActions
from .torch.agreement import everywhere
from .torch.awaited import awaited_first_step
from .torch.clock import Times, now
from .torch.costs import medians, ticks
from .torch.first_step import FirstStep, watch_forwards
from .torch.guards import gathered_groups, splits_backwards
from .torch.layout import must_be_laid_out, parameters_of
from .torch.overrides import Method, override
from .torch.pytorch_runtime import load
from .torch.pytorch_split import split_as_ours
from .torch.split import compiling
from .torch.waits import Waits


def pipelining(
    schedule: Schedule,
    *,
    adapt_after: int = 0,
    require_certificate: bool = False,
    **options: Any,
) -> Callable[..., Any]:
    """Returns a `pipelining_fn` of a ModelSpec that runs the schedule.

    The result raises ValueError, naming the flag, if the configuration does not fit the
    schedule, if a parameter of the model is not in exactly one stage, and for options
    that silently lose gradients: with split backwards, selective checkpointing, chunked
    losses and resharding after forwards. The first step raises RuntimeError if a
    trainable parameter that the loss may depend on got no gradient. An error on one
    rank ends the step on all ranks, within seconds or the group's time-out: the others
    raise a RuntimeError that names the rank at fault.

    Args:
        schedule (Schedule): Gives the stages, their ranks and the micro-batches.
        adapt_after (int): Number of steps to measure; the first does not count. Then
            every rank searches the same order of passes for these times, within the
            activations that the schedule holds, and runs it from the next step on if it
            takes less time. Default: 0, which means that the schedule stays.
        require_certificate (bool): Runs only programs that `ashlar_verify` accepts,
            which shares no code with this package. Default: ``False``.
        **options: Those of `search`.

    Returns:
        Callable: with the arguments and results of torchtitan's `pipeline_llm`.

    Raises:
        ValueError: if `adapt_after` is 1 or negative, or if a certificate is required
            and the schedule's program has none.
    """
    if adapt_after == 1 or adapt_after < 0:
        raise ValueError(
            "adapt_after must be 0, or at least 2, as the first step does not count, "
            f"not {adapt_after}"
        )
    if require_certificate:
        must_be_certified(_lowered(schedule))

    def pipeline(
        model: nn.Module,
        *,
        parallel_dims: Any,
        training: Any,
        parallelism: Any,
        compile_config: Any,
        ac_config: Any,
        dump_folder: str,
        device: torch.device,
        model_config: Any,
        parallelize_fn: Callable[..., nn.Module],
        loss_fn: Callable[..., Any],
    ) -> tuple[_PipelineScheduleRuntime, list[nn.Module], bool, bool]:
        mesh = parallel_dims.get_mesh("pp")
        _must_fit(schedule, parallelism, training, mesh.size())
        unsplit = _why_backwards_stay_whole(ac_config, loss_fn)
        if unsplit and splits_backwards(schedule):
            raise ValueError(
                f"{unsplit}; or run `schedule | ashlar_pp.fuse_backwards()`"
            )
        _show_loss_of(schedule, parallel_dims.world_size)
        names = _modules_of_stages(schedule, parallelism, model_config)
        mine = stages_of(schedule, mesh.get_local_rank())
        layout = _layout_of(schedule, names, model)
        parts = [
            parallelize_fn(
                own._split_module(model, names[stage]),
                parallel_dims=parallel_dims,
                training=training,
                parallelism=parallelism,
                compile_config=compile_config,
                ac_config=ac_config,
                dump_folder=dump_folder,
            )
            for stage in mine
        ]
        if resharded := _resharded_after_forward(parts):
            unsplit = (
                f"{resharded} reshards after its forward, and split backwards then "
                "lose its gradients: set "
                "--parallelism.fsdp_reshard_after_forward to default or never"
            )
            if splits_backwards(schedule):
                raise ValueError(unsplit)
        here = {
            name: one for part in parts for name, one in parameters_of(part).items()
        }
        must_be_laid_out(here, layout, mesh.get_group("pp"))
        get_mesh = own._build_get_mesh_callback(parallel_dims)
        stages = [
            PipelineStage(
                part,
                stage,
                schedule.stages,
                device,
                group=mesh.get_group("pp"),
                get_mesh=get_mesh,
            )
            for stage, part in zip(mine, parts)
        ]
        first = FirstStep(dict(zip(mine, parts)))
        for stage in stages:
            split_as_ours(stage)
            watch_forwards(stage, first)

        def loss_alone(*args: Any, **more: Any) -> torch.Tensor:
            loss: torch.Tensor
            loss, _ = loss_fn(*args, **more)
            first.forward(schedule.stages - 1, loss)
            return loss

        keeps = splits_backwards(schedule) or bool(adapt_after)
        runtime = _Runtime(
            stages, schedule, loss_alone, first, mesh.get_group("pp"), keeps_saved=keeps
        )
        if adapt_after:
            _Adapting(
                runtime,
                stages,
                schedule,
                adapt_after,
                not unsplit,
                options,
                require_certificate,
            )
        logger.info(f"ashlar: {schedule}; stages {mine} are on this rank")
        return runtime, parts, 0 in mine, schedule.stages - 1 in mine

    return pipeline


def _must_fit(schedule: Schedule, parallelism: Any, training: Any, degree: int) -> None:
    if reason := _core.lower(schedule, lanes="one").pytorch_obstacle():
        raise ValueError(
            "torchtitan runs PyTorch's pipeline runtime, which cannot run the "
            f"schedule: {reason}"
        )
    if schedule.devices != degree:
        raise ValueError(
            f"the schedule has {schedule.devices} devices, and "
            f"--parallelism.pipeline_parallel_degree is {degree}"
        )
    size = parallelism.pipeline_parallel_microbatch_size
    if training.local_batch_size != schedule.micro_batches * size:
        raise ValueError(
            "--training.local_batch_size must be the schedule's "
            f"{schedule.micro_batches} micro-batches times "
            f"--parallelism.pipeline_parallel_microbatch_size, which is {size}, and is "
            f"{training.local_batch_size}"
        )


def _modules_of_stages(
    schedule: Schedule, parallelism: Any, model_config: Any
) -> list[list[str]]:
    names: list[list[str]] = (
        parallelism.module_fqns_per_model_part
        or own._generate_llm_fqn_per_model_part(
            schedule.stages,
            len(model_config.layers),
            parallelism.pipeline_parallel_first_stage_less_layers,
            parallelism.pipeline_parallel_last_stage_less_layers,
        )
    )
    if len(names) != schedule.stages:
        raise ValueError(
            f"the schedule has {schedule.stages} stages, and "
            f"--parallelism.module_fqns_per_model_part {len(names)}"
        )
    return names


def _layout_of(
    schedule: Schedule, names: list[list[str]], model: nn.Module
) -> dict[str, tuple[tuple[int, ...], list[int]]]:
    """Shape of each parameter of the model, and the rank of its stage. Raises
    ValueError for a parameter in no stage or in several: torchtitan would train without
    it, or a copy in each.
    """
    (route,) = schedule.placement.routes
    layout = {}
    tensors: dict[int, tuple[str, int]] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        stages = [
            s
            for s, modules in enumerate(names)
            if any(f"{name}.".startswith(f"{one}.") for one in modules)
        ]
        if len(stages) != 1:
            raise ValueError(
                f"{name} is in {f'stages {stages}' if stages else 'no stage'} of "
                "--parallelism.module_fqns_per_model_part, and each "
                "parameter belongs in one"
            )
        other, stage = tensors.setdefault(id(p), (name, stages[0]))
        if stage != stages[0]:
            raise ValueError(
                f"{other} and {name} are one parameter, in stages {stage} and "
                f"{stages[0]}: torchtitan would train a copy in each. "
                "Untie them, or put both modules into one stage"
            )
        layout[name] = (tuple(p.shape), [route[stages[0]]])
    return layout


class _Runtime(_PipelineScheduleRuntime):
    """PyTorch's runtime. An error of one rank ends the step on all, which name that
    rank. Checks after the first step that each parameter has a gradient, or a reason to
    have none.
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        schedule: Schedule,
        loss_fn: Callable[..., torch.Tensor],
        first: FirstStep,
        group: dist.ProcessGroup,
        *,
        keeps_saved: bool,
    ) -> None:
        super().__init__(
            stages, schedule.micro_batches, loss_fn=loss_fn, scale_grads=False
        )
        self._waits = Waits(group)
        self._actions = WatchedActions(self, stages, self._waits)
        self._first, self._group, self._keeps_saved = first, group, keeps_saved
        self.after_step: Callable[[], None] = lambda: None
        """Called after each step."""
        load(self, _lowered(schedule))

    def step(self, *args: Any, **more: Any) -> Any:
        with (
            self._waits.call("step()" if self._has_backward else "eval()"),
            compiling(keeps=self._keeps_saved),
        ):
            self._waits.has_begun = True
            self._actions.arm()
            result = super().step(*args, **more)
            if self._has_backward and not self._first.is_over:
                self._first.finish(
                    self._group, partial(self._waits.start, awaited=awaited_first_step)
                )
        self.after_step()
        return result


def _why_backwards_stay_whole(ac_config: Any, loss_fn: Any) -> str:
    """The reason why split backwards would silently lose gradients; empty if they do
    not.
    """
    if type(ac_config).__qualname__.startswith("SelectiveAC"):
        return (
            "split backwards walk twice over a graph, which selective activation "
            "checkpointing refuses: use "
            "activation-checkpoint:full or :none"
        )
    if type(loss_fn).__name__ == "ChunkedLossWrapper":
        return (
            "ChunkedLossWrapper walks the graph of the last stage itself, and split "
            "backwards then lose the gradient of "
            "its norm: use the loss that it wraps (config.loss = config.loss.loss_fn)"
        )
    return ""


def _resharded_after_forward(parts: list[nn.Module]) -> str:
    """Name of the first module that fully_shard reshards after a forward; empty if
    there is none.
    """
    for part in parts:
        for name, module in part.named_modules():
            if name and isinstance(module, FSDPModule):
                if any(
                    group.post_forward_mesh_info is not None
                    for group in gathered_groups(module)
                ):
                    return str(name)
    return ""


def _show_loss_of(schedule: Schedule, world: int) -> None:
    """Logs on the rank with the last stage, which may be any. torchtitan logs on the
    last pipeline rank, or on the first for its one schedule in a V.
    """
    rank = world // schedule.devices * schedule.placement.routes[0][-1]
    # torchtitan knows no other rank and has no setting for one: it goes by the names of
    # PyTorch's schedules.
    metrics._get_metrics_rank = lambda **_: rank
    trainer.ensure_pp_loss_visible = lambda **_: None
    if dist.get_rank() == 0:
        logger.info(f"ashlar: the loss is on rank {rank} (LOG_RANK={rank})")


def _lowered(schedule: Schedule) -> Program:
    """The schedule with our transfers. Stages are in fully_shard for every degree, and
    gathered once.
    """
    program = _core.lower(schedule, data_ranks=2, sharding="optimizer", lanes="one")
    program.check()
    return program


class _Adapting:
    """Measures passes for some steps, runs the same search on every rank, and loads the
    result between two steps.
    """

    _PASSES = {
        "F": "forward_one_chunk",
        "I": "backward_one_chunk",
        "W": "backward_weight_one_chunk",
    }

    def __init__(
        self,
        runtime: _Runtime,
        stages: list[PipelineStage],
        schedule: Schedule,
        steps: int,
        may_split: bool,
        options: dict[str, Any],
        requires_certificate: bool,
    ) -> None:
        self._requires_certificate = requires_certificate
        self._runtime, self._stages, self._schedule, self._left = (
            runtime,
            stages,
            schedule,
            steps,
        )
        self._may_split, self._options = may_split, options
        self._times: Times = defaultdict(list)
        self._warm = False
        runtime.after_step = self._count
        self._undo = [
            override(stage, name, partial(self._timed, letter, stage))
            for stage in stages
            for letter, name in self._PASSES.items()
        ]

    def _timed(self, letter: str, stage: PipelineStage, call: Method) -> Method:
        def timed(*args: Any, **more: Any) -> Any:
            started = now(stage.device)
            result = call(*args, **more)
            whole = letter == "I" and more.get("full_backward", True)
            self._times["B" if whole else letter, stage.stage_index].append(
                now(stage.device) - started
            )
            return result

        return timed

    def _count(self) -> None:
        if not self._warm:
            self._times.clear()  # the first step allocates and traces
        self._warm = True
        self._left -= 1
        if self._left == 0:
            self._runtime.after_step = lambda: None
            for undo in self._undo:
                undo()
            self._adapt()

    def _costs(self) -> Costs:
        """Medians over all ranks, including other replicas: all must run one schedule,
        so that their collectives come in one order. A whole backward counts as two
        equal halves, except on the first stage.
        """
        taken = everywhere(dict(self._times), medians)
        stages = range(self._schedule.stages)
        return Costs(
            per_stage=[
                ticks(taken, (1, int(stage > 0), 1), stage, False) for stage in stages
            ]
        )

    def _adapt(self) -> None:
        costs = self._costs()
        before = retime(costs)(self._schedule)
        asked = {"limit": before.peak_activations, "starts": [before]} | self._options
        found = search(before.placement, before.micro_batches, costs, **asked).schedule
        found = (fuse_where_free() if self._may_split else fuse_backwards())(found)
        better = found.makespan < before.makespan
        logger.info(
            f"ashlar: measured {costs.per_stage} us; by these the step takes "
            f"{before.makespan} us, and with the best "
            f"order found {found.makespan}: "
            f"{'from now on that is run' if better else 'the order stays'}"
        )
        if better:
            program = _lowered(found)
            if self._requires_certificate:
                must_be_certified(program)
            load(self._runtime, program)
