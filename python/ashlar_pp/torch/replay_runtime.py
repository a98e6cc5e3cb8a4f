"""Runs replays in the runtime of our own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .._core import Program, Schedule
from .awaited import awaited_first_step
from .clock import Clock
from .guards import must_know_parameters
from .inputs import Batch
from .passes import MicroBatch, StagePasses, Tensors
from .replay import Replay, TimedReplay
from .runtime import ProgramRuntime
from .shapes import Signature
from .split import compiling
from .waits import Waits


def obstacle_of(program: Program) -> str:
    """The reason why replays cannot run a program, or empty."""
    if program.sequence_chunks > 1:
        return "its sequences come in chunks, and a model takes whole ones"
    if not program.is_chain:
        return "its stages are not a chain, and the layers of a model are"
    if not program.trains:
        return "it has no backwards"
    for stage in range(program.stages):
        if len(holders := program.holders(stage)) > 1:
            return (
                f"stage {stage} is on devices {holders[0]} and {holders[1]}, and each "
                "layer is on one"
            )
    return ""


class ReplayPasses(StagePasses):
    """The passes of a stage whose forward is a replay."""

    def __init__(
        self,
        module: nn.Module,
        stage: int,
        first: Any,
        timed: TimedReplay,
        micro_batches: int,
    ) -> None:
        super().__init__(module, stage, stage == 0, None, 1, first)
        self._timed, self.share = timed, 1 / micro_batches

    def forward(
        self,
        k: int,
        inputs: tuple[Any, ...],
        given: MicroBatch,
        *,
        trains: bool,
        again: bool = False,
    ) -> Any:
        run = partial(super().forward, k, inputs, given, trains=trains, again=again)
        return self._timed.forward(k, run, trains=trains)

    def recompute(self, k: int) -> None:
        self._timed.recompute(k, partial(super().recompute, k))

    def backward(self, k: int, gradients: Tensors | None) -> list[torch.Tensor | None]:
        run = partial(super().backward, k, gradients)
        found: list[torch.Tensor | None] = self._timed.backward("B", k, run)
        return found

    def backward_input(
        self, k: int, gradients: Tensors | None
    ) -> list[torch.Tensor | None]:
        run = partial(super().backward_input, k, gradients)
        found: list[torch.Tensor | None] = self._timed.backward("I", k, run)
        return found

    def backward_weight(self, k: int) -> None:
        self._timed.backward("W", k, partial(super().backward_weight, k))

    def _must_know_parameters(self, roots: list[torch.Tensor], read: Tensors) -> None:
        # a value behind frozen layers is a leaf, too, whose gradient is dropped
        must_know_parameters(self.name, self.module, roots, read, parameters_alone=True)


class ReplayRuntime(ProgramRuntime):
    """Runs the replays of this rank's stages. All ranks have agreed on each call before
    it begins, and gradients are those of one step.
    """

    def __init__(
        self,
        parts: Mapping[int, nn.Module],
        replays: Mapping[int, Replay],
        schedule: Schedule,
        shapes: list[Signature],
        *,
        clock: Clock,
        group: dist.ProcessGroup | None,
        data_group: dist.ProcessGroup | None,
        waits: Waits,
        unpiped: Mapping[str, bool],
        require_certificate: bool,
    ) -> None:
        """shapes: of what each stage but the last gives."""
        self._timed = {s: TimedReplay(one, clock, s) for s, one in replays.items()}
        super().__init__(
            parts,
            schedule,
            group=group,
            device=clock.device,
            data_group=data_group,
            scale_grads=False,
            waits=waits,
            unpiped=unpiped,
            require_certificate=require_certificate,
        )
        m = self.program.micro_batches
        self.shapes = [[one] * m for one in shapes]
        self._batch = Batch([()] * m, [{}] * m, None, False)

    def _passes_of(self, stage: int, module: nn.Module) -> StagePasses:
        return ReplayPasses(
            module, stage, self.first, self._timed[stage], self.program.micro_batches
        )

    def _make_copies_equal(self) -> None:
        """They are: the pipeline has made whole models equal."""

    def _begin(self, batch: Batch) -> None:
        self.waits.has_begun = True

    def trust_gradients(self) -> None:
        """Leaves out the first step's check, for steps that only measure."""
        self.first.is_over = True

    def run(self, *, trains: bool) -> None:
        """Runs the micro-batches that the replays were given."""
        with compiling(keeps=self._keeps_saved):
            self._run(self._batch, None, None, False, trains=trains)
        if trains and not self.first.is_over:
            self.first.finish(
                self.group, partial(self.waits.start, awaited=awaited_first_step)
            )
