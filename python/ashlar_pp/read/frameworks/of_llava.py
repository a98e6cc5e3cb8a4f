"""LLaVA's own trainer (llava/train/train.py) and programs made from it: a tower of
images, and a projector that leads from it to a decoder."""

from __future__ import annotations

import re
from typing import Any

from ..facts.images import KNOWN, tower_of_images
from ..run_file import Run, Unreadable
from ..values import Values

# They choose samples, words or states of the tower, and change no step.
_QUIET = """
    version image_folder is_multimodal mm_vision_select_layer mm_vision_select_feature
    mm_use_im_start_end mm_use_im_patch_token pretrain_mm_mlp_adapter mm_projector_lr
    group_by_modality_length lora_enable bits image_aspect_ratio mm_patch_merge_type
    mm_projector_type double_quant quant_type lora_weight_path mm_vision_tower_lr
    vision_tower_lr vision_tower_pretrained group_by_varlen mpt_attn_impl model_type
    mm_newline_position image_crop_resolution image_split_resolution delay_load
    verbose_logging tokenizer_model_max_length early_mix_text tune_vit_from_layer
    unfreeze_mm_vision_tower
""".split()
# All matrices of a decoder's layers (find_all_linear_names): not those of the tower,
# the projector and the head.
_ADAPTED = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
# Words of programs made from it with which the tower trains: LLaVA-NeXT, Bunny,
# ShareGPT4V (LLaVA-VL/LLaVA-NeXT at df17966, BAAI-DCAI/Bunny at 08273ac,
# ShareGPT4Omni/ShareGPT4V at b6f70e9, each in train/train.py).
_UNFREEZE = (
    "unfreeze_mm_vision_tower",
    "unfreeze_vision_tower",
    "tune_vision_tower",
)
_DECODER = ("embedding", "head", "layers")
_LISTED = {
    "mm_vision_tower": ("tower",),
    "mm_mlp_adapter": ("projector",),
    "mm_language_model": _DECODER,
    "mm_vision_resampler": (),  # without mm_resampler_type it has no parameters
}
_LAST = "last_vision_layers"
# Each makes other tokens of an image, or several images.
_LOOSE = ("frames_upbound", "video_folder", "mm_spatial_pool_stride", "num_frames")
# Towers, and what is between one and the projector, that are not counted.
_OTHER = (
    "vision_tower_aux",
    "vision_tower_aux_list",
    "mm_resampler_type",
    "use_s2",
    "s2",
)


def add_tower(v: Values, run: Run) -> bool:
    """What stands before the decoder, and what of the model trains; whether it is a run
    of LLaVA. Raises Unreadable."""
    # Video-LLaVA, PKU-YuanGroup/Video-LLaVA at 984e65b
    has_two = any([v.get("image_tower"), v.get("video_tower")])
    if not v.get("vision_tower") and not has_two:
        named = ("vision_tower_aux_list", "mm_projector_type")
        for key in (*named, "pretrain_mm_mlp_adapter"):
            if v.get(key):
                raise Unreadable(f"{key}: towers of images beside the decoder")
        return False
    for key in _OTHER:
        if v.word(key, default="false").lower() != "false":
            raise Unreadable(f"{key}: such a tower is not counted", flag=key)
    is_listed = bool(v.get("mm_tunable_parts"))
    trains = _listed(v) if is_listed else _said(v)
    if is_listed:  # LLaVA-NeXT's defaults
        run.program["attention"] = "flash_attention_2"
        if v.get("gradient_checkpointing") is None:
            run.layout["recompute"] = "full"
    names = {"tower": "vision_tower", "projector": "multi_modal_projector"}
    if has_two:
        names = {"tower": "encoders", "projector": "aligners"}
        if v.get("tokenizer_model_max_length"):  # of text with images in it
            run.batch["sequence"] = v.number("tokenizer_model_max_length")
        run.notes.append(
            "it has a tower of images and one of videos: give --model a file that "
            "`python -m ashlar_pp.read model` wrote of a configuration of video_llava"
        )
    else:
        run.towers = _towers(v, run)
    if v.word("mm_projector_type") == "identity":
        del names["projector"]
    first = v.word("tune_vit_from_layer", default="-1")
    if first != "-1" and "tower" in trains:
        names["tower"] = _divided(run, int(first))
    frozen = [name for part, name in names.items() if part not in trains]
    if names["tower"] == _LAST:
        frozen.insert(0, "vision_tower")
    if v.flag("lora_enable"):
        whole = [name for part, name in names.items() if part in trains]
        _add_adapters(v, run, whole)
    elif _bits(v) != 16:
        raise Unreadable("bits without lora_enable: packed weights do not train")
    else:
        frozen += [one for one in _DECODER if one not in trains]
    if frozen:
        run.program["freeze"] = ",".join(frozen)
    _read_images(v, run)
    v.asked.update(_QUIET)
    return True


