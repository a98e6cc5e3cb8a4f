"""Agreement of all ranks on groups, costs and parameters."""

from __future__ import annotations

import statistics
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .clock import now
from .measurement import Measured
from .trace import Call, Trace


def everywhere(mine: Any, combine: Callable[[list[Any]], Any]) -> Any:
    """Returns on all ranks what rank 0 makes of the values of all. Every rank of the
    default group has to call this.
    """
    everyone = gathered(mine, None)
    result = [combine(everyone) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(result, src=0)
    return result[0]


def made_groups(
    wanted: Iterable[tuple[int, ...]], backend: str | None = None
) -> dict[tuple[int, ...], dist.ProcessGroup]:
    """Makes groups of ranks, and returns those that this rank is in. Every rank of the
    default group has to call this: PyTorch names groups by their count, which has to be
    the same on all.
    """
    lists: set[tuple[int, ...]] = set(
        everywhere(
            list(wanted),
            lambda all_ranks: sorted({one for of in all_ranks for one in of}),
        )
    )
    found = {}
    for ranks in sorted(lists):
        made = dist.new_group(list(ranks), backend=backend)
        if dist.get_rank() in ranks and isinstance(made, dist.ProcessGroup):
            found[ranks] = made
    return found


def agree(trace: Trace) -> None:
    """Sets each call's times to medians over all ranks, and its bytes to maxima. Layers
    made alike then take the same, unless noise does not explain the difference.

    Raises ValueError if ranks call other layers.
    """
    names = [call.layer.name for call in trace.calls]
    mine = [call.measured for call in trace.calls]

    def combined(all_ranks: list[Any]) -> Any:
        for rank, (theirs, _) in enumerate(all_ranks):
            if theirs != names:
                return f"rank {rank} calls other layers than rank 0"
        each = zip(*(measured for _, measured in all_ranks))
        return [None if None in one else _median(list(one)) for one in each]

    found = everywhere((names, mine), combined)
    if isinstance(found, str):
        raise ValueError(found)
    alike: dict[Any, list[Measured]] = {}
    for call, measured in zip(trace.calls, found):
        call.measured = measured
        if measured is not None:
            alike.setdefault(_make_of(call), []).append(measured)
    for of in alike.values():
        make_alike(of)


_PASSES = ("forward", "backward_input", "backward_weight")


def _make_of(call: Call) -> Any:
    """Equal for calls that run the same operations on the same shapes, as far as that
    is seen from outside.
    """
    module, measured = call.layer.module, call.measured
    assert measured is not None
    return (
        type(module),
        tuple(type(one) for one in module.modules()),
        tuple((tuple(p.shape), p.requires_grad) for p in module.parameters()),
        measured.kept,
        measured.kept_for_weights,
        measured.is_whole,
    )


def make_alike(of: list[Measured]) -> None:
    """Gives measurements their common medians, but for those whose spread does not
    reach the median of all: these differ.
    """
    middle = statistics.median(one.total() for one in of)
    same = [one for one in of if abs(one.total() - middle) <= one.spread]
    if len(same) > 1:
        seconds = {
            name: statistics.median(getattr(one, name) for one in same)
            for name in _PASSES
        }
        for one in same:
            vars(one).update(seconds)


def _median(of: list[Measured]) -> Measured:
    seconds = {
        name: statistics.median(getattr(one, name) for one in of) for name in _PASSES
    }
    between = [one.total() for one in of]
    return Measured(
        **seconds,
        spread=max(*(one.spread for one in of), max(between) - min(between)),
        kept=max(one.kept for one in of),
        kept_for_weights=max(one.kept_for_weights for one in of),
        is_whole=any(one.is_whole for one in of),
    )


def message_seconds(
    nbytes: int, group: dist.ProcessGroup | None, device: torch.device, rounds: int = 20
) -> float:
    """Median seconds of a message of `nbytes` between the first two ranks of the group
    (half a round trip). 0 on others.
    """
    rank, times = dist.get_rank(group), []
    if rank >= 2 or dist.get_world_size(group) < 2:
        return 0.0
    buffer = torch.zeros(max(1, nbytes), dtype=torch.uint8, device=device)
    peer = 1 - rank if group is None else dist.get_global_rank(group, 1 - rank)
    for _ in range(rounds):
        started = now(device)
        for one in (dist.send, dist.recv) if rank == 0 else (dist.recv, dist.send):
            one(buffer, peer, group=group)
        times.append((now(device) - started) / 2)
    return statistics.median(times)


def transfer_seconds(
    nbytes: int, group: dist.ProcessGroup | None, device: torch.device
) -> float:
    """Seconds of a message of `nbytes`, the same on all ranks."""
    return float(everywhere(message_seconds(nbytes, group, device), max))


def make_equal(
    module: nn.Module, group: dist.ProcessGroup | None, device: torch.device
) -> None:
    """Copies parameters and buffers of the group's first rank to all. `device` is that
    of the messages, not of the module.
    """
    if dist.get_world_size(group) == 1:
        return
    _must_have_one_form(module, group)
    source = 0 if group is None else dist.get_global_rank(group, 0)
    for t in [*module.parameters(), *module.buffers()]:
        local = (t.to_local() if hasattr(t, "to_local") else t).detach()
        sent = local.to(device)
        dist.broadcast(sent, src=source, group=group)
        if sent is not local:
            local.copy_(sent)


def _must_have_one_form(module: nn.Module, group: dist.ProcessGroup | None) -> None:
    """Raises ValueError on all ranks if one has other parameters or buffers than the
    first: a message of another length ends the process that receives it.
    """
    mine = {
        name: (
            tuple((t.to_local() if hasattr(t, "to_local") else t).shape),
            str(t.dtype),
        )
        for name, t in [*module.named_parameters(), *module.named_buffers()]
    }
    digests = gathered(zlib.crc32(repr(list(mine.items())).encode()), group)
    if len(set(digests)) == 1:
        return
    each = gathered(mine, group)
    rank = next(rank for rank, digest in enumerate(digests) if digest != digests[0])
    names = [
        name
        for name in {**each[0], **each[rank]}
        if each[0].get(name) != each[rank].get(name)
    ]

    def words(of: dict[str, Any], name: str) -> str:
        return "not there" if name not in of else f"{of[name][0]} of {of[name][1]}"

    what = (
        f"'{names[0]}' is {words(each[rank], names[0])}, and "
        f"{words(each[0], names[0])} on rank 0"
        if names
        else "in another order"
    )
    raise ValueError(
        f"rank {rank} of the group has other parameters than rank 0, so they cannot be "
        f"copies: {what}"
    )


def gathered(mine: Any, group: dist.ProcessGroup | None) -> list[Any]:
    """Returns the values of all ranks of the group, each of which has to call this."""
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, mine, group=group)
    return found
