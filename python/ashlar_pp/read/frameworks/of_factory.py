"""LLaMA-Factory's version 1, which has names of its own: peft_config, dist_config.
Other versions have the Trainer's."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import found, read_file
from .of_trainer import of_arguments

READS = "LLaMA-Factory"

_SAME = ("model_class", "peft_config", "dist_config", "quant_config", "kernel_config")
_READ = """
    model model_class peft_config dist_config quant_config cutoff_len micro_batch_size
    global_batch_size bf16 enable_activation_checkpointing flash_attn cp_size cp_mode
    mp_shard_size mp_replicate_size optim_config
""".split()
# They change no step, or choose among the samples of one.
_QUIET = "train_dataset eval_dataset sample_backend max_new_tokens".split()


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return isinstance(tree.get("model"), str) and bool(set(_SAME) & set(tree))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """By its defaults (v1/config). Raises Unreadable."""
    given: dict[str, Any] = {
        "model_name_or_path": tree["model"],
        "cutoff_len": tree.get("cutoff_len", 2048),
        "per_device_train_batch_size": tree.get("micro_batch_size", 1),
        "bf16": tree.get("bf16", True),
        "gradient_checkpointing": tree.get("enable_activation_checkpointing", True),
        "attn_implementation": tree.get("flash_attn", "sdpa"),
        "context_parallel_size": tree.get("cp_size", 1),
    }
    _add_adapters(tree, given, path)
    shares = _section(tree, "dist_config", path)
    name = shares.get("name")
    if name == "fsdp2":
        given["fsdp"] = "full_shard"
    elif name == "deepspeed":
        given["deepspeed"] = shares.get("config_file")
    elif name is not None:
        raise Unreadable(f"{path}: dist_config.name {name} is not predicted")
    is_of_muon = _is_of_muon(tree, path)
    stage = "dpo" if _is_of_pairs(tree, path) else "sft"
    if stage == "dpo":
        given["stage"] = stage
    passed = {*_READ, *_QUIET}
    given.update((key, value) for key, value in tree.items() if key not in passed)
    run = of_arguments(given, path.parent, {})
    run.program.pop("freeze", None)  # towers train like the rest
    run.not_read.extend(key for key in _QUIET if key in tree)
    if tree.get("global_batch_size"):
        del run.batch["micro_batches"]
        run.batch["sequences"] = tree["global_batch_size"]
    if name == "fsdp2" and tree.get("mp_shard_size"):
        run.layout["shard_ranks"] = tree["mp_shard_size"]
    elif tree.get("mp_replicate_size", 1) != 1:
        raise Unreadable(f"{path}: mp_replicate_size without mp_shard_size: say both")
    if is_of_muon and not run.program.get("lora"):
        if run.framework:
            raise Unreadable(f"{path}: muon beside DeepSpeed, which it is not made for")
        run.program["optimizer"] = "muon,repeated"
    run.unknown.append(
        f"the command's stage, which the file leaves open: taken as {stage}"
    )
    return run


def _is_of_pairs(tree: Mapping[str, Any], path: pathlib.Path) -> bool:
    """Whether samples are two answers: by a loss, or by the file that describes the
    data, where it is here. DPO takes them, and so does a reward model."""
    if any(key.startswith("pref_") for key in tree):
        return True
    name = str(tree.get("train_dataset"))
    try:
        described = read_file(found(name, path.parent)) if ".y" in name else {}
    except Unreadable:
        return False
    sets = described.values() if isinstance(described, Mapping) else ()
    return any(isinstance(s, Mapping) and s.get("converter") == "pair" for s in sets)


def _is_of_muon(tree: Mapping[str, Any], path: pathlib.Path) -> bool:
    """Each rank gathers a gradient and makes the whole matrix orthogonal; factors of
    adapters have AdamW (v1/plugins/trainer_plugins/optimizers)."""
    name = _section(tree, "optim_config", path).get("name", "adamw")
    if name not in ("muon", "adamw"):
        raise Unreadable(f"{path}: optim_config.name {name}: its state is not counted")
    return bool(name == "muon")


def _section(
    tree: Mapping[str, Any], name: str, path: pathlib.Path
) -> Mapping[str, Any]:
    value = tree.get(name) or {}
    if not isinstance(value, Mapping):
        raise Unreadable(f"{path}: {name} is no section")
    return value


def _add_adapters(
    tree: Mapping[str, Any], given: dict[str, Any], path: pathlib.Path
) -> None:
    adapters = _section(tree, "peft_config", path)
    if adapters.get("export_dir"):
        raise Unreadable(f"{path}: export_dir: it writes a model, and trains nothing")
    kind = adapters.get("name")
    if kind == "freeze":
        given["finetuning_type"] = kind
        given.update((k, v) for k, v in adapters.items() if k.startswith("freeze_"))
    elif kind is not None:
        given["finetuning_type"] = kind
        given["lora_rank"] = adapters.get("r", 8)
        given["lora_target"] = adapters.get("target_modules", "all")
    packs = _section(tree, "quant_config", path)
    if packs.get("name") == "bnb" or packs.get("quantization_bit"):
        given["quantization_bit"] = packs.get("quantization_bit") or 4
        given["quantization_method"] = {"auto": "bnb"}.get(
            str(packs.get("name")), packs.get("name")
        )
        given["double_quantization"] = packs.get("double_quantization", True)
