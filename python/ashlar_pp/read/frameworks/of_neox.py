"""Configurations of GPT-NeoX, a YAML: Megatron-LM's sizes, DeepSpeed's sharding."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import add_optimizer
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from .of_megatron import add_vocabulary

READS = "GPT-NeoX"

_QUIET = """
    optimizer. min_lr lr_ train_iters warmup distributed_backend eval_ log_ steps_per_
    wall_clock gradient_clipping weight_decay hidden_dropout attention_dropout init_
    output_layer_ save load checkpoint_factor data_ split keep_last_n num_workers
    vocab_file merge_file tokenizer_type use_wandb wandb tensorboard hostfile launcher
    seed norm_epsilon layernorm_epsilon rms_norm_epsilon rotary_ fp16. zero_ scaled_
    bias_gelu_fusion bias_dropout_fusion masked_softmax rope_fusion layernorm_fusion
    synchronize_each_layer partition_activations contiguous_checkpointing override_
    extra_save_iters *mmap use_shared_fs attention_softmax_in_fp32 max_position_
    apply_query_key train-data-paths test-data-paths valid-data-paths train_data_
    checkpoint_scale checkpoint_validation pos_emb moe_loss_coeff moe_jitter
    rmsnorm_fusion make_vocab_size finetune
""".split()
_GATES = {"swiglu": "swiglu", "geglu": "geglu"}
_NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    names = {str(key).replace("-", "_") for key in tree}
    return bool(names & {"pipe_parallel_size", "model_parallel_size"}) and (
        bool(names & {"num_layers", "hidden_size"})
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values({str(k).replace("-", "_"): x for k, x in tree.items()}, str(path))
    run = Run(framework="megatron")
    fields: dict[str, Any] = {
        "num_layers": v.number("num_layers"),
        "hidden_size": v.number("hidden_size"),
        "num_attention_heads": v.number("num_attention_heads"),
        "seq_length": v.number("seq_length"),
        "tensor_model_parallel_size": max(
            1, v.number("model_parallel_size", default=1)
        ),
        "pipeline_model_parallel_size": max(
            1, v.number("pipe_parallel_size", default=1)
        ),
        "disable_bias_linear": not v.flag("use_bias_in_attn_linear", default=True),
    }
    _read_layers(v, fields, path)
    _read_experts(v, fields, path)
    for name in ("vocab_file", "merge_file", "tokenizer_type"):
        if v.get(name) is not None:
            fields[name] = v.word(name)
    add_vocabulary(fields, path.parent, run, link="_")
    if "vocab_size" not in fields:
        run.notes.append(
            "the vocabulary is of a file beside this one: --set vocab-size=N says it"
        )
    _read_batch(v, run)
    run.layout["sharding"] = _sharding(v, path)
    precision = v.word("precision", default="")
    named = {"bfloat16": "bf16", "fp16": "fp16", "fp32": "fp32"}.get(precision, "")
    is_fp16 = v.flag("fp16.enabled") or (not precision and v.flag("fp16.fp16"))
    is_bf16 = v.flag("bf16.enabled") or v.word("fp16.type") == "bfloat16"
    run.program["precision"] = named or (
        "bf16" if is_bf16 else "fp16" if is_fp16 else "fp32"
    )
    if v.flag("checkpoint_activations"):
        if v.number("checkpoint_num_layers", default=1) > 1:
            raise Unreadable(
                f"{path}: checkpoint_num_layers above 1 keeps the input of some layers "
                "alone: nothing here counts that"
            )
        run.layout["recompute"] = "full"
    v.get("checkpoint_num_layers")
    if not (named or is_fp16 or is_bf16):
        run.unknown.append("the format of products, which nothing says: fp32")
    if v.flag("use_bnb_optimizer"):
        add_optimizer("adamw_bnb_8bit", run)
    run.arguments = fields
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _read_layers(v: Values, fields: dict[str, Any], path: pathlib.Path) -> None:
    """Norms, gates, positions and attention."""
    norm = v.word("norm", default="layernorm")
    if norm not in _NORMS:
        raise Unreadable(f"{path}: norm {norm!r} is not predicted")
    fields["normalization"] = _NORMS[norm]
    positions = v.word("pos_emb", default="learned")
    fields["position_embedding_type"] = (
        "learned_absolute" if positions == "learned" else "rope"
    )
    fields["max_position_embeddings"] = v.number(
        "max_position_embeddings", default=fields["seq_length"]
    )
    activation = v.word("activation", default="gelu")
    width = v.number("intermediate_size", default=4 * fields["hidden_size"])
    multiple = v.number("mlp_multiple_of", default=1)
    if activation in _GATES:
        # Its gates have two thirds of the width (megatron/model/transformer.py).
        fields[_GATES[activation]] = True
        width = width * 2 // 3 // 2
    elif activation not in ("gelu", "fast_gelu", "silu", "relu"):
        raise Unreadable(f"{path}: activation {activation!r} is not predicted")
    fields["ffn_hidden_size"] = -(-width // multiple) * multiple
    if v.flag("no_weight_tying"):
        fields["untie_embeddings_and_output_weights"] = True
    groups = v.get("num_kv_heads")
    if isinstance(groups, int) and groups != fields["num_attention_heads"]:
        fields["group_query_attention"] = True
        fields["num_query_groups"] = groups
    if v.flag("use_qk_layernorm"):
        fields["qk_layernorm"] = True
    for name in ("use_bias_in_norms", "use_bias_in_mlp", "gpt_j_residual"):
        v.get(name)
    kinds = {
        str(one[0]) for pair in v.get("attention_config") or [] for one in [pair[0]]
    }
    for kind in kinds - {"global", "flash"}:
        raise Unreadable(f"{path}: attention_config {kind}: it makes another model")
    if "flash" in kinds:
        fields["use_flash_attn"] = True
    else:
        fields["attention_backend"] = "unfused"


def _read_experts(v: Values, fields: dict[str, Any], path: pathlib.Path) -> None:
    experts = v.number("moe_num_experts", default=1)
    if experts <= 1:
        return
    often = v.number("moe_expert_interval", default=1)
    fields["num_experts"] = experts
    fields["moe_router_topk"] = v.number("moe_top_k", default=1)
    fields["moe_ffn_hidden_size"] = fields["ffn_hidden_size"]
    fields["expert_model_parallel_size"] = v.number(
        "moe_expert_parallel_size", default=1
    )
    if often > 1:
        if fields["num_layers"] % often:
            raise Unreadable(f"{path}: moe_expert_interval does not divide num_layers")
        period = ",".join(["0"] * (often - 1) + ["1"])
        fields["moe_layer_freq"] = f"([{period}]*{fields['num_layers'] // often})"


def _read_batch(v: Values, run: Run) -> None:
    micro = v.get("train_micro_batch_size_per_gpu")
    if micro is not None:
        run.batch["micro_batch"] = v.number("train_micro_batch_size_per_gpu")
    if v.get("train_batch_size") is not None:
        run.batch["sequences"] = v.number("train_batch_size")
    elif micro is not None:
        run.batch["micro_batches"] = v.number("gradient_accumulation_steps", default=1)
    v.get("gradient_accumulation_steps")


def _sharding(v: Values, path: pathlib.Path) -> str:
    stage = v.number("zero_optimization.stage", "zero_stage", default=0)
    kinds = ("none", "optimizer", "gradients", "full")
    for part in ("cpu_offload", "offload_optimizer", "offload_param"):
        inner = v.section("zero_optimization." + part)
        device = inner.get("device", v.get("zero_optimization." + part))
        if device not in (None, False, "none"):
            raise Unreadable(
                f"{path}: zero_optimization.{part}: nothing here says what that takes"
            )
    v.asked.update(k for k in v.all if k.startswith("zero_optimization."))
    if stage >= len(kinds):
        raise Unreadable(f"{path}: zero_optimization.stage {stage}: there are 0 to 3")
    return kinds[stage]
