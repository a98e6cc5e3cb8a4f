"""Megatron-LM's examples/multimodal: a tower of images and two matrices before a
decoder, by its config.py, model.py and megatron/core/models/vision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..facts.images import Images, tower_of_images
from ..run_file import Run, Unreadable

SIGN = "language-model-type"

# By examples/multimodal/config.py, with what clip_vit_model.py and radio.py add beside
# the layers: a class, a norm before or after, positions.
_TOWERS = {
    "clip": Images(24, 1024, 16, 4096, rows=1 + 2),
    "siglip": Images(27, 1152, 16, 4304, tokens=0, rows=2, has_patch_bias=True),
    "internvit": Images(
        45,
        3200,
        25,
        12800,
        rows=1,
        has_patch_bias=True,
        norm=1,
        has_qkv_bias=False,
        has_qk_norm=True,
        has_scales=True,
    ),
    "internvit300M": Images(
        24, 1024, 16, 4096, rows=1, has_patch_bias=True, has_scales=True
    ),
    "radio": Images(32, 1280, 16, 5120, tokens=8, has_positions=False),
    "radio-g": Images(
        40,
        1536,
        24,
        4096,
        tokens=5,
        has_positions=False,
        has_patch_bias=True,
        is_gated=True,
        has_scales=True,
    ),
    "cradio-g": Images(40, 1536, 24, 6144, tokens=8, has_positions=False),
}
# The side of the largest image of RADIO, which has a position for each of its patches;
# and rows of a norm after the layers, and of a token for masks (llava_model.py).
_RADIO = {"radio": (2048, 0), "radio-g": (1792, 2 + 1), "cradio-g": (2048, 0)}
# The width between the two matrices by the decoder's type, the norm ahead of them
# ("": the decoder's), and whether they have biases.
_PROJECTIONS = {
    "llama3_8b": (14336, "", False),
    "llama3.1_8b": (4096, "LayerNorm", True),
    "mistral_7b": (14336, "None", False),
    "yi-34b": (20480, "LayerNorm", False),
    "qwen2.0_72B": (29568, "LayerNorm", False),
    "qwen2.5_7B": (3584, "", False),
    "qwen2.5_72B": (29568, "LayerNorm", False),
    "llama3.2_1b": (2048, "LayerNorm", False),
    "llama_nemotron_8b": (14336, "LayerNorm", True),
    "nemotron5-8b": (21504, "", False),
    "nemotron5-hybrid-8b": (21504, "", False),
    "nemotron5-hybrid-12b": (20480, "", False),
    "nemotron5-hybrid-56b": (32768, "", False),
    "nemotron6-moe": (20480, "", False),
}
# They choose or write samples, or say what the tower is loaded from.
_QUIET = (
    "prompt-path dataset-config tokenizer-prompt-format image-tag-type special-tokens "
    "dataloader-save dataloader-seq-length dataloader-seed online-evaluation-config "
    "allow-missing-vision-projection-checkpoint use-te use-loss-scaling eos-id "
    "force-system-message seq-length encoder-seq-length thumbnail-area-threshold "
    "use-area-weighted-aspect-ratio num-workers use-thumbnail use-tiling"
).split()
# Each makes other inputs, or another model, than is counted here.
_OTHER = (
    "dynamic-resolution conv-merging sound-model-type packing-buffer-size "
    "packing-seq-length recompute-vision-num-layers recompute-vision-projection "
    "recompute-granularity-vision num-experts video-temporal-patch-size unfreeze-router"
).split()


def read_multimodal(values: dict[str, Any], run: Run) -> None:
    """Puts towers, what is frozen and the decoder's tokens. Raises Unreadable."""
    if SIGN not in values:
        return
    for name in _OTHER:
        if values.pop(name, None) not in (None, False, "0"):
            raise Unreadable(f"--{name}: no such tower is counted", flag=name)
    if _whole(values, "pipeline-model-parallel-size", 1) > 1:
        # get_model says nothing of add_encoder; get_batch gives images to the first.
        run.unknown.append(
            "--pipeline-model-parallel-size: the tower runs on the first stage; "
            "model.py makes it on each other one, too, which is not counted there"
        )
    if "decoder-seq-length" not in values:
        raise Unreadable(
            "nothing says the decoder's tokens: --set decoder-seq-length=N does, or "
            "--set model.decoder_seq_length=N in a file of FlagScale"
        )
    length = values.pop("decoder-seq-length")
    towers = _towers(values)
    frozen = ["vision_tower"] if values.pop("freeze-ViT", None) else []
    if values.pop("freeze-LM", None):
        frozen += ["embedding", "head", "layers"]
    if values.pop("freeze-vision-projection", None):
        frozen.append("vision_projection")
    if frozen:
        run.program["freeze"] = ",".join(frozen)
    run.towers = towers
    for name in _QUIET:
        if name in values:
            run.not_read.append("--" + name)
            del values[name]
    values["seq-length"] = length


