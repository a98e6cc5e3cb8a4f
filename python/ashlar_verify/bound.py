"""Lower bounds on the time of every schedule of the same passes on the same devices.

*Paths.* A pass starts no earlier than the longest path of dependencies to it: its head.
What must follow it is its tail. A device takes no less than if it could interrupt its
passes between heads and tails. For these it is optimal always to run the pass with the
longest tail (Jackson's preemptive rule). Paths count from 0, or from one pass.

*Memory.* On a chain, limits on activations make heads and tails longer. Each stage
takes the same steps for each micro-batch of its route: forward, perhaps its recompute,
backward. A stage on several routes counts as several here. Micro-batches count as the
shortest of them, so those of a route are alike. So in any schedule, the j-th starts of
all steps of a route keep its dependencies: sorted lists obey what their members obey. A
table has bounds on these starts, another on the n-th start of a step on a device, for
any of its stages. They rise by these rules:

* a pass waits for its predecessors and their messages, and for the one before it of its
  step and stage;
* the j-th pass of a stage comes after those that must precede it on its device: at
  least so many places are before its own;
* a device can begin a forward beyond its limit on activations only when as many last
  backwards have ended there;
* a sequence in chunks turns when all of its chunks have come;
* it needs the time of all that must come before; of this, what starts at a time h or
  later takes its length after h.

In reversed time a last backward takes memory, and the forward gives it back. So the
same rules give bounds on tails. What longer stages and micro-batches take in addition
is work of the device within the heads and tails of their stage. A span is bounded in
the same way, from the first start of a device.
"""

from __future__ import annotations

import collections
import copy
import graphlib
import heapq
import itertools
from collections.abc import Iterable
from typing import Any

from .schedule import Pass, Schedule, Unread, need, whole

ROUNDS = 8
"""Rounds in which bounds rise. They hold after each; more rounds may raise them."""
NEVER = -(10**18)
"""Earlier than all: no bound on a start, or a bound from it."""
Job = tuple[int, int, int]
"""The head, the length and the tail of a pass, or of a part."""


class Flow:
    """Steps of a chain, by step and stage, route after route. The first takes memory,
    and the last gives it back.
    """

    def __init__(self, s: Schedule, limits: Any, splits: bool) -> None:
        ran = collections.Counter(one.stage for one in s.passes() if one.kind == "R")
        again = {stage for stage, count in ran.items() if count == s.micro_batches}
        back = ("IW" if splits else "B") if s.trains else ""
        kinds = "F" + "R" * bool(again) + back
        taken = collections.Counter(s.route)
        if not s.is_chain or (len(taken) > 1 and "micro_batches" in s.costs):
            raise Unread("its stages form no chain, or its micro-batches no one route")
        stages = list(itertools.product(sorted(taken), range(s.stages)))

        def ticks(kind: str, route: int, stage: int) -> list[int]:
            d, runs = s.routes[route][stage], kind != "R" or stage in again
            return [runs * s.length(kind, stage, d, k) for k in range(s.period)]

        def hop(way: int, route: int, stage: int) -> int:
            pair = s.routes[route][stage - 1 : stage + 1]
            return s.link(*pair[:: way or 1]) if stage else 0

        self.ways = [{"F": 1, "I": -1, "B": -1}.get(kind, 0) for kind in kinds]
        """By step: +1 if it goes from stage to stage, -1 if back, 0 if neither."""
        self.device = [s.routes[route][stage] for route, stage in stages]
        self.counts = [taken[route] for route, _ in stages]
        """Micro-batches by stage."""
        self.size, self.chunks, self.limits = s.stages, s.chunks, limits
        self.period = s.period
        each = [[ticks(kind, *one) for one in stages] for kind in kinds]
        self.lengths = [[min(of) for of in step] for step in each]
        self.more = [[[one - min(of) for one in of] for of in step] for step in each]
        """What micro-batches take beyond the length, by their number."""
        self.hops = [[hop(way, *one) for one in stages] for way in self.ways]
        """Of a message between a stage and the one before."""
        self.on = [
            [at for at, one in enumerate(self.device) if one == d]
            for d in range(len(limits))
        ]

    def turned(self) -> Flow:
        other = copy.copy(self)
        other.ways = [-way for way in reversed(self.ways)]
        other.lengths, other.hops = self.lengths[::-1], self.hops[::-1]
        return other

    def route_of(self, stage: int) -> range:
        first = stage - stage % self.size
        return range(first, first + self.size)

    def earlier_here(self, k: int, stage: int) -> int:
        """How many stages of its route must take the step before it on its device."""
        return sum(
            self.device[one] == self.device[stage]
            for one in self.route_of(stage)
            if (stage - one) * self.ways[k] > 0
        )


