"""A schedule read from its file: passes with starts, and the rules that they keep."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_TOKEN = re.compile(r"(0|[1-9]\d*)([FBIWR])(0|[1-9]\d*)")
_COST_OF = dict(F="forward", R="recompute", I="backward_input", W="backward_weight")
"""A backward B is an I and a W."""
_KEYS = set(
    "certificate schedule devices stages micro_batches placement route costs orders "
    "starts stage_edges sequence_chunks shards shard_gradients makespan span busy "
    "bubble_rate bubble_rate_span overhead overhead_span peak_activations bounds "
    "makespan_bound makespan_gap span_bound span_gap".split()
)
_COSTS = set(
    "per_stage transfer overlapped ticks_per_unit time_unit speeds node_size "
    "transfer_between_nodes levels links sequence_chunks micro_batches".split()
)


class Unread(ValueError):
    """The file has something unknown to this package, so nothing in it is shown."""


class Wrong(ValueError):
    """The file does not hold."""


def need(holds: object, why: str, *of: object) -> None:
    """Raises Wrong with the words, and the values in their places, unless it holds."""
    if not holds:
        raise Wrong(why.format(*of))


def know(keys: Any, known: set[str], what: str) -> None:
    """Raises Unread for keys that this package does not know."""
    if more := sorted(set(keys) - known):
        raise Unread(f"{what} has {', '.join(more)}")


def whole(value: Any, least: int = 0) -> int:
    """The number, if it is whole and no less; else raises Wrong."""
    is_whole = type(value) is int and value >= least
    need(is_whole, "{!r} is no whole number from {} on", value, least)
    return int(value)


def wholes(values: Iterable[Any], least: int = 0) -> list[int]:
    return [whole(value, least) for value in values]


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


class Graph:
    """Stages on devices, and which feed which."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.routes = [wholes(route) for route in document["placement"]]
        """Device by route and stage."""
        self.route = wholes(document["route"])
        """Route by micro-batch."""
        self.stages, self.micro_batches = len(self.routes[0]), len(self.route)
        self.chunks = whole(document.get("sequence_chunks", 1), 1)
        """Micro-batches that make up one sequence."""
        is_even = all(len(route) == self.stages > 0 for route in self.routes)
        need(is_even, "the routes have different numbers of stages")
        is_known = max(self.route, default=0) < len(self.routes)
        need(is_known, "a micro-batch takes a route that there is not")
        is_whole = self.micro_batches % self.chunks == 0 and all(
            own == self.route[k - k % self.chunks] for k, own in enumerate(self.route)
        )
        need(is_whole, "a sequence is not whole, or not on one route")
        chain = [[stage, stage + 1] for stage in range(self.stages - 1)]
        edges = document.get("stage_edges", chain)
        self.is_chain = edges == chain
        self.before: list[list[int]] = [[] for _ in range(self.stages)]
        self.after: list[list[int]] = [[] for _ in range(self.stages)]
        for one, other in edges:
            need(whole(one) < whole(other) < self.stages, "an edge leads back")
            self.before[other].append(one)
            self.after[one].append(other)
        layers = document.get("shards", [])
        self.shards = {whole(shard): layer for layer in layers for shard in layer}
        """Those whose forwards come before a shard's backwards."""
        is_early = document.get("shard_gradients") == "of_forward"
        self.early = set(self.shards) if is_early else set()
        """Shards whose forwards give the gradients of their inputs."""

    def device_of(self, stage: int, micro_batch: int) -> int:
        return self.routes[self.route[micro_batch]][stage]

    def must_have(self, ran: Mapping[tuple[int, int], set[str]], trains: bool) -> None:
        """Raises Wrong unless all stages have their passes of each micro-batch."""
        every = ({"F", "B"}, {"F", "I", "W"}) if trains else ({"F"},)
        for s, k in itertools.product(range(self.stages), range(self.micro_batches)):
            has = ran.get((s, k), set())
            is_right = has - {"R"} in every and (trains or "R" not in has)
            need(is_right, "stage {} has {} of micro-batch {}", s, sorted(has), k)


