"""Adapters of ms-swift (swift/pipelines/train/tuner.py)."""

from __future__ import annotations

from typing import Any

from ..facts.adapters import lora_words
from ..run_file import Unreadable

# The number of each kind of adapters that is counted, and its default.
_NUMBERS = {
    "adalora": ("adalora_init_r", "12"),  # parameters stay when it falls
    "vera": ("vera_rank", "256"),
    "boft": ("boft_block_size", "4"),
    "fourierft": ("fourier_n_frequency", "2000"),
}
_OF_KINDS = ("adalora_", "vera_", "boft_", "fourier_")
# Where VeRA is beside matrices of one size; it leaves out those of other sizes.
_EVEN = ({"k_proj", "v_proj"}, {"gate_proj", "up_proj"}, {"q_proj"}, {"down_proj"})

# Why other kinds of training are not predicted (swift/pipelines/train/tuner.py).
_OTHER_TUNERS = {
    "adapter": "it puts bottlenecks of ms-swift's own behind feed-forward parts",
    "bone": "it adds blocks to whole weights in each forward, and not in all of peft",
    "llamapro": "it adds layers to the model",
    "longlora": "its attention sees shifted groups of tokens",
    "reft": "another package, pyreft, changes what a few tokens of some layers are",
}


def refuse_others(given: dict[str, Any]) -> None:
    """Raises Unreadable where adapters are of no kind that is counted."""
    kind = given.get("tuner_type", given.get("train_type"))
    if kind not in (None, "full", "lora", *_NUMBERS):
        why = _OTHER_TUNERS.get(str(kind), "adapters of this kind are not counted")
        raise Unreadable(f"tuner_type {kind}: {why}")


def adapters(given: dict[str, Any], usual: str) -> str:
    """RANK[,targets], or nothing where the whole model trains."""
    kind = given.pop("tuner_type", given.pop("train_type", usual))
    rank, named = given.pop("lora_rank", "8"), given.pop("target_modules", "all-linear")
    given.pop("lora_alpha", None)
    if given.get("use_dora") == "true":
        given.setdefault("lora_dropout", "0.05")
    else:
        given.pop("lora_dropout", None)
    if kind in _NUMBERS:
        rank = _number_of(kind, named, given)
    for key in [key for key in given if key.startswith(_OF_KINDS)]:
        del given[key]
    return lora_words(int(rank), named) if kind in ("lora", *_NUMBERS) else ""


def _number_of(kind: str, named: Any, given: dict[str, Any]) -> str:
    words = named if isinstance(named, str) else " ".join(named)
    places = set(words.replace(",", " ").split())
    if kind == "vera" and not any(places <= each for each in _EVEN):
        raise Unreadable(
            "tuner_type vera: only matrices of the size of v_proj have it; "
            "--target_modules k_proj v_proj says which"
        )
    if kind == "boft" and (
        given.get("boft_block_num", "0") != "0"
        or given.get("boft_n_butterfly_factor", "1") != "1"
    ):
        raise Unreadable(
            "boft_block_num, boft_n_butterfly_factor: counted are blocks by their "
            "size, with one factor"
        )
    given["peft_kind"] = kind
    number, usual = _NUMBERS[kind]
    return str(given.pop(number, usual))
