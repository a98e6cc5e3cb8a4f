"""What ranks share under oumi: by FSDP, or by DeepSpeed."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from .run_file import Run, Unreadable
from .values import Values

# Strategies that share within a node, and what they are on one node.
_INSIDE = {"HYBRID_SHARD": "FULL_SHARD", "HYBRID_SHARD_ZERO2": "SHARD_GRAD_OP"}


def fsdp_of(v: Values, path: pathlib.Path) -> dict[str, Any]:
    """As accelerate's configuration says it (core/distributed.py)."""
    if not v.flag("fsdp.enable_fsdp"):
        v.asked.update(f"fsdp.{key}" for key in v.section("fsdp"))
        return {}
    wrapped = v.word("fsdp.auto_wrap_policy", default="NO_WRAP").upper()
    if wrapped == "NO_WRAP":
        raise Unreadable(
            f"{path}: fsdp.auto_wrap_policy NO_WRAP: the whole model is gathered at "
            "once; --set fsdp.auto_wrap_policy=TRANSFORMER_BASED_WRAP predicts layers"
        )
    strategy = v.word("fsdp.sharding_strategy", default="FULL_SHARD").upper()
    return {
        "distributed_type": "FSDP",
        "fsdp_config": {
            "fsdp_sharding_strategy": _INSIDE.get(strategy, strategy),
            "fsdp_offload_params": v.flag("fsdp.cpu_offload"),
        },
    }


def add_nodes(
    v: Values, run: Run, path: pathlib.Path, nodes: int, devices: int
) -> None:
    """HYBRID_SHARD shares within a node."""
    if not v.flag("fsdp.enable_fsdp"):
        return
    if v.word("fsdp.auto_wrap_policy").upper() == "SIZE_BASED_WRAP":
        run.unknown.append(
            "fsdp.auto_wrap_policy SIZE_BASED_WRAP: parts of layers are gathered one "
            "by one; a layer at once is taken"
        )
    strategy = v.word("fsdp.sharding_strategy").upper()
    if strategy not in _INSIDE or nodes == 1:
        return
    if not nodes or not devices:
        raise Unreadable(
            f"{path}: fsdp.sharding_strategy {strategy} shares within a node, and "
            "nothing says its devices, as a job's resources or torchrun's words do; "
            f"--set fsdp.sharding_strategy={_INSIDE[strategy]} is the same on one node"
        )
    run.layout["shard_ranks"] = devices


def deepspeed_of(v: Values) -> dict[str, Any]:
    """What to_deepspeed of params/deepspeed_params.py makes, but for what is said by
    the Trainer's arguments."""
    if not v.flag("deepspeed.enable_deepspeed"):
        return {}
    if v.word("deepspeed.deepspeed_config_path"):
        return {"deepspeed": v.word("deepspeed.deepspeed_config_path")}
    stage = v.word("deepspeed.zero_stage", default="0").upper().removeprefix("ZERO_")
    zero: dict[str, Any] = {"stage": int(stage)}
    zero["overlap_comm"] = v.flag("deepspeed.overlap_comm")
    zero["reduce_bucket_size"] = v.get("deepspeed.reduce_bucket_size") or 500_000_000
    for part in ("offload_optimizer", "offload_param"):
        if v.section(f"deepspeed.{part}"):
            device = v.word(f"deepspeed.{part}.device", default="cpu").lower()
            zero[part] = {"device": device}
    precision = v.word("deepspeed.precision").lower()
    made: dict[str, Any] = {"zero_optimization": zero}
    for key in ("train_batch_size", "train_micro_batch_size_per_gpu"):
        made[key] = v.get(f"deepspeed.{key}") or "auto"
    made["gradient_accumulation_steps"] = "auto"
    if precision in ("bf16", "fp16"):
        made[precision] = {"enabled": True}
    return {"deepspeed": json.dumps(made)}
