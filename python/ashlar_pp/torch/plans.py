"""Schedules of dealt layers: searched within a memory limit, and published ones to
compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import _core, catalog
from .._core import Schedule, StageMemory, Violation
from ..algebra import fuse_backwards, fuse_where_free
from ..searches import search
from .partition import Dealt


@dataclass
class Plan:
    """A schedule of dealt layers."""

    name: str
    dealt: Dealt
    schedule: Schedule
    bound: float | None = None
    """Lower bound in ticks for any schedule of these stages; None if no search has
    given one.
    """

    def peak_memory(self) -> list[int]:
        return self.schedule.peak_memory(self.dealt.memory)


def parsed_bytes(given: int | str | None) -> int | None:
    """Bytes of `"70GiB"`, `"500 MB"`, or a number of bytes. Raises ValueError for other
    text.
    """
    if given is None or isinstance(given, int):
        return given
    units = {
        "B": 1,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "KIB": 1 << 10,
        "MIB": 1 << 20,
        "GIB": 1 << 30,
    }
    text = given.replace(" ", "").upper()
    number = text.rstrip("BKMGI")
    try:
        return int(float(number) * units[text[len(number) :] or "B"])
    except (ValueError, KeyError):
        raise ValueError(
            f"memory must be bytes, or a number with {', '.join(units)}, not '{given}'"
        ) from None


def searched(
    dealt: Dealt, micro_batches: int, limit: int | None, budget: int, fuses: bool
) -> Plan:
    """Searches a schedule within `limit` bytes a device (None: what 1F1B holds). Raises
    Violation if there is none.
    """
    found = search(
        dealt.placement,
        micro_batches,
        dealt.costs,
        limit=limit,
        memory=None if limit is None else dealt.memory,
        budget=budget,
        aim="makespan",
    )
    schedule = found.schedule | (fuse_backwards() if fuses else fuse_where_free())
    return Plan(f"searched, {dealt.name}", dealt, schedule, found.bound)


def best_of(
    dealt: Sequence[Dealt],
    micro_batches: int,
    limit: int | None,
    budget: int,
    fuses: bool,
) -> list[Plan]:
    """The best plan found for each placement, the shortest first. Raises ValueError if
    none is within the limit.
    """
    plans, reasons = [], []
    for one in dealt:
        try:
            plans.append(searched(one, micro_batches, limit, budget, fuses))
        except Violation as broken:
            reasons.append(f"{one.name}: {broken}")
    if not plans:
        least = min((max(_least_memory(one.memory, one)) for one in dealt), default=0)
        raise ValueError(
            f"no schedule is within {limit} bytes; one micro-batch alone needs "
            f"{least}: "
            "use more devices, smaller micro-batches or activation checkpointing "
            f"({'; '.join(reasons)})"
        )
    return sorted(plans, key=lambda plan: plan.schedule.makespan)


def _least_memory(memory: Sequence[StageMemory], dealt: Dealt) -> list[int]:
    needed = [0] * dealt.placement.device_count
    for device, of in zip(dealt.placement.routes[0], memory):
        needed[device] += (
            of.weights + of.weight_gradient + of.optimizer_state + of.stash
        )
    return needed


def published(dealt: Dealt, micro_batches: int) -> list[Plan]:
    """The catalog's schedules on this placement, for these costs."""
    found = []
    for name, entry in catalog.entries.items():
        try:
            made = entry(dealt.placement.device_count, micro_batches)
        except Violation:
            continue
        if (
            made.placement == dealt.placement
            and made.micro_batches == micro_batches
            and made.sequence_chunks == 1
        ):
            trains = any(one.kind != "forward" for line in made.order for one in line)
            again = any(one.kind == "recompute" for line in made.order for one in line)
            if trains and not again:
                found.append(Plan(name, dealt, _core.retime(made, dealt.costs)))
    return sorted(found, key=lambda plan: plan.schedule.makespan)
