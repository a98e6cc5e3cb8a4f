"""ROLL: the step that trains an actor or a student, supervised training and DPO, by
FSDP2 of PyTorch or by Megatron-Core (roll/configs, roll/distributed/strategy and
mcore_adapter at 8eb27cc2)."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.attention_kernels import add_attention
from ..facts.inherited import resolved
from ..facts.local_models import add_local_model
from ..facts.megatron_ranks import megatron_ranks
from ..facts.optimizers import add_fact, add_held_in_16, other_optimizer
from ..facts.preferences import double_batch
from ..facts.updates import add_update
from ..run_file import Run, Unreadable, add_frozen_towers
from ..values import Values, packed, sorted_out

READS = "ROLL"

_SECTIONS = ("actor_train", "student_train", "sft_train", "student")
_OF_PAIRS = {"chosen_key", "rejected_key", "ipo", "label_smoothing"}
_FORMATS = {
    name: short
    for short, long in (("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32"))
    for name in (short, long)
}
_TOWERS = {
    "vision_model": (True, True),
    "model.visual": (True, True),
    "vision_model.blocks,vision_model.patch_embed": (True, False),
}
# Keys of a section that change no step.
_QUIET = """
    training_args.learning_rate training_args.weight_decay training_args.warmup
    training_args.num_train training_args.lr_scheduler training_args.max_steps
    training_args.adam_ training_args.seed training_args.data_seed
    training_args.save_hf training_args.dataloader training_args.output_dir
    data_args. infer_batch_size name worker_cls pg_variant world_size
    num_gpus_per_worker offload_nccl system_envs. model_update_frequency
    backend_timeout max_concurrency topr_ use_remove_padding
    use_dynamic_batching_in_infer max_tokens_per_microbatch_in_infer
    apply_loss_scale sequence_length_round
    sequence_packing_args.max_packed_sequence_length_forward
    sequence_packing_args.min_num device_mapping model_args.flash_attn
    model_args.lora_alpha model_args.lora_dropout model_args.moe_aux
    model_args.model_name model_args.gradient_checkpointing_use
    model_args.disable_gradient router_replay. model_args.dtype
    model_args.attn_implementation strategy_args.strategy_config.moe_aux
    strategy_args.strategy_config.bf16 strategy_args.strategy_config.fp16
    strategy_args.strategy_config.distrib_optim
    strategy_args.strategy_config.max_grad strategy_args.strategy_config.wrap_policy
    strategy_args.strategy_config.use_batched_model
    strategy_args.strategy_config.async strategy_args.strategy_config.save_only
    strategy_args.strategy_config.ckpt_
    strategy_args.strategy_config.apply_expert_patch generating_args.
