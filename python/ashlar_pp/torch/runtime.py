"""A small runtime of our own: it interprets a proved program over torch.distributed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .. import _core
from .._core import Instruction, Schedule
from .passes import Loss, StagePasses
from .sums import GradientSum


class ProgramRuntime:
    """Runs one rank's stream: passes in its order, transfers and sums beside them.

    A receive is posted where it stands in the stream, and waited for by the pass that needs it; a send goes on
    while passes run. With backends that have no tags (NCCL) messages between two ranks match by their order,
    which the program's proof is about: it has one lane for each peer.
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
    ) -> None:
        self.program = _core.lower(schedule, lanes="one_a_peer")
        self.program.check()
        self.modules = dict(modules)
        self.group, self.device, self.data_group = group, torch.device(device), data_group
        self.rank = dist.get_rank(group)
        if dist.get_world_size(group) < self.program.devices:
            raise ValueError(
                f"the schedule has {self.program.devices} devices, but the group {dist.get_world_size(group)} ranks"
            )
        self.scale_grads, self.bucket_bytes = scale_grads, bucket_bytes
        self.times: dict[tuple[str, int], list[float]] | None = None
        """By letter of the pass and stage: seconds of each, where somebody has put a dictionary here."""
        in_pipeline = self.rank < self.program.devices
        self._stream = self.program.stream(self.rank) if in_pipeline else []
        self._route, self._routes = self.program.route, self.program.placement.routes
        last, q = self.program.stages - 1, self.program.sequence_chunks
        self._passes = {
            stage: StagePasses(module, stage == 0, loss_fn if stage == last else None, q)
            for stage, module in self.modules.items()
        }
        self._recomputed = {(i.stage, i.micro_batch) for i in self._stream if i.code == "compute" and i.letter == "R"}
        self._holders = self._groups_of_holders()
        self._make_copies_equal()
        self._shapes: list[tuple[torch.Size, torch.dtype]] | None = None

    def _groups_of_holders(self) -> dict[int, dist.ProcessGroup]:
        """Of each stage with several holders their group, one for all stages with the same."""
        made: dict[tuple[int, ...], Any] = {}
        found: dict[int, dist.ProcessGroup] = {}
        for stage in range(self.program.stages):
            holders = tuple(self.program.holders(stage))
            if len(holders) == 1 or self.rank not in holders:
                continue
            if holders not in made:
                ranks = [self._global_rank(device) for device in holders]
                made[holders] = dist.new_group(ranks, use_local_synchronization=True)
            found[stage] = made[holders]
        return found

    def _sum_groups(self, stage: int) -> list[dist.ProcessGroup]:
        return [g for g in (self._holders.get(stage), self.data_group) if g is not None]

    def _make_copies_equal(self) -> None:
        """Copies of a stage begin with what the first of their ranks has."""
        for stage in sorted(self.modules):
            for group in self._sum_groups(stage):
                for t in [*self.modules[stage].parameters(), *self.modules[stage].buffers()]:
                    dist.broadcast(t.detach(), src=dist.get_global_rank(group, 0), group=group)

    def _global_rank(self, device: int) -> int:
        return device if self.group is None else dist.get_global_rank(self.group, device)

    def step(self, *args: torch.Tensor, target: torch.Tensor | None = None, losses: list | None = None, **_: Any) -> Any:
        """Runs the batch: args where stage 0 is, target where the last stage is. Adds to the parameters' `.grad`.

        Returns the outputs of the last stage where it is, those of the micro-batches that came through here.
        """
        step = _Step(self, args, target)
        carried = {p: p.grad for module in self.modules.values() for p in module.parameters()}
        for p in carried:
            p.grad = None  # sums are of this step alone
        for instruction in self._stream:
            step.run(instruction)
        outputs = step.finish()
        count = self.program.micro_batches
        for p, before in carried.items():
            if p.grad is not None and self.scale_grads:
                p.grad /= count
            if before is not None:
                p.grad = before if p.grad is None else p.grad.add_(before)
        last = self._passes.get(self.program.stages - 1)
        if last is not None and losses is not None:
            losses.clear()
            losses.extend(last.losses[k] for k in sorted(last.losses))
        if last is not None:
            last.losses.clear()
        return outputs

    def _find_shapes(self, inputs: list[tuple[torch.Tensor, ...]]) -> list[tuple[torch.Size, torch.dtype]]:
        """Of each stage's output, by tracing it without numbers where its first holder is; once."""
        if self._shapes is not None:
            return self._shapes
        found: list[Any] = []
        for stage in range(self.program.stages):
            holder = self.program.holders(stage)[0]
            shape: list[Any] = [None]
            if self.rank == holder:
                before = tuple(inputs[0]) if stage == 0 else (torch.empty(found[-1][0], dtype=found[-1][1]),)
                shape = [self._shape_of(self.modules[stage], before)]
            dist.broadcast_object_list(shape, src=self._global_rank(holder), group=self.group, device=self.device)
            found.append(shape[0])
        self._shapes = found
        return found

    def _shape_of(self, module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Size, torch.dtype]:
        meta = {name: t.detach().to("meta") for name, t in [*module.named_parameters(), *module.named_buffers()]}
        arguments: tuple[Any, ...] = tuple(x.to("meta") for x in inputs)
        if self.program.sequence_chunks > 1:
            arguments += (None,)
        with torch.no_grad():
            output = torch.func.functional_call(module, meta, arguments)
        if self.program.sequence_chunks > 1:
            output = output[0]
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"a stage must give one tensor, not {type(output).__name__}")
        return output.shape, output.dtype


class _Step:
    """One step under way."""

    def __init__(self, of: ProgramRuntime, args: tuple[torch.Tensor, ...], target: torch.Tensor | None) -> None:
        self.of = of
        self.inputs = list(zip(*(self._pieces(x) for x in args)))
        self.targets = None if target is None else self._pieces(target)
        if 0 in of.modules and not args:
            raise ValueError("stage 0 is on this rank: step() needs the inputs")
        self.shapes = of._find_shapes(self.inputs)
        self.values: dict[tuple[str, int, int, int], torch.Tensor] = {}  # F or B, made by stage, micro-batch, for stage
        self.arriving: dict[tuple[str, int, int, int], Any] = {}
        self.leaving: list[tuple[Any, torch.Tensor]] = []
        self.sums: list[GradientSum] = []
        self.outputs: dict[int, torch.Tensor] = {}

    def _pieces(self, batch: torch.Tensor) -> list[torch.Tensor]:
        """Micro-batches along dimension 0, and chunks of their sequences along dimension 1."""
        q = self.of.program.sequence_chunks
        m = self.of.program.micro_batches // q
        if batch.shape[0] % m != 0 or (q > 1 and batch.shape[1] % q != 0):
            raise ValueError(f"a batch of shape {tuple(batch.shape)} has no {m} equal micro-batches of {q} chunks")
        return [piece for part in batch.chunk(m) for piece in (part.chunk(q, dim=1) if q > 1 else [part])]

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

    def finish(self) -> torch.Tensor | None:
        for work, _ in self.leaving:
            work.wait()
        for under_way in self.sums:
            under_way.finish()
        if not self.outputs:
            return None
        q = self.of.program.sequence_chunks
        firsts = sorted(self.outputs)[::q]
        if q == 1:
            return torch.cat([self.outputs[k] for k in firsts])
        return torch.cat([torch.cat([self.outputs[k + j] for j in range(q)], dim=1) for k in firsts])

    def _key(self, i: Instruction) -> tuple[str, int, int, int]:
        return ("F" if i.letter == "F" else "B", i.stage, i.micro_batch, i.to)

    def _tag(self, key: tuple[str, int, int, int]) -> int:
        return (key[2] * self.of.program.stages + key[1]) * 2 + (key[0] == "B")

    def _receive(self, i: Instruction) -> None:
        key = self._key(i)
        shape, dtype = self.shapes[i.stage if i.letter == "F" else i.to]
        buffer = torch.empty(shape, dtype=dtype, device=self.of.device)
        peer = self.of._global_rank(i.peer)
        self.arriving[key] = dist.irecv(buffer, src=peer, group=self.of.group, tag=self._tag(key))
        self.values[key] = buffer

    def _send(self, i: Instruction) -> None:
        key = self._key(i)
        value = self.values.pop(key).contiguous()
        peer = self.of._global_rank(i.peer)
        work = dist.isend(value, dst=peer, group=self.of.group, tag=self._tag(key))
        self.leaving = [one for one in self.leaving if not one[0].is_completed()]
        self.leaving.append((work, value))

    def _take(self, key: tuple[str, int, int, int]) -> torch.Tensor:
        work = self.arriving.pop(key, None)
        if work is not None:
            work.wait()
        return self.values.pop(key)

    def _sum(self, stage: int) -> None:
        if groups := self.of._sum_groups(stage):
            self.sums.append(GradientSum(self.of.modules[stage], groups, self.of.bucket_bytes))

    def _compute(self, i: Instruction) -> None:
        of, stage, k = self.of, i.stage, i.micro_batch
        passes = of._passes[stage]
        last = of.program.stages - 1
        gives = i.letter in "BI"
        inputs: tuple[torch.Tensor, ...] = ()
        gradient = None
        if i.letter == "F":
            inputs = self.inputs[k] if stage == 0 else (self._take(("F", stage - 1, k, stage)),)
        elif gives and stage < last:
            gradient = self._take(("B", stage + 1, k, stage))
        started = time.perf_counter() if of.times is not None else 0.0
        result: torch.Tensor | None = None
        if i.letter == "F":
            target = self.targets[k] if stage == last and self.targets is not None else None
            result = passes.forward(
                k, inputs, target, trains=of.program.trains, again=(stage, k) in of._recomputed
            )
        elif i.letter == "R":
            passes.recompute(k)
        elif i.letter == "B":
            result = passes.backward(k, gradient)
        elif i.letter == "I":
            result = passes.backward_input(k, gradient)
        else:
            passes.backward_weight(k)
        if of.times is not None:
            if of.device.type == "cuda":
                torch.cuda.synchronize(of.device)
            of.times[i.letter, stage].append(time.perf_counter() - started)
        if result is None:
            return
        if i.letter == "F" and stage < last:
            self.values["F", stage, k, stage + 1] = result
        elif i.letter == "F":
            self.outputs[k] = result
        elif stage > 0:
            self.values["B", stage, k, stage - 1] = result
