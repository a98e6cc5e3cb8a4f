"""A graph of operators cut into stages: no cut leaves every device with less to do.

The devices of a stage share its micro-batches, whose sizes are powers of two. In a step
a device has the passes of all micro-batches. Each takes a launch, and ticks a sample. A
stage holds micro-batches in flight: one of its own; if others come after it, for each
of these what that one holds, and the larger of the two sizes.

No path leaves a stage and comes back, and no stages wait for each other in a cycle. So
stages can be put together from the last to the first, each before those that are there.
The search follows all ways to do so. For each set of operators that are in stages, and
for what these hold, it keeps the fewest devices.
"""

from __future__ import annotations

import collections
import heapq
import itertools
from collections.abc import Iterator
from typing import Any

from .schedule import Unread, know, need, whole, wholes

_KEYS = set(
    "certificate schedule operators edges devices samples largest_micro_batch memory "
    "bandwidth stages busiest least".split()
)
MOST = 1_000_000
"""Stages to try, which takes some half minute."""
Cost = tuple[int, ...]
"""Ticks: a launch, and a sample's three passes. Bytes: always, and a sample."""
Held = tuple[tuple[int, int, int], ...]
"""Operators in stages that are behind others: each with the samples that its stage
holds, and its size."""
Way = tuple[int, Held]
"""Devices in use, and what is held."""


def partition(document: dict[str, Any]) -> list[str]:
    """The claims of a partition, if they hold. Raises Unread for unknown parts, else
    Wrong. Exponential in the operators that no path joins.
    """
    know(document, _KEYS, "the partition")
    m = Model(document)
    if "stages" not in document:
        need(not m.can_take(m.most()), "some stages fit")
        return ["no partition fits"]
    done, used, longest = 0, 0, 0
    held: Held = ()
    for size, devices, operators in reversed(document["stages"]):
        need(size in m.sizes, "{} is no size of a micro-batch", size)
        stage, cost = 0, m.nothing
        for one in wholes(operators):
            need(not (done | stage) >> one & 1, "operator {} is there twice", one)
            stage, cost = stage | 1 << one, added(cost, m.costs[one])
            longest = max(longest, m.messages[one] if m.after[one] & done else 0)
        is_last = not any(m.after[one] & ~(done | stage) for one in operators)
        need(is_last, "the stage of {} is before an earlier one", operators)
        in_flight = m.holds(held, stage, size)
        fits = m.fits(cost, in_flight, size, whole(devices, 1))
        need(fits, "the stage of {} does not fit", operators)
        longest = max(longest, m.busy(cost, size, devices))
        used, done = used + devices, done | stage
        held = m.then(held, stage, done, in_flight, size)
    need(done == m.all, "some operators are in no stage")
    need(used <= m.devices, "there are {} devices", m.devices)
    need(whole(document["busiest"]) == longest, "the longest takes {}", longest)
    claims = [f"its stages fit, and no device or message takes more than {longest}"]
    if "least" in document:
        least = whole(document["least"])
        holds = least <= m.share() or not m.can_take(least - 1)
        need(holds, "other stages take less than {}", least)
        claims.append(f"in every partition, one takes no less than {least}")
    return claims


