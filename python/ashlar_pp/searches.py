"""Searches the best schedule for real costs within a limit on memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import _core
from ._core import Costs, Placement, Schedule, Searched, StageMemory

Progress = Callable[[int, int], object]
"""Called about ten times a second with the best ticks so far and the passes dispatched.
Return False to end the search.
"""


def search(
    placement: Placement,
    micro_batches: int,
    costs: Costs | None = None,
    *,
    limit: int | Sequence[int] | None = None,
    memory: Sequence[StageMemory | Sequence[StageMemory]] | None = None,
    sequence_chunks: int | None = None,
    budget: int = 10_000,
    seed: int = 1,
    aim: str = "span",
    starts: Sequence[Schedule] = (),
    progress: Progress | None = None,
    braid: bool = False,
    order: bool = False,
    offload: bool = False,
) -> Searched:
    """Searches schedules of one placement, with costs of its stages: one for all, or
    one each.

    limit: chunk activations that a device may hold (default: those of 1F1B), one number
    for all or one each; with `memory`, in its units. memory: a StageMemory for each
    stage, or if micro-batches differ a list of one for each. sequence_chunks: chunks of
    a sequence (default: those of the costs); costs are those of the mean chunk, or of
    each, as `Costs.with_causal_chunks` makes them. aim: span, makespan, or program (the
    simulated makespan of the program). budget: schedules to evaluate; the same budget
    gives the same result everywhere. starts: schedules to begin with, besides those of
    the catalog; those of another problem are ignored.

    Three freedoms are used only on request, and never make the result longer. braid:
    runs forwards and backwards as pairs where that is shorter, for costs of parts.
    order: also tries another order of micro-batches that differ, with as large a
    budget; `micro_batches` of the result is that order, and its schedule has the costs
    of its places. offload: with `memory`, activations may move to host memory over the
    link of `costs` (host_bandwidth); `offload` of the result says which, and `bound`
    ignores the limit on memory.

    Other threads run meanwhile; Ctrl-C ends the search. Raises Violation if no schedule
    is within the limit; ValueError if none is found that copies bring within it, and
    for arguments without effect.
    """
    return _core.search_placement(
        placement,
        micro_batches,
        costs or Costs(),
        limit=limit if limit is None or isinstance(limit, int) else list(limit),
        memory=None if memory is None else list(memory),
        sequence_chunks=sequence_chunks,
        budget=budget,
        seed=seed,
        aim=aim,
        starts=list(starts),
        progress=progress,
        braid=braid,
        order=order,
        offload=offload,
    )


def search_layouts(
    devices: int,
    micro_batches: int,
    costs: Costs | None = None,
    *,
    memory_percent: int = 100,
    kept_percent: int = 100,
    sequence_chunks: int | None = None,
    causal: int | tuple[int, int] | None = None,
    budget: int = 10_000,
    seed: int = 1,
    aim: str = "span",
    progress: Progress | None = None,
    braid: bool = False,
    order: bool = False,
) -> list[Searched]:
    """Searches layouts with one, two and four stages a device: linear, V, looped and
    waves. Returns the best first.

    costs: those of a device's share of the model. memory_percent: limit, in percent of
    what 1F1B holds. kept_percent: percentage of an activation that a recomputing stage
    keeps (100: none recomputes). sequence_chunks: the most chunks of a sequence; powers
    of two are tried. causal: percentage of causal attention, for which later chunks
    take longer, in a whole sequence's forward and input pass, or a pair of percentages.
    With costs of each chunk, sequences are cut into these chunks or not at all. braid:
    as in `search`. order: layouts with another order of micro-batches share the budget.
    Results are in ticks of the costs.

    Raises ValueError if no schedule is within the limit, or if `causal` has no effect:
    without `sequence_chunks`, or with costs of each chunk.
    """
    found = _core.search_layouts(
        devices,
        micro_batches,
        costs or Costs(),
        memory_percent=memory_percent,
        kept_percent=kept_percent,
        sequence_chunks=sequence_chunks,
        causal=causal,
        budget=budget,
        seed=seed,
        aim=aim,
        progress=progress,
        braid=braid,
        order=order,
    )
    return sorted(found, key=lambda one: one.reached)
