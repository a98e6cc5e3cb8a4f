"""The best schedule for real costs within a limit on memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import _core
from ._core import Costs, Placement, Schedule, Searched, StageMemory

Progress = Callable[[int, int], object]
"""Called some ten times a second with the best ticks so far and the passes dispatched; False ends the search."""


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
    """Searches schedules of one placement, with costs of its stages, one for all or one each.

    limit: chunk activations that a device may hold (those of 1F1B unless given), the same for all or one each;
    with `memory`, of stages, in its units: a StageMemory, or where micro-batches differ a list of one for each.
    sequence_chunks: that sequences are cut into, as many as the costs have unless given; costs are those of the mean
    chunk, or of each, as `Costs.with_causal_chunks` makes them. aim: span, makespan, or program (the simulated
    makespan of the program). budget: schedules to evaluate; the same gives the same result everywhere. starts:
    schedules to begin with, beside those of the catalog; those of another problem are left out.

    Three freedoms that are used only when asked for, and never make the result longer. braid: forwards and backwards
    run as pairs where that is shorter, for costs of parts. order: of micro-batches that differ, another one is tried,
    too, with as large a budget; `micro_batches` of the result says which, and its schedule has the costs of its places. offload: with
    `memory`, values may leave for the hosts over the link of `costs` (host_bandwidth); `offload` of the result says
    what leaves, and `bound` is without a limit on memory.

    Other threads run meanwhile; Ctrl-C ends it. Raises Violation where no schedule is within the limit; ValueError
    where none is found that copies bring within it, and for what would have no effect.
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
    """Searches one, two and four stages on a device, laid out straight, as a V, round and in waves; the best first.

    costs: of a device's share of the model. memory_percent: of what 1F1B holds. kept_percent: what a stage that
    recomputes keeps of an activation (100: none recomputes). sequence_chunks: that sequences may be cut into, by
    powers of two. causal: the percentage of a whole sequence's forward and input pass, or of each as a pair, that is
    causal attention, for which later chunks take longer. With costs of each chunk, sequences are cut into those or
    not at all. braid: as of `search`; order: layouts with another order of micro-batches share the budget. Times found are in ticks of the costs.

    Raises ValueError where no schedule is within the limit, and for a `causal` that has no effect: without
    `sequence_chunks`, or with costs of each chunk.
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
