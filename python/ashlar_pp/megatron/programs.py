"""Proved programs of schedules that Megatron's chunks can run."""

from __future__ import annotations

from .. import _core
from .._core import Placement, Program, Schedule
from ..certificates import must_be_certified


def lowered(schedule: Schedule, requires_certificate: bool) -> Program:
    """Lowers and proves a schedule, for one communicator of each rank, hence for more.
    It has two data ranks, so that it says where reductions start.
    """
    program = _core.lower(schedule, lanes="one", data_ranks=2)
    program.check()
    if requires_certificate:
        must_be_certified(program)
    if not program.is_chain:
        raise ValueError(
            "the schedule's stages are not a chain, as Megatron's chunks are"
        )
    if program.sequence_chunks > 1:
        raise ValueError("Megatron's schedules do not cut sequences into chunks")
    route_of(schedule)
    if any(one.letter == "R" for line in schedule.order for one in line):
        raise ValueError(
            "Megatron's layers recompute by themselves: set recompute_granularity, and "
            "take a schedule without recomputes"
        )
    return program


def route_of(schedule: Schedule) -> list[int]:
    """The rank of each stage. Raises ValueError if stages have several."""
    if len(schedule.placement.routes) > 1:
        raise ValueError(
            "the schedule has copies of stages on several ranks, Megatron one chunk of "
            "a stage"
        )
    return schedule.placement.routes[0]


def forwards(placement: Placement, micro_batches: int) -> Schedule:
    """A schedule of forwards alone. Each device runs them in the order in which
    micro-batches reach its stages.
    """
    (route,) = placement.routes
    passes = sorted(
        (k + stage, stage, k)
        for stage in range(len(route))
        for k in range(micro_batches)
    )
    order = [
        [f"{stage}F{k}" for _, stage, k in passes if route[stage] == device]
        for device in range(max(route) + 1)
    ]
    return _core.schedule(placement, order)
