"""What data ranks share under the Trainer of transformers: DeepSpeed or FSDP."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import add_fact
from ..run_file import Run, Unreadable
from ..values import Values, alternatives, found, read_file


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
    v.asked.update(("fsdp_config", "fsdp_version", "base_model", "ddp_bucket_cap_mb"))
    _list_accelerate(accelerate, run)


# Read above, or about where processes are, how files are written, and clipping.
_ACCELERATE_KEYS = alternatives(
    r"""distributed_type use_deepspeed use_fsdp deepspeed_config_file zero_stage
    offload_(optimizer|param)_device mixed_precision num_(machines|processes)
    fsdp_\w+ fsdp_config compute_environment debug machine_rank main_\w+ rdzv_\w+
    same_network multi_gpu gpu_ids quiet module enable_cpu_affinity downcast_bf16
    tpu_\w+ mpirun_\w+ deepspeed_(hostfile|multinode_launcher|\w+_filter) max_restarts
    monitor_interval gradient_accumulation_steps gradient_clipping zero3_\w+ tee role
    deepspeed_moe_layer_cls_names log_dir no_local_rank num_cpu_threads_per_process
    """
)


def _list_accelerate(accelerate: Mapping[str, Any], run: Run) -> None:
    """What else it is told. Raises Unreadable where another engine trains."""
    if "MEGATRON" in str(accelerate.get("distributed_type", "")).upper() or (
        accelerate.get("use_megatron_lm")
    ):
        raise Unreadable("accelerate's Megatron-LM trains in place of the Trainer")
    inner = accelerate.get("deepspeed_config") or {}
    for key, value in (*accelerate.items(), *inner.items()):
        is_off = str(value).lower() in ("", "no", "none", "false", "{}", "[]")
        if key == "deepspeed_config" or is_off or _ACCELERATE_KEYS.fullmatch(str(key)):
            continue
        if key == "dynamo_config" and "no" == str(_backend_of(value)).lower():
            continue
        run.unknown.append(f"accelerate's {key}")


def _backend_of(dynamo: Any) -> Any:
    return dynamo.get("dynamo_backend", "no") if isinstance(dynamo, Mapping) else dynamo


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
    words = re.findall(r"\w+", v.word("fsdp").lower())  # a text, or a list
    config = dict(accelerate.get("fsdp_config") or {})
    config.update(_fsdp_file(v, folder))
    for key, value in accelerate.items():
        if str(key).startswith("fsdp_") and key != "fsdp_config":
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
    _read_units(v, words, config, run)
    for key, value in config.items():
        if key not in _FSDP_KEYS and value not in (None, False, "", "false", "False"):
            run.unknown.append(f"fsdp_config.{key}")


# Read, or about loading, saving and the order of gathers.
_FSDP_KEYS = frozenset(
    """sharding_strategy reshard_after_forward offload_params activation_checkpointing
    activation_cpu_offload version auto_wrap_policy min_num_params
    transformer_layer_cls_to_wrap use_orig_params sync_module_states
    cpu_ram_efficient_loading state_dict_type final_state_dict_type backward_prefetch
    backward_prefetch_policy forward_prefetch limit_all_gathers
    cpu_offload_pin_memory""".split()
)


def _read_units(
    v: Values, words: list[str], config: Mapping[str, Any], run: Run
) -> None:
    """Each layer is gathered by itself where something says so; else the whole model
    is at once, before transformers 5 (FullyShardedDataParallelPlugin of accelerate)."""
    least = str(v.get("fsdp_min_num_params") or config.get("min_num_params") or 0)
    policy = str(config.get("auto_wrap_policy") or "").upper()
    v.asked.add("fsdp_transformer_layer_cls_to_wrap")
    if policy == "NO_WRAP":
        raise Unreadable(
            "fsdp_auto_wrap_policy NO_WRAP: the whole model is gathered at once, which "
            "is not predicted; TRANSFORMER_BASED_WRAP gathers layers"
        )
    if least != "0" or policy == "SIZE_BASED_WRAP":
        run.unknown.append(f"min_num_params {least}: what FSDP gathers at once")
    elif "auto_wrap" not in words and policy != "TRANSFORMER_BASED_WRAP":
        run.unknown.append(
            "fsdp without auto_wrap: the whole model may be gathered at once"
        )
