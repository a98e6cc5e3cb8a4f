"""Assigns layers to stages, and stages to devices."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import _core
from .._core import Costs, Placement, StageMemory
from .clock import TICK
from .layers import Layer
from .trace import Trace


@dataclass
class Dealt:
    """Layers assigned to stages: stage s has the calls from cuts[s] up to, not
    including, cuts[s + 1].
    """

    name: str
    placement: Placement
    cuts: list[int]
    costs: Costs
    memory: list[StageMemory]

    def stage_of(self, call: int) -> int:
        return next(s for s in range(len(self.cuts) - 1) if call < self.cuts[s + 1])


def places_to_cut(trace: Trace) -> list[int]:
    """Calls at which a stage may begin: a differentiable value crosses the cut, and no
    activation checkpoint spans two stages.
    """
    found = []
    for cut in range(1, len(trace.calls)):
        before, after = trace.calls[cut - 1].checkpoint, trace.calls[cut].checkpoint
        together = before is not None and before == after
        if (
            not trace.calls[cut].is_free
            and not together
            and any(trace.values[k].is_differentiable() for k in trace.crossing(cut))
        ):
            found.append(cut)
    return found


def _seconds(trace: Trace) -> list[float]:
    return [
        0.0 if call.measured is None else call.measured.total() for call in trace.calls
    ]


def _balanced(
    seconds: Sequence[float], places: Sequence[int], stages: int
) -> list[int]:
    """Cuts that minimise the longest stage, by dynamic programming; at most cubic in
    the places.
    """
    ends = [0, *places, len(seconds)]
    upto = [sum(seconds[:end]) for end in ends]
    best = [[(upto[i], 0) for i in range(len(ends))]]
    for s in range(1, stages):
        row = [(float("inf"), 0)] * len(ends)
        for i in range(s + 1, len(ends)):
            row[i] = min(
                (max(best[s - 1][j][0], upto[i] - upto[j]), j) for j in range(s, i)
            )
        best.append(row)
    cuts, i = [len(seconds)], len(ends) - 1
    for s in range(stages - 1, 0, -1):
        i = best[s][i][1]
        cuts.append(ends[i])
    return [0, *reversed(cuts)]


def _loads(
    seconds: Sequence[float], cuts: Sequence[int], route: Sequence[int]
) -> tuple[float, float]:
    """The load of the busiest device, and the sum of squared loads."""
    loads = [0.0] * (max(route) + 1)
    for s, device in enumerate(route):
        loads[device] += sum(seconds[cuts[s] : cuts[s + 1]])
    return max(loads), sum(load * load for load in loads)


def _improved(
    seconds: Sequence[float],
    places: Sequence[int],
    cuts: list[int],
    route: Sequence[int],
) -> list[int]:
    """Moves single cuts while that evens out the devices."""
    best, moved = _loads(seconds, cuts, route), True
    while moved:
        moved = False
        for s in range(1, len(cuts) - 1):
            for place in places:
                if not cuts[s - 1] < place < cuts[s + 1]:
                    continue
                tried = [*cuts[:s], place, *cuts[s + 1 :]]
                loads = _loads(seconds, tried, route)
                if loads < best:
                    best, cuts, moved = loads, tried, True
    return cuts


def _costs(trace: Trace, cuts: Sequence[int], transfer: float, fused: bool) -> Costs:
    """Ticks of each stage. The first needs no gradient of its input: its weight pass is
    the whole backward, which ends at the first layer that trains.
    """
    per_stage = []
    for s in range(len(cuts) - 1):
        calls = trace.calls[cuts[s] : cuts[s + 1]]
        of = [call.measured for call in calls if call.measured is not None]
        forward = sum(one.forward for one in of)
        if s == 0:
            of = [
                call.measured
                for call in itertools.dropwhile(lambda call: not call.trains(), calls)
                if call.measured is not None
            ]
        inputs, weights = (
            sum(one.backward_input for one in of),
            sum(one.backward_weight for one in of),
        )
        if fused:
            inputs, weights = inputs + weights, 0.0
        elif s == 0:
            inputs, weights = 0.0, inputs + weights
        per_stage.append(
            (max(1, round(forward / TICK)), round(inputs / TICK), round(weights / TICK))
        )
    return Costs(per_stage=per_stage, transfer=round(transfer / TICK))


def _memory(
    trace: Trace, cuts: Sequence[int], optimizer_copies: float, fused: bool
) -> list[StageMemory]:
    found = []
    for s in range(len(cuts) - 1):
        calls = trace.calls[cuts[s] : cuts[s + 1]]
        of = [call.measured for call in calls if call.measured is not None]
        parameters = {
            id(p): p for call in calls for p in call.layer.module.parameters()
        }.values()
        weights = sum(p.nbytes for p in parameters)
        trained = sum(p.nbytes for p in parameters if p.requires_grad)
        message = (
            sum(trace.values[k].nbytes() for k in trace.crossing(cuts[s + 1]))
            if s + 2 < len(cuts)
            else 0
        )
        kept = sum(one.kept for one in of)
        left = kept if fused or s == 0 else sum(one.kept_for_weights for one in of)
        found.append(
            StageMemory(
                stash=kept,
                stash_left=min(kept, left),
                weights=weights,
                weight_gradient=trained,
                optimizer_state=round(optimizer_copies * trained),
                activation=message,
                gradient=message,
            )
        )
    return found


def deal(
    trace: Trace, devices: int, *, transfer: float, optimizer_copies: float, fused: bool
) -> list[Dealt]:
    """Deals the layers to one and two stages a device: linear, V and looped. Leaves out
    placements with too many stages.
    """
    shapes = [("linear", _core.linear(devices))]
    if devices > 1:
        shapes += [("v", _core.v_shape(devices)), ("looped", _core.looped(devices, 2))]
    return [
        made
        for name, placement in shapes
        if (made := deal_on(trace, name, placement, transfer, optimizer_copies, fused))
    ]


def deal_on(
    trace: Trace,
    name: str,
    placement: Placement,
    transfer: float,
    optimizer_copies: float,
    fused: bool,
) -> Dealt | None:
    """Deals the layers to the stages of a placement, balancing the devices; None if
    there are too few layers.
    """
    places, seconds = places_to_cut(trace), _seconds(trace)
    if len(places) + 1 < placement.stage_count:
        return None
    route = placement.routes[0]
    cuts = _improved(
        seconds, places, _balanced(seconds, places, placement.stage_count), route
    )
    return Dealt(
        name,
        placement,
        cuts,
        _costs(trace, cuts, transfer, fused),
        _memory(trace, cuts, optimizer_copies, fused),
    )


class StagesOfCalls:
    """The stage of each call of a layer, while layers stay in their stages."""

    def __init__(self, of_layers: Mapping[int, list[int]]) -> None:
        self._of_layers = of_layers
        self._of_calls: dict[int, int] = {}
        self._now = 0

    def of(self, at: int, layer: Layer) -> int:
        """Returns the stage of a call; calls come in order. A layer without parameters
        may follow in the current stage.
        """
        able = [s for s in self._of_layers.get(id(layer), []) if s >= self._now]
        if not able and any(True for _ in layer.module.parameters()):
            raise ValueError(
                f"{layer.name} is called now after layers of stage {self._now}, and "
                "was not when the pipeline was made: make it of "
                "the model as it is trained"
            )
        self._now = min(able, default=self._now)
        self._of_calls[at] = self._now
        return self._now

    def cuts(self, trace: Trace, stages: int) -> list[int]:
        """Calls at which stages begin. Raises ValueError if a stage would be empty, or
        cannot begin there.
        """
        found = [0]
        for s in range(1, stages):
            begins = next(
                (at for at, stage in self._of_calls.items() if stage == s), None
            )
            if begins is None:
                raise ValueError(
                    f"no layer of stage {s} is called now: make the pipeline of the "
                    "model as it is trained"
                )
            if begins not in places_to_cut(trace):
                raise ValueError(
                    f"stage {s} cannot begin at {trace.calls[begins].layer.name} as "
                    "the model is set now"
                )
            found.append(begins)
        return [*found, len(trace.calls)]
