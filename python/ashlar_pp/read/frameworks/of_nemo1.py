"""Configurations of NeMo 1: Megatron's fields in the model's section."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from .of_megatron import of_fields

READS = "NeMo"


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model = tree.get("model")
    return (
        "trainer" in tree and isinstance(model, Mapping) and "micro_batch_size" in model
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    model = dict(tree["model"])
    names = {"encoder_seq_length": "seq_length", "activation": ""}
    fields: dict[str, Any] = {
        str(names.get(k, k)): v
        for k, v in model.items()
        if not isinstance(v, Mapping) and names.get(k, k)
    }
    activation = str(model.get("activation", "gelu")).replace("-", "_")
    gates = {
        "swiglu": "swiglu",
        "fast_swiglu": "swiglu",
        "geglu": "geglu",
        "fast_geglu": "geglu",
        "squared_relu": "squared_relu",
    }
    if activation in gates:
        fields[gates[activation]] = True
    elif activation != "gelu":
        raise Unreadable(f"{path}: model.activation {activation!r} is not predicted")
    optimizer = model.get("optim") or {}
    if optimizer.get("name") == "distributed_fused_adam":
        fields["use_distributed_optimizer"] = True
    tokenizer = model.get("tokenizer") or {}
    if tokenizer.get("vocab_size"):
        fields["vocab_size"] = tokenizer["vocab_size"]
    precision = str((tree["trainer"] or {}).get("precision", 32))
    fields[
        "bf16" if "bf16" in precision else "fp16" if "16" in precision else "fp32"
    ] = True
    fields.pop("fp32", None)
    run = Run()
    of_fields(fields, run, path.parent)
    return run
