"""NeMo RL (examples/configs): the step that trains its policy, by FSDP of PyTorch or by
Megatron-Core."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.inherited import inherited
from ..facts.local_models import add_local_model
from ..facts.megatron_core_facts import add_facts, add_state
from ..facts.megatron_ranks import megatron_ranks, read_stages
from ..facts.optimizers import add_fact
from ..facts.preferences import double_batch
from ..facts.updates import add_update
from ..run_file import Run, Unreadable, add_frozen_towers
from ..values import Values, packed
from .bridge_towers import FREEZES
from .nemo_rl_quiet import is_silent

READS = "NeMo RL"

_D, _M = "policy.dtensor_cfg.", "policy.megatron_cfg."
_KINDS = ("ppo", "grpo", "dpo", "rm", "sft", "distillation")
_TEACHERS = ("on_policy_distillation", "teacher", "teachers")
_SECTIONS = {
    *_KINDS,
    *_TEACHERS,
    *"defaults policy cluster checkpointing logger data data_plane env loss_fn".split(),
    *"value value_loss_fn generation tokenizer async_rl eval reward_penalties".split(),
}
_MOMENTS = {"exp_avg_dtype": "first-moment", "exp_avg_sq_dtype": "second-moment"}
_BITS = {
    "torch.float32": "32-bit",
    "torch.float16": "16-bit",
    "torch.bfloat16": "16-bit",
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    """Recipes name the file that they begin as; those that begin no other have a
    policy."""
    policy = tree.get("policy")
    is_own = isinstance(policy, Mapping) and bool(
        {"train_global_batch_size", "dtensor_cfg", "megatron_cfg"} & set(policy)
    )
    return is_own or ("defaults" in tree and set(tree) <= _SECTIONS)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    whole = inherited(tree, path)
    kind = next((each for each in _KINDS if whole.get(each)), "")
    _refuse_teachers(whole, kind, path)
    if not kind or not isinstance(whole.get("policy"), Mapping):
        raise Unreadable(f"{path}: it says no policy and no way to train one")
    v = Values(whole, str(path))
    run = Run()
    if v.flag("policy.draft.enabled") or v.get("policy.quant_cfg"):
        raise Unreadable(f"{path}: policy.draft, policy.quant_cfg: another model")
    name = v.word("policy.model_name")
    add_local_model(run, name, path.parent)
    is_megatron, is_fsdp = v.flag(_M + "enabled"), v.flag(_D + "enabled")
    if is_megatron == is_fsdp:  # models/policy/lm_policy.py
        raise Unreadable(f"{path}: one of megatron_cfg and dtensor_cfg must be enabled")
    run.program["precision"] = {
        "bfloat16": "bf16",
        "float16": "fp16",
        "float32": "fp32",
    }.get(v.word("policy.precision", default="bfloat16"), "")
    if not run.program["precision"]:
        raise Unreadable(f"{path}: policy.precision is not known")
    (_read_megatron if is_megatron else _read_fsdp)(v, run)
    _read_batch(v, run)
    _add_kind(kind, run)
    if v.flag("policy.is_vlm"):
        run.unknown.append("policy.is_vlm: what images add")
    prefix = _D if is_megatron else _M
    rest = [key for key in v.rest() if not key.startswith(prefix)]
    run.not_read = [key for key in rest if is_silent(key)]
    run.unknown.extend(key for key in rest if not is_silent(key))
    return run


def _refuse_teachers(whole: Mapping[str, Any], kind: str, path: pathlib.Path) -> None:
    """One teacher runs before the update, and is on the host then; logits of several
    are held during it (algorithms/distillation.py, xtoken_off_policy_distillation.py).
    """
    told = whole.get("on_policy_distillation") or {}
    apart = (told.get("non_colocated_teachers") or {}).get("enabled")
    key = "teachers" if whole.get("teachers") else "teacher"
    if apart or whole.get("teachers") or (kind != "distillation" and whole.get(key)):
        key = "on_policy_distillation" if apart else key
        raise Unreadable(
            f"{path}: {key}: a teacher runs beside the model that trains", flag=key
        )


def _read_batch(v: Values, run: Run) -> None:
    length = v.number("policy.max_total_sequence_length")
    samples = v.number("policy.train_global_batch_size")
    micro = v.number("policy.train_micro_batch_size", default=1)
    nodes, devices = _training_devices(v)
    run.notes.append(f"launched on {nodes} x {devices} devices")
    for key in ("policy.sequence_packing", "policy.dynamic_batching"):
        if not v.flag(key + ".enabled"):
            continue
        most = v.number(key + ".train_mb_tokens", default=length * micro)
        run.unknown.append(f"{key} (micro-batches of {most} tokens)")
        below = math.prod(
            int(run.layout.get(name, 1)) for name in ("tensor", "pipeline", "context")
        )
        ranks = nodes * devices // below
        each = samples // ranks if ranks and samples % ranks == 0 else samples
        micro = packed(each, most // length)
    run.batch = {"sequence": length, "sequences": samples, "micro_batch": micro}


def _training_devices(v: Values) -> tuple[int, int]:
    """Nodes, and devices of each, that are not set aside for generation
    (nemo_rl/algorithms/grpo.py)."""
    nodes = v.number("cluster.num_nodes", default=1)
    devices = v.number("cluster.gpus_per_node", default=1)
    key = "policy.generation.colocated."
    if v.get(key + "enabled") is None or v.flag(key + "enabled"):
        return nodes, devices
    if nodes == 1:
        return 1, devices - v.number(key + "resources.gpus_per_node", default=0)
    return nodes - v.number(key + "resources.num_nodes", default=0), devices


def _add_kind(kind: str, run: Run) -> None:
    if kind in ("grpo", "ppo", "distillation"):
        add_update(run, "NeMo RL")
        return
    run.notes.append("all sequences are taken to be of full length")
    if kind == "sft":
        return
    double_batch(run)
    run.notes.append(f"{kind}: a sample is two sequences, of the two answers")
    if kind == "rm":
        run.program["head"] = "1"
        return
    run.notes.append(
        "the reference's forwards run before the update, and are not in the run"
    )


def _add_adapters(v: Values, run: Run, prefix: str) -> None:
    if not v.flag(prefix + "enabled"):
        return
    targets = v.get(prefix + "target_modules")
    if v.flag(prefix + "match_all_linear") or not targets:
        targets = "all"
        run.unknown.append(
            f"{prefix}target_modules: every linear layer has adapters, and nothing "
            "says whether the head, or experts, are among them"
        )
    if v.get(prefix + "exclude_modules"):
        run.unknown.append(f"{prefix}exclude_modules: layers without adapters")
    run.program["lora"] = lora_words(v.number(prefix + "dim"), targets)


def _read_fsdp(v: Values, run: Run) -> None:
    run.layout = {
        "tensor": v.number(_D + "tensor_parallel_size", default=1),
        "context": v.number(_D + "context_parallel_size", default=1),
        "sharding": "full",
    }
    expert = v.number(_D + "expert_parallel_size", default=1)
    if expert > 1:
        run.layout["expert"] = expert
        run.unknown.append(f"{_D}expert_parallel_size: how experts' state is shared")
    if v.get(_D + "dp_replicate_size") not in (None, 1):
        raise Unreadable(
            f"{_D}dp_replicate_size: say the ranks that share weights to ashlar "
            "predict by --sharding full --shard-ranks N"
        )
    if v.flag(_D + "cpu_offload"):
        run.layout["offload_weights"] = "own"
    if v.flag(_D + "activation_checkpointing"):
        run.layout["recompute"] = "full"
    if v.flag(_D + "sequence_parallel") and run.layout["tensor"] > 1:
        run.program["sequence_parallel"] = "on"
    if v.get(_D + "custom_parallel_plan"):
        run.unknown.append(f"{_D}custom_parallel_plan: what tensor ranks share")
    freezes = _D + "automodel_kwargs.freeze_config."
    if v.flag(freezes + "freeze_language_model"):
        raise Unreadable(f"{freezes}freeze_language_model: towers train alone")
    names = ("freeze_vision_tower", "freeze_audio_tower")
    said = [name for name in names if v.get(freezes + name) is not None]
    frozen = [name for name in said if v.flag(freezes + name)]
    add_frozen_towers(run, bool(frozen), bool(frozen))
    if frozen and frozen != said:
        run.unknown.append(
            f"{' and '.join(said)}, which differ: towers are taken to be frozen"
        )
    _add_adapters(v, run, _D + "lora_cfg.")
    if run.program.get("lora"):
        run.unknown.append("frozen weights beside adapters are in 32 bits")
    name = v.word("policy.optimizer.name", default="torch.optim.AdamW")
    if not name.endswith(("AdamW", "Adam", "FusedAdam")):
        raise Unreadable(f"policy.optimizer.name {name}: only Adam's state is counted")
    # Transformer Engine adds weights of 32 bits only beside ones of 16.
    for part, fact in _MOMENTS.items():
        bits = v.word("policy.optimizer.kwargs." + part, default="torch.float32")
        if bits not in _BITS:
            raise Unreadable(f"policy.optimizer.kwargs.{part} {bits} is not counted")
        add_fact(run, fact + "=" + _BITS[bits])


def _read_megatron(v: Values, run: Run) -> None:
    run.layout = {**megatron_ranks(v, _M), "sharding": "optimizer"}
    if run.layout["tensor"] > 1:
        run.program["sequence_parallel"] = (
            "on" if v.flag(_M + "sequence_parallel") else "off"
        )
    if not v.flag(_M + "optimizer.use_distributed_optimizer", default=True):
        run.layout["sharding"] = "none"
    if v.flag(_M + "optimizer.optimizer_cpu_offload"):
        share = v.get(_M + "optimizer.optimizer_offload_fraction")
        if share not in (1, 1.0, "1.0", "1"):
            raise Unreadable(f"{_M}optimizer.optimizer_offload_fraction: not all moves")
        run.layout["offload_optimizer"] = True
    read_stages(v, run, _M)
    if v.flag(_M + "activation_checkpointing"):
        parts = v.get(_M + "recompute_modules") or ["core_attn"]
        is_full = v.word(_M + "recompute_granularity", default="full") == "full"
        run.layout["recompute"] = "full" if is_full else ",".join(parts)
    if v.flag(_M + "fp8_cfg.enabled"):
        run.program["precision"] = "fp8"
        if v.flag(_M + "fp8_cfg.fp8_param"):
            run.unknown.append(f"{_M}fp8_cfg.fp8_param: weights in 8 bits")
    if v.number(_M + "mtp_num_layers", default=0):
        run.unknown.append(f"{_M}mtp_num_layers: layers that predict further tokens")
    if v.flag(_M + "fine_grained_activation_offloading"):
        run.unknown.append(f"{_M}offload_modules: activations that move to the host")
    if v.word(_M + "cuda_graph_impl", default="none") != "none":
        run.unknown.append(f"{_M}cuda_graph_impl: what is captured")
    frozen = [key for key in v.all if key.startswith(_M + "freeze_") and v.flag(key)]
    for key in frozen:
        if not key.endswith(("freeze_moe_router", *FREEZES)):
            raise Unreadable(f"{key}: a part that is not counted is frozen", flag=key)
    add_frozen_towers(run, *(v.flag(_M + name) for name in FREEZES))
    if any(v.get(_M + name) is not None for name in FREEZES[:2]):
        run.unknown.append(
            "whether tensor ranks divide the tower, by Megatron-Bridge's class of the "
            "model: --tower-ranks none where they do not"
        )
    if v.get(_M + "model_overrides"):
        run.unknown.append(f"{_M}model_overrides: they may make another model")
    kind = v.word(_M + "optimizer.optimizer", default="adam")
    if kind != "adam":
        raise Unreadable(
            f"{_M}optimizer.optimizer {kind}: only Adam's state is counted"
        )
    _add_adapters(v, run, _M + "peft.")
    add_state(v, run, _M)
    add_facts(v, run, _M)
