"""InternVL's own trainer (internvl/train/internvl_chat_*.py): a tower of images, two
matrices that lead from it to a decoder, and what of them trains."""

from __future__ import annotations

from ..run_file import Run, Unreadable
from ..values import Values

# Each is there in all of its programs, and in no other's.
_SIGNS = ("down_sample_ratio", "force_image_size")
# They choose samples, or say what is loaded.
_QUIET = """
    conv_style meta_path force_image_size down_sample_ratio vision_select_layer
    ps_version use_thumbnail pad2square mlp_path normalize_type use_data_resampling
    max_buffer_size log_freq strict_mode replacement allow_overflow loss_reduction
    loss_reduction_all_gather min_dynamic_patch sigmoid_loss_weight vision_path
    bco_pair_loss_weight rpo_alpha freeze_llm freeze_mlp freeze_backbone use_packed_ds
    unfreeze_lm_head use_llm_lora use_fast_tokenizer use_liger min_num_frame
    num_images_expected max_num_frame dynamic_image_size max_dynamic_patch llm_path
    max_packed_tokens
""".split()
# As `python -m ashlar_pp.read model` names them.
_PARTS = {
    "vision_tower": "freeze_backbone",
    "multi_modal_projector": "freeze_mlp",
}
# Matrices of decoders that have some of them fused (wrap_llm_lora), by conv_style.
_FUSED = {
    "internlm2": "qkv_proj,o_proj,mlp",
    "phi3": "qkv_proj,o_proj,gate_up_proj,down_proj",
}


def is_of_internvl(v: Values) -> bool:
    return all(v.all.get(key) is not None for key in _SIGNS)


def add_parts(v: Values, run: Run) -> None:
    """What trains, and the tokens of a sequence. Raises Unreadable."""
    for key in ("use_backbone_lora", "unfreeze_vit_layers"):
        if v.word(key, default="0") != "0":
            raise Unreadable(f"{key}: a part of the tower trains", flag=key)
    rank = v.number("use_llm_lora", default=0)
    frozen = [part for part, key in _PARTS.items() if v.flag(key)]
    if rank:
        whole = [f"whole={part}" for part in _PARTS if part not in frozen]
        style = v.word("conv_style", default="internlm2-chat").partition("-")[0]
        run.program["lora"] = ",".join([str(rank), _FUSED.get(style, "all"), *whole])
    elif v.flag("freeze_llm"):
        # unfreeze_lm_head sets a field of the module, which leaves its weights frozen.
        frozen += ["embedding", "head", "layers"]
    if frozen:
        run.program["freeze"] = ",".join(frozen)
    if v.flag("grad_checkpoint", default=True):
        run.layout["recompute"] = "full"
    if v.flag("use_packed_ds"):
        run.batch["sequence"] = v.number("max_packed_tokens", default=8192)
        run.unknown.append("use_packed_ds: how many images a packed sequence has")
    elif v.flag("dynamic_image_size"):
        most = v.number("max_dynamic_patch", default=12)
        run.unknown.append(f"dynamic_image_size: an image is 1 to {most} tiles")
    if v.word("drop_path_rate", default="0") not in ("0", "0.0"):
        run.unknown.append("drop_path_rate: layers of the tower that a step leaves out")
    v.asked.update(_QUIET)
    run.notes.append(
        "the model has a tower: give --model a file that `python -m ashlar_pp.read "
        "model` wrote of a configuration of InternVL"
    )