""".split()
_S = "strategy_args.strategy_config."


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return any(
        isinstance(tree.get(name), Mapping) and "strategy_args" in tree[name]
        for name in _SECTIONS
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    # Files that it begins as are environments and DeepSpeed's, which nothing reads.
    whole = resolved({k: v for k, v in tree.items() if k != "defaults"}, path)
    name = next(each for each in _SECTIONS if each in whole)
    if name == "student":
        raise Unreadable(f"{path}: a teacher runs beside the model that trains")
    v = Values(whole[name], f"{path}: {name}")
    run = Run()
    add_local_model(run, str(_said(v, whole)), path.parent)
    kind = v.word("strategy_args.strategy_name", default="fsdp2_train")
    devices = _devices(v, run)
    if kind == "megatron_train":
        _read_megatron(v, run)
    elif kind == "fsdp2_train":
        _read_fsdp(v, run, devices)
    else:
        raise Unreadable(f"{v.where}: {kind}: fsdp2_train and megatron_train are read")
    _read_batch(v, run, Values(whole, str(path)))
    _read_parts(v, run)
    _add_kind(name, whole, run, path)
    if v.word("mtp_training_mode", default="disabled") != "disabled":
        raise Unreadable(f"{v.where}: mtp_training_mode: losses of further tokens")
    quiet, unknown = sorted_out(v.rest(), _QUIET)
    run.not_read = [f"{name}.{key}" for key in quiet]
    run.unknown.extend(f"{name}.{key}" for key in unknown)
    return run


def _said(v: Values, whole: Mapping[str, Any]) -> Any:
    own = v.get("model_args.model_name_or_path")
    return own or whole.get("pretrain") or whole.get("student_pretrain") or ""


def _devices(v: Values, run: Run) -> int:
    """How many devices train, by a list or range(...); 0 where nothing says it."""
    text = v.word("device_mapping").replace(" ", "")
    if match := re.fullmatch(r"list\(range\((\d+),(\d+)\)\)", text):
        count = int(match[2]) - int(match[1])
    elif match := re.fullmatch(r"(?:list\()?\[([\d,]+)\]\)?", text):
        count = len(match[1].split(","))
    else:
        return 0
    run.notes.append(f"{count} devices train")
    return count


def _read_batch(v: Values, run: Run, whole: Values) -> None:
    """roll/pipeline/base_worker.py: each rank's part of an update."""
    length = whole.number("sequence_length", default=0)
    if not length:
        length = whole.number("prompt_length") + whole.number("response_length")
    each = v.number("training_args.per_device_train_batch_size", default=8)
    passes = v.number("training_args.gradient_accumulation_steps", default=1)
    most = 0
    if v.flag("use_dynamic_batching_in_train"):
        most = v.number("max_tokens_per_microbatch_in_train")
    elif v.flag("use_sequence_packing"):
        prefix = "sequence_packing_args."
        if v.word(prefix + "algorithm", default="none") != "none":
            most = v.number(prefix + "max_packed_sequence_length_train")
    v.get("sequence_packing_args.max_packed_sequence_length_train")
    if most:
        run.unknown.append(f"micro-batches of {most} tokens, of other lengths")
        samples = each * passes
        each = packed(samples, most // length)
        passes = samples // each
    run.batch = {"sequence": length, "micro_batch": each, "micro_batches": passes}


def _read_parts(v: Values, run: Run) -> None:
    targets = v.get("model_args.lora_target")
    if targets:
        rank = v.number("model_args.lora_rank", default=8)
        run.program["lora"] = lora_words(rank, targets)
    v.get("model_args.lora_rank")
    frozen = v.get("model_args.freeze_module_prefix")
    if not frozen or targets:  # beside adapters nothing is frozen by it
        return
    if frozen not in _TOWERS:
        raise Unreadable(f"{v.where}: freeze_module_prefix {frozen} is not known here")
    add_frozen_towers(run, *_TOWERS[frozen])
    run.unknown.append("model_args.freeze_module_prefix: what images add")


def _add_kind(
    name: str, whole: Mapping[str, Any], run: Run, path: pathlib.Path
) -> None:
    if name == "sft_train":
        run.notes.append("all sequences are taken to be of full length")
    elif whole.get("actor_infer") or whole.get("student_infer"):
        add_update(run, "ROLL")
    elif _OF_PAIRS & set(whole):
        double_batch(run)
        run.notes.append(
            "dpo: a sample is two sequences, of the two answers; the reference's "
            "forwards run before the update, and are not in the run"
        )
    else:
        raise Unreadable(f"{path}: it says no way to train {name}")


def _read_fsdp(v: Values, run: Run, devices: int) -> None:
    """Weights are loaded in the format of products where that is said."""
    kind = v.word(_S + "param_dtype", default="bf16")
    sums = v.word(_S + "reduce_dtype", default="fp32")
    if kind not in _FORMATS or sums not in _FORMATS:
        raise Unreadable(f"{v.where}: {_S}param_dtype {kind}, reduce_dtype {sums}")
    run.program["precision"] = _FORMATS[kind]
    run.layout = {
        "sharding": "full"
        if v.flag(_S + "reshard_after_forward", default=True)
        else "gradients",
        "context": v.number("model_args.ulysses_size", default=1),
    }
    if v.get(_S + "param_dtype") is not None and _FORMATS[kind] != "fp32":
        add_held_in_16(run, "adamw")
    if _FORMATS[sums] != "fp32":
        run.unknown.append(f"{_S}reduce_dtype: gradients are summed in 16 bits")
    size = v.number(_S + "fsdp_size", default=1)
    if 1 < size and not 0 < devices <= size:
        run.layout["shard_ranks"] = size
    if v.flag(_S + "offload_policy"):
        run.layout["offload_weights"] = "own"
    if not v.flag(_S + "reduce_scatter_during_grad_accumulation", default=True):
        run.unknown.append(f"{_S}reduce_scatter_during_grad_accumulation is off")
    experts = v.number(_S + "ep_size", default=1)
    if experts > 1:
        run.layout["expert"] = experts
        run.unknown.append(f"{_S}ep_size: how experts' state is shared")
    v.get(_S + "efsdp_size")
    if not v.flag("model_args.disable_gradient_checkpointing"):
        run.layout["recompute"] = "full"
    key = "model_args.attn_implementation"
    add_attention(run, key, v.word(key))


def _read_megatron(v: Values, run: Run) -> None:
    """Defaults are those of mcore_adapter/training_args.py: nothing is fused and
    nothing overlaps."""
    kind = v.word("model_args.dtype", default="bf16")
    if kind not in _FORMATS:
        raise Unreadable(f"{v.where}: model_args.dtype {kind} is not known here")
    told = [each for each in ("bf16", "fp16") if v.flag(_S + each)]
    run.program = {"precision": told[0] if told else _FORMATS[kind]}
    run.program["stack"] = "megatron-core"
    shares = v.flag(_S + "use_distributed_optimizer")
    run.layout = {
        **megatron_ranks(v, _S),
        "sharding": "optimizer" if shares else "none",
    }
    if run.layout["tensor"] > 1:
        is_on = v.flag(_S + "sequence_parallel")
        run.program["sequence_parallel"] = "on" if is_on else "off"
    v.get(_S + "sequence_parallel")
    chunks = v.number(_S + "virtual_pipeline_model_parallel_size", default=1)
    if chunks > 1:
        run.layout["chunks"] = chunks
    ends = [
        v.flag(f"{_S}account_for_{part}_in_pipeline_split")
        for part in ("embedding", "loss")
    ]
    if all(ends):
        run.layout["ends_as_layers"] = True
    for key in ("fp8", "fp8_recipe", "fp8_param", "cuda_graph_impl", "mtp_num_layers"):
        if v.get(_S + key):
            raise Unreadable(f"{v.where}: {_S}{key} is not predicted")
    if v.get(_S + "pipeline_model_parallel_layout") or any(ends) != all(ends):
        raise Unreadable(f"{v.where}: a division of stages: say it by --layout")
    if v.word(_S + "optimizer", default="adam") != "adam":
        raise other_optimizer(
            v.where, _S + "optimizer", v.word(_S + "optimizer"), "adam"
        )
    _add_recomputation(v, run)
    _add_facts(v, run)


def _add_recomputation(v: Values, run: Run) -> None:
    how = v.word(_S + "recompute_granularity")
    parts: list[str] = []
    if how == "selective":
        said = v.get(_S + "recompute_modules") or "core_attn"
        parts = said.split(",") if isinstance(said, str) else list(said)
    elif how not in ("", "full"):
        raise Unreadable(f"{v.where}: recompute_granularity {how}")
    if how == "full" and (
        v.get(_S + "recompute_method") or v.get(_S + "recompute_num_layers")
    ):
        raise Unreadable(f"{v.where}: recompute_method: some layers alone")
    if v.flag(_S + "moe_layer_recompute") and how != "full" and "moe" not in parts:
        parts.append("moe")
    v.get(_S + "recompute_modules")
    if how == "full" or parts:
        run.layout["recompute"] = ",".join(parts) or "full"


def _add_facts(v: Values, run: Run) -> None:
    for key, fact in (
        ("bias_activation_fusion", "fused-activation"),
        ("apply_rope_fusion", "fused-rotation"),
    ):
        add_fact(run, f"{fact}={'on' if v.flag(_S + key) else 'off'}")
    add_fact(run, "data-overlap=off")
    if v.flag(_S + "overlap_grad_reduce"):
        run.unknown.append(f"{_S}overlap_grad_reduce: sums run during backwards")
    if not v.flag(_S + "accumulate_allreduce_grads_in_fp32"):
        run.unknown.append("gradients are held in 16 bits: memory is less than said")
    if int(run.layout["expert"]) > 1:
        kind = v.word(_S + "moe_token_dispatcher_type", default="allgather")
        way = "all-gather" if kind == "allgather" else "all-to-all"
        add_fact(run, f"expert-dispatch={way}")
        if v.flag(_S + "moe_shared_expert_overlap"):
            add_fact(run, "expert-overlap=shared")
    if v.get(_S + "moe_grouped_gemm") is not None:
        is_on = v.flag(_S + "moe_grouped_gemm")
        add_fact(run, f"expert-products={'grouped' if is_on else 'loop'}")
    if v.get(_S + "additional_configs.moe_permute_fusion") is not None:
        is_on = v.flag(_S + "additional_configs.moe_permute_fusion")
        add_fact(run, f"fused-permutation={'on' if is_on else 'off'}")
    for key in ("moe_token_dispatcher_type", "moe_shared_expert_overlap"):
        v.get(_S + key)
