"""A model of torchtitan's registry, by the sizes of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable


def model_of(spec: Any) -> Mapping[str, Any]:
    """The keys of a model in a run, by `model_spec.model` of a job as nested values.

    Raises Unreadable for layers of another kind.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("layers"), list):
        raise Unreadable("the model of this configuration has no list of layers")
    hidden = int(spec["dim"])
    kinds: list[dict[str, Any]] = []
    order: list[int] = []
    for layer in spec["layers"]:
        made = _layer(layer, hidden)
        if made not in kinds:
            kinds.append(made)
        order.append(kinds.index(made))
    for part in ("vision_encoder", "vision", "image_encoder"):
        if spec.get(part):
            raise Unreadable(f"the model has {part} beside its decoder")
    architecture = {
        "hidden": hidden,
        "vocabulary": int(spec["vocab_size"]),
        "is_tied": bool(spec.get("enable_weight_tying")),
        "beside": _norm(spec.get("norm")),
        "kinds": kinds,
        "layers": order,
    }
    return {"architecture": architecture}


def _layer(layer: Mapping[str, Any], hidden: int) -> dict[str, Any]:
    dense, routed = layer.get("feed_forward"), layer.get("moe")
    attention = layer.get("attention")
    if not isinstance(attention, Mapping) or (dense is None) == (routed is None):
        raise Unreadable("its layers are no attention with one feed-forward part")
    mix = _compressed(attention) if "kv_lora_rank" in attention else _heads(attention)
    mix["beside"] += _norm(layer.get("attention_norm"))
    feed = _dense(dense) if dense is not None else _experts(routed, hidden)
    feed["beside"] += _norm(layer.get("ffn_norm"))
    return {"mix": mix, "feed": feed}


def _heads(a: Mapping[str, Any]) -> dict[str, Any]:
    qkv = a.get("qkv_linear") or {}
    if "head_dim" not in qkv or "n_heads" not in a:
        raise Unreadable("its attention has other projections than queries and keys")
    known = {"n_heads", "inner_attention", "dim", "qkv_linear", "wo", "qk_norm", "rope"}
    known |= {"n_kv_heads", "head_dim", "sliding_window_size", "mask_mod_fn", "q_norm"}
    known |= {"param_init", "sharding_config", "k_norm", "attn_type", "attn_mask_type"}
    known |= {"use_rope", "n_sinks", "sinks"}
    for key in set(a) - known:
        if a[key]:
            raise Unreadable(f"its attention has {key}, which is not known here")
    heads = int(a["n_heads"])
    groups = int(qkv.get("n_kv_heads") or a.get("n_kv_heads") or heads)
    head = int(qkv["head_dim"])
    beside = _biases(qkv, a.get("wo"))
    for norm in ("qk_norm", "q_norm", "k_norm"):
        beside += (2 if norm == "qk_norm" else 1) * _norm(a.get(norm))
    if "sliding_window_size" in a:  # of gpt-oss, whose heads have a sink each
        beside += heads
    window = a.get("sliding_window_size") or 0
    return {
        "kind": "attention",
        "heads": heads,
        "groups": groups,
        "head": head,
        "window": int(window),
        "beside": beside,
    }


def _compressed(a: Mapping[str, Any]) -> dict[str, Any]:
    rank = int(a.get("q_lora_rank") or 0)
    beside = _norm(a.get("kv_norm")) + (_norm(a.get("q_norm")) if rank else 0)
    return {
        "kind": "compressed",
        "heads": int(a["n_heads"]),
        "q_rank": rank,
        "kv_rank": int(a["kv_lora_rank"]),
        "nope": int(a["qk_nope_head_dim"]),
        "rope": int(a["qk_rope_head_dim"]),
        "value_head": int(a["v_head_dim"]),
        "beside": beside,
    }


def _dense(f: Mapping[str, Any]) -> dict[str, Any]:
    width = int((f.get("w1") or f.get("w13") or {})["out_features"])
    if "w13" in f and f["w13"]:
        width //= 2
    return {"kind": "dense", "width": width, "is_gated": True, "beside": _biases(f)}


def _experts(m: Any, hidden: int) -> dict[str, Any]:
    inner = m["routed_experts"]["inner_experts"]
    router = m["router"]
    shared = m.get("shared_experts")
    experts, width = int(m["num_experts"]), int(inner["hidden_dim"])
    clamped = "swiglu_limit" in inner  # gpt-oss: both products have biases
    made = {
        "kind": "experts",
        "experts": experts,
        "chosen": int(router["top_k"]),
        "expert_width": width,
        "shared_width": _dense(shared)["width"] if shared else 0,
        "groups": int(router.get("num_expert_groups") or 0),
        "chosen_groups": int(router.get("num_limited_groups") or 0),
        "is_gated": True,
        "is_clamped": clamped,
        "beside": _biases(router),
        "beside_expert": 2 * width + hidden if clamped else 0,
    }
    return made


def _norm(norm: Any) -> int:
    if not isinstance(norm, Mapping) or not norm.get("elementwise_affine", True):
        return 0
    return int(norm.get("normalized_shape") or 0)


def _biases(*parts: Any) -> int:
    """Of the products in these values."""
    found = 0
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        if part.get("bias") is True and "out_features" in part:
            found += int(part["out_features"])
        found += _biases(*(each for each in part.values() if isinstance(each, Mapping)))
    return found
