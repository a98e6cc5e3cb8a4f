"""Lower bounds on the time of every schedule of the same passes on the same devices.

Each stage takes the same steps for each micro-batch of its route: forward, perhaps its
recompute, backward. A stage on several routes counts as several here. Micro-batches of
a route are alike. So in any schedule, the j-th starts of all steps of a route keep its
dependencies: sorted lists obey what their members obey. A table has bounds on these
starts, another on the n-th start of a step on a device, for any of its stages. They
rise by these rules:

* a pass waits for its predecessors and their messages, and for the one before it of its
  step and stage;
* the j-th pass of a stage comes after those that must precede it on its device: at
  least so many places are before its own;
* a device can begin a forward beyond its limit on activations only when as many last
  backwards have ended there;
* it needs the time of all that must come before; of this, what starts at a time h or
  later takes its length after h.

In reversed time a last backward takes memory, and the forward gives it back. So the
same rules give bounds on tails, the time after a pass. Finally, no device ends earlier
than with passes that may be interrupted. For these it is optimal always to run the pass
with the longest tail (Jackson's preemptive rule). A span is bounded in the same way,
from the first start of a device.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
from collections.abc import Sequence
from typing import Any

from .schedule import Schedule

ROUNDS = 8
"""Rounds in which bounds rise. They hold after each; more rounds may raise them."""
NEVER = -(10**18)
"""Earlier than all: no bound on a start, or a bound from it."""


class NoBound(ValueError):
    """The arguments of this module do not apply to the schedule."""


@dataclasses.dataclass
class Flow:
    ways: list[int]
    """By step: +1 if it goes from stage to stage, -1 if back, 0 if neither."""
    lengths: list[list[int]]
    """By step and stage."""
    hops: list[int]
    """By stage: of a message between it and the one before."""
    device: list[int]
    counts: list[int]
    """Micro-batches by stage."""
    route_length: int
    limits: Sequence[int]
    takes: int
    gives: int

    def __post_init__(self) -> None:
        self.on = [
            [s for s, one in enumerate(self.device) if one == d]
            for d in range(len(self.limits))
        ]

    def turned(self) -> Flow:
        last = len(self.ways) - 1
        ways, lengths = [-way for way in reversed(self.ways)], self.lengths[::-1]
        return dataclasses.replace(
            self,
            ways=ways,
            lengths=lengths,
            takes=last - self.gives,
            gives=last - self.takes,
        )

    def before(self, k: int, stage: int) -> int:
        """The stage that takes a step just before another does, or -1."""
        one, size = stage - self.ways[k], self.route_length
        return (
            one
            if self.ways[k]
            and 0 <= one < len(self.device)
            and one // size == stage // size
            else -1
        )

    def earlier_here(self, k: int, stage: int) -> int:
        """How many stages of its route must take the step before it on its device."""
        first, size = stage - stage % self.route_length, self.route_length
        others = (
            range(first, stage)
            if self.ways[k] > 0
            else range(stage + 1, first + size)
            if self.ways[k]
            else range(0)
        )
        return sum(self.device[one] == self.device[stage] for one in others)


def flow_of(s: Schedule, limits: Sequence[int], splits: bool) -> Flow:
    if s.pairs is not None and any(one.beside for one in s.passes()):
        raise NoBound("passes run as pairs")
    routes = sorted({*s.route})
    ran = collections.Counter(one.stage for one in s.passes() if one.kind == "R")
    again = {stage for stage, count in ran.items() if count == s.micro_batches}
    steps = [
        "F",
        *(["R"] if again else []),
        *(["I", "W"] if splits and s.trains else ["B"] if s.trains else []),
    ]
    stages = [(route, stage) for route in routes for stage in range(s.stages)]
    return Flow(
        ways=[{"F": 1, "I": -1, "B": -1}.get(step, 0) for step in steps],
        lengths=[
            [
                s.lengths[stage][step] if step != "R" or stage in again else 0
                for _, stage in stages
            ]
            for step in steps
        ],
        hops=[
            s.transfer
            if stage and s.routes[route][stage] != s.routes[route][stage - 1]
            else 0
            for route, stage in stages
        ],
        device=[s.routes[route][stage] for route, stage in stages],
        counts=[s.route.count(route) for route, _ in stages],
        route_length=s.stages,
        limits=limits,
        takes=0,
        gives=len(steps) - 1,
    )


class Starts:
    """Bounds on starts, from 0, or from the first start of a device, the origin."""

    def __init__(self, f: Flow, origin: int | None = None) -> None:
        self.f, self.origin = f, origin
        self.at = [[[NEVER] * count for count in f.counts] for _ in f.ways]
        self.places: list[list[list[int]]] = [[[] for _ in f.ways] for _ in f.limits]
        """By device and step."""
        for _ in range(ROUNDS):
            if not self._raise():
                break
            for d, stages in enumerate(f.on):
                if stages:
                    self._find_places(d)

    def _raise(self) -> bool:
        f, changed = self.f, False
        for j in range(max(f.counts)):
            for k, way in enumerate(f.ways):
                for stage in (
                    range(len(f.device)) if way >= 0 else reversed(range(len(f.device)))
                ):
                    if j < f.counts[stage]:
                        found = self._start(k, stage, j)
                        changed = changed or found > self.at[k][stage][j]
                        self.at[k][stage][j] = max(found, self.at[k][stage][j])
        return changed

    def _end(self, k: int, stage: int, j: int) -> int:
        return self.at[k][stage][j] + self.f.lengths[k][stage]

    def _start(self, k: int, stage: int, j: int) -> int:
        f, d = self.f, self.f.device[stage]
        found = [0 if self.origin in (None, d) else NEVER]
        if j > 0:
            found.append(self._end(k, stage, j - 1))
        if k > 0:
            found.append(self._end(k - 1, stage, j))
        if k == f.takes and j >= f.limits[d]:
            found.append(self._end(f.gives, stage, j - f.limits[d]))
        if (before := f.before(k, stage)) >= 0:
            found.append(self._end(k, before, j) + f.hops[max(stage, before)])
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
        full = [Full([0] * len(steps)) for _ in steps]
        for i in range(len(each)):
            back = max(0, i + 1 - f.limits[d])
            for k in steps:
                found = [places[k][i]]
                if i > 0:
                    found.append(ends[k][i - 1])
                if k > 0:
                    found.append(ends[k - 1][i])
                if k == f.takes and back > 0:
                    found.append(ends[f.gives][back - 1])
                for other in steps:
                    done = (
                        i + (other < k)
                        if other <= k
                        else back
                        if k >= f.takes and other <= f.gives
                        else 0
                    )
                    full[k].add(places[other], other, done, lengths[other])
                full[k].look(places, lengths)
                places[k][i] = max(*found, full[k].until)
                ends[k][i] = max(ends[k][i], places[k][i] + lengths[k])


class Full:
    """The least that comes before a place on a device, and the time that it takes."""

    def __init__(self, done: list[int]) -> None:
        self.done, self.since, self.until, self.work = done, NEVER, NEVER, 0

    def add(self, places: list[int], k: int, count: int, length: int) -> None:
        for n in range(self.done[k], count):
            self.work += length
            if self.until > NEVER and places[n] >= self.since:
                self.until += length
        self.done[k] = max(self.done[k], count)

    def look(self, places: list[list[int]], lengths: list[int]) -> None:
        """Finds whether the last passes alone, from idle time on, take until later."""
        left, work = self.done[:], 0
        for _ in left:
            latest, k = max(
                ((places[k][n - 1], -k) for k, n in enumerate(left) if n > 0),
                default=(NEVER, 0),
            )
            if latest <= NEVER or latest + self.work <= self.until:
                return
            work += lengths[-k]
            left[-k] -= 1
            if latest + work > self.until:
                self.since, self.until = latest, latest + work


def bound(
    s: Schedule,
    of: str,
    limits: Sequence[int],
    splits: bool,
    argument: dict[str, Any] | None = None,
) -> int:
    """A lower bound on makespan or span, in ticks: of one argument, or the highest.

    limits: activations that each device may hold. splits: whether the weights' gradient
    may wait. Raises NoBound. O(n log n) for n passes, times devices for a span or
    without an argument.
    """
    f = flow_of(s, limits, splits)
    busy = [d for d, stages in enumerate(f.on) if _work(f, stages)]
    if argument is None:
        # With many devices, spans begin at the first of the chain and at the busiest.
        origins = (
            busy
            if len(busy) <= 16
            else [f.device[0], max(busy, key=lambda d: _work(f, f.on[d]))]
        )
        whole = [_longest(f, None, busy)] if of == "makespan" else []
        return max(
            [
                *whole,
                *(_longest(f, d, busy) for d in origins),
                *(_area(f, d) for d in busy),
            ],
            default=0,
        )
    d, by, origin = argument["device"], argument["by"], argument.get("origin")
    if (
        d not in busy
        or origin not in (*busy, None)
        or (origin is None and (by, of) == ("one machine", "span"))
    ):
        raise NoBound("the argument is of another device")
    if by == "work":
        return _work(f, f.on[d])
    if by == "area":
        return _area(f, d)
    if by != "one machine":
        raise NoBound(f"the argument {by} is not known here")
    return _longest(f, origin, [d])


def _work(f: Flow, stages: list[int]) -> int:
    return sum(f.counts[stage] * of[stage] for stage in stages for of in f.lengths)


def _longest(f: Flow, origin: int | None, devices: Sequence[int]) -> int:
    """The time from 0 to the end of all that follows the passes of some device."""
    forth, back = Starts(f, origin), Starts(f.turned(), origin)
    longest = 0
    for d in devices:
        jobs: list[tuple[int, int, int]] = []
        for k in range(len(f.ways)):
            turn = len(f.ways) - 1 - k
            least = min(f.lengths[k][stage] for stage in f.on[d])
            jobs += (
                (head, least, tail)
                for head, tail in zip(
                    forth.places[d][k], reversed(back.places[d][turn])
                )
            )
            for stage in f.on[d]:  # what a longer stage takes in addition
                more = f.lengths[k][stage] - least
                jobs += (
                    (head, more, tail)
                    for head, tail in zip(
                        forth.at[k][stage], reversed(back.at[turn][stage])
                    )
                    if more
                )
        longest = max(longest, preemptive([job for job in jobs if job[0] > NEVER // 2]))
    return longest


def _area(f: Flow, d: int) -> int:
    """The least time in which a device has room for all activations while held."""
    area = 0
    for stage in f.on[d]:
        rest = range(stage + 1, stage - stage % f.route_length + f.route_length)
        if f.gives == 0:  # forwards alone
            rest = range(0)
        others = sum(
            f.lengths[k][one] for one in rest for k, way in enumerate(f.ways) if way
        ) + 2 * sum(f.hops[one] for one in rest)
        again = f.lengths[1][stage] if f.ways[1:2] == [0] else 0
        area += f.counts[stage] * (
            sum(of[stage] for of in f.lengths) - again + max(others, again)
        )
    return -(-area // f.limits[d])


def preemptive(jobs: list[tuple[int, int, int]]) -> int:
    """The least end of jobs (head, length, tail) and tails on a preemptive machine."""
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