def _listed(v: Values) -> set[str]:
    """What trains by LLaVA-NeXT's mm_tunable_parts. Raises Unreadable."""
    words = [one.strip() for one in v.word("mm_tunable_parts").split(",")]
    for word in words:
        if word not in _LISTED:
            raise Unreadable(
                f"mm_tunable_parts {word}: there are {', '.join(_LISTED)}",
                flag="mm_tunable_parts",
            )
    return {part for word in words for part in _LISTED[word]}


def _said(v: Values) -> set[str]:
    """What trains by LLaVA's words, and those of programs made from it."""
    trains = {"projector", *_DECODER}
    if v.flag("tune_mm_mlp_adapter"):
        if v.flag("lora_enable") or _bits(v) != 16:
            raise Unreadable(
                "tune_mm_mlp_adapter with lora_enable or bits: train.py freezes the "
                "adapters, too",
                flag="tune_mm_mlp_adapter",
            )
        # The table trains with the two words that it is given.
        trains = {"projector", *_DECODER[: v.flag("mm_use_im_start_end")]}
    elif v.flag("freeze_backbone"):
        trains = {"projector", "head"}
    if v.flag("freeze_mm_mlp_adapter"):
        trains.discard("projector")
    if any(v.flag(word) for word in _UNFREEZE):
        trains.add("tower")
    if v.flag("tune_entire_model"):  # ShareGPT4V
        trains |= {"tower", "projector", *_DECODER}
    return trains


def _divided(run: Run, first: int) -> str:
    """Divides the tower at its first layer that trains; gives the name of the part that
    does. Raises Unreadable where its layers are not known."""
    if not run.towers:
        raise Unreadable("tune_vit_from_layer: the layers of the tower are not known")
    tower, *rest = run.towers
    layers = tower["layers"]
    last = {key: tower[key] for key in ("hidden", "tokens", "kinds")}
    last.update(name=_LAST, continues=True, layers=layers[first:])
    run.towers = [{**tower, "layers": layers[:first]}, last, *rest]
    return _LAST


def _read_images(v: Values, run: Run) -> None:
    shapes = (str(v.get("image_aspect_ratio") or ""), v.get("mm_patch_merge_type"))
    if "anyres" in shapes[0] or shapes[1] not in (None, "flat"):
        run.unknown.append("image_aspect_ratio, mm_patch_merge_type: tiles of an image")
        v.get("image_grid_pinpoints")
    for key in _LOOSE:
        if v.get(key):
            run.unknown.append(f"{key}: images of a sequence, and tokens of each")


def _bits(v: Values) -> int:
    said = str(v.get("bits") or 16)
    if said not in ("4", "8", "16"):
        raise Unreadable(f"bits {said}: train.py packs 4 and 8", flag="bits")
    return int(said)


def _add_adapters(v: Values, run: Run, whole: list[str]) -> None:
    if str(v.get("lora_bias") or "none") != "none":
        raise Unreadable("lora_bias: biases train beside adapters", flag="lora_bias")
    words = [str(v.number("lora_r", default=64)), _ADAPTED]
    run.program["lora"] = ",".join([*words, *(f"whole={name}" for name in whole)])
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
    name = str(v.get("vision_tower")).rstrip("/").rpartition("/")[2]
    is_bunny = bool(v.get("model_type"))
    usual = "mlp2x_gelu" if is_bunny else "linear"
    projector = str(v.get("mm_projector_type") or usual)
    # Bunny runs all layers of SigLIP, and its head.
    if name not in KNOWN or (is_bunny and name.startswith("siglip")):
        if projector == "mlp2x_gelu":  # as LLaVA of transformers has it
            run.notes.append(
                f"the tower is {name}, whose sizes are not known here: give --model a "
                "file that `python -m ashlar_pp.read model` wrote of a configuration "
                "of LLaVA"
            )
            return []
        raise Unreadable(
            f"vision_tower {name}: its sizes are known here only of "
            f"{', '.join(KNOWN)}; --set vision_tower=NAME takes one of them",
            flag="vision_tower",
        )
    kind = KNOWN[name]
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
