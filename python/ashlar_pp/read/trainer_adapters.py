"""Adapters of the Trainer of transformers, and of what is made over it: which train,
and how the frozen weights beside them are held."""

from __future__ import annotations

from .adapters import lora_words
from .packed import add_packed
from .run_file import Run, Unreadable
from .values import Values

_ADAPTERS = (
    "use_peft",
    "use_peft_lora",
    "use_lora",
    "lora_enable",
    "adapter",
)
NO = (None, False, "", "false", "False", "none", "None")


def read_adapters(v: Values, run: Run) -> None:
    """Those of LLaMA-Factory and Axolotl; others leave open where adapters are."""
    kind = v.word("finetuning_type", default="full")
    if kind == "lora":
        rank, targets = v.number("lora_rank", default=8), v.get("lora_target") or "all"
        run.program["lora"] = lora_words(rank, targets)
    elif kind not in ("full", ""):
        raise Unreadable(f"finetuning_type {kind}: not the whole model trains")
    if v.get("lora_r") and not v.get("adapter"):
        # TRL, and programs that make their own adapters by peft.
        targets = v.get("lora_target_modules")
        run.program["lora"] = lora_words(v.number("lora_r"), targets)
        v.asked.update(_ADAPTERS)
        return
    for key in _ADAPTERS:
        value = v.get(key)
        if key == "adapter" and value in ("lora", "qlora"):
            everything = v.get("lora_target_linear") in (True, "true", "True")
            named = v.get("lora_target_modules")
            run.program["lora"] = lora_words(
                v.number("lora_r"), "all" if everything else named
            )
        elif value not in NO:
            raise Unreadable(
                f"{key} {value}: adapters train in place of the model, and nothing "
                "says where; --set lora_r=RANK --set lora_target_modules=NAMES does",
                flag=key,
            )
    stage = v.word("stage", default="sft")
    if not stage.isdigit() and stage not in ("sft", "pt", "dpo", "kto"):
        raise Unreadable(
            f"stage {stage}: a second model runs beside the one that trains"
        )


def read_packed(v: Values, run: Run) -> None:
    """Axolotl packs scales, too (loaders/model.py), and so does LLaMA-Factory
    (model_utils/quantization.py); TRL only where it is told so."""
    adapter = v.word("adapter")
    four, eight = v.flag("load_in_4bit"), v.flag("load_in_8bit")
    if (adapter, four, eight) not in (
        ("qlora", True, False),
        ("lora", False, True),
        ("lora", False, False),
    ):
        if adapter:
            raise Unreadable(
                f"adapter {adapter} with load_in_4bit {four} and load_in_8bit {eight}: "
                "Axolotl stops, or packs nothing",
                flag="adapter",
            )
    is_own = bool(adapter) or v.get("quantization_bit") is not None
    add_packed(v, run, packs_scales=is_own, keeps_rest=is_own)
