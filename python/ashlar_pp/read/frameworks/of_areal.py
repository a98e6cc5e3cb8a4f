"""AReaL: the step that trains an actor, supervised training, reward models and DPO, by
FSDP2 of PyTorch or by Megatron-Core (areal/api/cli_args.py and areal/engine at
4aef98d8)."""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.attention_kernels import add_attention
from ..facts.inherited import resolved
from ..facts.local_models import add_local_model
from ..facts.optimizers import add_fact, add_held_in_16, other_optimizer
from ..facts.preferences import double_batch
from ..facts.updates import add_update
from ..run_file import Run, Unreadable
from ..values import Values, packed, sorted_out

READS = "AReaL"

_NAMES = {
    "d": "data",
    "t": "tensor",
    "p": "pipeline",
    "c": "context",
    "e": "expert",
}
_DIMENSIONS = re.compile(r"(?:[dtpce][1-9]\d*)+")
_HYBRID = re.compile(r"\(?attn:([^|]+)\|ffn:([^|)]+)\)?")
_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
# Keys of an actor that change no step.
_QUIET = """
    experiment_name trial_name init_from_scratch temperature disable_dropout
    weight_update_mode scheduling_spec scheduling_strategy _version admin_api_key
    log_level request_timeout setup_timeout optimizer.lr optimizer.weight_decay
    optimizer.beta optimizer.eps optimizer.min_lr optimizer.warmup
    optimizer.initial_loss optimizer.min_loss optimizer.loss_scale
    optimizer.hysteresis optimizer.gradient_clipping eps_clip c_clip m2_threshold
    reward_ overlong_ mask_no_eos discount gae_lambda adv_norm kl_ctl kl_estimator
    use_sapo sapo_ recompute_logprob use_decoupled rejection_sampling
    importance_sampling prox_logp log_agent max_new_tokens mb_spec.granularity
    mb_spec.n_mbs_divisor mb_spec.packing lora_alpha beta loss_type fsdp.wrap_policy
    fsdp.memory_efficient fsdp.optim_step_prefetch
    megatron.use_mbridge_save megatron.async_save megatron.use_checkpoint_opt
    megatron.moe_router_dtype megatron.wrap_with_ddp megatron.ddp.check_for_nan
    megatron.ddp.average megatron.ddp.align megatron.recompute_modules
    megatron.fp8_config.margin megatron.fp8_config.amax behav
    gradient_checkpointing group_ dynamic_sampling backend offload path
""".split()


def is_recipe(tree: Mapping[str, Any]) -> bool:
    actor = tree.get("actor")
    own = {"mb_spec", "backend", "experiment_name"}
    is_own = isinstance(actor, Mapping) and bool(own & set(actor))
    return is_own and {"cluster", "train_dataset"} <= set(tree)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    whole = Values(resolved(dict(tree), path), str(path))
    actor = whole.section("actor")
    v = Values({}, f"{path}: actor")
    v.all = actor
    run = Run()
    add_local_model(run, v.word("path"), path.parent)
    for key in ("enable_tree_training", "fsdp.per_layer_optim_step"):
        if v.flag(key):
            raise Unreadable(f"{v.where}: {key} is not predicted", flag=key)
    backend, ranks = _ranks(v, whole)
    own = [ranks[name] for name in ("data", "tensor", "pipeline", "context")]
    run.notes.append(f"{math.prod(own)} devices train")
    run.program["precision"] = _FORMATS.get(v.word("dtype", default="bfloat16"), "")
    if not run.program["precision"]:
        raise Unreadable(f"{v.where}: dtype {v.word('dtype')} is not known here")
    data = ranks.pop("data")
    run.layout = {key: size for key, size in ranks.items() if size > 1}
    if ranks["tensor"] > 1:
        run.program["sequence_parallel"] = "on"
    {"fsdp": _read_fsdp, "megatron": _read_megatron}[backend](v, run)
    _read_batch(v, whole, run, data)
    if v.flag("use_lora"):
        if v.word("peft_type", default="lora") != "lora":
            raise Unreadable(f"{v.where}: peft_type {v.word('peft_type')}")
        targets = v.get("target_modules") or "all-linear"
        targets = "all-linear" if targets == ["all-linear"] else targets
        run.program["lora"] = lora_words(v.number("lora_rank", default=32), targets)
    v.asked.update(("lora_rank", "target_modules", "peft_type"))
    quiet, unknown = sorted_out(v.rest(), _QUIET)
    others = ("fsdp.", "archon.", "megatron.")
    unknown = [
        key for key in unknown if not key.startswith(others) or key.startswith(backend)
    ]
    run.not_read = [f"actor.{key}" for key in quiet]
    run.unknown.extend(f"actor.{key}" for key in unknown)
    return run


