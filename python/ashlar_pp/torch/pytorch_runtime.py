"""PyTorch's own pipeline runtime with our program, with workarounds for its faults."""

from __future__ import annotations

import functools
import inspect
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    _ComputationType,
    _PipelineScheduleRuntime,
)

from .._core import Program, Schedule
from .actions import WatchedActions, telling
from .awaited import awaited_first_step, awaited_sum
from .beginning import Beginning
from .first_step import FirstStep, watch_forwards
from .guards import is_sharded, must_know_parameters, must_train, splits_backwards
from .inputs import must_divide, must_have_rows_of
from .overrides import Method, override
from .passes import tensors_of
from .pytorch_split import split_as_ours
from .replicas import out_of_ddp
from .shapes import Signature, signature_of, words_of
from .split import compiling
from .sums import GradientSum
from .waits import Waits, root_of

_STEP_TAKES = inspect.signature(_PipelineScheduleRuntime.step).parameters


def installed_dialect() -> str:
    """Returns the dialect of PyTorch's CSV that the installed torch reads.

    Returns:
        str: ``waits``, ``reduce-grad``, ``i-b`` or ``b-bw``.
    """
    words = _ComputationType.__members__
    if "WAIT_SEND_F" in words:
        return "waits"
    if "REDUCE_GRAD" in words:
        return "reduce-grad"
    return "i-b" if "BACKWARD_INPUT" in words else "b-bw"


def installed_lanes() -> str:
    """Returns which transfers of a rank share a communicator, as torch is set now.

    Returns:
        str: ``one`` or ``one_a_direction``.
    """
    import torch.distributed as distributed

    config = getattr(distributed, "config", None)
    per_edge = bool(
        getattr(config, "pipeline_per_edge_p2p", False)
        or getattr(config, "use_torchcomms", False)
    )
    return "one_a_direction" if per_edge else "one"


