"""Adapters of peft's other kinds, in the words of `ashlar predict --lora`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable

# Each kind has a number of this name, and a word.
_KINDS = {
    "LORA": ("r", ""),
    "ADALORA": ("init_r", "adalora"),
    "OFT": ("oft_block_size", "oft"),
    "VERA": ("r", "vera"),
    "MISS": ("r", "miss"),
    "IA3": ("", "ia3"),
    "LOHA": ("r", "loha"),
    "LOKR": ("r", "lokr"),
    "FOURIERFT": ("n_frequency", "fourierft"),
    "BOFT": ("boft_block_size", "boft"),
}
WORDS = frozenset(word for _, word in _KINDS.values() if word) | {"bat"}
# Names of parameters that peft puts beside a model's own.
PARAMETERS = (
    r"\.(lora|oft|vera|miss|ia3|hada|lokr|fourierft|boft)_|\.modules_to_save\."
    r"|\.ln_tuning_layers\."
)
# Values of a kind that are counted; others are not.
_ONLY: dict[str, dict[str, tuple[Any, ...]]] = {
    "OFT": {
        "r": (0,),
        "block_share": (False,),
        "coft": (False,),
        "use_cayley_neumann": (True,),
    },
    "LOKR": {"decompose_both": (False,), "decompose_factor": (-1,)},
    "BOFT": {"boft_block_num": (0,), "boft_n_butterfly_factor": (1,)},
    "MISS": {"init_weights": (True, False, "bat")},
}
_PATTERNS = ("rank_pattern", "n_frequency_pattern", "module_dropout", "rank_dropout")
# Why others have no such words.
_WHY = {
    "PROMPT_TUNING": "trained tokens stand before each sequence",
    "P_TUNING": "tokens that a network makes stand before each sequence",
    "PREFIX_TUNING": "each layer has trained keys and values before those of tokens",
    "ADAPTION_PROMPT": "some layers attend to trained tokens in a gated way",
    "TRAINABLE_TOKENS": "single rows of the embedding train",
    "BONE": "releases of peft add its blocks to inputs or to whole weights",
}


def kind_of(adapter: Mapping[str, Any]) -> tuple[int, str]:
    """The number and the word of a configuration of peft. Raises Unreadable."""
    kind = str(adapter.get("peft_type")).rpartition(".")[2]
    if kind not in _KINDS:
        why = _WHY.get(kind, "what it computes is not counted")
        raise Unreadable(
            f"adapters of peft's kind {kind}: {why}; --lora and --train-only of ashlar "
            "predict describe the nearest that is"
        )
    for name, counted in _ONLY.get(kind, {}).items():
        if adapter.get(name, counted[0]) not in counted:
            raise Unreadable(f"adapters of {kind} with {name} {adapter[name]}")
    for name in _PATTERNS if kind not in ("LORA", "ADALORA") else ():
        if adapter.get(name):
            raise Unreadable(f"adapters of {kind} with {name} {adapter[name]}")
    if kind == "IA3":
        _check_factors(adapter)
    number, word = _KINDS[kind]
    if kind == "MISS" and adapter.get("init_weights") == "bat":
        word = "bat"
    return int(adapter[number]) if number else 1, word


def _check_factors(adapter: Mapping[str, Any]) -> None:
    """Factors of inputs are of what leaves a feed-forward part."""
    named, of_inputs = (
        set(adapter.get(key) or ()) for key in ("target_modules", "feedforward_modules")
    )
    if of_inputs != named & {"down_proj", "c_proj", "linear_fc2"}:
        raise Unreadable(
            f"adapters of IA3 with feedforward_modules {sorted(of_inputs)}: counted "
            "are factors of the inputs of down_proj, and of others' results"
        )
