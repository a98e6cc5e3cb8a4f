"""Values between the stages of a program on one rank, and the messages that bring
them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import torch
import torch.distributed as dist

from .._core import Program
from .awaited import awaited_of_receiver, awaited_of_sender
from .shapes import Signature
from .waits import Waits

Key = tuple[str, int, int, int]
"""F or B, the stage that made the value, the micro-batch, and the stage that it is for.
"""

MOST_TENSORS = 1024
"""The most tensors from a stage to the next; each has a tag of its own."""


class Transfer(Protocol):
    """A send or a receive."""

    @property
    def letter(self) -> str: ...
    @property
    def stage(self) -> int: ...
    @property
    def micro_batch(self) -> int: ...
    @property
    def to(self) -> int: ...
    @property
    def peer(self) -> int: ...


def key_of(i: Transfer) -> Key:
    """The value of a send or a receive."""
    return ("F" if i.letter == "F" else "B", i.stage, i.micro_batch, i.to)


class Messages:
    """Values of one step. shapes_of: the signature of what a stage gives for a
    micro-batch.
    """

    def __init__(
        self,
        program: Program,
        group: dist.ProcessGroup | None,
        device: torch.device | int,
        waits: Waits,
        shapes_of: Callable[[int, int], Signature],
    ) -> None:
        self._stages, self._device = program.stages, device
        self._group: Any = group or dist.group.WORLD
        self._ranks = dist.get_process_group_ranks(self._group)
        self._waits, self._shapes_of = waits, shapes_of
        self._values: dict[Key, list[torch.Tensor | None]] = {}
        self._arriving: dict[Key, tuple[list[Any], int]] = {}  # and the sender's rank
        self._leaving: list[tuple[Any, torch.Tensor, Callable[[], dict[str, Any]]]] = []

    def signature(self, key: Key) -> Signature:
        letter, made_by, k, to = key
        return self._shapes_of(made_by if letter == "F" else to, k)

    def put(self, key: Key, tensors: list[torch.Tensor | None]) -> None:
        """Keeps what a pass gives, for a stage of this rank or a send."""
        self._values[key] = tensors

    def take(self, key: Key, at: str) -> list[torch.Tensor | None]:
        """Returns a value once, and waits for it if it is received. at: the pass that
        needs it.
        """
        works, peer = self._arriving.pop(key, ((), -1))
        for work in works:
            self._waits.wait(work, partial(awaited_of_sender, *key[:3], peer, at))
        return self._values.pop(key)

    def receive(self, i: Transfer) -> None:
        key, peer = key_of(i), self._ranks[i.peer]
        awaited = partial(
            awaited_of_sender, *key[:3], peer, f"{key[3]}RECV_{key[0]}{key[2]}"
        )
        buffers: list[torch.Tensor | None] = []
        works = []
        for j, (shape, dtype) in enumerate(self.signature(key)):
            if key[0] == "B" and not dtype.is_floating_point and not dtype.is_complex:
                buffers.append(None)
                continue
            buffer = torch.empty(shape, dtype=dtype, device=self._device)
            works.append(
                self._waits.start(
                    self._group.recv,
                    [_as_real(buffer)],
                    i.peer,
                    self._tag(key) + j,
                    awaited=awaited,
                )
            )
            buffers.append(buffer)
        self._arriving[key] = works, peer
        self._values[key] = buffers

    def send(self, i: Transfer) -> None:
        key, peer = key_of(i), self._ranks[i.peer]
        awaited = partial(awaited_of_receiver, *key, peer)
        self._leaving = [one for one in self._leaving if not one[0].is_completed()]
        for j, value in enumerate(self._values.pop(key)):
            if value is None:
                continue
            value = value.contiguous()
            work = self._waits.start(
                self._group.send,
                [_as_real(value)],
                i.peer,
                self._tag(key) + j,
                awaited=awaited,
            )
            self._leaving.append((work, value, awaited))

    def finish(self) -> None:
        """Waits for the sends."""
        for work, _, awaited in self._leaving:
            self._waits.wait(work, awaited)
        self._leaving = []

    def _tag(self, key: Key) -> int:
        return ((key[2] * self._stages + key[1]) * 2 + (key[0] == "B")) * MOST_TENSORS


def _as_real(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's numbers, as backends send them."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor
