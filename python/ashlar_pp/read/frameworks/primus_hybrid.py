"""Primus's stack of Mamba, latent attention and feed-forward layers, in the place of
Megatron-LM's: backends/megatron/core/models/hybrid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable

# The stacks whose recurrent layers are Mamba's, and how much wider than the hidden
# size these are.
_STACKS = {"hybrid_stack_spec": 1, "mamba_hybrid_stack_spec_no_te": 2}
_OWN = ("spec", "hybrid_attention_ratio", "hybrid_mlp_ratio", "is_hybrid_model")
_PATTERNS = ("hybrid_override_pattern", "hybrid_layer_pattern")
_WIDTH = 4  # of the convolution


def spec_of(fields: Mapping[str, Any]) -> str:
    """The name of the stack; empty where Megatron-LM's own function makes layers."""
    spec = fields.get("spec") or ""
    words = str(spec).split() if isinstance(spec, str) else [str(one) for one in spec]
    is_own = bool(words) and ".models.hybrid." in words[0]
    return words[-1] if is_own else ""


def without_layers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The other fields, which Megatron-LM reads as always."""
    return {k: v for k, v in fields.items() if k not in (*_OWN, *_PATTERNS)}


def architecture_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The decoder of a stack, without its vocabulary.

    Raises Unreadable for layers of another kind.
    """
    name = spec_of(fields)
    if name not in _STACKS or not fields.get("multi_latent_attention"):
        raise Unreadable(
            f"spec {name}: of Primus's stacks those of Mamba and latent attention are "
            "counted; delta networks of its own are not: say --model"
        )
    kinds = [_attention(fields), _mamba(fields, _STACKS[name]), _dense(fields)]
    is_tied = not fields.get("untie_embeddings_and_output_weights")
    return {
        "hidden": int(fields["hidden_size"]),
        "is_tied": is_tied,
        "beside": _norm(fields),
        "kinds": kinds,
        "layers": ["*M-".index(letter) for letter in _letters(fields)],
    }


def _letters(fields: Mapping[str, Any]) -> str:
    """One letter a layer, as HybridStack.allocate_layers deals them."""
    for name in _PATTERNS:
        if fields.get(name):
            pattern = str(fields[name])
            if set(pattern) <= set("*M-"):
                return pattern
            raise Unreadable(f"{name} {pattern}: layers of *, M and - alone are read")
    pairs = int(fields["num_layers"]) // 2
    ratio = float(fields.get("hybrid_attention_ratio") or 0)
    attend = int(pairs * ratio)
    scan = pairs - attend
    if attend == 0:
        return "M-" * pairs
    if ratio <= 0.5:
        between = scan // attend
        return ("*-" + "M-" * between) * attend + "M-" * (scan % attend)
    return "*-" * (attend - scan) + "*-M-" * scan


def _norm(fields: Mapping[str, Any]) -> int:
    size = int(fields["hidden_size"])
    return size if fields.get("normalization") == "RMSNorm" else 2 * size


def _mamba(fields: Mapping[str, Any], expand: int) -> dict[str, Any]:
    head = int(fields.get("mamba_head_dim") or 64)
    inner = expand * int(fields["hidden_size"])
    if fields.get("mamba_num_heads"):
        inner = int(fields["mamba_num_heads"]) * head
    groups = int(fields.get("mamba_num_groups") or 8)
    keys = groups * int(fields.get("mamba_state_dim") or 128)
    heads = inner // head
    # A convolution with biases, a norm, and of each head a step, a decay and a skip.
    beside = (inner + 2 * keys) * (_WIDTH + 1) + inner + 3 * heads
    return {
        "mix": {
            "kind": "state_space",
            "inner": inner,
            "keys": keys,
            "steps": heads,
            "beside": _norm(fields) + beside,
        }
    }


def _attention(fields: Mapping[str, Any]) -> dict[str, Any]:
    mix: dict[str, Any] = {
        "kind": "compressed",
        "heads": int(fields["num_attention_heads"]),
        "q_rank": int(fields.get("q_lora_rank") or 0),
        "kv_rank": int(fields.get("kv_lora_rank") or 512),
        "nope": int(fields.get("qk_head_dim") or 128),
        "rope": int(fields.get("qk_pos_emb_head_dim") or 64),
        "value_head": int(fields.get("v_head_dim") or 128),
    }
    # Each rank has a norm of its own, and one that is fused with the next product.
    fused = 2 if "no_te" not in spec_of(fields) else 1
    ranks = (mix["q_rank"] + mix["kv_rank"]) * _norm(fields) // fields["hidden_size"]
    return {"mix": {**mix, "beside": _norm(fields) + fused * ranks}}


def _dense(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "feed": {
            "kind": "dense",
            "is_gated": bool(fields.get("swiglu")),
            "width": int(fields["ffn_hidden_size"]),
            "beside": _norm(fields),
        }
    }