def _ranks(v: Values, whole: Values) -> tuple[str, dict[str, int]]:
    """By `fsdp:d4t2`, or by `sglang:d4+d4` of older files, whose last part trains."""
    text = v.word("backend")
    if not text:
        text = whole.word("allocation_mode").rpartition("+")[2]
        text = text if ":" in text.split("(")[0] else f"fsdp:{text}"
    backend, _, said = text.partition(":")
    if backend not in ("fsdp", "megatron"):
        raise Unreadable(f"{v.where}: backend {text}: fsdp and megatron are read")
    hybrid = _HYBRID.fullmatch(said)
    made = _sizes(hybrid[1] if hybrid else said, v, text)
    if hybrid:
        inner = _sizes(hybrid[2], v, text)
        made["expert"] = inner["expert"]
        made["expert_tensor"] = inner["tensor"]  # else experts have none
    return backend, made


def _sizes(text: str, v: Values, whole: str) -> dict[str, int]:
    if not _DIMENSIONS.fullmatch(text):
        raise Unreadable(f"{v.where}: backend {whole} is not known here")
    made = dict.fromkeys(_NAMES.values(), 1)
    for letter, size in re.findall(r"([dtpce])(\d+)", text):
        made[_NAMES[letter]] = int(size)
    return made


def _read_batch(v: Values, whole: Values, run: Run, data: int) -> None:
    """Micro-batches are of tokens: as many full sequences as the limit allows."""
    is_actor = whole.get("gconfig.max_new_tokens", "gconfig.max_tokens") is not None
    is_actor = is_actor or bool(whole.section("gconfig"))
    length = whole.number("train_dataset.max_length", default=0)
    if is_actor:
        answer = whole.number("gconfig.max_new_tokens", default=16384)
        length = whole.number("gconfig.max_tokens", default=length and length + answer)
    if not length:
        raise Unreadable(
            f"{whole.where}: nothing says how long sequences are: --set "
            "train_dataset.max_length=N"
        )
    samples = whole.number("train_dataset.batch_size")
    run.batch = {"sequence": length, "sequences": samples}
    if is_actor:
        if whole.flag("dynamic_bs"):
            run.unknown.append("dynamic_bs: batches of other sizes")
        parts = v.number("ppo_n_minibatches", default=4)
        samples = samples * whole.number("gconfig.n_samples", default=1)
        run.batch["sequences"] = samples // max(1, parts)
        add_update(run, "AReaL", ", of one turn where nothing says max_tokens")
    elif v.flag("is_critic") or "beta" in v.all or whole.section("ref"):
        double_batch(run)
        run.notes.append("a sample is two sequences, of the two answers")
        if v.flag("is_critic"):
            run.program["head"] = "1"
    else:
        run.notes.append("all sequences are taken to be of full length")
    _limit_tokens(v, run, data)


