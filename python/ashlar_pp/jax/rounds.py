"""Rounds of a schedule: in each, a device runs one pass at most, and then all devices
exchange what they have made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Schedule

Table = npt.NDArray[np.int32]
Pass = tuple[str, int, int]  # letter, stage, micro-batch

IDLE = 0
BRANCHES = {"F": 1, "B": 2, "I": 3, "W": 4}  # those of the last stage come behind


class Rounds(NamedTuple):
    """Tables by round and device. A slot of -1 is none."""

    branch: Table
    chunk: Table  # number of the pass's stage among those of the device
    micro_batch: Table
    input: Table  # slot that has the stage's input; -1: the micro-batch itself
    gradient: Table  # slot that has the gradient of the stage's output
    shifts: list[int]  # by how many devices messages go on
    input_from: list[Table]  # by shift: slot for the input that arrives after the round
    gradient_from: list[Table]
    input_slots: int
    gradient_slots: int


def stages_by_device(schedule: Schedule) -> list[int]:
    """Returns the order in which stages lie on devices: those of the first, then of the
    second and so on. The parameters of a step have this order.

    Args:
        schedule (Schedule): Its stages are a chain of one route.

    Returns:
        list[int]: the stages.

    Raises:
        ValueError: if devices have different numbers of stages, or stages several
            devices.
    """
    if len(schedule.placement.routes) > 1:
        raise ValueError("the schedule has copies of stages on several devices")
    (route,) = schedule.placement.routes
    each = [
        [stage for stage, device in enumerate(route) if device == own]
        for own in range(schedule.devices)
    ]
    if len({len(stages) for stages in each}) > 1:
        raise ValueError(
            "devices have different numbers of stages, and shard_map gives each the "
            "same"
        )
    return [stage for stages in each for stage in stages]


def rounds_of(schedule: Schedule) -> Rounds:
    """The rounds of a schedule, each pass as early as its device and its inputs allow.
    Raises Violation for a schedule that is not proved.
    """
    program = _core.lower(schedule)
    program.check()
    by_device = stages_by_device(schedule)
    if not program.trains:
        raise ValueError("the schedule has forwards alone, and so no gradients")
    if not program.is_chain or program.sequence_chunks > 1:
        raise ValueError("the schedule's stages are not a chain of whole micro-batches")
    (route,) = schedule.placement.routes
    lines: list[list[Pass]] = [
        [(one.letter, one.stage, one.micro_batch) for one in line]
        for line in schedule.order
    ]
    if any(letter == "R" for line in lines for letter, *_ in line):
        raise ValueError(
            "the schedule has recomputes: here each backward computes its stage again"
        )
    at = _times(lines, schedule.stages)
    last, devices = schedule.stages - 1, schedule.devices
    count, chunks = max(at.values()) + 1, len(by_device) // devices
    number = {stage: i % chunks for i, stage in enumerate(by_device)}
    inputs = _Slots(devices, count)
    gradients = _Slots(devices, count)
    tables = {
        name: np.full((count, devices), -1 if name in ("input", "gradient") else 0)
        for name in ("branch", "chunk", "micro_batch", "input", "gradient")
    }
    passes = {
        (stage, k): [p for p in "FBIW" if (p, stage, k) in at]
        for line in lines
        for _, stage, k in line
    }
    for (stage, k), letters in passes.items():
        device, end = route[stage], max(at[p, stage, k] for p in letters)
        if stage > 0:
            inputs.add(at["F", stage - 1, k], end, route[stage - 1], device, (stage, k))
        if stage < last:
            came = at["B" if ("B", stage + 1, k) in at else "I", stage + 1, k]
            gradients.add(came, end, route[stage + 1], device, (stage, k))
    slot_of_input, slot_of_gradient = inputs.dealt(), gradients.dealt()
    for (letter, stage, k), round_ in at.items():
        place = round_, route[stage]
        more = len(BRANCHES) if stage == last else 0
        tables["branch"][place] = BRANCHES[letter] + more
        tables["chunk"][place], tables["micro_batch"][place] = number[stage], k
        tables["input"][place] = slot_of_input.get((stage, k), -1)
        if letter != "F":
            tables["gradient"][place] = slot_of_gradient.get((stage, k), -1)
    shifts = sorted({*inputs.shifts, *gradients.shifts})
    return Rounds(
        **{name: table.astype(np.int32) for name, table in tables.items()},
        shifts=shifts,
        input_from=[inputs.arrivals(shift) for shift in shifts],
        gradient_from=[gradients.arrivals(shift) for shift in shifts],
        input_slots=inputs.count,
        gradient_slots=gradients.count,
    )


def _times(lines: list[list[Pass]], stages: int) -> dict[Pass, int]:
    """The round of each pass, for an order without deadlock."""
    at: dict[Pass, int] = {}
    next_of, free = [0] * len(lines), [0] * len(lines)

    def needed(one: Pass) -> Iterable[tuple[Pass, ...]]:
        """Passes before it: one of each."""
        letter, stage, k = one
        if letter == "F":
            return [(("F", stage - 1, k),)] if stage else []
        if letter == "W":
            return [(("I", stage, k),)]
        after = (
            [(("B", stage + 1, k), ("I", stage + 1, k))] if stage + 1 < stages else []
        )
        return [(("F", stage, k),), *after]

    goes_on = True
    while goes_on:
        goes_on = False
        for device, line in enumerate(lines):
            while next_of[device] < len(line):
                one = line[next_of[device]]
                found = [[at[p] for p in either if p in at] for either in needed(one)]
                if not all(found):
                    break
                before = [rounds[0] + 1 for rounds in found]
                at[one] = max(free[device], *before, 0)
                free[device] = at[one] + 1
                next_of[device] += 1
                goes_on = True
    assert sum(next_of) == sum(map(len, lines)), "a proved program has no deadlock"
    return at


class _Slots:
    """Slots of buffers for values that arrive after a round and are last read in
    another one. A slot is free for what arrives after the round that reads it last.
    """

    def __init__(self, devices: int, rounds: int) -> None:
        self._devices, self._rounds = devices, rounds
        self._kept: list[list[tuple[int, int, int, tuple[int, int]]]] = [
            [] for _ in range(devices)
        ]
        self._slot: dict[tuple[int, int], int] = {}
        self.count = 0
        self.shifts: set[int] = set()

    def add(
        self, came: int, end: int, source: int, device: int, what: tuple[int, int]
    ) -> None:
        shift = (device - source) % self._devices
        self.shifts.add(shift)
        self._kept[device].append((came, end, shift, what))

    def dealt(self) -> dict[tuple[int, int], int]:
        """The slot of each value."""
        for kept in self._kept:
            free_from: list[int] = []  # by slot
            for came, end, _, what in sorted(kept):
                slot = next(
                    (i for i, at in enumerate(free_from) if at <= came), len(free_from)
                )
                free_from[slot : slot + 1] = [end]
                self._slot[what] = slot
            self.count = max(self.count, len(free_from))
        return self._slot

    def arrivals(self, shift: int) -> Table:
        table = np.full((self._rounds, self._devices), -1, np.int32)
        for device, kept in enumerate(self._kept):
            for came, _, own, what in kept:
                if own == shift:
                    table[came, device] = self._slot[what]
        return table
