"""A running step of our runtime."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from .._core import Instruction
from .awaited import awaited_of_receiver, awaited_of_sender, awaited_sum
from .inputs import Batch, merge
from .passes import MicroBatch, tensors_of
from .shapes import Signature, signature_of, words_of
from .sums import GradientSum

if TYPE_CHECKING:
    from .runtime import ProgramRuntime

Key = tuple[str, int, int, int]
"""F or B, the stage that made the value, the micro-batch, and the stage that it is for."""

MOST_TENSORS = 64
"""The most tensors from a stage to the next; each has a tag of its own."""


class Step:
    def __init__(
        self, of: ProgramRuntime, batch: Batch, loss_kwargs: dict[str, Any] | None, trains: bool, return_outputs: bool
    ) -> None:
        self.of, self.batch, self.loss_kwargs = of, batch, loss_kwargs
        self.trains, self.return_outputs = trains, return_outputs
        self.values: dict[Key, list[torch.Tensor | None]] = {}
        self.arriving: dict[Key, tuple[list[Any], int]] = {}  # and the sender's rank
        self.leaving: list[tuple[Any, torch.Tensor, Instruction]] = []
        self.sums: list[tuple[GradientSum, int]] = []  # and the stage
        self.outputs: dict[int, Any] = {}

    def run(self, i: Instruction) -> None:
        if i.code == "compute":
            self._compute(i)
        elif i.code == "receive":
            self._receive(i)
        elif i.code == "send":
            self._send(i)
        elif i.code == "all-reduce":
            self._sum(i.group)
        elif i.code != "clear":  # gradients are cleared by the training loop
            raise ValueError(f"the runtime cannot run '{i}'")

    def finish(self) -> Any:
        for work, _, i in self.leaving:
            self.of.waits.wait(work, partial(self._awaited_of_receiver, i))
        for under_way, stage in self.sums:
            ranks = sorted({r for group in self.of.sum_groups(stage) for r in dist.get_process_group_ranks(group)})
            is_complete = under_way.finish(partial(self.of.waits.wait, awaited=partial(awaited_sum, stage, ranks)))
            self.of.tells[stage] = self.of.tells[stage] and not is_complete
        return merge(self.outputs, self.of.program.sequence_chunks) if self.outputs else None

    def _key(self, i: Instruction) -> Key:
        return ("F" if i.letter == "F" else "B", i.stage, i.micro_batch, i.to)

    def _tag(self, key: Key) -> int:
        return ((key[2] * self.of.program.stages + key[1]) * 2 + (key[0] == "B")) * MOST_TENSORS

    def _signature(self, key: Key) -> Signature:
        assert self.of.shapes is not None
        letter, made_by, k, to = key
        return self.of.shapes[made_by if letter == "F" else to][k]

    def _receive(self, i: Instruction) -> None:
        key = self._key(i)
        peer = self.of.global_rank(i.peer)
        buffers: list[torch.Tensor | None] = []
        works = []
        for j, (shape, dtype) in enumerate(self._signature(key)):
            if i.letter != "F" and not dtype.is_floating_point and not dtype.is_complex:
                buffers.append(None)
                continue
            buffer = torch.empty(shape, dtype=dtype, device=self.of.device)
            works.append(
                self.of.waits.start(
                    dist.irecv,
                    buffer,
                    src=peer,
                    group=self.of.group,
                    tag=self._tag(key) + j,
                    awaited=partial(awaited_of_sender, *key[:3], peer, f"{key[3]}RECV_{key[0]}{key[2]}"),
                )
            )
            buffers.append(buffer)
        self.arriving[key] = works, peer
        self.values[key] = buffers

    def _send(self, i: Instruction) -> None:
        key = self._key(i)
        peer = self.of.global_rank(i.peer)
        for j, value in enumerate(self.values.pop(key)):
            if value is None:
                continue
            value = value.contiguous()
            work = self.of.waits.start(
                dist.isend,
                value,
                dst=peer,
                group=self.of.group,
                tag=self._tag(key) + j,
                awaited=partial(self._awaited_of_receiver, i),
            )
            self.leaving.append((work, value, i))

    def _take(self, key: Key, at: str) -> list[torch.Tensor | None]:
        works, peer = self.arriving.pop(key, ((), -1))
        for work in works:
            self.of.waits.wait(work, partial(awaited_of_sender, *key[:3], peer, at))
        return self.values.pop(key)

    def _awaited_of_receiver(self, i: Instruction) -> dict[str, Any]:
        letter = "F" if i.letter == "F" else "B"
        return awaited_of_receiver(letter, i.stage, i.micro_batch, i.to, self.of.global_rank(i.peer))

    def _sum(self, stage: int) -> None:
        if groups := self.of.sum_groups(stage):
            over = dist.get_world_size(self.of.data_group) if self.of.data_group is not None else 1
            self.of.first.look(stage)
            under_way = GradientSum(self.of.modules[stage], groups, self.of.bucket_bytes, over, self.of.tells[stage])
            self.sums.append((under_way, stage))

    def _given(self, stage: int, k: int) -> MicroBatch:
        target = self.batch.targets[k] if stage == self.of.last and self.batch.targets is not None else None
        return MicroBatch(self.batch.kwargs[k], target, self.loss_kwargs, self.batch.is_cut)

    def _compute(self, i: Instruction) -> None:
        of, stage, k = self.of, i.stage, i.micro_batch
        passes = of.passes[stage]
        inputs: tuple[Any, ...] = ()
        gradients = None
        if i.letter == "F":
            inputs = self.batch.args[k] if stage == 0 else tuple(self._take(("F", stage - 1, k, stage), f"{stage}F{k}"))
        elif i.letter in "BI" and stage < of.last:
            gradients = self._take(("B", stage + 1, k, stage), f"{stage}{i.letter}{k}")
        started = self._now() if of.times is not None else 0.0
        result: Any = None
        if i.letter == "F":
            again = self.trains and (stage, k) in of.recomputed
            result = passes.forward(k, inputs, self._given(stage, k), trains=self.trains, again=again)
        elif i.letter == "R":
            passes.recompute(k)
        elif i.letter == "B":
            result = passes.backward(k, gradients)
        elif i.letter == "I":
            result = passes.backward_input(k, gradients)
        else:
            passes.backward_weight(k)
        if of.times is not None:
            of.times[i.letter, stage].append(self._now() - started)
        if i.letter == "F" and stage < of.last:
            self._hand_on(stage, k, result)
        elif i.letter == "F":
            if self.return_outputs:
                self.outputs[k] = result
        elif i.letter in "BI" and stage > 0:
            self.values["B", stage, k, stage - 1] = result

    def _now(self) -> float:
        """The time when all work begun is done: on a GPU also the messages that a pass waits for."""
        if self.of.device.type == "cuda":
            torch.cuda.synchronize(self.of.device)
        return time.perf_counter()

    def _hand_on(self, stage: int, k: int, output: Any) -> None:
        tensors = tensors_of(output, f"stage {stage}")
        if len(tensors) > MOST_TENSORS:
            raise ValueError(f"stage {stage} gives {len(tensors)} tensors; the most is {MOST_TENSORS}")
        key = ("F", stage, k, stage + 1)
        if (given := signature_of(tensors)) != (expected := self._signature(key)):
            raise RuntimeError(
                f"stage {stage} gives {words_of(given)} for micro-batch {k}, and gave {words_of(expected)} when shapes were found: "
                "the rank that receives it knows nothing of a shape that depends on values, or changes from step to step"
            )
        self.values[key] = list(tensors)
