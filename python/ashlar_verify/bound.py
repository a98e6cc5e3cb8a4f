"""Lower bounds on the makespan of every schedule of the same passes on the same devices, within limits on activations.

Micro-batches are alike and take one route. Then, in any schedule, the i-th start of a kind of pass on a stage obeys the
dependencies of micro-batch i: sorted starts keep every dependency. So a table of (kind, stage, i) holds lower bounds on
these starts. A table of tails holds bounds on the time after their ends, by the same argument in reversed time. Three
rules raise the bounds:

* a pass waits for its predecessors, and the time of messages;
* the i-th pass of a kind on a stage comes after the (i - 1)-th;
* a forward needs room: before it, the device has begun the forwards that its own stages must have by then, so it has ended as
  many last backwards as these exceed the limit. The j-th end on a device is no earlier than the j-th smallest bound on one.

Finally, no device ends earlier than with passes that may be interrupted. For these it is optimal always to run the pass
with the longest tail (Jackson's preemptive rule).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from .schedule import Schedule

ROUNDS = 64
"""Rounds in which bounds rise. The bounds of every round hold; more rounds could raise them further."""


class NoBound(ValueError):
    """The arguments of this module do not apply to the schedule."""


def makespan_bound(s: Schedule, limits: Sequence[int]) -> int:
    """A lower bound on the makespan, in ticks. limits: activations that each device may hold. Raises NoBound.
    O(rounds n log n) for n passes."""
    if len({*s.route}) > 1:
        raise NoBound("micro-batches take several routes")
    kinds = {one.kind for one in s.passes()}
    if "R" in kinds:
        raise NoBound("forwards run again")
    if not kinds & set("BIW"):
        raise NoBound("it has forwards only")
    devices = s.routes[s.route[0]]
    split = "W" in kinds  # then every backward counts as two passes, since a whole one may be split
    steps = ["F", "I", "W"] if split else ["F", "B"]
    heads = _heads(s, devices, steps, limits)
    tails = _tails(s, devices, steps, limits)
    longest = 0
    for device in set(devices):
        jobs = [
            (heads[step][stage][i], s.lengths[stage][step], tails[step][stage][s.micro_batches - 1 - i])
            for step in steps
            for stage in range(s.stages)
            if devices[stage] == device
            for i in range(s.micro_batches)
        ]
        longest = max(longest, preemptive(jobs))
    return longest


Table = dict[str, list[list[int]]]
"""Bounds by step, stage and number."""


def _heads(s: Schedule, devices: list[int], steps: list[str], limits: Sequence[int]) -> Table:
    back = steps[1]

    def needs(step: str, stage: int) -> list[tuple[str, int, int]]:
        """The steps before it, with their stages and the time of a message."""
        if step == "W":
            return [("I", stage, 0)]
        if step == "F":
            return [("F", stage - 1, s.hop(stage - 1, stage, 0))] if stage > 0 else []
        behind = [(back, stage + 1, s.hop(stage + 1, stage, 0))] if stage + 1 < s.stages else []
        return [("F", stage, 0), *behind]

    return _fixpoint(s, devices, steps, limits, needs, takes="F", gives=steps[-1])


def _tails(s: Schedule, devices: list[int], steps: list[str], limits: Sequence[int]) -> Table:
    """Bounds on tails: in reversed time a last backward takes memory, and the forward gives it back."""
    back = steps[1]

    def needs(step: str, stage: int) -> list[tuple[str, int, int]]:
        if step == "W":
            return []
        if step == "F":
            after = [("F", stage + 1, s.hop(stage, stage + 1, 0))] if stage + 1 < s.stages else []
            return [(back, stage, 0), *after]
        after = [(back, stage - 1, s.hop(stage, stage - 1, 0))] if stage > 0 else []
        return [*after, *([("W", stage, 0)] if "W" in steps else [])]

    return _fixpoint(s, devices, steps[::-1], limits, needs, takes=steps[-1], gives="F")


def _fixpoint(
    s: Schedule,
    devices: list[int],
    steps: list[str],
    limits: Sequence[int],
    needs: Callable[[str, int], list[tuple[str, int, int]]],
    takes: str,
    gives: str,
) -> Table:
    """Bounds on starts, raised until they stay, or for ROUNDS rounds."""
    stages, numbers = range(s.stages), range(s.micro_batches)
    at: Table = {step: [[0] * s.micro_batches for _ in stages] for step in steps}
    for _ in range(ROUNDS):
        before = [row[:] for step in steps for row in at[step]]
        ends = {
            device: sorted(
                at[gives][stage][i] + s.lengths[stage][gives] for stage in stages if devices[stage] == device for i in numbers
            )
            for device in set(devices)
        }
        for step in steps:
            for stage in (*stages, *reversed(stages)):
                # Its device has earlier stages whose i-th has been taken by then, unless nothing needs what takes memory.
                others = sum(devices[one] == devices[stage] for one in range(stage)) if takes != "W" else 0
                for i in numbers:
                    start = at[step][stage][i]
                    if i > 0:
                        start = max(start, at[step][stage][i - 1] + s.lengths[stage][step])
                    for other, of, hop in needs(step, stage):
                        start = max(start, at[other][of][i] + s.lengths[of][other] + hop)
                    room = i + others * (i + 1) + 1 - limits[devices[stage]]
                    if step == takes and room > 0:
                        start = max(start, ends[devices[stage]][room - 1])
                    at[step][stage][i] = start
        if before == [row for step in steps for row in at[step]]:
            break
    return at


def preemptive(jobs: list[tuple[int, int, int]]) -> int:
    """The least end of jobs (head, length, tail) on one machine with preemption; each job is followed by its tail."""
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
