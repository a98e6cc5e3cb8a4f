"""Megatron-LM's examples/mimo: Vicuna with towers of transformers, as train.py builds
them (model_providers/llava_vlm.py, llava_avlm.py)."""

from __future__ import annotations

from typing import Any

from ..facts.images import CLIP, tower_of_images
from ..run_file import Run, Unreadable

SIGN = "model-provider"

# By configs/llava_vlm.py, whatever the words of the command say of sizes.
_VICUNA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "vocab_size": 32256,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
_NOT_READ = """
    num-layers hidden-size ffn-hidden-size num-attention-heads num-query-groups
    group-query-attention max-position-embeddings position-embedding-type
    encoder-seq-length seq-length vocab-size tokenizer-type tokenizer-model
    dataset-provider audio-encoder-model hf-assign-unused-tokens image-token-id
    language-model-checkpoint image-size image-seq-length pad-token-id swiglu
    normalization disable-bias-linear untie-embeddings-and-output-weights rotary-base
    rotary-percent auto-detect-ckpt-format
""".split()
_WIDTH = 4096  # of Vicuna, and between a projection's matrices


def read_mimo(values: dict[str, Any], run: Run) -> None:
    """Puts the decoder, its towers and what is frozen. Raises Unreadable."""
    if SIGN not in values:
        return
    kind = str(values.pop(SIGN))
    if any(name.startswith(("encoder-tp", "llm-")) for name in values):
        raise Unreadable(
            "--encoder-tp, --llm-tp: the tower and the decoder are on devices of their "
            "own, and each is predicted on the same ones here"
        )
    if kind not in ("llava_vlm", "llava_avlm"):
        raise Unreadable(
            f"--{SIGN} {kind}: at which model_provider of train.py stops; it knows "
            "llava_vlm and llava_avlm",
            flag=SIGN,
        )
    if str(values.get("pipeline-model-parallel-size", "1")) != "1":
        raise Unreadable(
            "--pipeline-model-parallel-size: train.py of examples/mimo stops",
            flag="pipeline-model-parallel-size",
        )
    if values.pop("packing-buffer-size", None):
        raise Unreadable(
            "--packing-buffer-size: how many images a packed sequence has, its data say"
        )
    eye = tower_of_images(CLIP["openai/clip-vit-large-patch14-336"], "vision_tower")
    patches = int(eye["tokens"]) - 1
    run.towers = [_whole(eye), _projection("vision_projection", patches, eye["hidden"])]
    if kind == "llava_avlm":
        ear = _whisper()
        run.towers += [
            _whole(ear),
            _projection("audio_projection", int(ear["tokens"]), ear["hidden"]),
        ]
    frozen = [one["name"] for one in run.towers if "hidden" in one]
    run.program["freeze"] = ",".join([*frozen, "embedding", "head", "layers"])
    run.model = dict(_VICUNA)
    run.notes.append("sizes are those of the code, and not of the command")
    length = values.pop("total-seq-length", None)
    for name in _NOT_READ:
        if name in values:
            run.not_read.append("--" + name)
            del values[name]
    if length is not None and kind == "llava_vlm":
        values["seq-length"] = length


def _whole(tower: dict[str, Any]) -> dict[str, Any]:
    """A module of transformers, which tensor ranks do not divide."""
    return {**tower, "is_undivided": True}


def _projection(name: str, rows: int, width: int) -> dict[str, Any]:
    product = {"rows": rows, "columns": _WIDTH, "has_bias": True}
    return {
        "name": name,
        "tokens": rows,
        "continues": True,
        "products": [{**product, "inner": width}, {**product, "inner": _WIDTH}],
    }


def _whisper() -> dict[str, Any]:
    """The encoder of openai/whisper-base: half a minute of sound, keys without biases,
    a norm before each part and after all."""
    hidden, layers, frames, bands = 512, 6, 3000, 80
    tokens = frames // 2
    convolutions = [
        {"rows": frames, "inner": 3 * bands},
        {"rows": tokens, "inner": 3 * hidden},
    ]
    return {
        "name": "audio_tower",
        "hidden": hidden,
        "tokens": tokens,
        "beside": (tokens + 2) * hidden,
        "kinds": [
            {
                "mix": {
                    "kind": "attention",
                    "sees_all": True,
                    "heads": 8,
                    "groups": 8,
                    "head": 64,
                    "beside": (3 + 2) * hidden,
                },
                "feed": {"kind": "dense", "width": 2048, "beside": 2048 + 3 * hidden},
            }
        ],
        "layers": [0] * layers,
        "products": [
            {**one, "columns": hidden, "has_bias": True, "is_ahead": True}
            for one in convolutions
        ],
    }
