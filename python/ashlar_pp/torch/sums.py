"""Sums of gradients over the ranks that hold the same stage, in buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


class _Bucket:
    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters
        self.flat = torch.cat([_gradient(p).reshape(-1) for p in parameters])

    def spread(self) -> None:
        at = 0
        for p in self.parameters:
            p.grad = self.flat[at : at + p.numel()].view_as(p)
            at += p.numel()


def _gradient(p: nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(p) if p.grad is None else p.grad


def buckets_of(parameters: Iterable[nn.Parameter], most_bytes: int) -> list[list[nn.Parameter]]:
    """Neighbours of one type together, as long as they are within so many bytes."""
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
    """The sum of a stage's gradients under way: over `groups`, one after the other, divided by `over`."""

    def __init__(self, module: nn.Module, groups: list[dist.ProcessGroup], most_bytes: int, over: int = 1) -> None:
        self._buckets = [_Bucket(ps) for ps in buckets_of(module.parameters(), most_bytes)]
        self._first, *self._others = groups
        self._over = over
        self._works = self._start(self._first)

    def _start(self, group: dist.ProcessGroup) -> list[Any]:
        return [dist.all_reduce(b.flat, group=group, async_op=True) for b in self._buckets]

    def finish(self, wait: Callable[[Any], None] = lambda work: work.wait()) -> None:
        for work in self._works:
            wait(work)
        for group in self._others:
            for work in self._start(group):
                wait(work)
        for bucket in self._buckets:
            if self._over > 1:
                bucket.flat /= self._over
            bucket.spread()