def load(runtime: _PipelineScheduleRuntime, program: Program) -> None:
    """Gives a runtime the program's actions. PyTorch reads them from a file alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(program.pytorch(installed_dialect()))
        file.flush()
        runtime._load_csv(file.name, format="compute_comms")


def prepare(modules: Mapping[int, nn.Module], schedule: Schedule) -> None:
    """Makes settings without which a backward in two parts loses gradients."""
    if not splits_backwards(schedule):
        return
    for module in modules.values():
        for one in module.modules():
            if (
                sets := getattr(one, "set_reshard_after_forward", None)
            ) is not None and is_sharded(one):
                # Otherwise nested modules are gathered anew for the first part, and the
                # gradients that the second part computes are lost. The program itself
                # says when weights are resharded.
                sets(False, recurse=False)


def _without_messages_to_itself(stage: PipelineStage) -> None:
    """Skips messages of a rank to itself. Earlier versions of torch send them between
    its stages before the first step, which gloo refuses.
    """

    def to_others(own: Method) -> Method:
        return lambda: [op for op in own() if op.group_peer != stage.group_rank]

    if hasattr(stage, "_get_init_p2p_neighbors_ops"):
        override(stage, "_get_init_p2p_neighbors_ops", to_others)


def _watch_outputs(stage: PipelineStage) -> None:
    """Checks that a stage's output has the shapes that its receiver expects: gloo ends
    a process that gets a longer message, and a shorter one leaves old numbers.
    """
    if stage.is_last:
        return
    words = f"stage {stage.stage_index}"

    def checked(own: Method) -> Method:
        def forward(fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
            output = own(fwd_chunk_id, *args, **kwargs)
            given = signature_of(tensors_of(output, words))
            if (expected := _outputs_of(stage)) is not None and given != expected:
                raise ValueError(
                    f"{words} gives {words_of(given)} for micro-batch {fwd_chunk_id}, "
                    "and the next stage expects "
                    f"{words_of(expected)}: micro-batches of different shapes need "
                    "pipeline(dynamic_shapes=True)"
                )
            return output

        return forward

    def inferred(own: Method) -> Method:
        def outputs(*args: Any, **kwargs: Any) -> Any:
            output = own(*args, **kwargs)
            tensors_of(output, words)
            return output

        return outputs

    override(stage, "forward_one_chunk", checked)
    if hasattr(stage, "_compute_outputs"):
        override(stage, "_compute_outputs", inferred)


def _outputs_of(stage: Any) -> Signature | None:
    """The output shapes that PyTorch has told the next stage; None for distributed
    tensors, whose local parts are sent.
    """
    meta = getattr(stage, "_stage_meta", None)
    # the former in earlier versions of torch
    outputs = stage.get_outputs_meta() if meta is None else meta.outputs
    return (
        None
        if outputs is None or any(hasattr(t, "placements") for t in outputs)
        else signature_of(outputs)
    )


class PytorchRuntime(_PipelineScheduleRuntime):
    """Has `step` and `eval` as PyTorch's. Gradients of a step are divided by the number
    of micro-batches once, also if stages share parameters or steps add up, and averaged
    over `data_group`. A failed step leaves gradients as before.
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        program: Program,
        loss_fn: Callable[..., torch.Tensor] | None,
        *,
        scale_grads: bool,
        data_group: dist.ProcessGroup | None,
        keeps_saved: bool,
        bucket_bytes: int = 25 << 20,
        waits: Waits | None = None,
        unpiped: Mapping[str, bool] | None = None,
        is_agreed: bool = False,
    ) -> None:
        """unpiped: as `FirstStep` takes it. is_agreed: ranks have agreed on each call
        before it begins, and shapes stay.
        """
        self._modules, data_group = out_of_ddp(
            {stage.stage_index: stage.submod for stage in stages}, data_group
        )
        self._first = FirstStep(self._modules, unpiped=unpiped)
        # whether copies of this rank's stages tell each other which gradients they have
        self._tells = True
        self._frozen: list[
            int
        ] = []  # stages that had nothing to train in the first step
        for stage in stages:
            stage.submod = self._modules[stage.stage_index]
            _without_messages_to_itself(stage)
            split_as_ours(stage)
            watch_forwards(stage, self._first)
        self._group = stages[0].group
        alone = (
            dist.get_world_size(self._group) == 1
            and data_group is None
            and not any(map(is_sharded, self._modules.values()))
        )
        self.waits = waits or Waits(self._group, alone=alone)
        super().__init__(
            stages,
            program.micro_batches,
            loss_fn=self._checked(loss_fn, program.stages),
            scale_grads=False,
        )
        self.program, self._keeps_saved = program, keeps_saved
        self._beginning = Beginning(self.waits, self._group, stages[0].device, program)
        self._is_agreed = is_agreed
        self._cuts_target = False
        self._takes_inputs = any(
            stage.is_first and type(stage) is PipelineStage for stage in stages
        )
        self._shapes = 0  # checksum of the shapes that the stages were made for
        self._scales, self._data_group, self._bucket_bytes = (
            scale_grads,
            data_group,
            bucket_bytes,
        )
        load(self, program)
        for stage in stages:
            _watch_outputs(stage)
        self._actions = WatchedActions(self, stages, self.waits)

    def trust_gradients(self) -> None:
        """Leaves out the first step's check, for steps that only measure."""
        self._first.is_over = True

    def _checked(
        self, loss_fn: Callable[..., torch.Tensor] | None, stages: int
    ) -> Callable[..., torch.Tensor] | None:
        """The loss function, checked for the graphs of its losses in the first step."""
        module = self._modules.get(stages - 1)
        if loss_fn is None or module is None:
            return loss_fn
        looks_for_others = not is_sharded(module)

        def checked(output: Any, target: Any, **kwargs: Any) -> torch.Tensor:
            nonlocal looks_for_others
            with telling(self.waits):
                if self._cuts_target:
                    must_have_rows_of(output, target)
                loss = loss_fn(output, target, **kwargs)
                if (
                    not self._first.is_over
                    and isinstance(loss, torch.Tensor)
                    and loss.grad_fn is not None
                    and not loss.is_meta
                ):
                    if looks_for_others:
                        looks_for_others = False
                        must_know_parameters(
                            f"stage {stages - 1}",
                            module,
                            [loss],
                            [],
                            parameters_alone=True,
                        )
                    self._first.forward(stages - 1, loss)
            return loss

        return checked

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a step as PyTorch's own does. After an exception, gradients are as
        before.
        """
        with self.waits.call("step()" if self._has_backward else "eval()"):
            for name in ("arg_mbs", "kwarg_mbs", "target_mbs", "loss_kwargs"):
                if kwargs.get(name) is not None and name not in _STEP_TAKES:
                    raise ValueError(
                        f"the runtime of torch {torch.__version__} takes no {name}: "
                        "pipeline(runtime='ashlar') does"
                    )
            self._must_fit(args, kwargs)
            if not self._has_backward:
                return self._watched_step(args, kwargs)
            self._must_know_what_is_trained()
            return self._train(args, kwargs)

    def _must_fit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises ValueError for inputs that PyTorch would split unequally, or would
        miss only when other ranks already wait.
        """
        given = {
            name: value for name, value in kwargs.items() if name not in _STEP_TAKES
        }
        self._cuts_target = kwargs.get("target") is not None
        targets = (
            kwargs.get("target")
            if kwargs.get("target_mbs") is None
            else kwargs["target_mbs"]
        )
        must_divide([*args, given, kwargs.get("target")], self._n_microbatches, 1, True)
        if self._has_backward:
            must_train(self._modules, self.program.stages - 1, self._loss_fn, targets)
        has_inputs = args or given or kwargs.get("arg_mbs") or kwargs.get("kwarg_mbs")
        if self._takes_inputs and not has_inputs:
            raise ValueError("stage 0 is on this rank: step() needs the inputs")

    def _train(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        carried = {
            p: p.grad for module in self._modules.values() for p in module.parameters()
        }
        for p in carried:
            p.grad = None
        try:
            result = self._watched_step(args, kwargs)
            if not self._first.is_over:
                self._first.finish(
                    self._group,
                    functools.partial(self.waits.start, awaited=awaited_first_step),
                )
            if self._data_group is not None:
                self._average(self._data_group)
        except BaseException:
            for p, before in carried.items():
                p.grad = before
            raise
        for p, before in carried.items():
            if p.grad is not None and self._scales:
                p.grad /= self._n_microbatches
            if before is not None:
                p.grad = before if p.grad is None else p.grad.add_(before)
        return result

    def _must_know_what_is_trained(self) -> None:
        """Raises ValueError if a stage trains and did not in the first step: PyTorch
        keeps which outputs need gradients.
        """
        if not self._first.is_over:
            self._frozen = [
                s
                for s, m in self._modules.items()
                if not any(p.requires_grad for p in m.parameters())
            ]
        elif thawed := [
            s
            for s in self._frozen
            if any(p.requires_grad for p in self._modules[s].parameters())
        ]:
            raise ValueError(
                f"stage {thawed[0]} had nothing to train in the first step, and has "
                "now: make the pipeline again, or take "
                "runtime='ashlar'"
            )

    def _average(self, group: dist.ProcessGroup) -> None:
        over, ranks, tells = (
            dist.get_world_size(group),
            dist.get_process_group_ranks(group),
            False,
        )
        sums = {
            s: GradientSum(m, [group], self._bucket_bytes, over, self._tells)
            for s, m in self._modules.items()
        }
        for stage, one in sums.items():
            self.waits.move(f"{stage}REDUCE_GRAD", stage)
            is_complete = one.finish(
                functools.partial(
                    self.waits.wait,
                    awaited=functools.partial(awaited_sum, stage, ranks),
                )
            )
            tells = tells or not is_complete
        self._tells = tells and self._tells

    def _watched_step(self, args: Any, kwargs: Any) -> Any:
        """Runs PyTorch's own step. Errors of the stages come without those that PyTorch
        puts around them.
        """
        self._actions.arm()
        try:
            with compiling(keeps=self._keeps_saved):
                result = super().step(*args, **kwargs)
            self._beginning.finish()
            return result
        except RuntimeError as error:
            if (root := root_of(error)) is not error:
                raise root  # noqa: B904 (its own cause tells errors of messages)
            raise

    def _initialize_stages(
        self, args: tuple[Any, ...], kwargs: Any, *more: Any, **options: Any
    ) -> None:
        """Initializes stages anew if inputs have other shapes than before."""
        inputs = signature_of(
            x for x in (*args, *(kwargs or {}).values()) if isinstance(x, torch.Tensor)
        )
        self.waits.has_begun = True
        shapes = (
            1
            if self._is_agreed
            else self._beginning.agree(inputs if 0 in self._modules else None)
        )
        if shapes != self._shapes or (
            self._has_backward and not self._stages_backward_initialized
        ):
            # Earlier versions of torch keep an evaluation's buffers, which need no
            # gradient.
            self._stages_forward_initialized = self._stages_backward_initialized = False
        self.waits.move("the shapes of what stages give")
        super()._initialize_stages(args, kwargs, *more, **options)
        self._shapes = shapes
