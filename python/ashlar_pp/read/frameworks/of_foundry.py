"""Configurations of MosaicML's llm-foundry, a YAML: MPT, and models of transformers."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.local_models import add_local_model
from ..facts.optimizers import refuse_other
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out

READS = "llm-foundry"

_QUIET = """
    variables. run_name tokenizer. train_loader. eval_loader. scheduler. optimizer.
    algorithms. max_duration eval_ seed device_eval progress_bar log_ console_log
    callbacks. loggers. save_ load_ autoresume python_log icl_ model.init model.loss_fn
    dist_timeout global_seed data_ fsdp_config.limit fsdp_config.verbose
    fsdp_config.mixed_precision fsdp_config.activation_checkpointing_reentrant
    fsdp_config.state_dict model.no_bias model.resid model.emb model.attn_config.attn_p
    model.attn_config.rope model.use_auth model.pretrained model.max_seq_len
    model.config_overrides. model.attn_config.attn_impl expandable_segments precision
    model.learned_pos model.attn_config.qk model.attn_config.clip
    fsdp_config.backward_prefetch fsdp_config.forward_prefetch
""".split()
_OVERRIDES = "model.config_overrides."
# They change no parameters, and of them only attn_impl a step.
_NO_SIZES = tuple(
    _OVERRIDES + name
    for name in ("max_seq_len", "attn_config.attn_", "use_cache", "init_")
)
_SHARDINGS = {
    "FULL_SHARD": "full",
    "SHARD_GRAD_OP": "gradients",
    "NO_SHARD": "none",
    "HYBRID_SHARD": "full",
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model = tree.get("model")
    return (
        isinstance(model, Mapping)
        and "name" in model
        and ("device_train_microbatch_size" in tree or "max_duration" in tree)
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    v.follow()
    run = Run()
    run.model = _model(v, path, run)
    run.batch = {
        "sequence": v.number("max_seq_len"),
        "sequences": v.number("global_train_batch_size"),
    }
    micro = v.get("device_train_microbatch_size")
    if micro == "auto":
        run.unknown.append("device_train_microbatch_size auto: taken to be 1")
        run.batch["micro_batch"] = 1
    elif micro is not None:
        run.batch["micro_batch"] = v.number("device_train_microbatch_size")
    refuse_other(v, "optimizer.name", ("decoupled_adamw", "adamw", "adam"))
    kind = v.word("fsdp_config.sharding_strategy", default="FULL_SHARD")
    if not v.section("fsdp_config"):
        kind = "NO_SHARD"
    run.is_in_node = kind == "HYBRID_SHARD"
    meshes = ("fsdp_config.device_mesh", "fsdp_config.process_group")
    if kind not in _SHARDINGS or (run.is_in_node and v.get(*meshes)):
        raise Unreadable(
            f"{path}: fsdp_config.sharding_strategy {kind}: say the ranks that share "
            "to ashlar predict by --sharding full --shard-ranks N"
        )
    run.layout["sharding"] = _SHARDINGS[kind]
    if v.flag("fsdp_config.activation_checkpointing"):
        run.layout["recompute"] = "full"
    if v.flag("fsdp_config.activation_cpu_offload"):
        run.layout["offload_activations"] = "full"
    precision = v.word("precision", default="amp_bf16")
    if "fp8" in precision:
        run.program["precision"] = "fp8"
    else:
        run.program["precision"] = (
            "bf16" if "bf16" in precision else "fp16" if "fp16" in precision else "fp32"
        )
    kernel = v.word("model.attn_config.attn_impl", _OVERRIDES + "attn_config.attn_impl")
    if kernel == "torch":
        run.program["attention"] = "unfused"
    if v.flag("model.use_flash_attention_2"):
        run.program["attention"] = "flash_attention_2"
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _model(v: Values, path: pathlib.Path, run: Run) -> str | Mapping[str, Any] | None:
    name = v.word("model.name")
    if name.startswith("hf_"):
        named = v.word("model.pretrained_model_name_or_path")
        for key in v.all:
            if key.startswith(_OVERRIDES) and not key.startswith(_NO_SIZES):
                raise Unreadable(
                    f"{path}: {key}: another model than its name says; --set "
                    "model.config_overrides=null reads the file without, and --model "
                    "of ashlar predict is a config.json with them"
                )
        add_local_model(run, named, path.parent)
        return run.model
    if name != "mpt_causal_lm":
        raise Unreadable(f"{path}: model.name {name} is not predicted")
    if (
        v.section("model.ffn_config")
        and v.word("model.ffn_config.ffn_type") != "mptmlp"
    ):
        raise Unreadable(f"{path}: model.ffn_config: layers of another kind")
    hidden, heads = v.number("model.d_model"), v.number("model.n_heads")
    kind = v.word("model.attn_config.attn_type", default="multihead_attention")
    groups = {
        "multihead_attention": heads,
        "multiquery_attention": 1,
        "grouped_query_attention": v.number(
            "model.attn_config.kv_n_heads", default=heads
        ),
    }
    if kind not in groups:
        raise Unreadable(f"{path}: model.attn_config.attn_type {kind} is not predicted")
    ratio = v.get("model.expansion_ratio") or 4
    return {
        "hidden_size": hidden,
        "num_hidden_layers": v.number("model.n_layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": groups[kind],
        "intermediate_size": int(float(ratio) * hidden),
        "hidden_act": "gelu",
        "vocab_size": v.number("model.vocab_size"),
        "tie_word_embeddings": v.flag("model.tie_word_embeddings", default=True),
        "max_position_embeddings": v.number("max_seq_len"),
    }
