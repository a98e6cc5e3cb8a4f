"""The instructions of one rank, with what does not change from step to step."""

from __future__ import annotations

from dataclasses import dataclass

from .._core import Instruction
from .messages import Key, key_of

_AHEAD = 2
"""Values of one kind from one peer that are posted before a pass has taken them. With
gloo, a send whose receive is posted leaves at once. Otherwise a thread of the sender
sends it later, and waits for a processor that passes use.
"""


@dataclass(frozen=True, slots=True)
class Action:
    """An instruction, as Python keeps it: the program's own would make its words and
    numbers anew each time.
    """

    words: str
    code: str
    letter: str
    stage: int
    micro_batch: int
    to: int
    peer: int
    group: int
    needs: Key | None
    """The value of another stage that a pass takes."""
    gives: Key | None
    """The value for another stage that a pass makes."""

    @property
    def is_forward(self) -> bool:
        return self.letter == "F" and self.code in ("compute", "send", "receive")


def action_of(i: Instruction, last: int) -> Action:
    """last: the last stage."""
    needs = gives = None
    if i.code == "compute" and i.letter in "FBI":
        before, after = i.stage - 1, i.stage + 1
        letter = "F" if i.letter == "F" else "B"
        if letter == "B":
            before, after = after, before
        if 0 <= before <= last:
            needs = (letter, before, i.micro_batch, i.stage)
        if 0 <= after <= last:
            gives = (letter, i.stage, i.micro_batch, after)
    return Action(
        str(i), i.code, i.letter, i.stage, i.micro_batch, i.to, i.peer, i.group,
        needs, gives,
    )  # fmt: skip


def with_early_receives(stream: list[Action]) -> list[Action]:
    """Moves each receive up to the pass that takes the value `_AHEAD` before it from
    the same peer. Its message then travels while passes run.

    For transports that match messages by tags: they need no order, and a receive that
    is posted earlier lets its send end earlier.
    """
    taken_at = {i.needs: at for at, i in enumerate(stream)}
    keys_of: dict[tuple[int, str], list[Key]] = {}  # by peer and F or B
    places = []
    for at, i in enumerate(stream):
        place = at
        if i.code == "receive":
            key = key_of(i)
            keys = keys_of.setdefault((i.peer, key[0]), [])
            before = taken_at[keys[-_AHEAD]] if len(keys) >= _AHEAD else 0
            place = min(at, before)
            keys.append(key)
        places.append((place, i.code != "receive", at))
    return [stream[at] for *_, at in sorted(places)]
