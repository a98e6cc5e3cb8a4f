"""Costs of stages, measured in a step."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping

from .._core import Costs
from .agreement import everywhere
from .clock import TICK, Clock, Times
from .partition import Dealt


def medians(all_ranks: list[Times]) -> dict[tuple[str, int], float]:
    """Median seconds over all ranks, by letter of the pass and stage."""
    times: Times = {}
    for one in all_ranks:
        for key, seconds in one.items():
            times.setdefault(key, []).extend(seconds)
    return {key: statistics.median(seconds) for key, seconds in times.items()}


def ticks(
    taken: Mapping[tuple[str, int], float],
    known: tuple[int, int, int],
    stage: int,
    fused: bool,
) -> tuple[int, int, int]:
    """Ticks of a stage's forward, input and weight pass. A fused backward is divided in
    the ratio of the known costs.
    """
    _, inputs, weights = known
    whole = max(1, inputs + weights)
    of_inputs, of_weights = taken.get(("I", stage)), taken.get(("W", stage))
    if of_inputs is None or of_weights is None:
        both = taken["B", stage]
        of_inputs, of_weights = both * inputs / whole, both * weights / whole
    if fused:
        of_inputs, of_weights = of_inputs + of_weights, 0.0
    return (
        max(1, round(taken["F", stage] / TICK)),
        round(of_inputs / TICK),
        round(of_weights / TICK),
    )


def dealt_as_taken(dealt: Dealt, clock: Clock, fused: bool) -> Dealt:
    """Returns the stages with median times of all ranks' last step, equal on all ranks.
    Raises ValueError before a step.
    """
    taken = everywhere(clock.seconds(), medians)
    if not any(letter in "BW" for letter, _ in taken):
        raise ValueError("adapt() needs the times of a step: call step() first")
    each = [
        ticks(taken, dealt.costs.per_stage[s], s, fused)
        for s in range(dealt.placement.stage_count)
    ]
    return dataclasses.replace(
        dealt, costs=Costs(per_stage=each, transfer=dealt.costs.transfer)
    )
