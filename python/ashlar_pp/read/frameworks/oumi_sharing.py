"""What ranks share under oumi: by FSDP, or by DeepSpeed."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from ..run_file import Unreadable
from ..values import Values


def fsdp_of(v: Values, path: pathlib.Path, unknown: list[str]) -> dict[str, Any]:
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
    if wrapped == "SIZE_BASED_WRAP":
        unknown.append(
            "fsdp.auto_wrap_policy SIZE_BASED_WRAP: parts of layers are gathered one "
            "by one; a layer at once is taken"
        )
    return {
        "distributed_type": "FSDP",
        "fsdp_config": {
            "fsdp_sharding_strategy": v.word(
                "fsdp.sharding_strategy", default="FULL_SHARD"
            ),
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_offload_params": v.flag("fsdp.cpu_offload"),
        },
    }


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
