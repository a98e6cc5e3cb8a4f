"""Configurations of OLMo's own trainer (allenai/OLMo), a YAML."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import refuse_other
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out

READS = "OLMo"

_QUIET = """
    run_name seed dry_run wandb. optimizer. scheduler. tokenizer. save_ remote_ load_
    max_duration max_grad_norm speed_monitor gen1_gc eval_ device_eval evaluators data.
    canceled_check restore_ no_pre_train_checkpoint epoch stop_at reset_ time_limit
    python_profiling torch_profiling console_log model.*init model.init_ model.eos
    model.pad model.rope_theta model.layer_norm_eps model.flash_attention
    softmax_auxiliary auxiliary_loss sharded_checkpointer early_stopping module_outputs
    ddp. single. data_ hf_ extra_ force_save persistent_ new_style try_load
    model.residual_dropout model.embedding_dropout model.attention_dropout
    model.rope_full model.precision model.scale_ model.clip_qkv token_ fsdp.precision
    model.attention_layer_norm_with model.layer_norm_with model.max_sequence_length
    model.bias_for_layer_norm fused_loss save_data_indices instance_filter
""".split()
_SHARDINGS = {
    "FULL_SHARD": "full",
    "SHARD_GRAD_OP": "gradients",
    "NO_SHARD": "none",
}
# Within a node, where no number of replicas is said (scripts/train.py).
_IN_NODE = {"HYBRID_SHARD": "full", "_HYBRID_SHARD_ZERO2": "gradients"}
# Blocks that are run again (should_checkpoint_block of olmo/model.py).
_RECOMPUTED = {
    "whole_layer": "full",
    "one_in_two": "full:2n",
    "one_in_three": "full:3n",
    "one_in_four": "full:4n",
    "one_in_eight": "full:8n",
    "two_in_three": "full:3n+1,3n+2",
    "three_in_four": "full:4n+1,4n+2,4n+3",
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model = tree.get("model")
    if not isinstance(model, Mapping) or "device_train_microbatch_size" not in tree:
        return False
    return {"d_model", "n_layers"} <= set(model) and "name" not in model


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    run = Run(model=_model(v, path))
    run.batch = {
        "sequence": v.number("model.max_sequence_length"),
        "sequences": v.number("global_train_batch_size"),
        "micro_batch": v.number("device_train_microbatch_size"),
    }
    refuse_other(v, "optimizer.name", ("adamw",))
    strategy = v.word(
        "distributed_strategy", default="fsdp" if v.section("fsdp") else ""
    )
    if strategy in ("ddp", "single"):
        run.layout["sharding"] = "none"
    elif strategy == "fsdp":
        kind = v.word("fsdp.sharding_strategy", default="FULL_SHARD")
        copies = v.number("fsdp.hybrid_sharding_num_model_replicas", default=0)
        run.is_in_node = kind in _IN_NODE and not copies
        run.copies = copies if kind in _IN_NODE else 0
        if {**_SHARDINGS, **_IN_NODE}.get(kind) is None:
            raise Unreadable(
                f"{path}: fsdp.sharding_strategy {kind}: say the ranks that share to "
                "ashlar predict by --sharding full --shard-ranks N"
            )
        run.layout["sharding"] = {**_SHARDINGS, **_IN_NODE}[kind]
    else:
        raise Unreadable(f"{path}: distributed_strategy {strategy!r} is not known here")
    v.asked.update(("fsdp.wrapping_strategy", "fsdp.use_orig_params"))
    kept = v.get("activation_checkpointing")
    if kept in _RECOMPUTED:
        run.layout["recompute"] = _RECOMPUTED[kept]
    elif kept not in (None, False):
        raise Unreadable(
            f"{path}: activation_checkpointing {kept} recomputes parts of layers: say "
            "them to ashlar predict by --recompute"
        )
    precision = v.word("precision", default="amp_bf16")
    kinds = {"amp_bf16": "bf16", "amp_fp16": "fp16", "fp32": "fp32"}
    if precision not in kinds:
        raise Unreadable(f"{path}: precision {precision!r} is not predicted")
    run.program["precision"] = kinds[precision]
    v.asked.update(k for k in v.all if k.startswith("compile"))
    run.not_read, run.unknown = sorted_out(v.rest(), _QUIET)
    return run


def _model(v: Values, path: pathlib.Path) -> Mapping[str, Any]:
    """The type of transformers with the same layers."""
    m = "model."
    if v.flag(m + "alibi") or v.word(m + "block_type", default="sequential") != (
        "sequential"
    ):
        raise Unreadable(f"{path}: alibi and block_type: another model, not predicted")
    if v.flag(m + "include_bias", default=True):
        raise Unreadable(
            f"{path}: model.include_bias: biases are of no type known here"
        )
    activation = v.word(m + "activation_type", default="swiglu")
    if activation != "swiglu":
        raise Unreadable(f"{path}: model.activation_type {activation} is not predicted")
    hidden = v.number(m + "d_model")
    # Both halves of the gate's input (OLMoSequentialBlock).
    width = v.number(
        m + "mlp_hidden_size", default=v.number(m + "mlp_ratio", default=4) * hidden
    )
    heads = v.number(m + "n_heads")
    groups = v.number(
        m + "n_kv_heads",
        default=1 if v.flag(m + "multi_query_attention") else heads,
    )
    is_second = v.flag(m + "norm_after")
    norms = v.word(m + "layer_norm_type", default="default")
    if is_second != v.flag(m + "attention_layer_norm") or (
        is_second and norms != "rms"
    ):
        raise Unreadable(f"{path}: its norms are those of neither OLMo nor OLMo 2")
    words = v.number(m + "vocab_size", default=50257)
    v.flag(m + "rope")
    v.flag(m + "layer_norm_with_affine")
    return {
        "model_type": "olmo2" if is_second else "olmo",
        "hidden_size": hidden,
        "num_hidden_layers": v.number(m + "n_layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "intermediate_size": width // 2,
        "vocab_size": v.number(m + "embedding_size", default=words),
        "tie_word_embeddings": v.flag(m + "weight_tying", default=True),
    }
