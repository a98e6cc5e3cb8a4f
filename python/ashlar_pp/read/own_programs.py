"""Programs that take the Trainer's arguments, with words or a loop of their own."""

from __future__ import annotations

import ast
import pathlib
import re

from .launchers import Training
from .run_file import Unreadable
from .trainer_adapters import NO
from .values import MOST_BYTES, Values

# Programs of their own say so which parts train, and what is recomputed.
_PARTS = re.compile(r"(^|_)(un)?(freeze|frozen)(_|$)|(^|_)tune_|(^|_)trainable_")
_BITS = re.compile(r"(^|_)(qlora|load_in_\w+|quantiz\w+|bits)$")
_AGAIN = re.compile(r"(grad|activation)\w*checkpoint(?!ing_kwargs)|(?<!p)recompute")


def refuse_own_words(v: Values) -> None:
    """Arguments of a program's own that say what trains or what is kept, which nothing
    has read."""
    told = set(v.rest())
    for key in v.all:
        if key in v.asked:
            continue
        if key in told and _AGAIN.search(key):
            raise Unreadable(
                f"{key}: recomputation by a name of the program's own; --set "
                f"gradient_checkpointing=true --set {key}=false says it",
                flag=key,
            )
        if _BITS.search(key) and str(v.all[key]) not in ("16", "32"):
            if v.all[key] in NO:
                v.asked.add(key)
                continue
            raise Unreadable(
                f"{key} {v.all[key]}: weights in fewer bits, by a word that is not "
                f"read; --set load_in_4bit=true --set {key}=false says it",
                flag=key,
            )
        # A part that is not tuned is frozen.
        if _PARTS.search(key) and (key in told or key.startswith("tune_")):
            raise Unreadable(
                f"{key}: which parts train, by a name of the program's own; without it "
                "the run is read, and --freeze or --train-only of ashlar predict says "
                "what trains",
                flag=key,
            )


# Each shares weights and states, or runs passes, in its own way.
_ENGINES = ("colossalai", "bmtrain", "fairscale", "flax", "paddle", "mindspore")


def refuse_own_engine(training: Training) -> None:
    """Stops where the program, if it is here, imports something that trains in place of
    the Trainer. Raises Unreadable."""
    path = pathlib.Path(training.command.folder, training.program)
    if training.is_module or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        names = (
            [each.name for each in node.names] if isinstance(node, ast.Import) else []
        )
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        for name in names:
            if name.partition(".")[0] in _ENGINES:
                raise Unreadable(
                    f"{training.program} imports {name}, which trains in place of the "
                    "Trainer; describe the step to ashlar predict by its options"
                )
