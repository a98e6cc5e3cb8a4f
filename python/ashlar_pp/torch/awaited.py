"""Descriptions of what a rank waits for, for other ranks to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.distributed as dist

Awaited = Callable[[], dict[str, Any]]
"""The rank that is awaited (`rank`), what it has yet to do (`stage`, `micro_batch`,
`instruction`, and `words` for all of it), and where this rank needs it (`at`). If any
of several ranks may be missing, `rank` is this rank, and `ranks` lists them.
"""


def awaited_of_sender(
    letter: str, stage: int, k: int, rank: int, at: str
) -> dict[str, Any]:
    """Awaits the output of F or B of a stage from the rank that has the stage."""
    what = "output" if letter == "F" else "gradient of the input"
    name = f"{stage}SEND_{letter}{k}"
    words = f"sent the {what} of stage {stage} for micro-batch {k} ({name})"
    return {
        "rank": rank,
        "stage": stage,
        "micro_batch": k,
        "instruction": name,
        "words": words,
        "at": at,
    }


def awaited_of_receiver(
    letter: str, stage: int, k: int, to: int, rank: int
) -> dict[str, Any]:
    """Awaits that stage `to` receives the output of F or B of a stage."""
    name = f"{to}RECV_{letter}{k}"
    words = (
        f"received for stage {to} what stage {stage} made of micro-batch {k} ({name})"
    )
    return {
        "rank": rank,
        "stage": to,
        "micro_batch": k,
        "instruction": name,
        "words": words,
        "at": f"{stage}SEND_{letter}{k}",
    }


def awaited_sum(stage: int, ranks: list[int]) -> dict[str, Any]:
    """Awaits all ranks of a sum, since the missing one is not known."""
    name = f"{stage}REDUCE_GRAD"
    words = f"come to the sum of the gradients of stage {stage}"
    return {
        "rank": dist.get_rank(),
        "ranks": ranks,
        "stage": stage,
        "micro_batch": None,
        "instruction": name,
        "words": words,
        "at": name,
    }


def awaited_of_group(rank: int, ranks: list[int], at: str) -> dict[str, Any]:
    """Awaits any of the ranks in a collective."""
    return {
        "rank": rank,
        "ranks": ranks,
        "words": f"come to {at or 'what all ranks do'}",
        "at": at or "a message to all",
    }


def awaited_call(kind: str, rank: int) -> dict[str, Any]:
    """Awaits that a neighbouring rank begins the same call."""
    return {"rank": rank, "words": f"begun {kind}", "at": f"the start of {kind}"}


def awaited_first_step() -> dict[str, Any]:
    """Awaits all ranks, which exchange after the first step what got no gradient: the
    missing one is not known.
    """
    words = (
        "heard which parameters got no gradient in the first step, for which another "
        "rank may be missing"
    )
    return {
        "rank": dist.get_rank(),
        "stage": None,
        "micro_batch": None,
        "instruction": "FIRST_STEP",
        "words": words,
        "at": "the end of the first step",
    }


def awaited_loss(stage: int, rank: int) -> dict[str, Any]:
    """Awaits the step's loss from the rank that has the last stage."""
    words = f"told the loss of the step, which stage {stage} has"
    return {
        "rank": rank,
        "stage": stage,
        "micro_batch": None,
        "instruction": "LOSS",
        "words": words,
        "at": "the end of the step",
    }
