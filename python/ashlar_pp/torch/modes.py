"""Settings of a model, and what all ranks of a pipeline have to agree on in every
step.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from typing import Any

import torch
from torch import nn

from .layers import Skeleton
from .meeting import must_agree
from .unseen import tensors_in

Mode = tuple[Any, ...]

_PLAIN = (bool, int, float, complex, str, type(None))

_OF_MODULES = {k for k, v in vars(nn.Module()).items() if not isinstance(v, _PLAIN)}
"""Tables of parameters, hooks and the like that every module has."""


def _told(value: Any) -> Any:
    """Reduces a number to whether it is zero: counters that grow from step to step
    change decisions only there.
    """
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return (type(value).__name__, value != 0)
    return value


def _plain(
    found: dict[str, Any], *, exact: bool = False
) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (key, value if exact else _told(value))
        for key, value in found.items()
        if isinstance(value, _PLAIN)
    )


def _attributes(of: nn.Module, *, exact: bool = False) -> tuple[Any, ...]:
    """A module's attributes that are words, flags or numbers, also those of its
    configuration.
    """
    own = {key: value for key, value in vars(of).items() if key not in _OF_MODULES}
    below = (
        (key, _plain(vars(value), exact=exact))
        for key, value in own.items()
        if not isinstance(value, (nn.Module, type))
        and not callable(value)
        and type(getattr(value, "__dict__", None)) is dict
    )
    return (_plain(own, exact=exact), *below)


class Modes:
    """Settings of a model that may silently change between steps."""

    def __init__(self, skeleton: Skeleton) -> None:
        self._containers = skeleton.containers
        below = (one for layer in skeleton.layers for one in layer.module.modules())
        self._modules = [*skeleton.containers.values(), *below]

    def now(self, inputs: list[Any]) -> Mode:
        """The mode: which modules train, flags that the model's own forward may read,
        shapes of one micro-batch's inputs, and inputs that are no tensors.

        inputs: the leaves of a micro-batch.
        """
        given = [
            tuple(x.shape)
            if isinstance(x, torch.Tensor)
            else _told(x)
            if isinstance(x, _PLAIN)
            else type(x).__name__
            for x in inputs
        ]
        attributes = tuple(_attributes(of) for of in self._containers.values())
        return (
            tuple(one.training for one in self._modules),
            attributes,
            tuple(given),
        )

    def own_attributes(self) -> dict[str, tuple[Any, ...]]:
        """Attributes of the opened modules, whose forward every stage runs."""
        return {
            name: _attributes(of, exact=True) for name, of in self._containers.items()
        }


def number_of(words: str) -> int:
    """A checksum of words, the same on all ranks."""
    return int.from_bytes(
        hashlib.blake2b(words.encode(), digest_size=8).digest(), "little", signed=True
    )


def bits_of(number: float) -> int:
    """The bits of a number, which a sum with zeros keeps."""
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def number_from(bits: int) -> float:
    """The number with these bits."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


@functools.lru_cache(maxsize=2)  # of a batch and its target
def _places(count: int) -> torch.Tensor:
    return torch.arange(1, 2 * count, 2)


def _weighted_sum(words: torch.Tensor) -> int:
    """The sum of whole numbers by odd weights, modulo 2**64."""
    if words.device.type == "cpu":
        return int(torch.dot(words, _places(len(words))))
    return int((words * torch.arange(1, 2 * len(words), 2, device=words.device)).sum())


def sum_of(tree: Any) -> int:
    """A checksum of tensors that depends on positions. Skips distributed, sparse and
    meta tensors.
    """
    total = 0
    for x in tensors_in(tree):
        if hasattr(x, "to_local") or x.is_sparse or x.is_meta:
            continue
        flat = x.detach().contiguous().reshape(-1).view(torch.uint8)
        whole = flat[: flat.numel() // 8 * 8]
        words = (
            whole.view(torch.int64)
            if whole.data_ptr() % 8 == 0
            else whole.clone().view(torch.int64)
        )
        rest = int.from_bytes(bytes(flat[len(whole) :].tolist()), "little")
        found = (_weighted_sum(words), rest, tuple(x.shape), str(x.dtype), total)
        total = number_of(repr(found))
    return total


_OTHER = (
    "rank {other} of the pipeline was given another %s than rank 0: each rank computes "
    "masks and the like from it "
    "again, so give all ranks of a pipeline the same; other batches are for the ranks "
    "of data_group"
)
DIFFERENT_EXAMPLE = _OTHER % "example"
DIFFERENT_BATCH = _OTHER % "batch"

DIFFERENT_MODE = (
    "rank {other} of the pipeline has set the model otherwise than rank 0 (train() or "
    "eval(), a flag, or an input that is no "
    "tensor), or calls evaluate() where rank 0 calls step(): do the same on all ranks"
)


def numbers_of(mode: Mode, trains: bool, batch: Any) -> list[int]:
    """The numbers that `must_be_alike` compares."""
    return [number_of(repr((mode, trains))), sum_of(batch)]


def must_be_alike(everyone: list[list[int]]) -> None:
    """Raises ValueError on all ranks if modes or batches differ. Called in every
    step.
    """
    must_agree([DIFFERENT_MODE, DIFFERENT_BATCH], everyone)
