"""The beginning of a call of all ranks: a message goes from rank to rank and says which
call it is.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import torch
import torch.distributed as dist

from .._core import Program
from .awaited import awaited_call
from .waits import Waits

_TAG = (1 << 31) - 9


class Beginning:
    """Makes ranks agree on the call, so that activations of an evaluation are not taken
    for those of a step.
    """

    def __init__(
        self,
        waits: Waits,
        group: dist.ProcessGroup | None,
        device: torch.device,
        program: Program,
    ) -> None:
        ranks = [
            dist.get_global_rank(group, d) if group is not None else d
            for d in range(program.devices)
        ]
        first = program.holders(0)[0]
        self._chain = [
            ranks[first],
            *(rank for d, rank in enumerate(ranks) if d != first),
        ]
        self._waits, self._group, self._device = waits, group, device
        self._schedule = _digest(program)
        self._sent: list[tuple[Any, torch.Tensor, int]] = []

    def agree(self, shapes: Any = None) -> int:
        """Returns a checksum of the shapes given to the rank with stage 0. Raises
        RuntimeError if ranks call something else.
        """
        waits = self._waits
        waits.has_begun = True
        mine = [
            waits.calls,
            zlib.crc32(waits.kind.encode()),
            self._schedule,
            zlib.crc32(repr(shapes).encode()),
        ]
        if waits.rank not in self._chain or len(self._chain) == 1:
            return mine[3]
        place = self._chain.index(waits.rank)
        if place > 0:
            before = self._chain[place - 1]
            given = torch.zeros(4, dtype=torch.long, device=self._device)
            awaited = functools.partial(awaited_call, waits.kind, before)
            waits.wait(
                waits.start(self._message, dist.irecv, given, before, awaited=awaited),
                awaited,
            )
            theirs = [int(x) for x in given.tolist()]
            if theirs[:3] != mine[:3]:
                raise RuntimeError(self._different(before, theirs))
            mine = theirs
        if place + 1 < len(self._chain):
            after = self._chain[place + 1]
            sent = torch.tensor(mine, dtype=torch.long, device=self._device)
            awaited = functools.partial(awaited_call, waits.kind, after)
            self._sent = [
                (
                    waits.start(
                        self._message, dist.isend, sent, after, awaited=awaited
                    ),
                    sent,
                    after,
                )
            ]
        return mine[3]

    def finish(self) -> None:
        for work, _, after in self._sent:
            self._waits.wait(
                work, functools.partial(awaited_call, self._waits.kind, after)
            )
        self._sent = []

    def _message(self, operation: Any, tensor: torch.Tensor, peer: int) -> Any:
        """Sends or receives in a batch, which with NCCL uses the communicator of the
        other messages.
        """
        (work,) = dist.batch_isend_irecv(
            [dist.P2POp(operation, tensor, peer, self._group, _TAG)]
        )
        return work

    def _different(self, before: int, theirs: list[int]) -> str:
        waits = self._waits
        if theirs[2] != self._schedule:
            return (
                f"rank {before} runs another schedule than rank {waits.rank}: give all "
                "ranks of a pipeline the same"
            )
        other = (
            "the same"
            if theirs[1] == zlib.crc32(waits.kind.encode())
            else "another method"
        )
        return (
            f"rank {waits.rank} calls {waits.kind}, its call {waits.calls} of the "
            f"pipeline, and rank {before} {other}, "
            f"its call {theirs[0]}: all ranks call step() and eval() alike"
        )


def _digest(program: Program) -> int:
    streams = "\n".join(
        " ".join(map(str, program.stream(device))) for device in range(program.devices)
    )
    sizes = f"{program.devices} {program.stages} {program.micro_batches}"
    return zlib.crc32(f"{sizes}\n{streams}".encode())
