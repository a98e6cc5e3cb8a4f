"""LLaVA's own trainer (llava/train/train.py): a tower of images that never trains, and
two matrices that lead from it to a decoder."""

from __future__ import annotations

from .run_file import Run, Unreadable
from .values import Values

# They choose samples, words or states of the tower, and change no step.
_QUIET = """
    version image_folder is_multimodal mm_vision_select_layer mm_vision_select_feature
    mm_use_im_start_end mm_use_im_patch_token pretrain_mm_mlp_adapter mm_projector_lr
    group_by_modality_length lora_enable bits image_aspect_ratio mm_patch_merge_type
    mm_projector_type
""".split()


def add_tower(v: Values, run: Run) -> bool:
    """What of the model is frozen; whether it has a tower. Raises Unreadable."""
    if not v.get("vision_tower"):
        for key in ("mm_projector_type", "pretrain_mm_mlp_adapter"):
            if v.get(key):
                raise Unreadable(f"{key}: a tower of images beside the decoder")
        return False
    if v.flag("lora_enable") or str(v.get("bits") or 16) != "16":
        raise Unreadable(
            "lora_enable, bits: the projector trains whole beside adapters"
        )
    kind = v.get("mm_projector_type") or "linear"
    if kind != "mlp2x_gelu":
        raise Unreadable(
            f"mm_projector_type {kind}: LLaVA of transformers, which --model would be, "
            "has mlp2x_gelu",
            flag="mm_projector_type" if v.get("mm_projector_type") else "vision_tower",
        )
    frozen = ["vision_tower"]
    if v.flag("tune_mm_mlp_adapter"):
        frozen += ["embedding", "head", "layers"]
    elif v.flag("freeze_backbone"):
        frozen += ["embedding", "layers"]
    if v.flag("freeze_mm_mlp_adapter"):
        frozen.append("multi_modal_projector")
    run.program["freeze"] = ",".join(frozen)
    shapes = (str(v.get("image_aspect_ratio") or ""), v.get("mm_patch_merge_type"))
    if "anyres" in shapes[0] or shapes[1] not in (None, "flat"):
        run.unknown.append("image_aspect_ratio, mm_patch_merge_type: tiles of an image")
    v.asked.update(_QUIET)
    run.notes.append(
        "the model has a tower: give --model a file that `python -m ashlar_pp.read "
        "model` wrote of a configuration of LLaVA"
    )
    return True
