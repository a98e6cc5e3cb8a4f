"""A running step of our runtime."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch

from .._core import Program
from .clock import Times, now
from .inputs import Batch, merge
from .messages import MOST_TENSORS, Key, Messages
from .passes import MicroBatch, StagePasses, tensors_of
from .shapes import signature_of, words_of
from .stream import Action
from .sums import CopySums, GradientSum


class Step:
    """Runs the instructions of one step. times: where seconds of passes go, if
    anywhere.
    """

    def __init__(
        self,
        program: Program,
        passes: Mapping[int, StagePasses],
        messages: Messages,
        sums: CopySums,
        batch: Batch,
        loss_kwargs: dict[str, Any] | None,
        *,
        device: torch.device,
        recomputed: Collection[tuple[int, int]],
        trains: bool,
        return_outputs: bool,
        times: Times | None,
    ) -> None:
        self._program, self._passes, self._messages, self._sums = (
            program,
            passes,
            messages,
            sums,
        )
        self._last = program.stages - 1
        self._batch, self._loss_kwargs = batch, loss_kwargs
        self._device, self._recomputed, self._times = device, recomputed, times
        self._trains, self._return_outputs = trains, return_outputs
        self._running: list[tuple[int, GradientSum]] = []  # by stage
        self._outputs: dict[int, Any] = {}

    def run(self, i: Action) -> None:
        if i.code == "compute":
            self._compute(i)
        elif i.code == "receive":
            self._messages.receive(i)
        elif i.code == "send":
            self._messages.send(i)
        elif i.code == "all-reduce":
            if (started := self._sums.start(i.group)) is not None:
                self._running.append((i.group, started))
        elif i.code != "clear":  # gradients are cleared by the training loop
            raise ValueError(f"the runtime cannot run '{i.words}'")

    def finish(self) -> Any:
        self._messages.finish()
        for stage, under_way in self._running:
            self._sums.finish(stage, under_way)
        return (
            merge(self._outputs, self._program.sequence_chunks)
            if self._outputs
            else None
        )

    def _given(self, stage: int, k: int) -> MicroBatch:
        batch = self._batch
        target = (
            batch.targets[k]
            if stage == self._last and batch.targets is not None
            else None
        )
        return MicroBatch(batch.kwargs[k], target, self._loss_kwargs, batch.is_cut)

    def _compute(self, i: Action) -> None:
        stage, k = i.stage, i.micro_batch
        passes = self._passes[stage]
        given = None if i.needs is None else self._messages.take(i.needs, i.words)
        started = now(self._device) if self._times is not None else 0.0
        result: Any = None
        if i.letter == "F":
            inputs = self._batch.args[k] if given is None else tuple(given)
            again = self._trains and (stage, k) in self._recomputed
            result = passes.forward(
                k, inputs, self._given(stage, k), trains=self._trains, again=again
            )
        elif i.letter == "R":
            passes.recompute(k)
        elif i.letter == "B":
            result = passes.backward(k, given)
        elif i.letter == "I":
            result = passes.backward_input(k, given)
        else:
            passes.backward_weight(k)
        if self._times is not None:
            self._times[i.letter, stage].append(now(self._device) - started)
        if i.letter == "F" and i.gives is not None:
            self._hand_on(i.gives, result)
        elif i.gives is not None:
            self._messages.put(i.gives, result)
        elif i.letter == "F" and self._return_outputs:
            self._outputs[k] = result

    def _hand_on(self, key: Key, output: Any) -> None:
        _, stage, k, _ = key
        tensors = tensors_of(output, f"stage {stage}")
        if len(tensors) > MOST_TENSORS:
            raise ValueError(
                f"stage {stage} gives {len(tensors)} tensors; the most is "
                f"{MOST_TENSORS}"
            )
        if (given := signature_of(tensors)) != (
            expected := self._messages.signature(key)
        ):
            raise RuntimeError(
                f"stage {stage} gives {words_of(given)} for micro-batch {k}, and gave "
                f"{words_of(expected)} when shapes were found: "
                "the rank that receives it knows nothing of a shape that depends on "
                "values, or changes from step to step"
            )
        self._messages.put(key, list(tensors))
