"""Numbers that the ranks of a pipeline tell each other before and after each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist

from .agreement import made_groups

Coming = list[tuple[torch.Tensor, Any]]
"""Numbers of other ranks, by round, and the receive that brings them."""


class Meeting:
    """Exchanges numbers between the ranks of a pipeline, in host memory.

    Each rank sends what it knows to others in turn, from its own thread: for numbers of
    a few bytes, gloo's collectives take more rounds, and threads of their own.
    """

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        ranks = dist.get_process_group_ranks(
            group if group is not None else dist.group.WORLD
        )
        self.group = made_groups([tuple(ranks)], backend="gloo")[tuple(ranks)]
        self._rank, self._count = ranks.index(dist.get_rank()), len(ranks)

    def expect(self, count: int) -> Coming:
        """Posts the receives of a `gather` of so many numbers, so that the numbers of
        ranks that are earlier than this one arrive while it works.
        """
        coming: Coming = []
        reach = 1
        while reach < self._count:
            got = torch.empty(
                (min(reach, self._count - reach), count), dtype=torch.long
            )
            peer = (self._rank + reach) % self._count
            coming.append((got, self.group.recv([got], peer, 0)))
            reach *= 2
        return coming

    def gather(
        self, mine: Iterable[int], coming: Coming | None = None
    ) -> list[list[int]]:
        """Gathers the numbers of all ranks. coming: what `expect` gave, if called."""
        numbers = list(mine)
        if self._count == 1:
            return [numbers]
        known = torch.tensor([numbers], dtype=torch.long)  # from this rank on
        for got, work in self.expect(len(numbers)) if coming is None else coming:
            peer = (self._rank - len(known)) % self._count
            sent = self.group.send([known[: len(got)]], peer, 0)
            work.wait()
            sent.wait()
            known = torch.cat([known, got])
        found: list[list[int]] = known.tolist()
        first = self._count - self._rank
        return found[first:] + found[:first]

    def add(self, mine: Iterable[int], coming: Coming | None = None) -> list[int]:
        """Sums the numbers over all ranks. coming: as in `gather`."""
        return [sum(of) for of in zip(*self.gather(mine, coming))]

    def must_agree(self, mine: dict[str, int]) -> None:
        """Raises ValueError, with the key as its words, on all ranks if a number
        differs from that of rank 0.
        """
        must_agree(list(mine), self.gather(mine.values()))


def must_agree(words: list[str], everyone: list[list[int]]) -> None:
    """everyone: the numbers of each rank, with words for each number."""
    for k, what in enumerate(words):
        other = next(
            (
                rank
                for rank, theirs in enumerate(everyone)
                if theirs[k] != everyone[0][k]
            ),
            None,
        )
        if other is not None:
            raise ValueError(what.format(other=other))