class Schedule(Graph):
    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.costs = costs = document["costs"]
        know(costs, _COSTS, "its cost")
        devices = len(document["orders"])
        self.period = costs.get("micro_batches", costs.get("sequence_chunks", 1))
        """Micro-batches after which costs repeat."""
        is_even = self.micro_batches % whole(self.period, 1) == 0
        if not is_even or len(costs["per_stage"]) != self.stages * self.period:
            raise Unread("its costs are of another number of stages")
        for row in costs["per_stage"]:
            wholes(row[name] for name in _COST_OF.values())
        self.speeds = wholes(costs.get("speeds", [100] * devices), 1)
        """In percent, by device."""
        need(len(self.speeds) == devices, "speeds are of another number of devices")
        sizes = {"stages": self.stages, "micro_batches": self.micro_batches}
        for key, count in {**sizes, "devices": devices}.items():
            said = document.get(key, count)
            need(said == count, "{} is {}, and there are {}", key, said, count)
        need(len(document["starts"]) == devices, "not every device has starts")
        each = enumerate(zip(document["orders"], document["starts"]))
        self.lines = [self._line(d, tokens, starts) for d, (tokens, starts) in each]
        """Passes by device, in order."""
        self.trains = any(one.kind in "BIW" for one in self.passes())
        self.splits = any(one.kind == "W" for one in self.passes())

    def passes(self) -> Iterator[Pass]:
        return itertools.chain.from_iterable(self.lines)

    def length(self, kind: str, stage: int, device: int, micro_batch: int) -> int:
        """Ticks of a pass, each part rounded up."""
        at = stage * self.period + micro_batch % self.period
        row, speed = self.costs["per_stage"][at], self.speeds[device]
        parts = "IW" if kind == "B" else kind
        return sum(-(-row[_COST_OF[part]] * 100 // speed) for part in parts)

    def link(self, a: int, b: int) -> int:
        """Ticks of a message from one device to another."""
        costs, key = self.costs, "transfer"
        if a == b:
            return 0
        for one in costs.get("links", []):
            if (one["from"], one["to"]) == (a, b):
                return whole(one[key])
        for level in reversed(costs.get("levels", [])):
            if a // whole(level["devices"], 1) != b // level["devices"]:
                return whole(level[key])
        if (size := whole(costs.get("node_size", 0))) and a // size != b // size:
            key = "transfer_between_nodes"
        return whole(costs.get(key, costs["transfer"]))

    def needs(self, kind: str, s: int, k: int) -> Iterator[tuple[str, int, int]]:
        """What a pass waits for: letters, of which the first that exists counts; stage;
        micro-batch."""
        q = self.chunks
        if kind == "F":
            yield from (("F", one, k) for one in self.before[s])
            if k % q > 0:
                yield "F", s, k - 1
        elif kind in "RW":
            yield "F" if kind == "R" else "I", s, k
        else:
            yield "RF", s, k
            yield from (("F", one, k) for one in self.shards.get(s, ()))
            for one in self.after[s]:
                yield "F" if one in self.early else "BI", one, k
            if k % q < q - 1:
                yield "BI", s, k + 1

    def waits(self) -> Iterator[tuple[Pass, Pass, int]]:
        """Each pass with each that it waits for, and the message's ticks between."""
        done = {(one.kind, one.stage, one.micro_batch): one for one in self.passes()}
        for one in self.passes():
            for letters, stage, k in self.needs(one.kind, one.stage, one.micro_batch):
                kind = next(kind for kind in letters if (kind, stage, k) in done)
                before = done[kind, stage, k]
                yield one, before, self.link(before.device, one.device)

    def _line(self, device: int, tokens: list[Any], starts: list[Any]) -> list[Pass]:
        is_right = len(tokens) == len(starts)
        need(is_right, "device {} has {} starts", device, len(starts))
        line = []
        for token, start in zip(tokens, starts):
            found = _TOKEN.fullmatch(token) if isinstance(token, str) else None
            if found is None:
                raise Wrong(f"{token!r} is no pass")
            stage, kind, k = int(found[1]), found[2], int(found[3])
            is_known = stage < self.stages and k < self.micro_batches
            need(is_known, "{} is of no such stage or micro-batch", token)
            end = whole(start) + self.length(kind, stage, device, k)
            line.append(Pass(kind, stage, k, device, start, end))
        for at, (one, other) in enumerate(itertools.pairwise(line)):
            is_pair = one.kind == "F" and not one.beside and other.kind in "BIW"
            if is_pair and one.start == other.start < one.end:
                end = one.start + self._pair(one, other)
                line[at] = dataclasses.replace(one, end=end)
                line[at + 1] = dataclasses.replace(other, end=end, beside=True)
        return line

    def _pair(self, one: Pass, other: Pass) -> int:
        """Ticks that two passes take together."""
        ticks = self.costs.get("overlapped")
        if ticks is None:
            return one.end - one.start + other.end - other.start
        if isinstance(ticks, dict):
            rows = ticks["backward" if other.kind == "B" else _COST_OF[other.kind]]
            is_even = all(len(row) == len(rows) for row in rows)
            is_known = is_even and len(rows) in (1, self.stages)
            need(is_known, "pairs are of another number of stages")
            ticks = rows[one.stage % len(rows)][other.stage % len(rows)]
        return -(-whole(ticks) * 100 // self.speeds[one.device])


def read(document: Any) -> Schedule:
    """Reads a schedule. Raises Unread for unknown parts, and Wrong for no schedule."""
    if not isinstance(document, dict) or not {"orders", "starts"} <= document.keys():
        raise Unread("it has no orders with starts, as of `ashlar emit NAME --as json`")
    know(document, _KEYS, "the file")
    return Schedule(document)


def must_be_valid(s: Schedule) -> None:
    """Raises Wrong for an invalid schedule. O(n) for n passes."""
    ran: dict[tuple[int, int], set[str]] = collections.defaultdict(set)
    for one in s.passes():
        kinds = ran[one.stage, one.micro_batch]
        need(one.kind not in kinds, "{} is there twice", one)
        kinds.add(one.kind)
        its = s.device_of(one.stage, one.micro_batch)
        is_here = one.device == its
        need(is_here, "{} is on device {}, and its stage on {}", one, one.device, its)
    for before, after in itertools.chain(*map(itertools.pairwise, s.lines)):
        if after.start < before.end and not after.beside:
            raise Wrong(f"{after} starts at {after.start}, before {before} ends")
    s.must_have(ran, s.trains)
    for one, before, hop in s.waits():
        if one.start < (at := before.end + hop):
            raise Wrong(f"{one} starts at {one.start}, input {before} comes at {at}")


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
        # At equal times, ends come before starts.
        held = itertools.accumulate((change for _, change in sorted(events)), initial=0)
        found.append(max(held))
    return found
