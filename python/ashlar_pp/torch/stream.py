"""The instructions of one rank, with what does not change from step to step."""

from __future__ import annotations

from dataclasses import dataclass

from .._core import Instruction
from .messages import Key


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
