"""Optimizers by their names in the Trainer's arguments, as facts of a program."""

from __future__ import annotations

import re

from ..run_file import Run, Unreadable
from ..values import Values

_ADAM = re.compile(
    r"adamw?(_(torch|hf|apex|fused|torch_fused|anyprecision))*|paged_adamw(_32bit)?"
)
# bitsandbytes and torchao: both moments in 8 bits, with a scale for 256 elements.
_ADAM_8_BITS = re.compile(r"adamw?(_bnb|_torch)?_8bit|ao_adamw_8bit|paged_adamw_8bit")
# torchao: both in 4 bits, with a scale for 128 elements.
_ADAM_4_BITS = re.compile(r"adamw?(_torch)?_4bit|ao_adamw_4bit")
# The classes of PyTorch, bitsandbytes and torchao.
_CLASS = re.compile(r"(Paged)?AdamW?(8bit|4bit|32bit)?")
# Others with a state of each parameter, by the words of `ashlar predict --optimizer`.
# schedulefree's keep z in the place of a mean; optimi's is Adam with other steps.
_OTHERS = {
    "sgd": re.compile(r"sgd"),
    "momentum": re.compile(r"schedule_free_sgd"),
    "lion": re.compile(r"(paged_)?lion_(8|32)bit"),
    "rmsprop": re.compile(r"rmsprop(_bnb(_(8|32)bit)?)?"),
    "adagrad": re.compile(r"adagrad"),
    "ademamix": re.compile(r"(paged_)?ademamix(_(8|32)bit)?"),
    "adafactor": re.compile(r"adafactor"),
    "adam": re.compile(r"schedule_free_r?adamw?|stable_adamw"),
}


def add_optimizer(name: str, run: Run) -> bool:
    """Adds what the optimizer's state takes to the run; False: it is not counted."""
    eight = _ADAM_8_BITS.fullmatch(name)
    four = _ADAM_4_BITS.fullmatch(name)
    if not (eight or four or _ADAM.fullmatch(name)):
        kinds = (kind for kind, names in _OTHERS.items() if names.fullmatch(name))
        if not (kind := next(kinds, "")):
            return False
        eight = re.search("_8bit$", name)
        if kind != "adam":
            run.program["optimizer"] = kind
    if four:
        add_fact(run, "first-moment=4-bit,second-moment=4-bit")
        run.notes.append(
            f"{name}: tensors of fewer than 4096 elements, or of no whole blocks of "
            "128, have moments in 32 bits, which are not counted"
        )
    if eight:
        add_fact(run, "first-moment=8-bit,second-moment=8-bit")
        run.notes.append(
            f"{name}: moments of 1 byte; their scales, and the embedding's moments, "
            "which bitsandbytes keeps in 32 bits, are not counted"
        )
    if name.startswith("paged_"):
        run.notes.append(f"{name}: state moves to the host where memory is short")
    return True


def name_of_class(path: str) -> str:
    """The name of a class of Adam for add_optimizer; empty for another class."""
    match = _CLASS.fullmatch(path.rpartition(".")[2])
    if not match:
        return ""
    bits = match[2] if match[2] in ("8bit", "4bit") else ""
    return f"{'paged_' if match[1] else ''}adamw{'_' if bits else ''}{bits}"


def other_optimizer(where: object, key: str, name: str, adam: str) -> Unreadable:
    """The refusal of an optimizer that a reader does not know; `adam` is the value of
    its key that says Adam."""
    return Unreadable(
        f"{where}: {key} {name}: only the state of Adam is counted here; --set "
        f"{key}={adam} reads it with that, and --optimizer of ashlar predict says "
        "another one",
        flag=key,
    )


def refuse_other(v: Values, key: str, known: tuple[str, ...]) -> None:
    """Stops where a configuration has another optimizer than Adam.

    Raises Unreadable.
    """
    name = v.word(key, default=known[0])
    if name.lower() not in known:
        raise other_optimizer(v.where, key, name, known[0])


def add_fact(run: Run, words: str) -> None:
    """Adds facts to those that the run has."""
    run.program["fact"] = ",".join(filter(None, (run.program.get("fact"), words)))


def add_held_in_16(run: Run, optimizer: str) -> None:
    """Adds that weights, gradients and state are in 16 bits, without a copy in 32."""
    add_fact(run, "main-weights=16-bit")
    # Moments of bitsandbytes and of apex have a format of their own.
    if not any(word in optimizer for word in ("bit", "paged", "apex")):
        add_fact(run, "first-moment=16-bit,second-moment=16-bit")
    if run.layout.get("data") == 1:
        # A shard of one rank is the whole, in its own format, without a copy.
        run.layout["sharding"] = "full"
    elif run.layout.get("sharding") == "none":
        run.unknown.append(
            "weights and gradients in 16 bits without a copy: memory is less than said"
        )
