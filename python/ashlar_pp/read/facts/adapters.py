"""Low-rank adapters of a run, as `ashlar predict --lora` takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..run_file import Unreadable

_ALL = ("all", "all-linear", "all_linear")

# A decoder's matrices by their paths, in the order of `ashlar predict --lora`.
_MATRICES = tuple(
    f"{part}.{name}_proj"
    for part, names in (("self_attn", "qkvo"), ("mlp", ("gate", "up", "down")))
    for name in names
)
_DECODERS = (
    "model.layers",
    "model.language_model.layers",
    "language_model.model.layers",
    "model.text_model.layers",
)
# A pattern of other words names other matrices, or those of a tower, too.
_WORDS = frozenset(
    "model language_model text_model layers mlp self_attn cross_attn d q k v o up down "
    "gate _proj q_proj k_proj v_proj o_proj up_proj down_proj gate_proj "
    "_checkpoint_wrapped_module".split()
)


def _matched(pattern: str) -> list[str]:
    """The matrices that a pattern names in every layer of a decoder, as peft matches
    paths; none where it names some layers, or others, too."""
    if not set(re.findall(r"[A-Za-z_]+", pattern)) <= _WORDS:
        return []
    try:
        paths = re.compile(pattern)
    except re.error:
        return []

    def of(layer: int) -> list[str]:
        return [
            matrix
            for matrix in _MATRICES
            if any(paths.fullmatch(f"{place}.{layer}.{matrix}") for place in _DECODERS)
        ]

    found = of(0)
    is_even = all(of(layer) == found for layer in range(1, 200))
    return [each.rpartition(".")[2] for each in found] if is_even else []


def lora_words(rank: int, targets: Any) -> str:
    """RANK[,targets]. `targets` is "all", a name, names with commas, or a list.

    Raises Unreadable for a pattern, unless it names matrices of all of a decoder's
    layers.
    """
    if isinstance(targets, str):
        if targets in _ALL:
            return str(rank)
        if "layers" in targets and (names := _matched(targets)):
            return lora_words(rank, names)
        if not re.fullmatch(r"[\w, ]+", targets):
            raise Unreadable(f"{targets}: a pattern says where adapters are")
        targets = targets.replace(",", " ").split()
    if not isinstance(targets, Sequence) or not targets:
        raise Unreadable(
            "nothing says which matrices the adapters are beside; --set "
            "lora_target_modules=NAMES does"
        )
    return ",".join([str(rank), *(str(each) for each in targets)])
