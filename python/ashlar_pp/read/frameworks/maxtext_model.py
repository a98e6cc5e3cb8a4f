"""A decoder of MaxText, by the sizes of a configuration and the layers of its code."""

from __future__ import annotations

from typing import Any

from ..readers import in_words
from ..run_file import Unreadable
from ..values import Values

# Layers with one norm before attention and one before the feed-forward part.
DENSE = ("default", "llama2", "mistral", "gemma", "qwen2", "qwen3")
ROUTED = ("mixtral", "qwen3_moe", "deepseek")
# Values that leave the layers as they are, by key; others make other layers.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "global_parameter_scale": (1,),
    "attention_output_dim": (-1,),
    "global_head_dim": (0,),
    "share_kv_projections": (False,),
    "sliding_window_size": (0,),
    "chunk_attn_window_size": (0,),
    "attention_sink": (False,),
    "qk_norm_with_scale": (True,),
    "moba": (False,),
    "use_indexer": (False,),
    "use_post_attn_norm": (False,),
    "use_post_ffw_norm": (False,),
    "mlp_bias": (False,),
    "mtp_num_layers": (0,),
    "mhc_expansion_rate": (1,),
    "engram_layers": ([],),
    "interleave_moe_layer_step": (1,),
    "inhomogeneous_layer_cycle_interval": (1,),
    "num_kv_shared_layers": (0,),
    "hidden_size_per_layer_input": (0,),
    "trainable_position_size": (-1,),
    "use_untrainable_positional_embedding": (False,),
    "o_lora_rank": (0,),
    "compress_ratios": ([],),
    "moe_expert_input_dim": (-1,),
    "first_num_hash_layers": (0,),
    "weight_sparsity_n": (None,),
    "use_multimodal": (False,),
    "use_audio": (False,),
}


def architecture_of(v: Values, passes_all: bool) -> dict[str, Any]:
    """`passes_all`: each token goes through all experts. Raises Unreadable."""
    block = v.word("decoder_block", default="llama2")
    if block not in (*DENSE, *ROUTED):
        raise Unreadable(
            f"{v.where}: decoder_block {block}: its layers are not known, but those "
            f"of {in_words((*DENSE, *ROUTED))}; describe the run to ashlar predict by "
            "its options"
        )
    for key, plain in _PLAIN.items():
        said = v.get(key)
        if said is not None and said != "None" and said not in plain:
            raise Unreadable(f"{v.where}: {key} {said}: such layers are not known here")
    hidden = v.number("base_emb_dim", default=2048)
    experts = v.number("num_experts", default=1)
    if (experts > 1) != (block in ROUTED):
        raise Unreadable(f"{v.where}: num_experts {experts} in layers of {block}")
    count = v.number("base_num_decoder_layers", default=16)
    dense = v.number("first_num_dense_layers", default=0) if block == "deepseek" else 0
    mix = _compressed(v, hidden) if block == "deepseek" else _attention(v, block)
    kinds = [{"mix": mix, "feed": _dense(v, hidden)}]
    if block in ROUTED:
        kinds.append({"mix": mix, "feed": _experts(v, block, passes_all)})
    return {
        "hidden": hidden,
        "vocabulary": v.number("vocab_size", default=32000),
        "is_tied": v.flag("logits_via_embedding"),
        "beside": hidden,  # the last norm
        "kinds": kinds if dense or block not in ROUTED else kinds[1:],
        "layers": [int(dense > 0 and at >= dense) for at in range(count)],
    }


def _attention(v: Values, block: str) -> dict[str, Any]:
    """layers/attentions.py: biases of queries, keys and values, and of the result but
    in Qwen 2; norms of a head's queries and keys."""
    if v.word("attention_type", default="global") != "global":
        raise Unreadable(f"{v.where}: attention_type of {block} is not global")
    heads = v.number("base_num_query_heads", default=16)
    groups = v.number("base_num_kv_heads", default=16)
    hidden, head = (
        v.number("base_emb_dim", default=2048),
        v.number("head_dim", default=128),
    )
    beside = hidden
    if v.flag("attention_bias"):
        beside += (heads + 2 * groups) * head + (0 if block == "qwen2" else hidden)
    if v.flag("use_qk_norm"):
        beside += 2 * head
    return {
        "kind": "attention",
        "heads": heads,
        "groups": groups,
        "head": head,
        "beside": beside,
    }


def _compressed(v: Values, hidden: int) -> dict[str, Any]:
    """layers/attention_mla.py: a norm of each rank."""
    if v.word("attention_type", default="global") != "mla":
        raise Unreadable(f"{v.where}: attention_type of deepseek is not mla")
    if v.flag("attention_bias"):
        raise Unreadable(f"{v.where}: attention_bias beside attention_type mla")
    q_rank = v.number("q_lora_rank", default=0)
    kv_rank = v.number("kv_lora_rank", default=512)
    for key in ("base_num_kv_heads", "head_dim", "use_qk_norm"):
        v.get(key)  # of other kinds of attention
    return {
        "kind": "compressed",
        "heads": v.number("base_num_query_heads", default=16),
        "q_rank": q_rank,
        "kv_rank": kv_rank,
        "nope": v.number("qk_nope_head_dim", default=128),
        "rope": v.number("qk_rope_head_dim", default=64),
        "value_head": v.number("v_head_dim", default=128),
        "beside": hidden + q_rank + kv_rank,
    }


def _is_gated(v: Values) -> bool:
    said = v.get("mlp_activations") or ["silu", "linear"]
    if not isinstance(said, list) or len(said) not in (1, 2):
        raise Unreadable(f"{v.where}: mlp_activations {said} is not known here")
    return len(said) == 2


def _dense(v: Values, hidden: int) -> dict[str, Any]:
    return {
        "kind": "dense",
        "is_gated": _is_gated(v),
        "width": v.number("base_mlp_dim", default=7168),
        "beside": hidden,
    }


def _experts(v: Values, block: str, passes_all: bool) -> dict[str, Any]:
    """layers/moe.py: a router, with a bias of each expert where routed_bias says so,
    and experts that are one wide matrix for all tokens."""
    width, expert_width = (v.number(k) for k in ("base_mlp_dim", "base_moe_mlp_dim"))
    if block == "mixtral" and expert_width != width:  # MaxText stops
        raise Unreadable(f"{v.where}: base_moe_mlp_dim is not base_mlp_dim")
    experts, hidden = v.number("num_experts"), v.number("base_emb_dim", default=2048)
    chosen = v.number("num_experts_per_tok", default=1)
    made = {
        "kind": "experts",
        "is_gated": _is_gated(v),
        "experts": experts,
        "chosen": experts if passes_all else chosen,
        "expert_width": expert_width,
        "beside": hidden + (experts if v.flag("routed_bias") else 0),
    }
    shared = v.number("shared_experts", default=0) if block == "deepseek" else 0
    if shared:
        made["shared_width"] = shared * expert_width
    return made
