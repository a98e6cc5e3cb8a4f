"""Sums of gradients over the ranks that hold the same stage, in buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .awaited import awaited_sum
from .first_step import FirstStep
from .waits import Waits


class _Bucket:
    def __init__(self, parameters: list[nn.Parameter], tells: bool) -> None:
        self._parameters, self._tells = parameters, tells
        pieces = [_gradient(p).reshape(-1) for p in parameters]
        if tells:
            has = [float(p.grad is not None) for p in parameters]
            pieces.append(
                torch.tensor(has, dtype=pieces[0].dtype, device=pieces[0].device)
            )
        self.flat = torch.cat(pieces)

    def spread(self) -> bool:
        """Sets the parameters' gradients. Returns whether each has one on some rank;
        the others get None.
        """
        count = len(self._parameters)
        has = (self.flat[-count:] != 0).tolist() if self._tells else [True] * count
        at = 0
        for p, has_one in zip(self._parameters, has):
            p.grad = self.flat[at : at + p.numel()].view_as(p) if has_one else None
            at += p.numel()
        return all(has)


def _gradient(p: nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(p) if p.grad is None else p.grad


def buckets_of(
    parameters: Iterable[nn.Parameter], most_bytes: int
) -> list[list[nn.Parameter]]:
    """Groups neighbouring trained parameters of one type into buckets of at most
    `most_bytes`.
    """
    found: list[list[nn.Parameter]] = []
    size = 0
    for p in parameters:
        if not p.requires_grad:
            continue
        bytes_of = p.numel() * p.element_size()
        if not found or found[-1][0].dtype != p.dtype or size + bytes_of > most_bytes:
            found.append([])
            size = 0
        found[-1].append(p)
        size += bytes_of
    return found


class GradientSum:
    """A running sum of a stage's gradients over `groups`, one after the other, divided
    by `over`.

    tells: ranks tell which gradients they have. A parameter without one on any rank
    then gets none, as without copies, and optimizers skip it. Otherwise it gets zeros.
    """

    def __init__(
        self,
        module: nn.Module,
        groups: list[dist.ProcessGroup],
        most_bytes: int,
        over: int = 1,
        tells: bool = True,
    ) -> None:
        self._buckets = [
            _Bucket(ps, tells) for ps in buckets_of(module.parameters(), most_bytes)
        ]
        self._first, *self._others = groups
        self._over = over
        self._works = self._start(self._first)

    def _start(self, group: dist.ProcessGroup) -> list[Any]:
        return [
            dist.all_reduce(b.flat, group=group, async_op=True) for b in self._buckets
        ]

    def finish(self, wait: Callable[[Any], None] = lambda work: work.wait()) -> bool:
        """Waits for the sum. Returns whether each parameter had a gradient on some
        rank: then ranks need not tell.
        """
        for work in self._works:
            wait(work)
        for group in self._others:
            for work in self._start(group):
                wait(work)
        for bucket in self._buckets:
            if self._over > 1:
                bucket.flat /= self._over
        return all([bucket.spread() for bucket in self._buckets])


class CopySums:
    """Sums of gradients over the copies of each stage, from step to step. groups: those
    of a stage, one after the other.
    """

    def __init__(
        self,
        modules: Mapping[int, nn.Module],
        groups: Mapping[int, Sequence[dist.ProcessGroup]],
        over: int,
        most_bytes: int,
        first: FirstStep,
        waits: Waits,
    ) -> None:
        self._modules, self._groups, self._over, self._most_bytes = (
            modules,
            groups,
            over,
            most_bytes,
        )
        self._first, self._waits = first, waits
        self._tells = {
            stage: True for stage in modules
        }  # whether copies tell each other which gradients they have

    def start(self, stage: int) -> GradientSum | None:
        """Starts the sum of a stage; None if it has no copies."""
        if not (groups := self._groups[stage]):
            return None
        self._first.look(stage)
        return GradientSum(
            self._modules[stage],
            list(groups),
            self._most_bytes,
            self._over,
            self._tells[stage],
        )

    def finish(self, stage: int, under_way: GradientSum) -> None:
        ranks = sorted(
            {
                rank
                for group in self._groups[stage]
                for rank in dist.get_process_group_ranks(group)
            }
        )
        is_complete = under_way.finish(
            partial(self._waits.wait, awaited=partial(awaited_sum, stage, ranks))
        )
        self._tells[stage] = self._tells[stage] and not is_complete
