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

import dataclasses
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .schedule import Graph, Wrong, know, need, whole, wholes

_KEYS = set(
    "certificate schedule placement route training stage_edges sequence_chunks shards "
    "shard_gradients data_ranks sharded slots streams sums peaks".split()
)
_ON_STAGES = {
    "clear": ("c", [("weight_gradient", "write")]),
    "clear_shard": ("C", [("gradient_shard", "write")]),
    "scatter": ("s", [("weight_gradient", "read"), ("gradient_shard", "add")]),
    "reduce": ("r", [("weight_gradient", "add")]),
    "reduce_shard": ("R", [("gradient_shard", "add")]),
    "gather": ("", [("weight", "write")]),
    "release": ("", [("weight", "write")]),
}
"""What collectives do to gradients, as a letter of `_GRADIENTS`; and to slots."""
_GRADIENTS = re.compile("ca*r|(ca*s)*R")
"""All that happens to a stage's gradient on a device; "a": a pass adds to it."""
_PASSES = {kind + more: kind for kind in "FBIWR" for more in ("", "+") if kind != "R+"}

Value = tuple[str, int, int, int]
"""Its kind, the stage that made it, the micro-batch, and the stage that it is for."""
Message = tuple[Value, int, int]
"""What is sent, its turn, its lane."""
Use = tuple[Value, str]
"""A value, and "read", "write" or "add"."""


@dataclasses.dataclass
class Slot:
    kind: str
    holds: Value | None = None
    written: int = -1
    """The turn of the writer."""
    used: int = -1
    """The last turn of a user."""
    since: int = -1
    """The place in the stream of the writer."""
    until: int = -1
    """The place of the last user."""


def program(document: dict[str, Any]) -> list[str]:
    """The claims of a program, if they hold."""
    Program(document)
    return [
        "every pass runs once, after its inputs",
        "all instructions run, though sends wait for receives",
        "each read finds its value, and nothing is overwritten before its last read",
        "each gradient is added once, in the order given",
        "peaks of slots",
    ]


