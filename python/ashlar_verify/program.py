"""A program read from its certificate: instructions by device, over slots, with turns.

Streams run side by side, and so do the lanes of a device: passes (lane 0), transfers,
sums. An instruction waits for those before it on its lane, for those before it in its
stream that wrote what it reads or still use what it overwrites, and for its partners: a
send for its receive, a sum for all who hold the stage. If some numbers, the turns, rise
along all these waits and are equal among partners, then no waits form a cycle, so all
instructions run. Waits keep the uses of each slot in the order of the stream. So each
stream by itself tells what every read finds, in any interleaving of the lanes.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from .schedule import Unread, Wrong

_READ = {
    *(
        "certificate",
        "schedule",
        "placement",
        "route",
        "training",
        "stage_edges",
        "sequence_chunks",
    ),
    *("slots", "streams", "sums", "peaks"),
}
_PASSES = {**{kind: kind for kind in "FBIWR"}, **{kind + "+": kind for kind in "FBIW"}}

Value = tuple[str, int, int, int]
"""Its kind, the stage that made it, the micro-batch, and the stage that it is for."""
Use = tuple[Value, str]
"""A value, and "read", "write" or "add"."""


class Program:
    """Raises Unread for unknown parts, Wrong for a fault. O(n) for n uses of slots."""

    def __init__(self, document: dict[str, Any]) -> None:
        if more := sorted(document.keys() - _READ):
            raise Unread(f"the program has {', '.join(more)}")
        self.routes: list[list[int]] = document["placement"]
        self.route: list[int] = document["route"]
        self.trains: bool = document["training"]
        self.chunks: int = document.get("sequence_chunks", 1)
        self.streams: list[list[list[Any]]] = document["streams"]
        self.stages = len(self.routes[0])
        edges = document.get(
            "stage_edges", [[stage, stage + 1] for stage in range(self.stages - 1)]
        )
        must_be_whole(itertools.chain(self.route, [self.chunks], *self.routes, *edges))
        if any(len(route) != self.stages for route in self.routes) or any(
            one >= other for one, other in edges
        ):
            raise Wrong(
                "routes have different numbers of stages, or an edge leads back"
            )
        self.before = [
            [one for one, other in edges if other == stage]
            for stage in range(self.stages)
        ]
        self.after = [
            [other for one, other in edges if one == stage]
            for stage in range(self.stages)
        ]
        self.ran: dict[tuple[str, int, int], int] = {}  # turns
        self.sums: dict[tuple[int, int], list[int]] = defaultdict(list)
        """Micro-batches by device and stage, in the order of their gradients' sum."""
        self.reduced: dict[tuple[int, int], int] = {}  # turns
        self.messages: dict[tuple[str, int, int], list[tuple[Value, int, int]]] = (
            defaultdict(list)
        )
        """By half and devices, in order: the value, the turn, the lane."""
        self.peaks: list[dict[str, list[int]]] = []
        """By device and kind: most slots in use at once, and where that is first."""

        if len(document["slots"]) != len(self.streams):
            raise Wrong("slots and streams are of different numbers of devices")
        self._note_passes()
        for device, kinds in enumerate(document["slots"]):
            self._walk(device, kinds)
        self._must_be_complete()
        self._must_meet()
        if sorted([*key, *ks] for key, ks in self.sums.items()) != document["sums"]:
            raise Wrong(
                "gradients are added in another order than the certificate says"
            )
        if self.peaks != document["peaks"]:
            raise Wrong(f"the most slots in use are {self.peaks}")

    def device_of(self, stage: int, k: int) -> int:
        return self.routes[self.route[k]][stage]

    def _note_passes(self) -> None:
        for device, stream in enumerate(self.streams):
            for one in stream:
                must_be_whole([one[0], *one[2:]])
                if one[1] not in _PASSES:
                    continue
                stage, k = one[2:4]
                if (
                    stage >= self.stages
                    or k >= len(self.route)
                    or self.device_of(stage, k) != device
                ):
                    raise Wrong(f"device {device} has no such pass: {one}")
                if (_PASSES[one[1]], stage, k) in self.ran:
                    raise Wrong(f"it is there twice: {one}")
                self.ran[_PASSES[one[1]], stage, k] = one[0]

    def _uses(self, kind: str, s: int, k: int) -> Iterator[Use]:
        """What a pass does with its slots, in their order."""
        q, again = self.chunks, ("R", s, k) in self.ran
        if kind == "F":
            yield from ((("activation", one, k, -1), "read") for one in self.before[s])
            if self.after[s]:
                yield ("activation", s, k, -1), "write"
            if again:
                yield ("checkpoint", s, k, -1), "write"
            yield (
                ("stash", s, k, -2 if again else -1),
                "write",
            )  # nobody may read what it leaves there if it runs again
        elif kind == "R":
            yield ("checkpoint", s, k, -1), "read"
            yield ("stash", s, k, -1), "write"
        else:
            if kind != "W":
                yield from ((("gradient", one, k, s), "read") for one in self.after[s])
            yield ("stash", s, k, -1), "read"
            if kind != "W":
                yield from (
                    (("gradient", s, k, one), "write") for one in self.before[s]
                )
            yield ("weight_stash", s, k, -1), "read" if kind == "W" else "write"
            if kind != "I":
                yield ("weight_gradient", s, -1, -1), "add"
        if kind in "FR" and k % q > 0:
            yield ("sequence_state", s, k - 1, -1), "read"
        if kind == "F" and k % q < q - 1:
            yield ("sequence_state", s, k, -1), "write"
        if kind in "BI" and k % q < q - 1:
            yield ("sequence_gradient", s, k + 1, -1), "read"
        if kind in "BI" and k % q > 0:
            yield ("sequence_gradient", s, k, -1), "write"

    def _act(
        self, device: int, turn: int, what: str, of: list[int]
    ) -> tuple[int, list[Use], list[int]]:
        """The lane of an instruction, what it does with slots, and these."""
        if what in _PASSES:
            kind, (s, k) = _PASSES[what], of[:2]
            if kind in "BW":
                if (device, s) in self.reduced:
                    raise Wrong(f"{s}{kind}{k} comes after the sum of its stage")
                self.sums[device, s].append(k)
            return 0, list(self._uses(kind, s, k)), of[2:]
        if what in ("clear", "reduce"):
            lane, s, slot = of
            done = self.cleared if what == "clear" else self.reduced
            if (device, s) in done:
                raise Wrong(f"{what} of stage {s} on device {device} comes twice")
            done[device, s] = turn
            return (
                lane,
                [
                    (
                        ("weight_gradient", s, -1, -1),
                        "write" if what == "clear" else "add",
                    )
                ],
                [slot],
            )
        lane, s, k, to, peer, slot = of
        here, there = (s, to) if what == "send" else (to, s)
        if (
            what not in ("send", "receive")
            or s >= self.stages
            or to not in self.before[s] + self.after[s]
        ):
            raise Wrong(f"there is no such instruction: {what} {of}")
        if (
            self.device_of(here, k) != device
            or self.device_of(there, k) != peer
            or peer == device
        ):
            raise Wrong(f"device {device} has no such transfer: {what} {of}")
        value = ("activation", s, k, -1) if to > s else ("gradient", s, k, to)
        self.messages[
            (what, device, peer) if what == "send" else (what, peer, device)
        ].append((value, turn, lane))
        return lane, [(value, "read" if what == "send" else "write")], [slot]

    def _walk(self, device: int, kinds: list[str]) -> None:
        """Follows a stream: what slots hold, turns of writer and users, time in use."""
        n, stream = len(kinds), self.streams[device]
        self.cleared: dict[tuple[int, int], int] = {}
        holds: list[Value | None] = [None] * n
        written, used, since, until = [-1] * n, [-1] * n, [-1] * n, [-1] * n
        lanes: dict[int, int] = {}
        change = {kind: [0] * (len(stream) + 1) for kind in kinds}
        joined = False  # to the one before

        def close(slot: int) -> None:
            if since[slot] >= 0:
                change[kinds[slot]][since[slot]] += 1
                change[kinds[slot]][until[slot] + 1] -= 1

        for at, (turn, what, *of) in enumerate(stream):
            lane, uses, slots = self._act(device, turn, what, of)
            if lane in lanes and turn < lanes[lane] + (not joined):
                raise Wrong(
                    f"the turn of {what} {of} on device {device} "
                    "is no later than one before it on its lane"
                )
            if joined and (lane != 0 or turn != lanes[0]):
                raise Wrong(f"{what} {of} does not run beside the pass before it")
            lanes[lane], joined = turn, what.endswith("+")
            if len(slots) != len(uses):
                raise Wrong(f"{what} {of} on device {device} needs {len(uses)} slots")
            for slot, (value, how) in zip(slots, uses):
                if slot >= n or kinds[slot] != value[0]:
                    raise Wrong(
                        f"slot {slot} of {what} {of} on device {device} "
                        f"is not for {value}"
                    )
                if how != "write" and (holds[slot] != value or written[slot] >= turn):
                    raise Wrong(
                        f"{what} {of} on device {device} finds {holds[slot]} "
                        f"in slot {slot}, and needs {value}"
                    )
                if how != "read" and used[slot] >= turn:
                    raise Wrong(
                        f"{what} {of} on device {device} overwrites slot {slot}, "
                        "which is in use"
                    )
                if how == "write":
                    close(slot)
                    holds[slot], since[slot] = value, at
                if how != "read":
                    written[slot] = turn
                used[slot], until[slot] = max(used[slot], turn), at
        if joined:
            raise Wrong(f"the last pass of device {device} runs beside no other")
        for slot in range(n):
            close(slot)
        held = {
            kind: list(itertools.accumulate(changes))
            for kind, changes in change.items()
        }
        self.peaks.append(
            {
                kind: [max(counts), counts.index(max(counts))]
                for kind, counts in sorted(held.items())
            }
        )

    def _must_be_complete(self) -> None:
        for s in range(self.stages):
            for k in range(len(self.route)):
                has = {kind for kind in "FBIWR" if (kind, s, k) in self.ran}
                if has - {"R"} not in (
                    [{"F", "B"}, {"F", "I", "W"}] if self.trains else [{"F"}]
                ) or has == {"F", "R"}:
                    raise Wrong(
                        f"stage {s} has the passes {sorted(has)} of micro-batch {k}"
                    )
            holders = {route[s] for route in self.routes} if self.trains else set()
            turns = {self.reduced.get((device, s), -1) for device in holders}
            if (
                len(turns) > 1
                or -1 in turns
                or holders != {device for device, stage in self.reduced if stage == s}
            ):
                raise Wrong(
                    f"the devices of stage {s} do not all meet once to sum its gradient"
                )

    def _must_meet(self) -> None:
        """Pairs the k-th send to a device with its k-th receive, on matching lanes."""
        halves = {(source, target) for _, source, target in self.messages}
        for source, target in sorted(halves):
            sent, received = (
                self.messages[half, source, target] for half in ("send", "receive")
            )
            joined: dict[tuple[str, int], int] = {}
            for one, other in itertools.zip_longest(sent, received):
                if one is None or other is None or one[:2] != other[:2]:
                    raise Wrong(
                        f"from device {source} to {target}, "
                        f"{one} is sent and {other} received"
                    )
                if (
                    joined.setdefault(("from", one[2]), other[2]) != other[2]
                    or joined.setdefault(("to", other[2]), one[2]) != one[2]
                ):
                    raise Wrong(
                        f"from device {source} to {target}, "
                        f"lanes do not belong together: {one}, {other}"
                    )
            if len({value for value, _, _ in sent}) != len(sent):
                raise Wrong(f"from device {source} to {target}, a value goes twice")


def must_be_whole(numbers: Iterable[Any]) -> None:
    for number in numbers:
        if type(number) is not int or number < 0:
            raise Wrong(f"{number!r} is no whole number from 0 on")
