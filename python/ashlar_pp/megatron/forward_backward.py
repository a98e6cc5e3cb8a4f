"""A schedule as a forward_backward_func."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable
from typing import Any

import torch.distributed as dist
from megatron.core.pipeline_parallel import schedules as own
from megatron.core.utils import get_model_config

from .._core import PartCosts, Program, Schedule
from ..torch.awaited import awaited_first_step
from ..torch.first_step import FirstStep
from ..torch.guards import splits_backwards
from ..torch.waits import Waits
from .combined import CombinedStep
from .embeddings import Alone, are_on_one_rank, hidden_states, must_be_equal, summed
from .layers import must_be_the_model, must_end_with_experts
from .programs import forwards, lowered
from .step import Step
from .supported import must_reduce_right, must_support, unwrapped


def forward_backward(
    schedule: Schedule,
    *,
    require_certificate: bool = False,
    parts: PartCosts | None = None,
) -> Callable[..., list[Any]]:
    """Returns a forward_backward_func that runs the schedule.

    It has the arguments and results of Megatron's own. With `forward_only` it runs
    forwards alone, of any number of micro-batches. Otherwise their number must be that
    of the schedule. Reductions start as in Megatron, in the backward that completes the
    gradients of a chunk, or with `grad_sync_func` where the program has them. Under
    overlap_moe_expert_parallel_comm, pairs of the schedule run as one. Split
    backwards use `backward_dw()` of layers under delay_wgrad_compute; otherwise
    autograd walks the graph in two parts. It raises ValueError, naming the option, for
    unsupported options and chunks that are not those of its stages; RuntimeError if the
    first step lost a gradient, or another rank fails or is lost, with the reason.

    Args:
        schedule (Schedule): Its stages are a chain of one route.
        require_certificate (bool): Runs only programs that `ashlar_verify` accepts,
            which shares no code with this package. Default: ``False``.
        parts (PartCosts, optional): The parts of a forward are the nodes of its layers
            under overlap_moe_expert_parallel_comm (attention, dispatch, experts,
            combine), and those of a backward the same from the last, with weights after
            experts and after attention. The nodes of pairs run in their order.
            Default: ``None``, Megatron's own order.

    Returns:
        Callable: the function.

    Raises:
        ValueError: for a schedule that cannot run, or if a certificate is required and
            its program has none.
        Violation: for a program that is not proved.
    """
    training = lowered(schedule, require_certificate)
    evaluations: dict[int, Program] = {}
    first: Checks | None = None
    waits: Waits | None = None
    splits = splits_backwards(schedule)

    def forward_backward_func(
        *,
        forward_step_func: Callable[..., Any],
        data_iterator: Any,
        model: Any,
        num_microbatches: int,
        seq_length: int,
        micro_batch_size: int,
        decoder_seq_length: int | None = None,
        forward_only: bool = False,
        collect_non_loss_data: bool = False,
        first_val_step: bool | None = None,
        adjust_tensor_shapes_fn: Callable[..., Any] | None = None,
        p2p_communicator: Any = None,
        pg_collection: Any = None,
        force_all_reduce: bool = False,
    ) -> list[Any]:
        nonlocal first, waits
        chunks, iterators = (
            list(one) if isinstance(one, (list, tuple)) else [one]
            for one in (model, data_iterator)
        )
        config = get_model_config(chunks[0])
        groups = pg_collection or groups_of_parallel_state()
        waits = waits or Waits(groups.pp)
        with waits.call("forward_backward_func()"):
            if forward_only and num_microbatches not in evaluations:
                evaluations[num_microbatches] = lowered(
                    forwards(schedule.placement, num_microbatches), require_certificate
                )
            program = evaluations[num_microbatches] if forward_only else training
            if (
                groups.pp.size() != program.devices
                or num_microbatches != program.micro_batches
            ):
                raise ValueError(
                    f"the schedule is for {program.devices} ranks and "
                    f"{program.micro_batches} micro-batches, not for "
                    f"{groups.pp.size()} (--pipeline-model-parallel-size) and "
                    f"{num_microbatches} (--global-batch-size over "
                    "--micro-batch-size and the data-parallel size)"
                )
            must_support(config, adjust_tensor_shapes_fn, splits and not forward_only)
            tied = any(
                getattr(unwrapped(chunk), "share_embeddings_and_output_weights", False)
                for chunk in chunks
            )
            sums = are_on_one_rank(schedule, config, groups, tied)
            by_stage = stages_with(chunks, program, groups)
            if first is None or first.chunks != chunks:
                if sums:
                    must_be_equal(chunks)
                first = Checks(program, by_stage, config, groups, splits)
            (shape,) = own.get_tensor_shapes(
                seq_length=seq_length,
                micro_batch_size=micro_batch_size,
                decoder_seq_length=decoder_seq_length,
                config=config,
                tp_group=groups.tp,
                cp_group=groups.cp,
            )
            of_kind: Callable[..., Step] = Step
            if config.overlap_moe_expert_parallel_comm and not forward_only:
                must_end_with_experts(config)
                of_kind = functools.partial(CombinedStep, parts=parts)
            step = of_kind(
                program,
                by_stage,
                iterators,
                config,
                groups,
                [
                    (count * shape[0], *shape[1:])
                    for count in hidden_states(config, program.stages)
                ],
                forward_step_func,
                forward_only,
                collect_non_loss_data,
                first_val_step,
                first.of_gradients,
                waits,
            )
            if config.timers is not None:
                config.timers("forward-backward", log_level=1).start(
                    barrier=config.barrier_with_L1_time
                )
            waits.has_begun = True
            step.run()
            if not forward_only:
                first.finish(waits)
            if config.finalize_model_grads_func is not None and not forward_only:
                finalize(
                    config,
                    chunks,
                    step.tokens,
                    groups,
                    schedule,
                    sums,
                    force_all_reduce,
                )
            if config.timers is not None:
                config.timers("forward-backward").stop()
            return step.losses()

    return forward_backward_func


def stages_with(chunks: list[Any], program: Program, groups: Any) -> dict[int, Any]:
    stages = [
        stage
        for stage in range(program.stages)
        if groups.pp.rank() in program.holders(stage)
    ]
    if len(chunks) != len(stages):
        raise ValueError(
            f"the schedule has stages {stages} on this rank, but it was given "
            f"{len(chunks)} chunks of the model"
        )
    return dict(zip(stages, chunks))


class Checks:
    """Checks once that the chunks of all ranks are the model, and after the first
    training step that each parameter has a gradient or a reason to have none.
    """

    def __init__(
        self,
        program: Program,
        chunks: dict[int, Any],
        config: Any,
        groups: Any,
        splits: bool,
    ) -> None:
        for chunk in chunks.values():
            must_reduce_right(chunk, splits)
        must_be_the_model(program, chunks, config, groups.pp)
        self.chunks, self._group = list(chunks.values()), groups.pp
        self._arrived: set[int] = set()
        models = {stage: unwrapped(chunk) for stage, chunk in chunks.items()}
        self.of_gradients: FirstStep | None = FirstStep(models, self._has_gradient)
        trained = {
            id(p): p
            for model in models.values()
            for p in model.parameters()
            if p.requires_grad
        }
        self._hooks = [
            p.register_hook(functools.partial(self._arrive, key))
            for key, p in trained.items()
        ]

    def _arrive(self, key: int, _: Any) -> None:
        self._arrived.add(key)

    def _has_gradient(self, p: Any) -> bool:
        """Whether it got a gradient. Megatron's wrapper takes it out of `.grad`; some
        layers add it to `main_grad`.
        """
        main = getattr(p, "main_grad", None)
        return (
            id(p) in self._arrived
            or p.grad is not None
            or (main is not None and bool(main.any()))
        )

    def finish(self, waits: Waits) -> None:
        if self.of_gradients is not None:
            for hook in self._hooks:
                hook.remove()
            self.of_gradients.finish(
                self._group, functools.partial(waits.start, awaited=awaited_first_step)
            )
            self.of_gradients = None


def finalize(
    config: Any,
    chunks: list[Any],
    tokens: Any,
    groups: Any,
    schedule: Schedule,
    sums: bool,
    force_all_reduce: bool,
) -> None:
    """Runs Megatron's reductions after a step. sums: whether one rank has all stages
    with the word embedding.
    """
    (route,) = schedule.placement.routes
    if not config.calculate_per_token_loss:
        tokens = None
    elif (
        route[-1] != groups.pp.size() - 1
    ):  # Megatron takes the number of tokens from the last rank
        dist.broadcast(
            tokens, dist.get_global_rank(groups.pp, route[-1]), group=groups.pp
        )
    if sums:
        groups = copy.copy(groups)
        groups.embd = Alone()
    with summed(chunks) if sums else contextlib.nullcontext():
        config.finalize_model_grads_func(
            chunks, tokens, pg_collection=groups, force_all_reduce=force_all_reduce
        )


def groups_of_parallel_state() -> Any:
    """The groups of parallel_state, as Megatron's own schedules collect them."""
    from megatron.core import parallel_state
    from megatron.core.process_groups_config import ProcessGroupCollection

    groups = ProcessGroupCollection()
    groups.tp = parallel_state.get_tensor_model_parallel_group()
    groups.pp = parallel_state.get_pipeline_model_parallel_group()
    groups.cp = parallel_state.get_context_parallel_group()
    groups.embd = parallel_state.get_embedding_group(check_initialized=False)
    groups.pos_embd = parallel_state.get_position_embedding_group(
        check_initialized=False
    )
    groups.dp_cp = parallel_state.get_data_parallel_group(
        with_context_parallel=True, partial_data_parallel=False
    )
    return groups
