"""What a training costs with a schedule: batches and clusters, and the cheapest batch.

A step is the schedule, and sums of gradients over data-parallel ranks: each device sums
those of its stages one after the other, when they are complete. If transfers block, all
sums come after the last pass. Otherwise the last pass of all has a sum behind it.

A batch of a tenth of the critical one takes a tenth more samples, and so on. So a batch
of b samples costs (critical + b) steps for each b that they train.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .schedule import Schedule, know, need, read, times, whole

_KEYS = set(
    "certificate schedule layers forward backward transfer reduction samples "
    "critical_batch points best schedules".split()
)


def tradeoff(document: dict[str, Any]) -> list[str]:
    """The claims of a study, if they hold, and if those of its schedules do. Raises
    Unread for unknown parts, else Wrong. O(n) for n passes.
    """
    know(document, _KEYS, "the study")
    points, schedules = document["points"], document["schedules"]
    need(len(points) == len(schedules), "not every point has a schedule")
    claims = []
    for number, (point, of) in enumerate(zip(points, schedules)):
        s = read(of)
        _must_have_costs(s, document, point)
        sums = whole(document["reduction"]) * (document["layers"] // s.stages)
        step, behind = _step(s, sums, point["blocks"])
        need(point["step"] == step, "step {} takes {}", number, step)
        if "least" in point:
            known = min(one["least"] for one in of["bounds"] if one["of"] == "makespan")
            least = whole(point["least"])
            need(least <= known + behind, "step {}: the bound says {}", number, known)
            claims.append(
                f"step {number} takes {step} ticks, and none less than {least}"
            )
    for cluster, at in document["best"]:
        each = [_cost(document, own, whole(cluster, 1)) for own in points]
        is_least = each[whole(at)] == min(each)
        need(is_least, "point {} costs less than {}", each.index(min(each)), at)
        claims.append(f"on {cluster} devices, step {at} costs least")
    return claims


def _must_have_costs(s: Schedule, document: dict[str, Any], point: Any) -> None:
    """Stages have equally many layers. Transfers that block are in the passes."""
    need(point["blocks"] in (False, True), "transfers block, or they do not")
    pieces, m = s.stages * s.micro_batches, whole(point["micro_batches"], 1)
    layers = Fraction(whole(document["layers"], 1) * m, pieces)
    stop = whole(document["transfer"]) * point["blocks"]
    for row in s.costs["per_stage"]:
        both = row["backward_input"] + row["backward_weight"]
        is_right = row["forward"] == layers * document["forward"] + stop
        is_right = is_right and both == layers * document["backward"] + stop
        need(is_right, "the passes of a stage take another time than its layers")
    between = 0 if point["blocks"] else document["transfer"]
    need(s.costs["transfer"] == between, "messages take another time")


def _step(s: Schedule, ticks: int, blocks: bool) -> tuple[int, int]:
    """The time of a step; and what no schedule can do before its last pass ends."""
    last = step = times(s)[0]
    most = 0
    for line in s.lines:
        ready = {one.stage: one.end for one in line if one.kind in "BW"}
        free, most = last if blocks else 0, max(most, len(ready))
        for end in sorted(ready.values()):
            free = max(free, end) + ticks
        step = max(step, free)
    return step, ticks * (most if blocks else min(most, 1))


def _cost(document: dict[str, Any], point: Any, cluster: int) -> Fraction:
    """In proportion to the device time of a training."""
    m, devices = (
        whole(point["micro_batches"], 1),
        len(document["schedules"][0]["orders"]),
    )
    own = whole(document["samples"], 1) * m * cluster
    return Fraction(
        (whole(document["critical_batch"], 1) * devices + own) * point["step"], m
    )
