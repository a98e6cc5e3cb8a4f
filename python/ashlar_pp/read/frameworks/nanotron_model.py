"""Models of nanotron that no type of transformers has, as its code sizes them. Keys
below a section have its name and a dot in front."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Keys = Mapping[str, Any]


def qwen2(model: Keys, words: int) -> dict[str, Any]:
    """src/nanotron/models/qwen.py and nn/moe.py."""
    experts = _below("moe_config.", model)
    count = int(model["num_hidden_layers"])
    routed = experts.get("layers") or [-1]
    of_experts = range(count) if routed == [-1] else routed
    positions = int(model.get("no_rope_layer") or 0)
    layers = []
    for at in range(count):
        mix = _attention(model)
        # Layers without rotations see all tokens.
        sees_all = positions > 0 and (at + 1) % positions == 0
        if model.get("sliding_window_size") and not sees_all:
            mix["window"] = model["sliding_window_size"]
        is_routed = bool(experts) and at in of_experts
        feed = _experts(model, experts) if is_routed else _dense(model)
        layers.append({"mix": mix, "feed": feed})
    return _decoder(int(model["hidden_size"]), words, layers, _is_tied(model))


def llamoe(model: Keys, words: int) -> dict[str, Any]:
    """examples/moe."""
    feed = {
        "kind": "experts",
        "experts": model.get("moe_num_experts", 1),
        "chosen": model.get("num_experts_per_tok", 1),
        "expert_width": model["intermediate_size"],
        "beside": model["hidden_size"],
    }
    layer = {"mix": _attention(model), "feed": feed}
    layers = [layer] * int(model["num_hidden_layers"])
    return _decoder(int(model["hidden_size"]), words, layers, _is_tied(model))


def mamba(model: Keys, words: int) -> dict[str, Any]:
    """examples/mamba."""
    own = _below("ssm_cfg.", model)
    hidden = int(model["d_model"])
    inner = int(own.get("expand", 2) * hidden)
    state = int(own.get("d_state", 16))
    rank = own.get("dt_rank", "auto")
    norm = hidden * (1 if model.get("rms_norm", True) else 2)
    convolved = inner * (own.get("d_conv", 4) + int(own.get("conv_bias", True)))
    mix = {
        "kind": "state_space",
        "inner": inner,
        "keys": state,
        "rank": math.ceil(hidden / 16) if rank == "auto" else int(rank),
        # Steps have biases; decays and a skip are of each channel.
        "beside": norm + convolved + inner + inner * state + inner,
    }
    layers = [{"mix": mix}] * int(model["num_hidden_layers"])
    return _decoder(hidden, words, layers, is_tied=False)


def _decoder(
    hidden: int, words: int, layers: list[dict[str, Any]], is_tied: bool
) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = []
    for layer in layers:
        if layer not in kinds:
            kinds.append(layer)
    return {
        "hidden": hidden,
        "vocabulary": words,
        "is_tied": is_tied,
        "beside": hidden,  # the last norm
        "kinds": kinds,
        "layers": [kinds.index(layer) for layer in layers],
    }


def _below(section: str, model: Keys) -> dict[str, Any]:
    begin = len(section)
    return {key[begin:]: v for key, v in model.items() if key.startswith(section)}


def _is_tied(model: Keys) -> bool:
    return bool(model.get("tie_word_embeddings"))


def _attention(model: Keys) -> dict[str, Any]:
    hidden, heads = int(model["hidden_size"]), int(model["num_attention_heads"])
    groups = int(model.get("num_key_value_heads") or heads)
    head = hidden // heads
    bias = (heads + 2 * groups) * head if model.get("attention_bias") else 0
    return {
        "kind": "attention",
        "heads": heads,
        "groups": groups,
        "head": head,
        "beside": hidden + bias,
    }


def _dense(model: Keys) -> dict[str, Any]:
    return {
        "kind": "dense",
        "is_gated": True,
        "width": model["intermediate_size"],
        "beside": model["hidden_size"],
    }


def _experts(model: Keys, own: Keys) -> dict[str, Any]:
    shares = bool(own.get("enable_shared_expert"))
    gate = int(model["hidden_size"]) if shares else 0
    made = {
        "kind": "experts",
        "is_gated": True,
        "experts": own.get("num_experts", 8),
        "chosen": own.get("top_k", 2),
        "expert_width": own.get("moe_intermediate_size", 1408),
        "beside": int(model["hidden_size"]) + gate,
    }
    if shares:
        made["shared_width"] = own.get("shared_expert_intermediate_size", 5632)
    return made


TYPES = {
    "is_qwen2_config": qwen2,
    "is_llamoe_config": llamoe,
    "is_mamba_config": mamba,
}
