"""Configuration files of frameworks, told apart by what stands in them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from . import (
    of_bridge,
    of_factory,
    of_foundry,
    of_lingua,
    of_litgpt,
    of_nanotron,
    of_nemo_rl,
    of_neox,
    of_olmo,
    of_oumi,
    of_primus,
    of_torchtune,
    of_veomni,
    oumi_run,
)
from .of_megatron import of_fields
from .of_torchtitan import of_job
from .of_trainer import of_arguments
from .of_verl import of_values
from .run_file import Run, Unreadable
from .values import Values

# In the order in which they are asked.
_READERS: list[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Any, pathlib.Path], Run]]
] = [
    (kind.is_recipe, kind.of_recipe)
    for kind in (
        of_torchtune,
        of_neox,
        of_olmo,
        of_foundry,
        of_litgpt,
        of_veomni,
        of_lingua,
        of_factory,
        of_oumi,
        of_nemo_rl,
    )
]
_READERS.append((oumi_run.is_job, oumi_run.of_job))


def run_of_recipe(
    tree: Any,
    path: pathlib.Path,
    given: Mapping[str, Any] | None = None,
    accelerate: Mapping[str, Any] | None = None,
) -> Run:
    """The run of a configuration; `given` replaces values of it. Raises Unreadable."""
    if not isinstance(tree, Mapping):
        raise Unreadable(f"{path} is no configuration with names and values")
    keys = set(tree)
    if of_nanotron.is_recipe(tree):
        return of_nanotron.of_recipe(tree, str(path))
    if "actor_rollout_ref" in keys:
        return of_values(Values({**tree, **(given or {})}, str(path)), path.parent)
    if of_primus.is_recipe(tree):
        return of_primus.of_recipe(tree, path)
    for is_for, read in _READERS:
        if is_for(tree):
            return read(tree, path)
    if of_bridge.is_recipe(tree):
        return of_bridge.of_recipe(tree, path)
    if "model" in keys and "trainer" in keys and isinstance(tree["model"], Mapping):
        return _of_nemo(tree, path)
    if keys & {"training", "parallelism"} and isinstance(tree.get("training"), Mapping):
        return Run(framework="torchtitan", arguments={**of_job(tree), **(given or {})})
    if keys & {
        "zero_optimization",
        "train_micro_batch_size_per_gpu",
        "train_batch_size",
    }:
        return Run(framework="deepspeed", arguments=tree)
    if keys & {"num_layers", "hidden_size"}:
        run = Run()
        of_fields(tree, run, path.parent)
        return run
    if keys & {"base_model", "model_name_or_path", "per_device_train_batch_size"}:
        return of_arguments(
            {**tree, **(given or {})}, path.parent, accelerate or {}, given is None
        )
    if "distributed_type" in keys:
        raise Unreadable(
            f"{path} is accelerate's: how ranks share the state, without a model and a "
            "batch; read the script that starts the training with it"
        )
    raise Unreadable(
        f"{path} is of no kind that is read here: nanotron, verl, Primus, "
        "Megatron-Bridge, NeMo, NeMo RL, torchtitan, DeepSpeed, Megatron-LM, GPT-NeoX, "
        "OLMo, LitGPT, llm-foundry, torchtune, oumi, VeOmni, lingua, or the Trainer of "
        "transformers"
    )


def _of_nemo(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """NeMo 1: Megatron's fields in the model's section."""
    model = dict(tree["model"])
    if "micro_batch_size" not in model:
        raise Unreadable(
            f"{path}: its model has no micro_batch_size: no recipe of NeMo"
        )
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
