"""PyTorch's own pipeline runtime with our program, and without what it does wrong."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _ComputationType, _PipelineScheduleRuntime

from .._core import Program
from .awaited import Awaited, awaited_first_step, awaited_of_receiver, awaited_of_sender
from .first_step import FirstStep, watch_forwards
from .guards import is_compiled, is_sharded, must_know_parameters, splits_backwards
from .pytorch_split import split_as_ours
from .replicas import out_of_ddp
from .sums import GradientSum
from .waiting import Waits, root_of, timeout_of


_STEP_TAKES = inspect.signature(_PipelineScheduleRuntime.step).parameters


def installed_dialect() -> str:
    """Of PyTorch's CSV, as the installed torch reads it."""
    words = _ComputationType.__members__
    if "WAIT_SEND_F" in words:
        return "waits"
    if "REDUCE_GRAD" in words:
        return "reduce-grad"
    return "i-b" if "BACKWARD_INPUT" in words else "b-bw"


def installed_lanes() -> str:
    """Which transfers of a rank share a communicator in the installed torch, as it is set now."""
    import torch.distributed as distributed

    config = getattr(distributed, "config", None)
    per_edge = bool(getattr(config, "pipeline_per_edge_p2p", False) or getattr(config, "use_torchcomms", False))
    return "one_a_direction" if per_edge else "one"


def prepare(modules: Mapping[int, nn.Module], program: Program) -> None:
    """Settings without which a backward in two parts fails or loses gradients."""
    if not splits_backwards(program):
        return
    for module in modules.values():
        if is_compiled(module):
            # The compiled backward would overwrite what the second part still needs.
            import torch._functorch.config

            torch._functorch.config.donated_buffer = False
        for one in module.modules():
            if (sets := getattr(one, "set_reshard_after_forward", None)) is not None and is_sharded(one):
                # Else nested modules are gathered anew for the first part, and the second part works on weights that
                # nobody takes gradients from. The program itself says when weights are given up.
                sets(False, recurse=False)


def _without_messages_to_itself(stage: PipelineStage) -> None:
    """Earlier versions of torch try out connections between stages before the first step, also of a rank with itself,
    which gloo refuses."""
    if (make := getattr(stage, "_get_init_p2p_neighbors_ops", None)) is not None:
        def others() -> list[Any]:
            return [op for op in make() if op.group_peer != stage.group_rank]

        setattr(stage, "_get_init_p2p_neighbors_ops", others)


class _Watched(list[Any]):
    """Actions of a rank. Whoever goes through them after `arm` tells which one is under way, and None after the last."""

    def arm(self, comes_to: Callable[[Any], None]) -> None:
        self._comes_to: Callable[[Any], None] | None = comes_to

    def __iter__(self) -> Iterator[Any]:
        comes_to, self._comes_to = getattr(self, "_comes_to", None), None
        for action in super().__iter__():
            if comes_to is not None:
                comes_to(action)
            yield action
        if comes_to is not None:
            comes_to(None)


def _ends_waiting(stage: PipelineStage, waits: Waits) -> None:
    """When a pass begins, all is there that it needs."""
    for name in ("forward_one_chunk", "backward_one_chunk"):

        def begun(*args: Any, run: Callable[..., Any] = getattr(stage, name), **kwargs: Any) -> Any:
            waits.end()
            return run(*args, **kwargs)

        setattr(stage, name, begun)


