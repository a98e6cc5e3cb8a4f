"""What XTuner trains of a model: adapters, and parts before the decoder."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values

# Matrices that are one in a model's own code, by its name: adapters take what is there.
_FUSED = (
    (r"internlm2|baichuan|qwen-|qwen/qwen-|qwen1?-?7b", "qkv_proj,o_proj,mlp"),
    (r"phi-?3|chatglm", "qkv_proj,o_proj,gate_up_proj,down_proj"),
)
_STYLES = (
    (r"internvl2-(2|8|26)b|chat-(2b-)?v1-5$", "internlm2-chat"),
    (r"internvl2-4b|chat-4b-v1-5", "phi3-chat"),
)


def adapters_of(
    v: Values, section: str, model: str, path: pathlib.Path
) -> dict[str, Any]:
    """Adapters are beside all matrices but the head, unless they are named
    (find_all_linear_names)."""
    if not v.section(section):
        v.get(section)
        return {}
    if v.word(f"{section}.bias", default="none") != "none":
        raise Unreadable(f"{path}: {section}.bias: biases that train are not counted")
    if v.get(f"{section}.modules_to_save"):
        raise Unreadable(f"{path}: {section}.modules_to_save: other parts train, too")
    targets = v.get(f"{section}.target_modules")
    if targets is None:
        targets = _by_name(_FUSED, model) or "all-linear"
    return {
        "use_peft": True,
        "lora_r": v.number(f"{section}.r", default=8),
        "lora_target_modules": list(targets) if isinstance(targets, tuple) else targets,
        "use_dora": v.get(f"{section}.use_dora"),
        "lora_dropout": v.get(f"{section}.lora_dropout") or 0,
    }


def _by_name(table: tuple[tuple[str, str], ...], model: str) -> str:
    for pattern, words in table:
        if re.search(pattern, model.lower()):
            return words
    return ""


def parts_of_llava(v: Values, path: pathlib.Path) -> dict[str, Any]:
    """As LLaVA's own trainer names them: the projector trains always."""
    if v.section("model.visual_encoder_lora"):
        raise Unreadable(f"{path}: visual_encoder_lora: adapters in a tower")
    depth = v.number("model.projector_depth", default=2)
    made: dict[str, Any] = {
        "vision_tower": v.word("model.visual_encoder.pretrained_model_name_or_path"),
        "mm_projector_type": f"mlp{depth}x_gelu" if depth > 1 else "linear",
    }
    rank = v.number("model.llm_lora.r", default=8) if v.section("model.llm_lora") else 0
    if v.get("model.llm_lora.target_modules") is not None:
        raise Unreadable(f"{path}: llm_lora.target_modules: only all of them are read")
    if v.word("model.llm_lora.bias", default="none") != "none":
        raise Unreadable(f"{path}: llm_lora.bias: biases that train are not counted")
    if rank:
        made.update(lora_enable=True, lora_r=rank)
        v.get("model.freeze_llm")
    elif v.flag("model.freeze_llm"):
        made["tune_mm_mlp_adapter"] = True
    return made


def finish_llava(v: Values, run: Run) -> None:
    if not v.flag("model.freeze_visual_encoder"):
        parts = run.program["freeze"].split(",")
        run.program["freeze"] = ",".join(p for p in parts if p != "vision_tower")
        if not run.program["freeze"]:
            del run.program["freeze"]
    if run.towers and run.batch.get("sequence"):
        run.batch["sequence"] += run.towers[-1]["tokens"]


def parts_of_internvl(v: Values, path: pathlib.Path, model: str) -> dict[str, Any]:
    """As InternVL's own trainer names them: what leads to the decoder trains always."""
    if v.section("model.visual_encoder_lora") or v.flag("model.quantization_vit"):
        raise Unreadable(f"{path}: visual_encoder_lora: adapters in a tower")
    if v.get("model.llm_lora.target_modules") is not None:
        raise Unreadable(f"{path}: llm_lora.target_modules: only all of them are read")
    rank = v.number("model.llm_lora.r", default=8) if v.section("model.llm_lora") else 0
    return {
        "force_image_size": 448,
        "down_sample_ratio": 0.5,
        "dynamic_image_size": True,
        "freeze_backbone": v.flag("model.freeze_visual_encoder"),
        "freeze_llm": v.flag("model.freeze_llm"),
        "use_llm_lora": rank,
        "conv_style": _by_name(_STYLES, model) or "other-chat",
    }