class Program(Graph):
    """Raises Unread for unknown parts, Wrong for a fault. O(n) for n uses of slots."""

    def __init__(self, document: dict[str, Any]) -> None:
        know(document, _KEYS, "the program")
        super().__init__(document)
        self.trains: bool = document["training"]
        self.is_sharded: bool = document.get("sharded", False)
        """Whether passes read weights that were gathered."""
        whole(document.get("data_ranks", 1), 1)  # each of which runs these streams
        need(self.trains or not self.shards, "shards meet in training alone")
        self.streams: list[list[list[Any]]] = document["streams"]
        self.ran: dict[tuple[int, int], set[str]] = defaultdict(set)
        """Letters of passes by stage and micro-batch."""
        self.sums: dict[tuple[int, int], list[int]] = defaultdict(list)
        """Micro-batches by device and stage, in the order of their gradients' sum."""
        self.history: dict[tuple[int, int], str] = defaultdict(str)
        """By device and stage: what happens to the gradient, see `_GRADIENTS`."""
        self.turns: dict[tuple[int, int], int] = {}
        """By device and stage: of what happens last to the gradient, its sum."""
        self.messages: dict[tuple[str, int, int], list[Message]] = defaultdict(list)
        """By half and devices, in order."""

        is_even = len(document["slots"]) == len(self.streams)
        need(is_even, "slots and streams are of different numbers of devices")
        self._note_passes()
        peaks = [self._walk(*one) for one in enumerate(document["slots"])]
        self._must_be_complete()
        self._must_meet()
        sums = sorted([*key, *ks] for key, ks in self.sums.items())
        need(sums == document["sums"], "gradients are added in the order {}", sums)
        need(peaks == document["peaks"], "the most slots in use are {}", peaks)

    def _note_passes(self) -> None:
        for device, stream in enumerate(self.streams):
            for one in stream:
                wholes([one[0], *one[2:]])
                if one[1] in _PASSES:
                    kind, stage, k = _PASSES[one[1]], *one[2:4]
                    is_known = stage < self.stages and k < self.micro_batches
                    is_here = is_known and self.device_of(stage, k) == device
                    need(is_here, "device {} has no such pass: {}", device, one)
                    need(kind not in self.ran[stage, k], "it is there twice: {}", one)
                    self.ran[stage, k].add(kind)

    def _uses(self, kind: str, s: int, k: int) -> Iterator[Use]:
        """What a pass does with its slots, in their order."""
        first, last = k % self.chunks == 0, k % self.chunks == self.chunks - 1
        again, goes_back = "R" in self.ran[s, k], kind in "BI"
        is_early = s in self.early
        gradients = [(("gradient", s, k, one), "write") for one in self.before[s]]
        if kind == "F":
            yield from ((("activation", one, k, -1), "read") for one in self.before[s])
            if self.after[s] or s in self.shards:
                yield ("activation", s, k, -1), "write"
            yield from gradients if is_early else ()
            if again:
                yield ("checkpoint", s, k, -1), "write"
            # Nobody may read what it leaves there if it runs again.
            yield ("stash", s, k, -2 if again else -1), "write"
        elif kind == "R":
            yield ("checkpoint", s, k, -1), "read"
            yield ("stash", s, k, -1), "write"
        else:
            ahead = self.after[s] if goes_back else ()
            yield from ((("gradient", one, k, s), "read") for one in ahead)
            yield ("stash", s, k, -1), "read"
            met = self.shards.get(s, ()) if goes_back else ()
            yield from ((("activation", one, k, -1), "read") for one in met)
            yield from gradients if goes_back and not is_early else ()
            yield ("weight_stash", s, k, -1), "write" if goes_back else "read"
            if kind != "I":
                yield ("weight_gradient", s, -1, -1), "add"
        if self.is_sharded:
            yield ("weight", s, -1, -1), "read"
        if kind in "FR" and not first:
            yield ("sequence_state", s, k - 1, -1), "read"
        if kind == "F" and not last:
            yield ("sequence_state", s, k, -1), "write"
        if goes_back and not last:
            yield ("sequence_gradient", s, k + 1, -1), "read"
        if goes_back and not first:
            yield ("sequence_gradient", s, k, -1), "write"

    def _act(self, device: int, one: list[Any]) -> tuple[int, list[Use], list[int]]:
        """The lane of an instruction, what it does with slots, and these."""
        turn, what, *of = one
        if what in _PASSES:
            kind, s, k = _PASSES[what], *of[:2]
            if kind in "BW":
                self.history[device, s] += "a"
                self.sums[device, s].append(k)
            return 0, list(self._uses(kind, s, k)), of[2:]
        if what in _ON_STAGES:
            lane, s, *slots = of
            letter, uses = _ON_STAGES[what]
            if letter:
                self.history[device, s] += letter
                self.turns[device, s] = turn  # in the end that of the sum
            # A released value is gone.
            k = -2 if what == "release" else -1
            return lane, [((kind, s, k, -1), how) for kind, how in uses], slots
        lane, s, k, to, peer, slot = of
        ahead = [*self.after[s], *self.shards.get(s, ())] if s < self.stages else []
        is_edge = to in ahead or s < self.stages and to in self.before[s]
        is_known = what in ("send", "receive") and is_edge
        need(is_known, "there is no such instruction: {}", one)
        ends = self.device_of(s, k), self.device_of(to, k)
        is_here = ends == ((device, peer) if what == "send" else (peer, device))
        is_here = is_here and peer != device
        need(is_here, "device {} has no such transfer: {}", device, one)
        value = ("activation", s, k, -1) if to in ahead else ("gradient", s, k, to)
        self.messages[(what, *ends)].append((value, turn, lane))
        return lane, [(value, "read" if what == "send" else "write")], [slot]

    def _walk(self, device: int, kinds: list[str]) -> dict[str, list[int]]:
        """Follows a stream: what slots hold, who uses them. Returns the most in use at
        once by kind, and the place where that is first."""
        stream, slots = self.streams[device], [Slot(kind) for kind in kinds]
        lanes: dict[int, int] = {}
        change = {kind: [0] * (len(stream) + 1) for kind in kinds}
        joined = False  # to the one before

        def close(slot: Slot) -> None:
            if slot.since >= 0:
                change[slot.kind][slot.since] += 1
                change[slot.kind][slot.until + 1] -= 1

        for at, one in enumerate(stream):
            turn, where = one[0], (one, device)
            lane, uses, numbers = self._act(device, one)
            is_later = turn >= lanes.get(lane, -1) + (not joined)
            need(is_later, "{} on device {}: one before it has a later turn", *where)
            is_beside = not joined or (lane == 0 and turn == lanes[0])
            need(is_beside, "{} on device {} is not beside the one before it", *where)
            lanes[lane], joined = turn, one[1].endswith("+")
            need(len(numbers) == len(uses), "{} on device {} lacks slots", *where)
            for number, (value, how) in zip(numbers, uses):
                is_of_kind = number < len(slots) and kinds[number] == value[0]
                need(is_of_kind, "{} on device {}: no slot for {}", *where, value)
                slot = slots[number]
                if how != "write":
                    is_there = slot.holds == value and slot.written < turn
                    need(is_there, "{} on device {} does not find {}", *where, value)
                if how != "read":
                    is_free = slot.used < turn
                    need(is_free, "{} on device {} overwrites what is used", *where)
                    slot.written = turn
                if how == "write":
                    close(slot)
                    slot.holds, slot.since = value, at
                slot.used, slot.until = max(slot.used, turn), at
        need(not joined, "the last pass of device {} runs beside no other", device)
        for slot in slots:
            close(slot)
        held = {kind: [*itertools.accumulate(of)] for kind, of in change.items()}
        return {kind: [max(of), of.index(max(of))] for kind, of in sorted(held.items())}

    def _must_be_complete(self) -> None:
        self.must_have(self.ran, self.trains)
        holders = {(route[s], s) for route in self.routes for s in range(self.stages)}
        is_right = self.history.keys() == (holders if self.trains else set())
        need(is_right, "gradients are not those of the stages of each device")
        met: dict[int, int] = {}
        for (d, s), done in self.history.items():
            is_whole = _GRADIENTS.fullmatch(done.replace("C", "", 1)) is not None
            need(is_whole, "gradients of stage {} get lost on device {}", s, d)
            is_one = met.setdefault(s, self.turns[d, s]) == self.turns[d, s]
            need(is_one, "the devices of stage {} do not meet to sum its gradient", s)

    def _must_meet(self) -> None:
        """Pairs the k-th send to a device with its k-th receive, on matching lanes."""
        for a, b in sorted({(a, b) for _, a, b in self.messages}):
            sent, received = (self.messages[(h, a, b)] for h in ("send", "receive"))
            partner: dict[tuple[str, int], int] = {}
            for one, other in itertools.zip_longest(sent, received):
                if one is None or other is None or one[:2] != other[:2]:
                    raise Wrong(f"from device {a} to {b}, {one} is sent, not {other}")
                for way in (("from", one[2], other[2]), ("to", other[2], one[2])):
                    is_same = partner.setdefault(way[:2], way[2]) == way[2]
                    need(is_same, "from device {} to {}, lanes are mixed", a, b)
            is_once = len({value for value, *_ in sent}) == len(sent)
            need(is_once, "from device {} to {}, a value goes twice", a, b)
