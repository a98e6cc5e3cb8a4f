"""What data ranks share under the Trainer of transformers: DeepSpeed or FSDP."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from .optimizers import add_fact
from .run_file import Run, Unreadable
from .values import Values, found, read_file


def read_sharing(
    v: Values, accelerate: Mapping[str, Any], folder: pathlib.Path, run: Run
) -> None:
    """What data ranks share, by DeepSpeed's file, FSDP, or accelerate's configuration.

    `folder` is that of paths. Raises Unreadable.
    """
    inner = accelerate.get("deepspeed_config") or {}
    file = v.word("deepspeed", "deepspeed_config") or str(
        inner.get("deepspeed_config_file", "")
        or accelerate.get("deepspeed_config_file", "")
    )
    kind = str(accelerate.get("distributed_type", "")).upper()
    if file == "True":
        raise Unreadable(
            "--deepspeed names no file: the program itself makes its configuration; "
            "write it to a file for ashlar predict --deepspeed"
        )
    if file and file != "None":
        is_text = file.startswith("{")
        tree = json.loads(file) if is_text else read_file(found(file, folder))
        _with_deepspeed(tree, run)
    elif kind == "DEEPSPEED" or accelerate.get("use_deepspeed"):
        zero = inner.get("zero_stage", accelerate.get("zero_stage", 2))
        made: dict[str, Any] = {"zero_optimization": {"stage": int(zero)}}
        for part in ("offload_optimizer", "offload_param"):
            device = inner.get(part + "_device", accelerate.get(part + "_device"))
            if device not in (None, "none"):
                made["zero_optimization"][part] = {"device": device}
        _with_deepspeed(made, run)
    elif (
        v.get("fsdp") not in (None, "", False, "None")
        or kind == "FSDP"
        or accelerate.get("use_fsdp")
        or (v.get("base_model") and (v.section("fsdp_config") or v.get("fsdp_version")))
    ):
        _with_fsdp(v, accelerate, run, folder)
    else:
        run.layout["sharding"] = "none"
        _with_buckets(v, run)
    for key in v.section("fsdp_config"):
        v.get("fsdp_config." + key)
    v.asked.update(("fsdp_config", "fsdp_version", "base_model"))


def _with_buckets(v: Values, run: Run) -> None:
    """DistributedDataParallel sums gradients in 32 bits during the last backward,
    25 MiB at once (torch/nn/parallel/distributed.py)."""
    size = v.number("ddp_bucket_cap_mb", default=25)
    add_fact(run, "data-overlap=on")
    if size > 0:
        add_fact(run, f"bucket={size * 2**20 // 4}")


def _with_deepspeed(tree: Any, run: Run) -> None:
    """Fills in what is "auto", as the Trainer does (integrations/deepspeed.py of
    transformers)."""
    if not isinstance(tree, Mapping):
        raise Unreadable("the configuration of DeepSpeed is no object")
    made: dict[str, Any] = json.loads(json.dumps(tree))
    micro = run.batch.get("micro_batch")
    precision = run.program.get("precision")
    filled = {
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": run.batch.get("micro_batches"),
        "train_batch_size": None,
    }
    for key, value in filled.items():
        if made.get(key) == "auto":
            made.pop(key)
            if value is not None:
                made[key] = value
    if micro and "train_batch_size" not in made:
        made.setdefault("train_micro_batch_size_per_gpu", micro)
        made.setdefault(
            "gradient_accumulation_steps", run.batch.get("micro_batches", 1)
        )
    if precision in ("bf16", "fp16"):  # accelerate's set_mixed_precision adds it
        made.setdefault(str(precision), {"enabled": "auto"})
    for key in ("bf16", "fp16"):
        part = made.get(key)
        if isinstance(part, dict) and part.get("enabled") == "auto":
            part["enabled"] = precision == key
    _drop_autos(made)
    run.framework, run.arguments = "deepspeed", made
    for key in ("micro_batch", "micro_batches"):
        run.batch.pop(key, None)
    if made.get("bf16") or made.get("fp16"):
        run.program.pop("precision", None)


def _drop_autos(tree: dict[str, Any]) -> None:
    """Sizes of buffers and rates, which change nothing that is predicted."""
    for key, value in list(tree.items()):
        if value == "auto":
            del tree[key]
        elif isinstance(value, dict):
            _drop_autos(value)


def _fsdp_file(v: Values, folder: pathlib.Path) -> dict[str, Any]:
    """The Trainer's fsdp_config, which is a file where it is a name."""
    said = v.get("fsdp_config")
    if not isinstance(said, str) or not said:
        return dict(v.section("fsdp_config"))
    tree = read_file(found(said, folder))
    if not isinstance(tree, Mapping):
        raise Unreadable(f"{said} is no configuration of FSDP")
    return dict(tree)


def _with_fsdp(
    v: Values, accelerate: Mapping[str, Any], run: Run, folder: pathlib.Path
) -> None:
    words = v.word("fsdp").lower().split()
    config = dict(accelerate.get("fsdp_config") or {})
    config.update(_fsdp_file(v, folder))
    for key, value in accelerate.items():
        if str(key).startswith("fsdp_"):
            config.setdefault(str(key), value)
    config = {str(k).removeprefix("fsdp_"): value for k, value in config.items()}
    strategy = str(config.get("sharding_strategy", "FULL_SHARD")).lower()
    for word in words:
        if word in (
            "full_shard",
            "shard_grad_op",
            "hybrid_shard",
            "no_shard",
            "hybrid_shard_zero2",
        ):
            strategy = word
    strategy = {
        "1": "full_shard",
        "2": "shard_grad_op",
        "3": "no_shard",
        "4": "hybrid_shard",
    }.get(strategy, strategy)
    inside = {"hybrid_shard": "full_shard", "hybrid_shard_zero2": "shard_grad_op"}
    run.is_in_node = strategy in inside
    strategy = inside.get(strategy, strategy)
    reshard = str(config.get("reshard_after_forward", True))
    if reshard.lower() in ("false", "shard_grad_op") and strategy == "full_shard":
        strategy = "shard_grad_op"
    kinds = {"full_shard": "full", "shard_grad_op": "gradients", "no_shard": "none"}
    if strategy not in kinds:
        raise Unreadable(f"FSDP's {strategy} is not known here")
    run.layout["sharding"] = kinds[strategy]
    # Micro-batches but the last run within no_sync (transformers/trainer.py).
    if strategy == "full_shard" and run.batch.get("micro_batches", 1) > 1:
        run.program["scatter_once"] = True
    offloads = (
        str(config.get("offload_params", "")).lower() == "true" or "offload" in words
    )
    if offloads:
        if strategy != "full_shard":
            raise Unreadable(
                f"FSDP's {strategy} with offload_params: weights that are not shared "
                "move to the host, and nothing here says what that takes"
            )
        run.layout["offload_weights"] = "own"
    if str(config.get("activation_checkpointing", "")).lower() == "true":
        run.layout["recompute"] = "full"
    if str(config.get("activation_cpu_offload", "")).lower() == "true":
        run.layout["offload_activations"] = "full"