def _whole(values: Mapping[str, Any], name: str, otherwise: int = 0) -> int:
    text = str(values.get(name, otherwise))
    if not text.isdigit() or int(text) == 0:
        raise Unreadable(f"--{name} is no number from 1 on: {text}", flag=name)
    return int(text)


def _towers(values: dict[str, Any]) -> list[dict[str, Any]]:
    kind = str(values.pop("vision-model-type", "clip"))
    decoder = str(values.pop(SIGN))
    if kind not in _TOWERS:
        raise Unreadable(
            f"--vision-model-type {kind}: its layers are not counted here",
            flag="vision-model-type",
        )
    if decoder not in _PROJECTIONS:
        raise Unreadable(
            f"--{SIGN} {decoder}: what leads to it is not counted here", flag=SIGN
        )
    images = _sizes(values, kind)
    inputs = _whole(values, "max-num-tiles", 1) + ("use-thumbnail" in values)
    inputs = max(inputs, _whole(values, "num-frames", 1))
    for name in ("max-num-tiles", "num-frames"):
        values.pop(name, None)
    is_recomputed = values.pop("recompute-vision", None)
    rows, inside = images.patches, images.hidden
    if not values.pop("disable-vision-class-token", None):
        rows += images.tokens
    if values.pop("pixel-shuffle", None):
        inside, rows = 4 * inside, rows // 4
    tower = tower_of_images(images, "vision_tower")
    tower.update(inputs=inputs, keeps_all=not is_recomputed)
    return [tower, _projection(values, decoder, inside, rows, inputs)]


def _sizes(values: dict[str, Any], kind: str) -> Images:
    side = _whole(values, "patch-dim")
    images = replace(
        _TOWERS[kind],
        patch=side,
        height=_whole(values, "img-h"),
        breadth=_whole(values, "img-w"),
    )
    for name in ("patch-dim", "img-h", "img-w"):
        del values[name]
    tokens = values.pop("class-token-len", None)
    if kind == "internvit":
        # Heads are added until they divide tensor ranks; they are as wide as the
        # decoder's.
        ranks = _whole(values, "tensor-model-parallel-size", 1)
        head = _whole(values, "hidden-size") // _whole(values, "num-attention-heads")
        return replace(
            images,
            heads=(24 // ranks + 1) * ranks,
            head=_whole(values, "kv-channels", head),
        )
    if kind in _RADIO:
        largest, rows = _RADIO[kind]
        if tokens is not None:
            images = replace(images, tokens=int(tokens))
        if values.get("fp8-format") or values.pop("use-vision-backbone-fp8-arch", None):
            is_mx = values.get("fp8-recipe") == "mxfp8"
            images = replace(images, tokens=32 if is_mx else 16)
        rows += images.tokens + (largest // side) ** 2
        return replace(images, rows=rows)
    return images


def _projection(
    values: dict[str, Any], decoder: str, inside: int, rows: int, inputs: int
) -> dict[str, Any]:
    width, norm, has_biases = _PROJECTIONS[decoder]
    hidden = _whole(values, "hidden-size")
    norm = norm or str(values.get("normalization", "LayerNorm"))
    of_norm = {"None": 0, "RMSNorm": inside}.get(norm, 2 * inside)
    products = [
        {"rows": rows, "inner": inside, "columns": width},
        {"rows": rows, "inner": width, "columns": hidden},
    ]
    biases = width + hidden
    if values.pop("vision-projection-type", "mlp") == "affine":
        products, biases = [{"rows": rows, "inner": inside, "columns": hidden}], hidden
    return {
        "name": "vision_projection",
        "tokens": rows,
        "inputs": inputs,
        "continues": True,
        "beside": of_norm + (biases if has_biases else 0),
        "products": products,
    }
