"""LLaVA's own trainer (llava/train/train.py): a tower of images that never trains, and
a projector that leads from it to a decoder."""

from __future__ import annotations

import re
from typing import Any

from .images import CLIP, tower_of_images
from .run_file import Run, Unreadable
from .values import Values

# They choose samples, words or states of the tower, and change no step.
_QUIET = """
    version image_folder is_multimodal mm_vision_select_layer mm_vision_select_feature
    mm_use_im_start_end mm_use_im_patch_token pretrain_mm_mlp_adapter mm_projector_lr
    group_by_modality_length lora_enable bits image_aspect_ratio mm_patch_merge_type
    mm_projector_type double_quant quant_type lora_weight_path
""".split()
# All matrices of a decoder's layers (find_all_linear_names): not those of the tower,
# the projector and the head.
_ADAPTED = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"


def add_tower(v: Values, run: Run) -> bool:
    """What stands before the decoder, and what of the model trains; whether it is a run
    of LLaVA. Raises Unreadable."""
    if not v.get("vision_tower"):
        for key in ("mm_projector_type", "pretrain_mm_mlp_adapter"):
            if v.get(key):
                raise Unreadable(f"{key}: a tower of images beside the decoder")
        return False
    run.towers = _towers(v, run)
    has_projector = len(run.towers) != 1
    has_adapters = v.flag("lora_enable")
    is_only_projector = v.flag("tune_mm_mlp_adapter")
    if is_only_projector and (has_adapters or _bits(v) != 16):
        raise Unreadable(
            "tune_mm_mlp_adapter with lora_enable or bits: train.py freezes the "
            "adapters, too",
            flag="tune_mm_mlp_adapter",
        )
    frozen = ["vision_tower"]
    trains_projector = not v.flag("freeze_mm_mlp_adapter")
    if not trains_projector and has_projector:
        frozen.append("multi_modal_projector")
    if has_adapters:
        _add_adapters(v, run, trains_projector and has_projector)
    elif _bits(v) != 16:
        raise Unreadable("bits without lora_enable: packed weights do not train")
    elif is_only_projector:
        # The table trains with the two words that it is given.
        is_longer = v.flag("mm_use_im_start_end")
        frozen += ["head", "layers"] if is_longer else ["embedding", "head", "layers"]
    elif v.flag("freeze_backbone"):
        frozen += ["embedding", "layers"]
    run.program["freeze"] = ",".join(frozen)
    shapes = (str(v.get("image_aspect_ratio") or ""), v.get("mm_patch_merge_type"))
    if "anyres" in shapes[0] or shapes[1] not in (None, "flat"):
        run.unknown.append("image_aspect_ratio, mm_patch_merge_type: tiles of an image")
    v.asked.update(_QUIET)
    return True


def _bits(v: Values) -> int:
    said = str(v.get("bits") or 16)
    if said not in ("4", "8", "16"):
        raise Unreadable(f"bits {said}: train.py packs 4 and 8", flag="bits")
    return int(said)


def _add_adapters(v: Values, run: Run, trains_projector: bool) -> None:
    if str(v.get("lora_bias") or "none") != "none":
        raise Unreadable("lora_bias: biases train beside adapters", flag="lora_bias")
    lora = f"{v.number('lora_r', default=64)},{_ADAPTED}"
    if trains_projector:
        lora += ",whole=multi_modal_projector"
    run.program["lora"] = lora
    bits = _bits(v)
    if bits == 16:
        return
    # The head is packed, too: only mm_projector is left out by its name. The tower and
    # the projector are made after the rest is packed.
    doubles = bits == 4 and v.flag("double_quant", default=True)
    run.program["frozen_weights"] = (
        f"{bits}-bit{',double' if doubles else ''},head,towers=16-bit"
    )


def _towers(v: Values, run: Run) -> list[dict[str, Any]]:
    name = str(v.get("vision_tower")).rstrip("/")
    projector = str(v.get("mm_projector_type") or "linear")
    if name not in CLIP:
        if projector == "mlp2x_gelu":  # as LLaVA of transformers has it
            run.notes.append(
                f"the tower is {name}, whose sizes are not known here: give --model a "
                "file that `python -m ashlar_pp.read model` wrote of a configuration "
                "of LLaVA"
            )
            return []
        raise Unreadable(
            f"vision_tower {name}: its sizes are known here only of {', '.join(CLIP)}; "
            "--set vision_tower=NAME takes one of them",
            flag="vision_tower",
        )
    kind = CLIP[name]
    feature = str(v.get("mm_vision_select_feature") or "patch")
    if feature not in ("patch", "cls_patch"):
        raise Unreadable(f"mm_vision_select_feature {feature}: at which LLaVA stops")
    tower = tower_of_images(kind, "vision_tower")
    rows = int(tower["tokens"]) - (kind.tokens if feature == "patch" else 0)
    made = [tower]
    products = _projector(projector, kind.hidden)
    if products:
        made.append(
            {
                "name": "multi_modal_projector",
                "tokens": rows,
                "continues": True,
                "products": [{"rows": rows, **one} for one in products],
            }
        )
    return made


def _projector(kind: str, width: int) -> list[dict[str, Any]]:
    """Its matrices, whose sizes that are left out are the decoder's width
    (multimodal_projector/builder.py)."""
    if kind == "identity":
        return []
    deep = re.fullmatch(r"mlp(\d+)x_gelu", kind)
    if kind != "linear" and not deep:
        raise Unreadable(
            f"mm_projector_type {kind}: at which LLaVA stops", flag="mm_projector_type"
        )
    count = int(deep[1]) if deep else 1
    first = {"inner": width, "has_bias": True}
    return [first, *({"has_bias": True} for _ in range(1, max(1, count)))]
