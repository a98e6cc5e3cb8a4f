"""Optimizers by their names in the Trainer's arguments, as facts of a program."""

from __future__ import annotations

import re

from .run_file import Run

_ADAM = re.compile(
    r"adamw?(_(torch|hf|apex|fused|torch_fused|anyprecision))*|paged_adamw(_32bit)?"
)
# bitsandbytes and torchao: both moments in 8 bits, with a scale for 256 elements.
_ADAM_8_BITS = re.compile(r"adamw?(_bnb|_torch)?_8bit|ao_adamw_8bit|paged_adamw_8bit")


def add_optimizer(name: str, run: Run) -> bool:
    """Adds what the optimizer's state takes to the run; False: it is not counted."""
    eight = _ADAM_8_BITS.fullmatch(name)
    if not (eight or _ADAM.fullmatch(name)):
        return False
    if eight:
        add_fact(run, "first-moment=8-bit,second-moment=8-bit")
        run.notes.append(
            f"{name}: moments of 1 byte; their scales, and the embedding's moments, "
            "which bitsandbytes keeps in 32 bits, are not counted"
        )
    if name.startswith("paged_"):
        run.notes.append(f"{name}: state moves to the host where memory is short")
    return True


def add_fact(run: Run, words: str) -> None:
    """Adds facts to those that the run has."""
    run.program["fact"] = ",".join(filter(None, (run.program.get("fact"), words)))
