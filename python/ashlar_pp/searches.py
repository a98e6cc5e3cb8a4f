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
    """Searches schedules of one placement.

    Three freedoms are used only on request, and never make the result longer: `braid`,
    `order` and `offload`. Other threads run meanwhile; Ctrl-C ends the search.

    Args:
        placement (Placement): The devices of the stages.
        micro_batches (int): At least 1.
        costs (Costs, optional): Those of the stages, in ticks, one for all or each.
        limit (int or sequence of int, optional): Chunk activations that a device may
            hold, one number for all or one each; with `memory`, in its units. Default:
            those of 1F1B.
        memory (sequence, optional): A `StageMemory` for each stage, or if micro-batches
            differ a list of one for each.
        sequence_chunks (int, optional): Chunks of a sequence. Costs are those of the
            mean chunk, or of each, as `Costs.with_causal_chunks` makes them. Default:
            those of the costs.
        budget (int): Schedules to evaluate; the same budget gives the same result
            everywhere. Default: 10,000.
        seed (int): Default: 1.
        aim (str): ``span``, ``makespan``, or ``program`` (the simulated makespan of the
            program).
        starts (sequence of Schedule): Schedules to begin with, besides those of the
            catalog; those of another problem are ignored.
        progress (Callable, optional): See `Progress`.
        braid (bool): Runs forwards and backwards as pairs where that is shorter, for
            costs of parts.
        order (bool): Also tries another order of micro-batches that differ, with as
            large a budget; `micro_batches` of the result is that order, and its
            schedule has the costs of its places.
        offload (bool): With `memory`, activations may move to host memory over the link
            of `costs` (host_bandwidth); `offload` of the result says which, and `bound`
            ignores the limit on memory.

    Returns:
        Searched: the best schedule found, and its bound.

    Raises:
        Violation: if no schedule is within the limit.
        ValueError: if none is found that copies bring within it, and for arguments
            without effect.
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
    """Searches layouts of one, two and four stages a device: linear, V, looped, waves.

    Args:
        devices (int): At least 1.
        micro_batches (int): At least 1.
        costs (Costs, optional): Those of a device's share of the model, in ticks.
        memory_percent (int): Limit, in percent of what 1F1B holds. Default: 100.
        kept_percent (int): Percentage of an activation that a recomputing stage keeps.
            Default: 100, which means that none recomputes.
        sequence_chunks (int, optional): The most chunks of a sequence; powers of two
            are tried. With costs of each chunk, sequences are cut into these or not
            at all.
        causal (int or tuple[int, int], optional): Percentage of causal attention, for
            which later chunks take longer, in a whole sequence's forward and input
            pass, or a pair of percentages.
        budget (int): Schedules to evaluate. Default: 10,000.
        seed (int): Default: 1.
        aim (str): As in `search`.
        progress (Callable, optional): See `Progress`.
        braid (bool): As in `search`.
        order (bool): As in `search`; layouts with another order of micro-batches share
            the budget.

    Returns:
        list[Searched]: the best first, in ticks of the costs.

    Raises:
        ValueError: if no schedule is within the limit, or if `causal` has no effect:
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
