"""Configurations of LitGPT, a YAML."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.local_models import add_local_model
from ..facts.optimizers import add_fact, add_optimizer, name_of_class, other_optimizer
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out

READS = "LitGPT"

_QUIET = """
    out_dir data eval. optimizer.init_args. logger_name seed access_token resume
    tokenizer_dir initial_checkpoint_dir lora_alpha lora_dropout train.save_interval
    train.log_interval train.lr_ train.epochs train.max_ train.min_lr train.max_tokens
    train.max_steps train.tie_embeddings log.
""".split()
_TARGETS = {
    "lora_query": "q_proj",
    "lora_key": "k_proj",
    "lora_value": "v_proj",
    "lora_projection": "o_proj",
    "lora_mlp": "mlp",
    "lora_head": "lm_head",
}

# Lightning's BitsandbytesPrecision packs every linear layer, the head too.
_PACKED = {
    f"bnb.{codes}{scales}": "4-bit" + (",double" if scales else "") + ",head"
    for codes in ("nf4", "fp4")
    for scales in ("", "-dq")
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    train = tree.get("train")
    return (
        isinstance(train, Mapping)
        and "global_batch_size" in train
        and bool({"checkpoint_dir", "model_name", "model_config"} & set(tree))
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    packed = v.word("quantize")
    if packed and packed not in _PACKED:
        raise Unreadable(f"{path}: quantize {packed} is not predicted")
    run = Run()
    name = v.word("model_name") or v.word("checkpoint_dir")
    name = name.removeprefix("checkpoints/")
    add_local_model(run, name, path.parent)
    if not v.flag("train.tie_embeddings"):
        _part_head(run)
    v.asked.update(k for k in v.all if k.startswith("model_config"))
    run.batch = {
        "sequences": v.number("train.global_batch_size"),
        "micro_batch": v.number("train.micro_batch_size", default=4),
    }
    if v.get("train.max_seq_length") is not None:
        run.batch["sequence"] = v.number("train.max_seq_length")
    devices, nodes = v.get("devices"), v.number("num_nodes", default=1)
    several = devices == "auto" or (isinstance(devices, int) and devices * nodes > 1)
    is_pretraining = "initial_checkpoint_dir" in v.all or "model_name" in v.all
    has_adapters = v.get("lora_r") is not None
    # litgpt/pretrain.py, finetune/full.py and finetune/lora.py.
    run.layout["sharding"] = "full" if several else "none"
    if several and is_pretraining and nodes > 1 and isinstance(devices, int):
        run.layout["shard_ranks"] = devices
    if several and not is_pretraining and not has_adapters:
        run.layout["recompute"] = "full"
    if isinstance(devices, int):
        run.notes.append(f"launched on {nodes} x {devices} devices")
    if has_adapters:
        targets = [_TARGETS[k] for k in _TARGETS if v.flag(k)]
        run.program["lora"] = lora_words(v.number("lora_r"), targets)
    if packed:
        if not has_adapters or several:
            raise Unreadable(f"{path}: quantize: LitGPT packs on one device, for LoRA")
        run.program["frozen_weights"] = _PACKED[packed]
    for key in _TARGETS:
        v.get(key)
    precision = v.word("precision", default="bf16-true")
    run.program["precision"] = (
        "bf16" if "bf16" in precision else "fp16" if "16" in precision else "fp32"
    )
    is_held_so = precision.endswith("-true") and not precision.startswith("32")
    _read_optimizer(v, run, path, is_held_so)
    if is_held_so and not several and not (devices is None and is_pretraining):
        # A shard of one rank is the whole, in its own format, without a copy.
        run.layout.update(sharding="full", data=1)
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _part_head(run: Run) -> None:
    """LitGPT's head is a matrix of its own, also where the published model's is not."""
    if isinstance(run.model, Mapping):
        run.model = {**run.model, "tie_word_embeddings": False}
    else:
        run.notes.append(
            "LitGPT's head is not tied to the embedding: the model's file needs "
            "tie_word_embeddings false, also where the published model ties it"
        )


def _read_optimizer(v: Values, run: Run, path: pathlib.Path, is_held_so: bool) -> None:
    """Its state has the format of the weights, but that of bitsandbytes 32 bits."""
    component = v.word("optimizer.class_path", "optimizer", default="AdamW")
    name = name_of_class(component)
    if not name:
        raise other_optimizer(path, "optimizer", component, "AdamW")
    if is_held_so:
        add_fact(run, "main-weights=16-bit")
        if component.rpartition(".")[0] in ("", "torch.optim"):
            add_fact(run, "first-moment=16-bit,second-moment=16-bit")
    add_optimizer(name, run)
