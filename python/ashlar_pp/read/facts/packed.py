"""Frozen weights in 4 or 8 bits beside adapters, as `ashlar predict --frozen-weights`
takes them: those that bitsandbytes packs while a model is loaded."""

from __future__ import annotations

import re

from ..run_file import Run, Unreadable
from ..values import Values

_DOUBLE = (
    "double_quantization",
    "use_bnb_nested_quant",
    "use_nested_quant",
    "bnb_4bit_use_double_quant",
    "bnb_config_kwargs.bnb_4bit_use_double_quant",
)
# They change no size: the codes' meaning, the type of products, how shards are made.
_SAME_SIZE = (
    "quantization_type",
    "bnb_4bit_quant_type",
    "bnb_4bit_quant_storage",
    "bnb_4bit_quant_storage_dtype",
    "bnb_4bit_compute_dtype",
    "bnb_config_kwargs.bnb_4bit_quant_type",
    "bnb_config_kwargs.bnb_4bit_quant_storage",
)


def refuse_packed_model(name: str) -> None:
    """Published weights that these packed say so in their name, and the file that
    trains with them says nothing. Raises Unreadable."""
    if re.search(r"[-_](gptq|awq|aqlm)\b", name, re.IGNORECASE):
        raise Unreadable(
            f"{name}: by its name, weights that GPTQ, AWQ or AQLM pack, whose bytes "
            "are not counted; --set model_name_or_path=NAME (ms-swift: model=NAME) of "
            "the model in 16 bits predicts with that"
        )


def add_packed(v: Values, run: Run, packs_scales: bool, keeps_rest: bool) -> None:
    """Adds how frozen weights are packed, by the Trainer's arguments and those of what
    is made over it.

    `packs_scales`: where nothing is said, scales of 4 bits are packed, too.
    `keeps_rest`: it is known that embedding, head and norms stay in 16 bits.
    Raises Unreadable.
    """
    bits = _bits(v)
    if not bits:
        return
    if not run.program.get("lora"):
        raise Unreadable(f"weights in {bits} bits: nothing says which adapters train")
    if bits == 8 and _shares_weights(run):
        raise Unreadable("weights in 8 bits cannot be shared by data ranks")
    doubles = bits == 4 and v.flag(*_DOUBLE, default=packs_scales)
    v.asked.update((*_DOUBLE, *_SAME_SIZE))
    run.program["frozen_weights"] = f"{bits}-bit" + (",double" if doubles else "")
    if not keeps_rest:
        run.unknown.append(
            "whether embedding, head and norms are held in 32 bits, as peft's "
            "prepare_model_for_kbit_training makes them: taken to be in 16 "
            f"(--frozen-weights {run.program['frozen_weights']},rest=32-bit)"
        )


def _bits(v: Values) -> int:
    """4, 8, or 0 where the weights are as they are."""
    four = v.flag("load_in_4bit", "use_4bit_quantization", "use_4bit")
    eight = v.flag("load_in_8bit", "use_8bit_quantization", "use_8bit")
    if four and eight:
        raise Unreadable("load_in_4bit and load_in_8bit at once: transformers stops")
    said = v.get("quantization_bit", "quant_bits")
    method = v.word("quantization_method", "quant_method", default="bnb").lower()
    if method not in ("bnb", "bitsandbytes", "none"):
        raise Unreadable(f"{method}: only weights that bitsandbytes packs are counted")
    if said in (None, "", 0, "0", "none"):
        return 4 if four else 8 if eight else 0
    if str(said) not in ("4", "8"):
        raise Unreadable(f"weights in {said} bits: bitsandbytes packs 4 and 8")
    return int(said)


def _shares_weights(run: Run) -> bool:
    zero = run.arguments.get("zero_optimization", {})
    return run.layout.get("sharding") == "full" or zero.get("stage") == 3
