"""Ranks of MaxText: axes of a mesh inside a node (ici) and between nodes (dcn)."""

from __future__ import annotations

from ..run_file import Run, Unreadable
from ..values import Values

_READ = ("data", "fsdp", "tensor", "tensor_sequence", "context", "expert")
_OTHERS = (
    "pipeline sequence fsdp_transpose context_usp_ulysses context_autoregressive "
    "autoregressive diloco"
).split()
_REST = -1  # what the devices leave


def add_ranks(v: Values, run: Run, nodes: int, devices: int) -> int:
    """Adds the ranks, and returns the devices of which each data rank has one.
    `nodes`, `devices` of a node: 0 where they are not known. Raises Unreadable."""
    for axis in _OTHERS:
        if (_size(v, "ici", axis), _size(v, "dcn", axis)) != (1, 1):
            why = "stages in a circle" if axis == "pipeline" else "not known here"
            raise Unreadable(f"{v.where}: ici_{axis}_parallelism, dcn: {why}")
    inner = _filled(v, "ici", devices)
    outer = _filled(v, "dcn", nodes)
    if inner["data"] == _REST:
        raise Unreadable(_unknown(v, "ici", "data"))
    both = {axis: inner[axis] * outer[axis] for axis in _READ}
    copied = [
        outer[axis] for axis in ("tensor", "tensor_sequence", "context", "expert")
    ]
    if min(copied) == _REST:
        axis = next(axis for axis in _READ[2:] if outer[axis] == _REST)
        raise Unreadable(_unknown(v, "dcn", axis))
    tensor, context = both["tensor"] * both["tensor_sequence"], both["context"]
    if tensor > 1:
        run.layout["tensor"] = tensor
        run.program["sequence_parallel"] = "on"
    if both["tensor"] > 1:
        run.unknown.append("tensor ranks of MaxText divide the width between layers")
    if context > 1:
        run.layout["context"] = context
        if not v.flag("context_parallel_load_balance", default=True):
            run.program["fact"] = "context-balance=off"
        strategy = v.word("context_parallel_strategy", default="all_gather")
        if strategy != "all_gather":
            run.unknown.append(f"context_parallel_strategy {strategy}")
    if both["expert"] > 1:
        run.layout["expert"] = both["expert"]
    _add_sharing(v, run, inner, outer, devices)
    return tensor * context


def _add_sharing(
    v: Values, run: Run, inner: dict[str, int], outer: dict[str, int], devices: int
) -> None:
    """Ranks of fsdp, context and experts share weights, those of data have copies."""
    beside = 1
    for axis in ("context", "expert"):
        beside *= inner[axis] * outer[axis]
    copies = (inner["data"], outer["data"])
    if inner["fsdp"] == _REST:
        others = [inner[axis] for axis in _READ if axis != "fsdp"]
        if outer["fsdp"] == _REST and copies == (1, 1):
            run.layout["sharding"] = "full"
        elif outer["fsdp"] == 1 and beside == 1 and max(others) == 1:
            run.layout["sharding"], run.is_in_node = "full", True
        else:
            raise Unreadable(_unknown(v, "ici", "fsdp"))
        return
    if outer["fsdp"] == _REST:
        if copies != (1, 1):
            raise Unreadable(_unknown(v, "dcn", "fsdp"))
        run.layout["sharding"] = "full"
        return
    shared = inner["fsdp"] * outer["fsdp"] * beside
    run.layout["sharding"] = "full" if shared > 1 else "none"
    if shared > 1 and copies != (1, 1):
        run.layout["shard_ranks"] = shared
    sizes = [inner[axis] * outer[axis] for axis in _READ]
    if min(sizes) > 0 and not devices:
        count = 1
        for size in sizes:
            count *= size
        run.notes.append(f"its mesh has {count} devices")


def _filled(v: Values, kind: str, count: int) -> dict[str, int]:
    """Sizes of the axes; one that takes the rest is -1 unless `count` says it."""
    sizes = {axis: _size(v, kind, axis) for axis in _READ}
    open_ones = [axis for axis, size in sizes.items() if size == _REST]
    if len(open_ones) > 1:  # MaxText stops
        raise Unreadable(f"{v.where}: {kind}: -1 for more than one axis")
    known = 1
    for size in sizes.values():
        known *= size if size != _REST else 1
    if count and kind == "dcn" and count == 1:
        return dict.fromkeys(_READ, 1)  # axes between nodes are of several nodes alone
    if count and (count % known or (not open_ones and count != known)):
        raise Unreadable(f"{v.where}: its {kind} axes are not of {count}")
    for axis in open_ones:
        if count:
            sizes[axis] = count // known
        elif axis not in ("data", "fsdp") or (kind == "ici" and axis == "data"):
            raise Unreadable(_unknown(v, kind, axis))
    return sizes


def _size(v: Values, kind: str, axis: str) -> int:
    key = f"{kind}_{axis}_parallelism"
    usual = _REST if (kind, axis) in (("ici", "fsdp"), ("dcn", "data")) else 1
    if str(v.get(key)) == "-1":
        return _REST
    size = v.number(key, default=0) or (1 if v.get(key) is not None else usual)
    return size


def _unknown(v: Values, kind: str, axis: str) -> str:
    return (
        f"{v.where}: {kind}_{axis}_parallelism takes what the devices leave, and "
        f"nothing says how many these are: --set {kind}_{axis}_parallelism=N, below "
        "the section that has it"
    )
