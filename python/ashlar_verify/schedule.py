"""A schedule read from its file: passes with starts, and the rules that they keep."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(r"(0|[1-9]\d*)([FBIWR])(0|[1-9]\d*)")
_LENGTHS = ("forward", "backward_input", "backward_weight", "recompute")
_READ = {
    *(
        "schedule",
        "devices",
        "stages",
        "micro_batches",
        "placement",
        "route",
        "costs",
        "orders",
        "starts",
        "makespan",
        "span",
    ),
    *(
        "busy",
        "bubble_rate",
        "bubble_rate_span",
        "overhead",
        "overhead_span",
        "peak_activations",
    ),
    *(
        "makespan_bound",
        "makespan_gap",
        "span_bound",
        "span_gap",
        "certificate",
        "bounds",
    ),
}
_OF_A_SEARCH = {
    *(
        "objective",
        "layout",
        "chunks",
        "recomputed_chunks",
        "recomputed_stages",
        "sequence_chunks",
        "unit",
        "limit",
        "limit_unit",
    ),
    *(
        "status",
        "reached",
        "bound",
        "gap",
        "optimal",
        "evaluations",
        "not_searched",
        "layouts",
    ),
}


class Unread(ValueError):
    """The file has something unknown to this package, so nothing in it is shown."""


class Wrong(ValueError):
    """The file is no schedule."""


@dataclasses.dataclass(frozen=True)
class Pass:
    kind: str
    stage: int
    micro_batch: int
    device: int
    start: int
    end: int
    beside: bool = False
    """Whether it runs as a pair with the one before."""

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro_batch}"


@dataclasses.dataclass
class Schedule:
    routes: list[list[int]]
    """Device by route and stage."""
    route: list[int]
    """Route by micro-batch."""
    lengths: list[dict[str, int]]
    """Ticks by stage and letter."""
    transfer: int
    pairs: Any
    """Ticks of a pair: one number; or by backward and both stages; None: their sum."""
    lines: list[list[Pass]]
    """Passes by device, in order."""

    @property
    def stages(self) -> int:
        return len(self.routes[0])

    @property
    def micro_batches(self) -> int:
        return len(self.route)

    def passes(self) -> Iterator[Pass]:
        for line in self.lines:
            yield from line

    def device_of(self, stage: int, micro_batch: int) -> int:
        return self.routes[self.route[micro_batch]][stage]

    @property
    def trains(self) -> bool:
        return any(one.kind in "BIW" for one in self.passes())

    @property
    def splits(self) -> bool:
        return any(one.kind == "W" for one in self.passes())

    def hop(self, stage: int, to: int, micro_batch: int) -> int:
        """Ticks of a message between two stages."""
        return (
            0
            if self.device_of(stage, micro_batch) == self.device_of(to, micro_batch)
            else self.transfer
        )


def read(document: Any) -> Schedule:
    """Reads a schedule. Raises Unread for unknown parts, and Wrong for no schedule."""
    if (
        not isinstance(document, dict)
        or "orders" not in document
        or "starts" not in document
    ):
        raise Unread(
            "the file has no orders with starts: "
            "`ashlar emit NAME --as json` writes them"
        )
    known = _READ | _OF_A_SEARCH if "objective" in document else _READ
    if more := sorted(document.keys() - known):
        raise Unread(f"the file has {', '.join(more)}")
    if document.get("sequence_chunks", 1) != 1:
        raise Unread("sequences are in chunks")
    costs = document["costs"]
    if more := sorted(
        costs.keys()
        - {"per_stage", "transfer", "overlapped", "ticks_per_unit", "time_unit"}
    ):
        raise Unread(f"its costs have {', '.join(more)}")
    routes = [[_whole(d, "a device") for d in route] for route in document["placement"]]
    stages = len(routes[0])
    if not stages or any(len(route) != stages for route in routes):
        raise Wrong("the routes have different numbers of stages")
    if len(costs["per_stage"]) != stages:
        raise Unread(
            "its costs are not by stage: chunks of sequences, or micro-batches, differ"
        )
    lengths = []
    for each in costs["per_stage"]:
        f, i, w, r = (_whole(each[name], name) for name in _LENGTHS)
        lengths.append({"F": f, "I": i, "W": w, "B": i + w, "R": r})
    route = [_whole(r, "a route") for r in document["route"]]
    if any(r >= len(routes) for r in route):
        raise Wrong("a micro-batch takes a route that there is not")
    for key, count in (
        ("stages", stages),
        ("micro_batches", len(route)),
        ("devices", len(document["orders"])),
    ):
        if document.get(key, count) != count:
            raise Wrong(f"{key} is {document[key]}, and there are {count}")
    made = Schedule(
        routes,
        route,
        lengths,
        _whole(costs["transfer"], "a transfer"),
        costs.get("overlapped"),
        [],
    )
    if len(document["orders"]) != len(document["starts"]):
        raise Wrong("orders and starts are of different numbers of devices")
    for device, (tokens, starts) in enumerate(
        zip(document["orders"], document["starts"])
    ):
        if len(tokens) != len(starts):
            raise Wrong(
                f"device {device} has {len(tokens)} passes and {len(starts)} starts"
            )
        line = [
            _pass(made, device, token, _whole(at, "a start"))
            for token, at in zip(tokens, starts)
        ]
        for at, (one, other) in enumerate(itertools.pairwise(line)):
            if (
                one.start == other.start
                and (one.kind, one.beside) == ("F", False)
                and other.kind in "BIW"
                and one.end > one.start
            ):
                end = one.start + _pair(made, one, other)
                line[at : at + 2] = [
                    dataclasses.replace(one, end=end),
                    dataclasses.replace(other, end=end, beside=True),
                ]
        made.lines.append(line)
    return made


def _pair(s: Schedule, one: Pass, other: Pass) -> int:
    if s.pairs is None:
        return one.end - one.start + other.end - other.start
    if not isinstance(s.pairs, dict):
        return _whole(s.pairs, "a pair")
    rows = s.pairs[
        {"B": "backward", "I": "backward_input", "W": "backward_weight"}[other.kind]
    ]
    if len(rows) not in (1, s.stages) or any(len(row) != len(rows) for row in rows):
        raise Wrong("pairs are of another number of stages")
    return _whole(rows[one.stage % len(rows)][other.stage % len(rows)], "a pair")


def _whole(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise Wrong(f"{what} is {value!r}, no whole number from 0 on")
    return value


def _pass(of: Schedule, device: int, token: Any, start: int) -> Pass:
    found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
    if found is None:
        raise Wrong(f"{token!r} is no pass")
    stage, kind, k = int(found[1]), found[2], int(found[3])
    if stage >= of.stages or k >= of.micro_batches:
        raise Wrong(f"{token} is of a stage or a micro-batch that there is not")
    return Pass(kind, stage, k, device, start, start + of.lengths[stage][kind])


def faults(s: Schedule) -> Iterator[str]:
    """Yields reasons why the schedule is invalid. O(n) for n passes."""
    done: dict[tuple[str, int, int], Pass] = {}
    for one in s.passes():
        key = (one.kind, one.stage, one.micro_batch)
        if key in done:
            yield f"{one} is there twice"
        done[key] = one
        its = s.device_of(one.stage, one.micro_batch)
        if one.device != its:
            yield f"{one} is on device {one.device}, and its stage on {its}"
    for line in s.lines:
        for before, after in itertools.pairwise(line):
            if after.start < before.end and not after.beside:
                yield (
                    f"{after} starts at {after.start}, "
                    f"before {before} ends at {before.end}"
                )
    trains = s.trains
    for stage in range(s.stages):
        for k in range(s.micro_batches):
            yield from _faults_of(s, done, stage, k, trains)


def _faults_of(
    s: Schedule,
    done: dict[tuple[str, int, int], Pass],
    stage: int,
    k: int,
    trains: bool,
) -> Iterator[str]:
    """Faults in the passes of one stage on one micro-batch."""
    has = {kind: done[kind, stage, k] for kind in "FBIWR" if (kind, stage, k) in done}
    wanted = [{"F"}] if not trains else [{"F", "B"}, {"F", "I", "W"}]
    if has.keys() - {"R"} not in wanted or ("R" in has and not trains):
        what = ", ".join(map(str, has.values())) or "nothing"
        yield f"stage {stage} has {what} of micro-batch {k}"
        return
    if stage > 0 and ("F", stage - 1, k) in done:
        yield from _order(done["F", stage - 1, k], has["F"], s.hop(stage - 1, stage, k))
    if not trains:
        return
    back = has.get("B") or has["I"]
    yield from _order(has["F"], back, 0)
    if (again := has.get("R")) is not None:
        yield from _order(has["F"], again, 0)
        yield from _order(again, back, 0)
    if "W" in has:
        yield from _order(has["I"], has["W"], 0)
    if stage + 1 < s.stages:
        behind = done.get(("B", stage + 1, k)) or done.get(("I", stage + 1, k))
        if behind is not None:
            yield from _order(behind, back, s.hop(stage + 1, stage, k))


def _order(before: Pass, after: Pass, hop: int) -> Iterator[str]:
    if after.start < before.end + hop:
        yield (
            f"{after} starts at {after.start}, "
            f"and what it needs of {before} is there at {before.end + hop}"
        )


def times(s: Schedule) -> tuple[int, int]:
    """The makespan, and the longest span of a device."""
    return max((one.end for one in s.passes()), default=0), max(
        line[-1].end - line[0].start if line else 0 for line in s.lines
    )


def peaks(s: Schedule) -> list[int]:
    """The most activations held at once, by device, from forward to last backward."""
    found, ends = [], "BW" if s.trains else "F"
    for line in s.lines:
        events = [(one.start, 1) for one in line if one.kind == "F"]
        events += [(one.end, -1) for one in line if one.kind in ends]
        held = most = 0
        for _, change in sorted(events):  # at equal times, ends come before starts
            held += change
            most = max(most, held)
        found.append(most)
    return found