class Model:
    """Sets of operators are whole numbers, with a bit for each."""

    nothing: Cost = (0,) * 6

    def __init__(self, document: dict[str, Any]) -> None:
        rows = [wholes(one) for one in document["operators"]]
        need(all(len(row) == 7 for row in rows), "an operator has 7 numbers")
        self.samples = whole(document["samples"], 1)
        self.devices, self.memory = whole(document["devices"], 1), None
        if "memory" in document:
            self.memory = whole(document["memory"])
        most = whole(document["largest_micro_batch"], 1)
        sizes = [2**i for i in range(most.bit_length())]
        self.sizes = [size for size in sizes if self.samples % size == 0]
        self.costs: list[Cost] = [tuple(row[:6]) for row in rows]
        rate = whole(document.get("bandwidth", 0))
        bytes_ = [self.samples * output for *_, output in rows]
        self.messages = [-(-of // rate) if rate else 0 for of in bytes_]
        self.all = (1 << len(rows)) - 1
        self.before, self.after = [0] * len(rows), [0] * len(rows)
        for one, other in document["edges"]:
            need(whole(one) < whole(other), "an edge leads back")
            self.before[other] |= 1 << one
            self.after[one] |= 1 << other

    def busy(self, cost: Cost, size: int, devices: int) -> int:
        """Ticks of each device of a stage in a step."""
        share, (launch, *each) = -(-size // devices), cost[:4]
        passes = zip((launch, launch, 0), each)
        own = sum(max(1, start + ticks * share) for start, ticks in passes)
        return self.samples // size * own

    def fits(self, cost: Cost, in_flight: int, size: int, devices: int) -> bool:
        count = min(-(-in_flight // size), self.samples // size)
        own = cost[4] + count * -(-size // devices) * cost[5]
        return self.memory is None or own <= self.memory

    def holds(self, held: Held, stage: int, size: int) -> int:
        """Samples in flight in a stage that comes before those that are there."""
        next_ = [(of, own) for one, of, own in held if self.before[one] & stage]
        return max([size, *(of + max(size, own) for of, own in next_)])

    def then(self, held: Held, stage: int, done: int, of: int, size: int) -> Held:
        """What is held with one stage more, which holds `of`."""
        if self.memory is None:
            return ()
        every = [*held, *((one, of, size) for one in bits(stage))]
        return tuple(sorted(one for one in every if self.before[one[0]] & ~done))

    def most(self) -> int:
        """No stage and no message takes more."""
        each = [self.busy(cost, 1, 1) for cost in self.costs]
        return self.samples * sum(each) + sum(self.messages)

    def share(self) -> int:
        """An even share of all passes, with launches for the largest size."""
        total = [sum(of) for of in zip(*self.costs)]
        launches = 2 * total[0] * (self.samples // max(self.sizes))
        passes = self.samples * sum(total[1:4])
        return int(-(-(passes + launches) // self.devices))

    def can_take(self, ticks: int) -> bool:
        """Whether some stages fit, and no device and no message takes more."""
        ways: dict[int, set[Way]] = collections.defaultdict(set)
        ways[0].add((0, ()))
        left, tried = [(0, 0)], 0
        """Sets with their numbers of operators."""
        while left:
            _, done = heapq.heappop(left)
            if done == self.all:
                return True
            found = fewest(ways.pop(done))
            for stage, cost in self._stages(done, ticks):
                tried, now = tried + 1, done | stage
                if tried > MOST:
                    raise Unread("it has more partitions than are tried here")
                for (used, held), size in itertools.product(found, self.sizes):
                    of, most = self.holds(held, stage, size), self.devices - used
                    for devices in range(1, min(size, most) + 1):
                        is_in_time = self.busy(cost, size, devices) <= ticks
                        if is_in_time and self.fits(cost, of, size, devices):
                            break
                    else:
                        continue
                    if now not in ways:
                        heapq.heappush(left, (now.bit_count(), now))
                    then = self.then(held, stage, now, of, size)
                    ways[now].add((used + devices, then))
        return False

    def _stages(self, done: int, ticks: int) -> Iterator[tuple[int, Cost]]:
        """What may come before the operators that are there, and its costs."""
        free = [one for one in bits(self.all & ~done) if not self.after[one] & ~done]
        found, seen = [(0, self.nothing, free)], set()
        for stage, cost, free in found:
            for one in free:
                more, sum_ = stage | 1 << one, added(cost, self.costs[one])
                each = ((size, min(size, self.devices)) for size in self.sizes)
                can = any(
                    self.busy(sum_, *how) <= ticks and self.fits(sum_, how[0], *how)
                    for how in each
                )
                is_late = self.after[one] & done and self.messages[one] > ticks
                if more in seen or is_late or not can:
                    continue  # more operators take no less
                seen.add(more)
                yield more, sum_
                now, others = done | more, [own for own in free if own != one]
                before = bits(self.before[one])
                others += (own for own in before if not self.after[own] & ~now)
                found.append((more, sum_, others))


def fewest(ways: set[Way]) -> list[Way]:
    """Those of which no other has no more devices, and holds no more."""
    found: list[Way] = []
    for used, held in sorted(ways):
        beats = (all(map(no_more, other, held)) for _, other in found)
        if not any(beats):
            found.append((used, held))
    return found


def no_more(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other))


def added(one: Cost, other: Cost) -> Cost:
    return tuple(map(sum, zip(one, other)))


def bits(of: int) -> Iterator[int]:
    return (bit for bit in range(of.bit_length()) if of >> bit & 1)
