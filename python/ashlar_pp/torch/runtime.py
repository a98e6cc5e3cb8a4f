"""A small runtime of our own, which interprets a proved program over
torch.distributed.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .. import _core
from .._core import Schedule
from ..certificates import must_be_certified
from .agreement import make_equal
from .awaited import awaited_first_step
from .beginning import Beginning
from .clock import Times
from .first_step import FirstStep
from .guards import is_sharded, must_have_no_parameters, must_train
from .inputs import Batch, split
from .messages import Messages
from .passes import Loss, StagePasses
from .replicas import out_of_ddp
from .shapes import Signature, signature_of, trace, words_of
from .split import compiling, keeps_saved_tensors
from .step import Step
from .stream import action_of, with_early_receives
from .sums import CopySums
from .waits import Waits


class ProgramRuntime:
    """Runs one rank's stream: passes in its order, transfers and sums beside them.

    The pass that needs a received value waits for it; a send goes on while passes run.
    With backends without tags (NCCL) messages between two ranks match by their order.
    The program is proved for that: it has one lane for each peer, and a receive is
    posted at its place in the stream. On CPUs, receives are posted up to two passes
    earlier.

    Args:
        modules (mapping of int to nn.Module): This rank's stages.
        schedule (Schedule): What runs.
        loss_fn (Callable, optional): Takes output and target of a micro-batch, and
            gives its loss. Needed on the last stage to train.
        group (ProcessGroup, optional): The ranks of the pipeline. Default: all.
        device (torch.device or str): Device of received tensors. Default: ``cpu``.
        data_group (ProcessGroup, optional): The ranks with the same stages, over which
            gradients are averaged.
        scale_grads (bool): Divides gradients by the number of micro-batches.
            Default: ``True``.
        bucket_bytes (int): The most bytes of gradients that are summed in one message.
            Default: 25 MiB.
        dynamic_shapes (bool): Micro-batches may differ in shape. Default: ``False``.
        timeout (float or timedelta, optional): Seconds after which a rank that does not
            answer is named. Default: the group's timeout.
        waits (Waits, optional): Waits of the pipeline, if it has some already.
        unpiped (mapping of str to bool, optional): Whether the model without a
            pipeline gives a parameter a gradient, by name, where known.
        require_certificate (bool): Refuses a program that `ashlar_verify` does not
            accept. Default: ``False``.

    Raises:
        ValueError: if the stages are no chain, one is in fully_shard, or the group has
            too few ranks.
        Violation: for a schedule that is not valid.
    """

    def __init__(
        self,
        modules: Mapping[int, nn.Module],
        schedule: Schedule,
        loss_fn: Loss | None = None,
        *,
        group: dist.ProcessGroup | None = None,
        device: torch.device | str = "cpu",
        data_group: dist.ProcessGroup | None = None,
        scale_grads: bool = True,
        bucket_bytes: int = 25 << 20,
        dynamic_shapes: bool = False,
        timeout: float | datetime.timedelta | None = None,
        waits: Waits | None = None,
        unpiped: Mapping[str, bool] | None = None,
        require_certificate: bool = False,
    ) -> None:
        self.program = _core.lower(schedule, lanes="one_a_peer")
        self.program.check()
        if require_certificate:
            must_be_certified(self.program)
        if not self.program.is_chain:
            raise ValueError(
                "the schedule's stages are not a chain, and a module here only hands "
                "over to the next stage's"
            )
        must_have_no_parameters(loss_fn)
        self.modules, self.data_group = out_of_ddp(modules, data_group)
        for stage, module in self.modules.items():
            if is_sharded(module):
                raise ValueError(
                    f"stage {stage} is in fully_shard, and the runtime of our own "
                    "keeps parameters whole"
                )
        self._keeps_saved = keeps_saved_tensors(self.modules.values(), schedule)
        self.group, self.device = group, torch.device(device)
        self.rank = dist.get_rank(group)
        if dist.get_world_size(group) < self.program.devices:
            raise ValueError(
                f"the schedule has {self.program.devices} devices, but the group "
                f"{dist.get_world_size(group)} ranks"
            )
        self.scale_grads, self.dynamic_shapes = scale_grads, dynamic_shapes
        self.loss_fn = loss_fn
        self.times: Times | None = None
        """Seconds of passes by letter and stage, if set to a dictionary."""
        self.last = self.program.stages - 1
        in_pipeline = self.rank < self.program.devices
        self.stream = [
            action_of(i, self.last)
            for i in (self.program.stream(self.rank) if in_pipeline else [])
        ]
        if self.device.type == "cpu":  # whose transports have tags
            self.stream = with_early_receives(self.stream)
        self.forwards = [i for i in self.stream if i.is_forward]
        self.first = FirstStep(self.modules, unpiped=unpiped)
        self.passes = {
            stage: self._passes_of(stage, module)
            for stage, module in self.modules.items()
        }
        self._recomputed = {
            (i.stage, i.micro_batch)
            for i in self.stream
            if i.code == "compute" and i.letter == "R"
        }
        self._groups = self._groups_of_copies()
        if waits is None:
            seconds = (
                timeout.total_seconds()
                if isinstance(timeout, datetime.timedelta)
                else timeout
            )
            alone = self.program.devices == 1 and self.data_group is None
            waits = Waits(group, seconds, alone=alone)
        self.waits = waits
        over = 1 if self.data_group is None else dist.get_world_size(self.data_group)
        self._sums = CopySums(
            self.modules, self._groups, over, bucket_bytes, self.first, waits
        )
        self._make_copies_equal()
        self.shapes: list[list[Signature]] | None = None
        self._first_inputs: Any = None
        self._beginning = Beginning(self.waits, group, self.device, self.program)

    def _passes_of(self, stage: int, module: nn.Module) -> StagePasses:
        return StagePasses(
            module,
            stage,
            stage == 0,
            self.loss_fn if stage == self.last else None,
            self.program.sequence_chunks,
            self.first,
        )

    def _groups_of_copies(self) -> dict[int, list[dist.ProcessGroup]]:
        """The groups over which gradients of this rank's stages are summed: other
        holders, then data_group. Stages with the same holders share a group.
        """
        holders_of = {
            stage: tuple(self.program.holders(stage))
            for stage in range(self.program.stages)
        }
        made: dict[tuple[int, ...], Any] = {}
        for holders in dict.fromkeys(of for of in holders_of.values() if len(of) > 1):
            # PyTorch names groups by their count, so all ranks make as many: ranks
            # outside make a group of their own.
            ranks = [
                self.global_rank(device)
                for device in (holders if self.rank in holders else (self.rank,))
            ]
            made[holders] = dist.new_group(ranks, use_local_synchronization=True)
        return {
            stage: [
                group
                for group in (made.get(holders_of[stage]), self.data_group)
                if group is not None
            ]
            for stage in self.modules
        }

    def _make_copies_equal(self) -> None:
        """Gives copies of a stage the parameters and buffers of the first of their
        ranks.
        """
        for stage in sorted(self.modules):
            for group in self._groups[stage]:
                make_equal(self.modules[stage], group, self.device)

    def global_rank(self, device: int) -> int:
        """Returns the rank of a device in the default group.

        Args:
            device (int): Its number in the schedule.

        Returns:
            int: its rank.
        """
        return (
            device if self.group is None else dist.get_global_rank(self.group, device)
        )

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        finalize_gradients: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Runs a batch, and adds to the parameters' `.grad`.

        A batch is split along dimension 0; `arg_mbs`, `kwarg_mbs` and `target_mbs` give
        it in micro-batches. After an exception, gradients are as before.

        Args:
            *args: Inputs of stage 0, on its rank.
            target (Any, optional): On the rank of the last stage.
            losses (list, optional): Filled with the losses of the micro-batches.
            return_outputs (bool): Whether outputs are kept. Default: ``True``.
            loss_kwargs (dict, optional): Further arguments of the loss.
            arg_mbs (list[tuple], optional): Inputs by micro-batch.
            kwarg_mbs (list[dict], optional): Inputs by keyword, by micro-batch.
            target_mbs (list, optional): Targets by micro-batch.
            finalize_gradients (bool): Must be ``True``.
            **kwargs: Inputs by keyword of all stages of this rank.

        Returns:
            Any: the last stage's outputs, if it is here, of the micro-batches that came
            through here.

        Raises:
            ValueError: for inputs that cannot be split, or are missing.
            RuntimeError: where gradients are disabled, or if the first step lost one.
            LostRank: if another rank fails or is lost.
        """
        with self.waits.call("step()"):
            if not finalize_gradients:
                raise ValueError(
                    "finalize_gradients=False is for stages in fully_shard, which "
                    "PyTorch's runtime runs"
                )
            batch = self._split(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs)
            if self.program.trains:
                must_train(self.modules, self.last, self.loss_fn, batch.targets)
            return self._train(batch, loss_kwargs, losses, return_outputs)

    def _train(
        self,
        batch: Batch,
        loss_kwargs: dict[str, Any] | None,
        losses: list[Any] | None,
        return_outputs: bool,
    ) -> Any:
        """Runs a step that trains, and adds its gradients to earlier ones."""
        carried = {
            p: p.grad for module in self.modules.values() for p in module.parameters()
        }
        for p in carried:
            p.grad = None  # sums include this step alone
        try:
            with compiling(keeps=self._keeps_saved):
                outputs = self._run(
                    batch,
                    loss_kwargs,
                    losses,
                    return_outputs,
                    trains=self.program.trains,
                )
            if self.program.trains and not self.first.is_over:
                self.first.finish(
                    self.group, partial(self.waits.start, awaited=awaited_first_step)
                )
        except BaseException:
            for p, before in carried.items():
                p.grad = before
            raise
        count = self.program.micro_batches
        for p, before in carried.items():
            if p.grad is not None and self.scale_grads:
                p.grad /= count
            if before is not None:
                p.grad = before if p.grad is None else p.grad.add_(before)
        return outputs

    def eval(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        arg_mbs: list[tuple[Any, ...]] | None = None,
        kwarg_mbs: list[dict[str, Any]] | None = None,
        target_mbs: list[Any] | None = None,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the forwards alone, without gradients.

        Args:
            *args: As in `step`.
            target (Any, optional): As in `step`; without it there are no losses.
            losses (list, optional): As in `step`.
            arg_mbs (list[tuple], optional): As in `step`.
            kwarg_mbs (list[dict], optional): As in `step`.
            target_mbs (list, optional): As in `step`.
            loss_kwargs (dict, optional): As in `step`.
            **kwargs: As in `step`.

        Returns:
            Any: as `step` does.

        Raises:
            ValueError: for inputs that cannot be split, or are missing.
            LostRank: if another rank fails or is lost.
        """
        with self.waits.call("eval()"), torch.no_grad():
            batch = self._split(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs)
            return self._run(batch, loss_kwargs, losses, True, trains=False)

    def _split(
        self,
        args: Any,
        kwargs: Any,
        target: Any,
        arg_mbs: Any,
        kwarg_mbs: Any,
        target_mbs: Any,
    ) -> Batch:
        q = self.program.sequence_chunks
        count = self.program.micro_batches // q
        batch = split(
            count,
            q,
            args,
            kwargs,
            target,
            arg_mbs,
            kwarg_mbs,
            target_mbs,
            equal=not self.dynamic_shapes,
        )
        if 0 in self.modules and not any(batch.args) and not any(batch.kwargs):
            raise ValueError("stage 0 is on this rank: step() needs the inputs")
        return batch

    def _run(
        self,
        batch: Batch,
        loss_kwargs: dict[str, Any] | None,
        losses: list[Any] | None,
        return_outputs: bool,
        *,
        trains: bool,
    ) -> Any:
        if losses is not None and not isinstance(losses, list):
            raise TypeError(
                f"losses must be a list, which is filled, not {type(losses).__name__}"
            )
        self._begin(batch)
        shapes = self.shapes or []
        messages = Messages(
            self.program,
            self.group,
            self.device,
            self.waits,
            lambda stage, k: shapes[stage][k],
        )
        step = Step(
            self.program,
            self.passes,
            messages,
            self._sums,
            batch,
            loss_kwargs,
            device=self.device,
            recomputed=self._recomputed,
            trains=trains,
            return_outputs=return_outputs,
            times=self.times,
        )
        try:
            for action in (
                self.stream if trains or not self.program.trains else self.forwards
            ):
                self.waits.move(action.words, action.stage, action.micro_batch)
                step.run(action)
            outputs = step.finish()
            self._beginning.finish()
        except BaseException:
            for passes in self.passes.values():
                passes.clear()
            raise
        if (last := self.passes.get(self.last)) is not None:
            if losses is not None:
                losses.clear()
                losses.extend(last.losses[k] for k in sorted(last.losses))
            last.losses.clear()
        if not trains:
            for passes in self.passes.values():
                passes.clear()
        return outputs

    def _begin(self, batch: Batch) -> None:
        """Makes all ranks agree on the call, and finds shapes."""
        inputs = self._input_shapes(batch)
        self._beginning.agree(inputs)
        self._find_shapes(batch, inputs)

    def _input_shapes(self, batch: Batch) -> list[Signature]:
        """Shapes of the inputs by micro-batch. Raises ValueError if they differ from
        earlier ones, unless shapes are dynamic.
        """
        inputs = [
            signature_of(a for a in args if isinstance(a, torch.Tensor))
            for args in batch.args
        ]
        if not self.dynamic_shapes and 0 in self.modules:
            if self._first_inputs is None:
                self._first_inputs = inputs[0]
            for k, given in enumerate(inputs):
                if given != self._first_inputs:
                    raise ValueError(
                        f"micro-batch {k} is {words_of(given)}, and the first that "
                        f"this pipeline ran {words_of(self._first_inputs)}: "
                        "shapes that differ need pipeline(dynamic_shapes=True)"
                    )
        return inputs

    def _find_shapes(self, batch: Batch, inputs: list[Signature]) -> None:
        """Finds the shapes of each stage's outputs on its first holder: once, or in
        every step if shapes are dynamic.
        """
        if self.shapes is not None and not self.dynamic_shapes:
            return
        found: list[list[Signature]] = []
        for stage in range(self.last):  # the last stage sends nothing
            self.waits.move(f"the shapes that stage {stage} gives", stage)
            holder = self.program.holders(stage)[0]
            result: list[Any] = [None]
            if self.rank == holder:
                arriving: Sequence[Any] = batch.args if stage == 0 else found[-1]
                known: dict[Any, Signature] = {}
                result = [
                    [
                        self._traced(stage, x, batch.kwargs[k], inputs[k], known)
                        for k, x in enumerate(arriving)
                    ]
                ]
            dist.broadcast_object_list(
                result,
                src=self.global_rank(holder),
                group=self.group,
                device=self.device,
            )
            found.append(result[0])
        self.shapes = found

    def _traced(
        self,
        stage: int,
        given: Any,
        kwargs: dict[str, Any],
        inputs: Signature,
        known: dict[Any, Signature],
    ) -> Signature:
        key = inputs if stage == 0 else given
        if kwargs:
            key = (
                key,
                signature_of(v for v in kwargs.values() if isinstance(v, torch.Tensor)),
            )
        if key not in known:
            known[key] = trace(
                f"stage {stage}",
                self.modules[stage],
                given,
                kwargs,
                self.device,
                self.program.sequence_chunks > 1,
            )
        return known[key]
