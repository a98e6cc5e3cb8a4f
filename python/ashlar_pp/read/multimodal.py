"""Megatron-LM's examples/multimodal: a tower of images and two matrices before a
decoder, by its config.py, model.py and megatron/core/models/vision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .run_file import Run, Unreadable

SIGN = "language-model-type"

# Layers, width, heads, width of the feed-forward part, tokens of the class.
_TOWERS = {
    "clip": (24, 1024, 16, 4096, 1),
    "siglip": (27, 1152, 16, 4304, 0),
    "internvit300M": (24, 1024, 16, 4096, 1),
}
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
        if values.get(name):
            raise Unreadable(f"--{name}: no such tower is counted", flag=name)
    if _whole(values, "pipeline-model-parallel-size", 1) > 1:
        raise Unreadable(
            "--pipeline-model-parallel-size: nothing says here which stages have the "
            "tower",
            flag="pipeline-model-parallel-size",
        )
    if "decoder-seq-length" not in values:
        raise Unreadable("--decoder-seq-length, which says the decoder's tokens")
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
    layers, hidden, heads, width, tokens = _TOWERS[kind]
    side = _whole(values, "patch-dim")
    patches = (_whole(values, "img-h") // side) * (_whole(values, "img-w") // side)
    for name in ("patch-dim", "img-h", "img-w"):
        del values[name]
    all_rows = patches + tokens
    inputs = _whole(values, "max-num-tiles", 1) + ("use-thumbnail" in values)
    inputs = max(inputs, _whole(values, "num-frames", 1))
    for name in ("max-num-tiles", "num-frames"):
        values.pop(name, None)
    is_recomputed = values.pop("recompute-vision", None)
    kept = patches if values.pop("disable-vision-class-token", None) else all_rows
    inside, rows = hidden, kept
    if values.pop("pixel-shuffle", None):
        inside, rows = 4 * hidden, kept // 4
    norms = 0 if kind == "internvit300M" else 2 * hidden
    tower = {
        "name": "vision_tower",
        "hidden": hidden,
        "tokens": all_rows,
        "inputs": inputs,
        "keeps_all": not is_recomputed,
        "beside": all_rows * hidden
        + tokens * hidden
        + norms
        + (0 if kind == "clip" else hidden),
        "kinds": [_layer(hidden, heads, width)],
        "layers": [0] * layers,
        "products": [
            {
                "rows": patches,
                "inner": 3 * side * side,
                "columns": hidden,
                "is_ahead": True,
            }
        ],
    }
    return [tower, _projection(values, decoder, inside, rows, inputs)]


def _layer(hidden: int, heads: int, width: int) -> dict[str, Any]:
    """With biases, and a norm of weights and biases before each part."""
    attention = {"heads": heads, "groups": heads, "head": hidden // heads}
    return {
        "mix": {
            "kind": "attention",
            "sees_all": True,
            "beside": 2 * hidden + 4 * hidden,
            **attention,
        },
        "feed": {"kind": "dense", "width": width, "beside": 3 * hidden + width},
    }


def _projection(
    values: Mapping[str, Any], decoder: str, inside: int, rows: int, inputs: int
) -> dict[str, Any]:
    width, norm, has_biases = _PROJECTIONS[decoder]
    hidden = _whole(values, "hidden-size")
    norm = norm or str(values.get("normalization", "LayerNorm"))
    of_norm = {"None": 0, "RMSNorm": inside}.get(norm, 2 * inside)
    return {
        "name": "vision_projection",
        "tokens": rows,
        "inputs": inputs,
        "continues": True,
        "beside": of_norm + (width + hidden if has_biases else 0),
        "products": [
            {"rows": rows, "inner": inside, "columns": width},
            {"rows": rows, "inner": width, "columns": hidden},
        ],
    }