class Starts:
    """Bounds on starts, from 0, or from the first start of a device, the origin."""

    def __init__(self, f: Flow, origin: int | None = None) -> None:
        self.f, self.origin = f, origin
        self.at = [[[NEVER] * count for count in f.counts] for _ in f.ways]
        self.places: list[list[list[int]]] = [[[] for _ in f.ways] for _ in f.limits]
        """By device and step."""
        changed, left = True, ROUNDS
        while changed and left > 0:
            changed, left = False, left - 1
            for j, (k, way) in itertools.product(
                range(max(f.counts)), enumerate(f.ways)
            ):
                for stage in range(len(f.device))[:: way or 1]:
                    known = self.at[k][stage]
                    if (
                        j < len(known)
                        and (found := self._start(k, stage, j)) > known[j]
                    ):
                        known[j], changed = found, True
            for d, stages in enumerate(f.on):
                if stages and changed:
                    self._find_places(d)

    def _end(self, k: int, stage: int, j: int) -> int:
        return self.at[k][stage][j] + self.f.lengths[k][stage]

    def _start(self, k: int, stage: int, j: int) -> int:
        f, d, way = self.f, self.f.device[stage], self.f.ways[k]
        found = [0 if self.origin in (None, d) else NEVER]
        if j > 0:
            found.append(self._end(k, stage, j - 1))
        if k > 0:
            found.append(self._end(k - 1, stage, j))
        if k == 0 and j >= f.limits[d]:
            found.append(self._end(len(f.ways) - 1, stage, j - f.limits[d]))
        if f.chunks > 1 and way:
            last = (j // f.chunks + 1) * f.chunks - 1
            turns = [one for one in range(k) if f.ways[one] == -way]
            found += [self._end(one, stage, last) for one in turns]
        if way and (before := stage - way) in f.route_of(stage):
            hop = f.hops[k][max(stage, before)]
            found.append(self._end(k, before, j) + hop)
        if places := self.places[d][k]:
            found.append(places[j + f.earlier_here(k, stage) * (j + 1)])
        return max(found)

    def _find_places(self, d: int) -> None:
        f, steps = self.f, range(len(self.f.ways))
        each = [(stage, j) for stage in f.on[d] for j in range(f.counts[stage])]
        places = self.places[d] = [
            sorted(self.at[k][stage][j] for stage, j in each) for k in steps
        ]
        ends = [sorted(self._end(k, stage, j) for stage, j in each) for k in steps]
        lengths = [min(f.lengths[k][stage] for stage in f.on[d]) for k in steps]
        full = [Full(places, lengths) for _ in steps]
        for i, k in itertools.product(range(len(each)), steps):
            # Before it come as many of each step; of later ones those without which the
            # first has no room.
            back = max(0, i + 1 - f.limits[d])
            least = [i + (one < k) if one <= k else back for one in steps]
            last = [ends[one][n - 1] for one, n in enumerate(least) if n > 0]
            places[k][i] = max([places[k][i], full[k].end(least), *last])
            ends[k][i] = max(ends[k][i], places[k][i] + lengths[k])


class Full:
    """The time of all that must come before a place on a device."""

    def __init__(self, places: list[list[int]], lengths: list[int]) -> None:
        self.places, self.lengths, self.done = places, lengths, [0] * len(lengths)
        self.since, self.until, self.work = NEVER, NEVER, 0

    def end(self, counts: list[int]) -> int:
        """The end of so many of each step, which only grow from call to call; perhaps
        the last of them alone, after idle time, decide.
        """
        for k, count in enumerate(counts):
            for n in range(self.done[k], count):
                self.work += self.lengths[k]
                if self.until > NEVER and self.places[k][n] >= self.since:
                    self.until += self.lengths[k]
            self.done[k] = max(self.done[k], count)
        left, work = self.done[:], 0
        for _ in left:
            latest, k = max(
                ((self.places[k][n - 1], -k) for k, n in enumerate(left) if n > 0),
                default=(NEVER, 0),
            )
            if latest <= NEVER or latest + self.work <= self.until:
                break
            work += self.lengths[-k]
            left[-k] -= 1
            if latest + work > self.until:
                self.since, self.until = latest, latest + work
        return self.until


def within_memory(f: Flow, origin: int | None, d: int) -> int:
    """The time from 0, or the first start of `origin`, to what follows a device."""
    forth, back = Starts(f, origin), Starts(f.turned(), origin)
    jobs: list[Job] = []
    for k, (lengths, more) in enumerate(zip(f.lengths, f.more)):
        least, turn = min(lengths[stage] for stage in f.on[d]), len(f.ways) - 1 - k
        tails = reversed(back.places[d][turn])
        jobs += ((head, least, tail) for head, tail in zip(forth.places[d][k], tails))
        for stage in f.on[d]:
            heads, tails_of = forth.at[k][stage], back.at[turn][stage]
            if longer := lengths[stage] - least:
                ends = reversed(tails_of)
                jobs += ((head, longer, tail) for head, tail in zip(heads, ends))
            if f.period != f.chunks:  # which micro-batches are longer is unknown
                jobs.append((heads[0], sum(more[stage]), tails_of[0]))
                continue
            q, n = f.chunks, len(heads) // f.chunks
            for chunk, extra in enumerate(more[stage]):
                # The r-th pass of a chunk comes after that many of r sequences before.
                before = {1: chunk, -1: q - 1 - chunk, 0: 0}[f.ways[k]]
                after = q - 1 - before if f.ways[k] else 0
                for r in range(n if extra else 0):
                    head = heads[(r + 1) * (before + 1) - 1]
                    jobs.append((head, extra, tails_of[(n - r) * (after + 1) - 1]))
    return preemptive(job for job in jobs if job[0] > NEVER // 2)


def area(f: Flow, d: int) -> int:
    """The least time in which a device has room for all activations while held."""
    total = 0
    for stage in f.on[d]:
        rest = [one for one in f.route_of(stage) if one > stage and len(f.ways) > 1]
        others = sum(
            f.lengths[k][one] + f.hops[k][one]
            for one in rest
            for k, way in enumerate(f.ways)
            if way
        )
        again = f.lengths[1][stage] if f.ways[1:2] == [0] else 0
        own = sum(of[stage] for of in f.lengths) - again + max(others, again)
        total += f.counts[stage] * own
    return int(-(-total // f.limits[d]))


def along_paths(s: Schedule, d: int, origin: Any = None) -> int:
    """The time of a device's passes between longest paths, perhaps from one pass."""
    size = {
        one: s.length(one.kind, one.stage, one.device, one.micro_batch)
        for one in s.passes()
    }
    lags: dict[Pass, dict[Pass, int]] = {one: {} for one in size}
    for one, before, hop in s.waits():
        lags[one][before] = size[before] + hop
    order = list(graphlib.TopologicalSorter(lags).static_order())
    heads = {one: 0 if origin in (None, str(one)) else NEVER for one in order}
    need(0 in heads.values(), "there is no pass {}", origin)
    for one in order:
        for before, lag in lags[one].items():
            heads[one] = max(heads[one], heads[before] + lag)
    rest = dict(size)
    """From the start of a pass to the end of what must follow."""
    for one in reversed(order) if origin is None else ():
        for before, lag in lags[one].items():
            rest[before] = max(rest[before], lag + rest[one])
    own = [one for one in s.lines[d] if heads[one] > NEVER // 2]
    return preemptive((heads[one], size[one], rest[one] - size[one]) for one in own)


def preemptive(jobs: Iterable[Job]) -> int:
    """The least end of jobs and of their tails on a machine that may interrupt jobs."""
    left = sorted(jobs)
    ready: list[tuple[int, int]] = []
    now = end = at = 0
    while ready or at < len(left):
        if not ready:
            now = max(now, left[at][0])
        while at < len(left) and left[at][0] <= now:
            heapq.heappush(ready, (-left[at][2], left[at][1]))
            at += 1
        tail, length = heapq.heappop(ready)
        until = left[at][0] if at < len(left) else now + length
        ran = min(length, until - now)
        now += ran
        if ran < length:
            heapq.heappush(ready, (tail, length - ran))
        else:
            end = max(end, now - tail)
    return end


def bound(s: Schedule, one: dict[str, Any]) -> int:
    """The ticks that the argument of a bound shows. O(n log n) for n passes.

    one: a bound of a certificate. Raises Unread for unknown arguments.
    """
    argument, of, limits = one["argument"], one["of"], one.get("limits")
    by, d, origin = argument["by"], whole(argument["device"]), argument.get("origin")
    need(d < len(s.lines) and s.lines[d], "device {} has no passes", d)
    if "overlapped" in s.costs and any(one.beside for one in s.passes()):
        raise Unread("passes run as pairs")
    if by == "work":
        return sum(s.length(p.kind, p.stage, d, p.micro_batch) for p in s.lines[d])
    if by == "path":
        is_of_device = origin is None or any(str(own) == origin for own in s.lines[d])
        need(of == "makespan" or (origin and is_of_device), "paths lead elsewhere")
        is_same = one.get("splits", s.splits) == s.splits
        need(is_same, "paths are those of the passes of this schedule")
        return along_paths(s, d, origin)
    need(limits is not None, "the argument needs limits")
    f = Flow(s, limits, one.get("splits", s.splits))
    if by == "area":
        return area(f, d)
    if by != "one machine":
        raise Unread(f"the argument {by} is not known here")
    is_own = of == "makespan" if origin is None else s.lines[whole(origin)]
    need(is_own, "the argument is of another device")
    return within_memory(f, origin, d)
