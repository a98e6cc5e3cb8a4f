"""What a model is set to, and what all ranks of a pipeline have to agree on in every step."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils._pytree import tree_flatten, tree_leaves

from .agreeing import made_groups
from .cutting import Skeleton

Mode = tuple[Any, ...]

_PLAIN = (bool, int, float, complex, str, type(None))


def _told(value: Any) -> Any:
    """Numbers that grow from step to step change no decision but where they leave zero."""
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return (type(value).__name__, value != 0)
    return value


def _plain(found: dict[str, Any], *, exact: bool = False) -> tuple[tuple[str, Any], ...]:
    return tuple((key, value if exact else _told(value)) for key, value in found.items() if isinstance(value, _PLAIN))


def _attributes(of: nn.Module, *, exact: bool = False) -> tuple[Any, ...]:
    """Words, flags and numbers, also those of a configuration."""
    own = vars(of)
    below = (
        (key, _plain(vars(value), exact=exact))
        for key, value in own.items()
        if not isinstance(value, (nn.Module, type)) and not callable(value) and type(getattr(value, "__dict__", None)) is dict
    )
    return (_plain(own, exact=exact), *below)


class Modes:
    """What may change between steps without a word."""

    def __init__(self, skeleton: Skeleton) -> None:
        self._containers = skeleton.containers
        below = (one for layer in skeleton.layers for one in layer.module.modules())
        self._modules = [*skeleton.containers.values(), *below]

    def now(self, inputs: Any) -> Mode:
        """Modules in training or not, flags that the model's own forward may look at, and inputs that are no tensors."""
        leaves, spec = tree_flatten(inputs)
        given = [_told(x) if isinstance(x, _PLAIN) else type(x).__name__ for x in leaves if not isinstance(x, torch.Tensor)]
        attributes = tuple(_attributes(of) for of in self._containers.values())
        return tuple(one.training for one in self._modules), attributes, tuple(given), repr(spec)

    def own_attributes(self) -> dict[str, tuple[Any, ...]]:
        """Of the opened modules, whose forward every stage runs."""
        return {name: _attributes(of, exact=True) for name, of in self._containers.items()}


def number_of(words: str) -> int:
    """A checksum of words, the same on all ranks."""
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest(), "little", signed=True)


def sum_of(tree: Any) -> int:
    """A checksum of tensors, in which places count. What has no bytes of its own is not looked at."""
    total = 0
    for x in tree_leaves(tree):
        if not isinstance(x, torch.Tensor) or hasattr(x, "to_local") or x.is_sparse or x.is_meta:
            continue
        flat = x.detach().contiguous().reshape(-1).view(torch.uint8)
        whole = flat[: flat.numel() // 8 * 8]
        words = whole.view(torch.int64) if whole.data_ptr() % 8 == 0 else whole.clone().view(torch.int64)
        places = torch.arange(1, 2 * len(words), 2, device=x.device)
        rest = int.from_bytes(bytes(flat[len(whole) :].tolist()), "little")
        found = (int((words * places).sum()), rest, tuple(x.shape), str(x.dtype), total)
        total = number_of(repr(found))
    return total


class Meeting:
    """Of the ranks of a pipeline, in the hosts' memory, before and after each step."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        ranks = dist.get_process_group_ranks(group if group is not None else dist.group.WORLD)
        self.group, self._ranks = made_groups([tuple(ranks)], backend="gloo")[tuple(ranks)], ranks

    def gather(self, mine: Iterable[int]) -> list[list[int]]:
        """The numbers of all ranks."""
        sent = torch.tensor(list(mine), dtype=torch.long)
        got = [torch.empty_like(sent) for _ in self._ranks]
        dist.all_gather(got, sent, group=self.group)
        return [one.tolist() for one in got]

    def add(self, mine: list[int]) -> list[int]:
        """The sums over all ranks."""
        sent = torch.tensor(mine, dtype=torch.long)
        dist.all_reduce(sent, group=self.group)
        found: list[int] = sent.tolist()
        return found

    def must_agree(self, mine: dict[str, int]) -> None:
        """Raises ValueError, with these words, on all ranks where one has another number of any of these."""
        _must_agree(list(mine), self.gather(mine.values()))


def _must_agree(words: list[str], everyone: list[list[int]]) -> None:
    for k, what in enumerate(words):
        other = next((rank for rank, theirs in enumerate(everyone) if theirs[k] != everyone[0][k]), None)
        if other is not None:
            raise ValueError(what.format(other=other))


_OTHER = (
    "rank {other} of the pipeline was given another %s than rank 0: each rank computes masks and the like from it "
    "again, so give all ranks of a pipeline the same; other batches are for the ranks of data_group"
)
DIFFERENT_EXAMPLE = _OTHER % "example"
DIFFERENT_BATCH = _OTHER % "batch"

DIFFERENT_MODE = (
    "rank {other} of the pipeline has set the model otherwise than rank 0 (train() or eval(), a flag, or an input that is no "
    "tensor), or calls evaluate() where rank 0 calls step(): do the same on all ranks"
)


def numbers_of(mode: Mode, trains: bool, batch: Any) -> list[int]:
    """What `must_be_alike` compares."""
    return [number_of(repr((mode, trains))), sum_of(batch)]


def must_be_alike(everyone: list[list[int]]) -> None:
    """In every step. Raises ValueError on all ranks."""
    _must_agree([DIFFERENT_MODE, DIFFERENT_BATCH], everyone)
