"""Training by preferred answers, such as DPO: each sample is two sequences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .run_file import Run

_OF_PAIRS = ("dpo", "ipo", "cpo", "orpo", "simpo")
_ALONE = ("cpo", "orpo", "simpo")  # the losses that compare with no reference
# A program that trains so by its name, as TRL's examples.
_NAMES = re.compile(r"(?:^|[_/-])(dpo|cpo|orpo|simpo)(?![a-z])")


def preference_of(given: Mapping[str, Any], program: str) -> str:
    """The loss over pairs by Axolotl's `rl`, LLaMA-Factory's `stage`, or the program's
    name; empty where it is another training."""
    if given.get("stage") == "dpo":
        loss = str(given.get("pref_loss") or "dpo")
        return loss if loss in _ALONE else "dpo"
    named = _NAMES.search(program)
    kind = str(given.get("rl") or (named[1] if named else ""))
    return kind if kind in _OF_PAIRS else ""


def add_pairs(run: Run, kind: str) -> None:
    """Doubles the sequences, and says what of the reference is not in the run."""
    for key in ("micro_batch", "sequences"):
        if key in run.batch:
            run.batch[key] *= 2
    run.notes.append(f"{kind}: a sample is two sequences, of the two answers")
    if kind not in _ALONE:
        weights = "" if run.program.get("lora") else ", and its weights"
        run.unknown.append(f"{kind}: the forward of the reference{weights}")