class PytorchRuntime(_PipelineScheduleRuntime):
    """`step` and `eval` as PyTorch's. Gradients of a step are divided by the number of micro-batches once, whoever
    shares parameters and however many steps add up, averaged over `data_group`, and as before if it fails."""

    def __init__(
        self,
        stages: list[PipelineStage],
        program: Program,
        loss_fn: Callable[..., torch.Tensor] | None,
        *,
        scale_grads: bool,
        data_group: dist.ProcessGroup | None,
        bucket_bytes: int = 25 << 20,
    ) -> None:
        self._modules, data_group = out_of_ddp({stage.stage_index: stage.submod for stage in stages}, data_group)
        self._first = FirstStep(self._modules)
        self._tells = True  # the copies of this rank's stages each other, which gradients they have
        self._frozen: list[int] = []  # stages with nothing to train in the first step
        for stage in stages:
            stage.submod = self._modules[stage.stage_index]
            _without_messages_to_itself(stage)
            split_as_ours(stage)
            watch_forwards(stage, self._first)
        super().__init__(stages, program.micro_batches, loss_fn=self._checked(loss_fn, program.stages), scale_grads=False)
        self.program = program
        self._scales, self._data_group, self._bucket_bytes = scale_grads, data_group, bucket_bytes
        handle, path = tempfile.mkstemp(suffix=".csv")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(program.pytorch(installed_dialect()))
            self._load_csv(path, format="compute_comms")
        finally:
            os.remove(path)
        self._group = stages[0].group
        self.waits = Waits(None, timeout_of(self._group, stages[0].device))
        weakref.finalize(self, self.waits.close)
        for stage in stages:
            _ends_waiting(stage, self.waits)
        self._actions = _Watched(self.pipeline_order_with_comms[self.rank])
        self._action: Any = None  # under way
        self.pipeline_order_with_comms[self.rank] = self._actions

    def _checked(self, loss_fn: Callable[..., torch.Tensor] | None, stages: int) -> Callable[..., torch.Tensor] | None:
        """Looks at the graphs of the losses in the first step."""
        module = self._modules.get(stages - 1)
        if loss_fn is None or module is None:
            return loss_fn
        looks_for_others = not is_sharded(module)

        def checked(output: Any, target: Any, **kwargs: Any) -> torch.Tensor:
            nonlocal looks_for_others
            loss = loss_fn(output, target, **kwargs)
            if not self._first.is_over and isinstance(loss, torch.Tensor) and loss.grad_fn is not None and not loss.is_meta:
                if looks_for_others:
                    looks_for_others = False
                    must_know_parameters(f"stage {stages - 1}", module, [loss], [], parameters_alone=True)
                self._first.forward(stages - 1, loss)
            return loss

        return checked

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """As PyTorch's own, which see. After an exception, gradients are as before."""
        for name in ("arg_mbs", "kwarg_mbs", "target_mbs", "loss_kwargs"):
            if kwargs.get(name) is not None and name not in _STEP_TAKES:
                raise ValueError(f"the runtime of torch {torch.__version__} takes no {name}: pipeline(runtime='ashlar') does")
        if self._has_backward and not self._stages_backward_initialized:
            self._stages_forward_initialized = False  # earlier versions keep an evaluation's buffers, which need no gradient
        self._actions.arm(self._comes_to)
        if not self._has_backward:
            return self._watched_step(args, kwargs)
        if not torch.is_grad_enabled():
            raise RuntimeError("step() trains, and gradients are disabled here (torch.no_grad): eval() runs forwards alone")
        self._must_know_what_is_trained()
        carried = {p: p.grad for module in self._modules.values() for p in module.parameters()}
        for p in carried:
            p.grad = None
        try:
            result = self._watched_step(args, kwargs)
            if not self._first.is_over:
                self._first.finish(self._group, functools.partial(self.waits.start, awaited=awaited_first_step))
        except BaseException:
            for p, before in carried.items():
                p.grad = before
            raise
        if self._data_group is not None:
            over = dist.get_world_size(self._data_group)
            each = self._modules.values()
            sums = [GradientSum(m, [self._data_group], self._bucket_bytes, over, self._tells) for m in each]
            self._tells = not all([one.finish() for one in sums]) and self._tells
        for p, before in carried.items():
            if p.grad is not None and self._scales:
                p.grad /= self._n_microbatches
            if before is not None:
                p.grad = before if p.grad is None else p.grad.add_(before)
        return result

    def _must_know_what_is_trained(self) -> None:
        """PyTorch keeps for ever which outputs needed a gradient in the first step."""
        if not self._first.is_over:
            self._frozen = [s for s, m in self._modules.items() if not any(p.requires_grad for p in m.parameters())]
        elif thawed := [s for s in self._frozen if any(p.requires_grad for p in self._modules[s].parameters())]:
            raise ValueError(
                f"stage {thawed[0]} had nothing to train in the first step, and has now: make the pipeline again, or take "
                "runtime='ashlar'"
            )

    def _watched_step(self, args: Any, kwargs: Any) -> Any:
        """PyTorch's own. A failure says at which action it was; after a wait, who is to blame."""
        self._action = None
        try:
            return super().step(*args, **kwargs)
        except BaseException as error:
            action = self._action
            if action is None:
                raise
            if isinstance(error, RuntimeError) and self.waits.is_waiting():
                raise self.waits.blame(error) from error
            self.waits.fail(error, str(action), action.stage_index, action.microbatch_index)
            if isinstance(error, RuntimeError):
                raise RuntimeError(f"rank {dist.get_rank()} failed at {action}: {root_of(error)}") from error
            raise

    def _awaited_at(self, action: Any) -> Awaited | None:
        """What an action waits for, of whom; None for one that waits for nobody."""
        stage, k, kind = action.stage_index, action.microbatch_index, action.computation_type
        at = str(action)
        if kind in (_ComputationType.FORWARD, _ComputationType.RECV_F):
            return self._message("F", stage - 1, stage, k, at)
        if kind in (_ComputationType.FULL_BACKWARD, _ComputationType.BACKWARD_INPUT, _ComputationType.RECV_B):
            return self._message("B", stage + 1, stage, k, at)
        letter = kind.value[-1]
        if kind.value.removeprefix("WAIT_") in ("SEND_F", "SEND_B"):
            return self._message(letter, stage, stage + (1 if letter == "F" else -1), k, at)
        return None

    def _message(self, letter: str, stage: int, to: int, k: int, at: str) -> Awaited | None:
        """Of the message from a stage to a stage, one of which is elsewhere."""
        is_received = to in self._modules
        other = stage if is_received else to
        if not 0 <= other < self.program.stages or other in self._modules:
            return None
        rank = self.stage_index_to_group_rank[other]
        if self._group is not None:
            rank = dist.get_global_rank(self._group, rank)
        if is_received:
            return functools.partial(awaited_of_sender, letter, stage, k, rank, at)
        return functools.partial(awaited_of_receiver, letter, stage, k, to, rank)

    def _comes_to(self, action: Any) -> None:
        self._action = action
        awaited = None if action is None else self._awaited_at(action)
        if awaited is None:
            self.waits.end()
        else:
            self.waits.begin(awaited)
