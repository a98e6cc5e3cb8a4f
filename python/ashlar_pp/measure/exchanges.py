"""Exchanges by size: bytes / rate + latency x (1 + log2 ranks), as `exchanges.hpp` has
it, inside domains and between them; and exchanges beside products.
"""

import math
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist

from .samples import Sample, Sizes
from .team import Team


def collectives(
    team: Team, group: "dist.ProcessGroup", size: int
) -> Iterator[tuple[str, float, Callable[[], object]]]:
    """Names, bytes that a rank sends, and calls, for `size` bytes in 32-bit values."""
    ranks = dist.get_world_size(group)
    count = max(1, size // 4 // ranks)
    whole = torch.zeros(count * ranks, device=team.device)
    other = torch.zeros_like(whole)
    part = torch.zeros(count, device=team.device)
    moved = 4 * count * (ranks - 1.0)
    yield "all-reduce", 2 * moved, lambda: dist.all_reduce(whole, group=group)
    yield (
        "all-gather",
        moved,
        lambda: dist.all_gather_into_tensor(whole, part, group=group),
    )
    yield (
        "reduce-scatter",
        moved,
        lambda: dist.reduce_scatter_tensor(part, whole, group=group),
    )
    yield (
        "all-to-all",
        moved,
        lambda: dist.all_to_all_single(other, whole, group=group),
    )


def message(
    team: Team, group: "dist.ProcessGroup", size: int
) -> tuple[float, Callable[[], object]]:
    """Each even rank of the group sends to the next."""
    ranks, own = dist.get_world_size(group), dist.get_rank(group)
    box = torch.zeros(max(1, size // 4), device=team.device)
    peer = own ^ 1

    def call() -> object:
        if peer >= ranks:
            return None
        other = dist.get_global_rank(group, peer)
        if own < peer:
            return dist.send(box, other, group=group)
        return dist.recv(box, other, group=group)

    return 4.0 * box.numel(), call


def runs(team: Team, call: Callable[[], object]) -> bool:
    """Whether the backend has this exchange, on all processes."""
    try:
        call()
        team.wait()
    except (RuntimeError, NotImplementedError):
        return False
    return True


def exchange_samples(team: Team, s: Sizes) -> Iterator[Sample]:
    for place, group in (("inside", team.inside), ("outside", team.outside)):
        if group is None or dist.get_world_size(group) == 1:
            continue
        ranks = dist.get_world_size(group)
        latency = 1 + math.log2(ranks)
        for size in s.exchanged:
            for name, sent, call in collectives(team, group, size):
                if not runs(team, call):
                    continue
                terms = {place: sent, "latency": latency}
                yield Sample("exchanges", f"{name} {place}, {size} B", terms, call)
            sent, call = message(team, group, size)
            terms = {place: sent, "latency": 1.0}
            yield Sample("exchanges", f"send {place}, {size} B", terms, call)


def overlap_samples(team: Team, s: Sizes, dtype: torch.dtype) -> Iterator[Sample]:
    """Products and a sum: alone, one after the other, and beside each other."""
    if team.size == 1:
        return
    a = torch.randn(s.tokens, s.hidden, device=team.device, dtype=dtype)
    b = torch.randn(s.hidden, s.width, device=team.device, dtype=dtype)
    box = torch.zeros(s.exchanged[-1] // 8, device=team.device)
    times = 4

    def multiply() -> object:
        for _ in range(times):
            a @ b
        return None

    def exchange() -> object:
        return dist.all_reduce(box)

    def after() -> object:
        multiply()
        exchange()
        return multiply()

    def beside() -> object:
        work = dist.all_reduce(box, async_op=True)
        multiply()
        multiply()
        return work.wait()

    yield Sample("overlap", "products", {"products": 1.0}, multiply)
    yield Sample("overlap", "sum", {"sum": 1.0}, exchange)
    yield Sample("overlap", "in the way", {"products": 2.0, "sum": 1.0}, after)
    yield Sample("overlap", "beside products", {}, beside)
