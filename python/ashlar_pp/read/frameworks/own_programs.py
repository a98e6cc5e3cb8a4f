"""Programs that take the Trainer's arguments, with words or a loop of their own."""

from __future__ import annotations

import ast
import pathlib
import re

from ..run_file import Unreadable
from ..scripts.launchers import Training
from ..values import MOST_BYTES, Values
from .trainer_adapters import NO

# Programs of their own say so which parts train, and what is recomputed.
_PARTS = re.compile(r"(^|_)(un)?(freeze|frozen)(_|$)|(^|_)tune_|(^|_)trainable_")
_BITS = re.compile(r"(^|_)(qlora|load_in_\w+|quantiz\w+|bits)$")
# Words of programs whose steps are none of a decoder, and what these are.
_OTHER_STEPS = {
    "a sample is a query with several passages": re.compile(
        r"^(train_group_size|inbatch_\w+|(in_batch_)?negatives?_\w+|"
        r"(query|passage|key)_max_len(gth)?)$"
    ),
    "it trains on images that it generates": re.compile(
        r"(^|_)(cfg|guidance)_(weight|scale)$|(^|_)image_token_num(_|$)"
    ),
    "a model of diffusion trains": re.compile(r"(^|_)diffusion(_|$)|^noise_\w+"),
}
_AGAIN = re.compile(
    r"(grad|activation)\w*checkpoint(?!ing_kwargs)|(?<!p)recompute"
    r"|^activation_memory_budget$"
)
# Micro-batches of a step, and ranks that share a model, with other names.
_STEPS = re.compile(r"^(grad\w*_)?accum\w*_(steps|iters?|counts?)$|^grad_accum$")
_RANKS = re.compile(r"^(pipe|pipeline|model|tensor)_(model_)?parallel\w*$")
_OFF = ("none", "", "false", "0")


def refuse_own_words(v: Values) -> None:
    """Arguments of a program's own that say what trains or what is kept, which nothing
    has read."""
    told = set(v.rest())
    for key in v.all:
        if key in v.asked:
            continue
        for why, words in _OTHER_STEPS.items() if key in told else ():
            if words.search(key):
                raise Unreadable(
                    f"{key}: {why}, by a program of its own; describe the step to "
                    "ashlar predict by its options",
                    flag=key,
                )
        if key in told and _changes_nothing(key, str(v.all[key]).lower()):
            v.asked.add(key)
            continue
        if key in told and _AGAIN.search(key):
            raise Unreadable(
                f"{key}: recomputation by a name of the program's own; --set "
                f"gradient_checkpointing=true --set {key}=false says it",
                flag=key,
            )
        if key in told and _STEPS.search(key):
            raise Unreadable(
                f"{key}: micro-batches of a step by a name of the program's own; --set "
                f"gradient_accumulation_steps={v.all[key]} --set {key}=1 says them",
                flag=key,
            )
        if key in told and _RANKS.search(key):
            raise Unreadable(
                f"{key}: a program of its own shares the model; describe the step to "
                "ashlar predict by its options",
                flag=key,
            )
        if _BITS.search(key) and str(v.all[key]) not in ("16", "32"):
            if v.all[key] in NO:
                v.asked.add(key)
                continue
            is_packed = v.flag("load_in_4bit") or v.flag("load_in_8bit")
            also = "" if is_packed else "--set load_in_4bit=true "
            raise Unreadable(
                f"{key} {v.all[key]}: weights in fewer bits, by a word that is not "
                f"read; {also}--set {key}=false predicts what transformers packs",
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


def _changes_nothing(key: str, value: str) -> bool:
    """Whether other names say no recomputation, one micro-batch, or one rank."""
    if _AGAIN.search(key):
        return value in _OFF
    is_size = _STEPS.search(key) or _RANKS.search(key)
    return bool(is_size) and value in (*_OFF, "1")


# Each shares weights and states, or runs passes, in its own way.
_ENGINES = ("colossalai", "bmtrain", "fairscale", "flax", "paddle", "mindspore")


def imported(training: Training) -> set[str]:
    """The modules that the program imports; none where it is not here."""
    path = pathlib.Path(training.command.folder, training.program)
    if training.is_module or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return set()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.extend(each.name for each in node.names)
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return set(names)


def refuse_own_engine(training: Training) -> None:
    """Stops where the program, if it is here, imports something that trains in place of
    the Trainer. Raises Unreadable."""
    for name in sorted(imported(training)):
        if name.partition(".")[0] in _ENGINES:
            raise Unreadable(
                f"{training.program} imports {name}, which trains in place of the "
                "Trainer; describe the step to ashlar predict by its options"
            )
