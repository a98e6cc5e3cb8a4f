"""Adapters of the Trainer of transformers, and of what is made over it: which train,
and how the frozen weights beside them are held."""

from __future__ import annotations

import re

from ..facts.adapters import lora_words
from ..facts.packed import add_packed
from ..facts.peft_kinds import WORDS
from ..run_file import Run, Unreadable
from ..values import Values

_ADAPTERS = (
    "use_peft",
    "use_peft_lora",
    "use_lora",
    "lora_enable",
    "adapter",
)
# As `ashlar predict` names them.
_TABLES = {
    "embed_tokens": "embedding",
    "lm_head": "head",
    "word_embeddings": "embedding",
    "wte": "embedding",
    "embed_in": "embedding",
    "embed_out": "head",
    "output_layer": "head",
}
NO = (None, False, "", "false", "False", "none", "None")


def read_adapters(v: Values, run: Run) -> None:
    """Those of LLaMA-Factory and Axolotl; others leave open where adapters are."""
    kind = v.word("finetuning_type", default="full")
    if kind == "lora":
        rank, targets = v.number("lora_rank", default=8), v.get("lora_target") or "all"
        run.program["lora"] = lora_words(rank, targets)
    elif kind == "oft":
        _read_rotations(v, run)
    elif kind == "freeze":
        _read_frozen(v, run)
    elif kind not in ("full", ""):
        raise Unreadable(f"finetuning_type {kind}: not the whole model trains")
    # Axolotl has adapters only by `adapter`, TRL only with use_peft.
    is_off = v.get("base_model") is not None or (
        v.get("use_peft") is not None and v.get("use_peft") in NO
    )
    if v.get("base_model") is not None and v.get("adapter") in NO:
        v.asked.update(key for key in v.all if key.startswith(("lora_", "peft_")))
    if v.get("lora_r") and not v.get("adapter") and not is_off:
        # TRL, and programs that make their own adapters by peft.
        targets = v.get("lora_target_modules", "target_modules") or usual_places(run)
        run.program["lora"] = lora_words(v.number("lora_r"), targets)
        v.asked.update(_ADAPTERS)
        return
    for key in _ADAPTERS:
        value = v.get(key)
        if key == "adapter" and value in ("lora", "qlora"):
            everything = v.get("lora_target_linear") in (True, "true", "True")
            named = v.get("lora_target_modules") or (
                None if everything else usual_places(run)
            )
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
    if stage == "rm":
        raise Unreadable("stage rm: a head of one output beside that of the vocabulary")
    if not stage.isdigit() and stage not in ("sft", "pt", "dpo", "kto"):
        raise Unreadable(
            f"stage {stage}: a second model runs beside the one that trains"
        )


def _read_rotations(v: Values, run: Run) -> None:
    """LLaMA-Factory's oft (model/adapter.py): a number of blocks, or their size, beside
    the matrices of lora_target; its oft_target is passed over."""
    if v.number("oft_rank", default=0) or not v.number("oft_block_size", default=32):
        raise Unreadable("oft_rank: blocks of another size in each matrix")
    if v.get("oft_target") not in (None, "all"):
        run.notes.append("oft_target: LLaMA-Factory takes lora_target in its place")
    words = lora_words(
        v.number("oft_block_size", default=32), v.get("lora_target") or "all"
    )
    size, *rest = words.split(",")
    run.program["lora"] = ",".join([size, "oft", *rest])


def read_kind(v: Values, run: Run) -> None:
    """Says of which kind adapters are, as peft makes them; behind dropout DoRA runs its
    frozen products again (tuners/lora/variants.py)."""
    word = "dora" if v.flag("use_dora", "peft_use_dora") else v.word("peft_kind")
    if not run.program.get("lora") or word not in ("dora", *WORDS):
        return
    if word == "boft":
        run.unknown.append(
            "permutations of BOFT: held on the device here; where a model is there "
            "before it has adapters, they stay on the host and each forward copies them"
        )
    drops = word == "dora" and _drops_inputs(v, run)
    rank, *rest = run.program["lora"].split(",")
    words = [word, "dropout"] if drops else [word]
    run.program["lora"] = ",".join([rank, *words, *rest])


def _drops_inputs(v: Values, run: Run) -> bool:
    """TRL drops them unless it is told not to, LLaMA-Factory and Axolotl do not."""
    said = v.get("lora_dropout")
    if said is None and v.get("finetuning_type", "adapter") is None:
        if v.get("use_peft") not in NO:
            return True
        run.unknown.append("dropout before the adapters, with which DoRA takes longer")
    return float(said or 0) > 0


def refuse_unknown(v: Values, run: Run) -> None:
    """Programs of their own have other names for adapters, and for what says that they
    train: `train_mode`."""
    is_off = v.get("base_model") is not None or v.word("finetuning_type") == "full"
    told = () if run.program.get("lora") or is_off else v.rest()
    for key in told:
        is_named = key in ("lora_rank", "lora_dim", "lora_target", "lora_trainable")
        is_named = is_named or key.startswith("low_rank")
        is_named = is_named or (key in ("rank", "r") and "alpha" in told)
        is_named = is_named or (
            "lora" in key.split("_") and str(v.all[key]).lower() == "true"
        )
        is_kind = str(v.all[key]).lower() in ("lora", "qlora", "dora", "adalora")
        if (is_named and v.all[key] not in NO) or is_kind:
            raise Unreadable(
                f"{key}: adapters by a program of its own; --set lora_r=RANK --set "
                "lora_target_modules=NAMES says which",
                flag=key,
            )


def usual_places(run: Run) -> list[str]:
    """peft's own for Llama and most decoders of its kind (utils/constants.py)."""
    run.unknown.append(
        "places of adapters, which peft chooses by the model's type: taken to be "
        "q_proj and v_proj, as for Llama, Mistral, Qwen and Gemma"
    )
    return ["q_proj", "v_proj"]


def _read_frozen(v: Values, run: Run) -> None:
    """LLaMA-Factory trains the last layers, or the first where the number is negative
    (model/adapter.py), and other modules that are named."""
    said = str(v.get("freeze_trainable_layers") or 2)
    count = int(said) if said.lstrip("-").isdigit() else 0
    if v.flag("use_llama_pro") or not count:
        raise Unreadable(
            f"use_llama_pro, freeze_trainable_layers {said}: every n-th layer trains, "
            "or none: --train-only says which"
        )
    if v.word("freeze_trainable_modules", default="all") != "all":
        raise Unreadable("freeze_trainable_modules: a part of each layer trains")
    words = [f"last={count}" if count > 0 else f"first={-count}"]
    for name in v.word("freeze_extra_modules").replace(",", " ").split():
        if name not in _TABLES:
            raise Unreadable(f"freeze_extra_modules {name}: it is not predicted alone")
        words.append(_TABLES[name])
    run.program["train_only"] = ",".join(words)


def read_saved(v: Values, run: Run) -> None:
    """What peft trains a copy of beside the adapters: tables, or parts before the
    decoder, which `ashlar predict` finds in the model."""
    for key in ("lora_modules_to_save", "additional_target", "modules_to_save"):
        named = v.get(key) or []
        if isinstance(named, str):
            named = named.replace(",", " ").split()
        for name in named if run.program.get("lora") else ():
            if not re.fullmatch(r"[\w.]+", name) or "norm" in name:
                raise Unreadable(
                    f"{key} {name}: only copies of embed_tokens, lm_head and parts "
                    "before the decoder are counted beside adapters",
                    flag=key,
                )
            run.program["lora"] += ",train=" + _TABLES.get(name, name)


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