def _limit_tokens(v: Values, run: Run, data: int) -> None:
    samples = run.batch["sequences"]
    each = samples // data if samples % data == 0 else samples
    if v.get("mb_spec.max_tokens_per_mb") is None:
        parts = v.number("mb_spec.n_mbs", default=1)
        run.batch["micro_batch"] = packed(each, each // max(1, parts))
        return
    most = v.number("mb_spec.max_tokens_per_mb")
    v.get("mb_spec.n_mbs")
    run.batch["micro_batch"] = packed(each, most // run.batch["sequence"])
    run.unknown.append(f"actor.mb_spec.max_tokens_per_mb (micro-batches of {most})")
    if not v.flag("pad_to_maximum"):
        return
    run.notes.append("micro-batches are filled up to their limit")


def _read_fsdp(v: Values, run: Run) -> None:
    """Weights are loaded in the format of products, and so is the state."""
    run.layout["sharding"] = "full"
    kind = v.word("optimizer.type", default="adam")
    if kind not in ("adam", "adam_bf16"):
        raise other_optimizer(v.where, "optimizer.type", kind, "adam")
    if run.program["precision"] != "fp32":
        add_held_in_16(run, "adamw")
    if v.word("grad_reduce_dtype", default="float32") != "float32":
        run.unknown.append("actor.grad_reduce_dtype: gradients are summed in 16 bits")
    if v.flag("fsdp.offload_params"):
        run.layout["offload_weights"] = "own"
    if v.flag("gradient_checkpointing"):
        run.layout["recompute"] = "full"
    kernel = v.word("attn_impl", default="flash_attention_2")
    add_attention(run, "actor.attn_impl", kernel)


def _read_megatron(v: Values, run: Run) -> None:
    m = "megatron."
    for key in ("use_torch_fsdp2", "use_custom_fsdp", "use_precision_aware_optimizer"):
        if v.flag(m + key):
            raise Unreadable(f"{v.where}: {m}{key} is not predicted")
    kind = v.word("optimizer.type", default="adam")
    if kind != "adam":
        raise other_optimizer(v.where, "optimizer.type", kind, "adam")
    shares = v.flag(m + "ddp.use_distributed_optimizer", default=True)
    run.layout["sharding"] = "optimizer" if shares else "none"
    overlaps = [
        v.flag(f"{m}ddp.overlap_{part}") for part in ("grad_reduce", "param_gather")
    ]
    add_fact(run, f"data-overlap={'on' if all(overlaps) else 'off'}")
    if any(overlaps) != all(overlaps):
        run.unknown.append("actor.megatron.ddp.overlap_grad_reduce: in backwards")
    if not v.flag(m + "ddp.grad_reduce_in_fp32", default=True):
        run.unknown.append("gradients are held in 16 bits: memory is less than said")
    chunks = v.number(m + "virtual_pipeline_parallel_size", default=1)
    if chunks > 1:
        run.layout["chunks"] = chunks
    if run.layout.get("expert", 1) > 1:
        is_once = v.flag(m + "moe_enable_deepep")
        kind = v.word(m + "moe_token_dispatcher_type", default="alltoall")
        ways = {"alltoall": "all-to-all", "allgather": "all-gather", "flex": "once"}
        if kind not in ways:
            raise Unreadable(f"{v.where}: {m}moe_token_dispatcher_type {kind}")
        add_fact(run, f"expert-dispatch={'once' if is_once else ways[kind]}")
        if v.flag(m + "moe_shared_expert_overlap"):
            add_fact(run, "expert-overlap=shared")
        is_one = v.flag(m + "moe_permute_fusion")
        add_fact(run, f"fused-permutation={'on' if is_one else 'off'}")
    v.asked.add(m + "moe_token_dispatcher_type")
    _add_eight_bits(v, run, m + "fp8_config.")
    always = v.word(m + "bridge_type", default="mbridge") == "megatron-bridge"
    if v.flag("gradient_checkpointing") or always:  # areal/models/mcore/registry.py
        _add_recomputation(v, run, m)
    v.asked.update(
        f"{m}recompute_{part}" for part in ("granularity", "method", "num_layers")
    )


def _add_eight_bits(v: Values, run: Run, f: str) -> None:
    if not any(key.startswith(f) for key in v.all):
        return
    v.get(f + "mode")
    recipe = v.word(f + "recipe", default="delayed")
    scales = {"delayed": "delayed", "tensorwise": "current", "blockwise": "blocks"}
    if recipe not in scales:
        raise Unreadable(f"{v.where}: {f}recipe {recipe} is not known here")
    run.program["precision"] = "fp8"
    add_fact(run, f"scales={scales[recipe]}")


def _add_recomputation(v: Values, run: Run, m: str) -> None:
    how = v.word(m + "recompute_granularity", default="full")
    method = v.word(m + "recompute_method", default="uniform")
    layers = v.number(m + "recompute_num_layers", default=1)
    if how == "selective":
        run.layout["recompute"] = ",".join(
            v.get(m + "recompute_modules") or ["core_attn"]
        )
    elif how != "full" or (method == "uniform" and layers > 1):
        raise Unreadable(f"{v.where}: {m}recompute_granularity {how}, {layers} layers")
    else:
        run.layout["recompute"] = f"full:{layers}" if method == "block" else "full"
