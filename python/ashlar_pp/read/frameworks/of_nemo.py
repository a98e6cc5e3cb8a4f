"""Recipes of NeMo 2: nemo_run's Partial of a pretraining or a finetuning."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from .of_megatron import of_fields

# Fields of the strategy and of the plugin of precision that a run has.
_OF_STRATEGY = """
    tensor_model_parallel_size pipeline_model_parallel_size context_parallel_size
    virtual_pipeline_model_parallel_size sequence_parallel expert_model_parallel_size
    expert_tensor_parallel_size num_layers_in_first_pipeline_stage
    num_layers_in_last_pipeline_stage account_for_embedding_in_pipeline_split
    account_for_loss_in_pipeline_split pipeline_model_parallel_layout
""".split()
_OF_DDP = (
    "grad_reduce_in_fp32 overlap_grad_reduce overlap_param_gather bucket_size".split()
)


def is_recipe(made: Any) -> bool:
    return type(made).__module__.startswith(("nemo_run", "fiddle"))


def of_recipe(recipe: Any, name: str) -> Run:
    """Raises Unreadable."""
    if getattr(recipe, "peft", None) is not None:
        raise Unreadable(f"{name}: peft: adapters train in place of the model")
    strategy, data = recipe.trainer.strategy, recipe.data
    fields = _model_of(recipe.model.config, name)
    for key in _OF_STRATEGY:
        value = _value(strategy, key)
        if value is not None:
            fields[key] = value
    if _value(strategy, "fsdp") not in (None, False):
        raise Unreadable(f"{name}: strategy.fsdp is not read")
    ddp = _value(strategy, "ddp")
    if not isinstance(ddp, str) and ddp is not None:
        fields.update({k: _value(ddp, k) for k in _OF_DDP})
    # NeMo's MegatronStrategy shares the optimizer unless it is told otherwise.
    shares = _value(ddp, "use_distributed_optimizer")
    fields["use_distributed_optimizer"] = shares is not False
    for key in ("global_batch_size", "micro_batch_size", "seq_length"):
        value = _value(data, key)
        if value is not None:
            fields[key] = value
    for callback in _value(recipe.trainer, "callbacks") or []:
        overlap = _value(callback, "tp_comm_overlap")
        if overlap is not None:
            fields["tp_comm_overlap"] = overlap
    plugins = _value(recipe.trainer, "plugins")
    for plugin in plugins if isinstance(plugins, list) else [plugins]:
        fields.update(_precision_of(plugin))
    run = Run()
    plain = {k: v for k, v in fields.items() if isinstance(v, bool | int | float | str)}
    of_fields(plain, run, pathlib.Path.cwd())
    nodes, devices = (_value(recipe.trainer, key) for key in ("num_nodes", "devices"))
    if isinstance(devices, int):
        run.notes.append(f"launched on {nodes or 1} x {devices} devices")
    return run


def _value(config: Any, key: str) -> Any:
    """What a config of fiddle says, or the default of what it makes."""
    try:
        return getattr(config, key, None)
    except Exception:
        return None


def _model_of(config: Any, name: str) -> dict[str, Any]:
    """The fields of the model's configuration, built: a dataclass."""
    try:
        made = importlib.import_module("fiddle").build(config)
    except Exception as error:  # it is somebody else's code
        reason = str(error).strip().split("\n")[0]
        raise Unreadable(f"{name}: model: {type(error).__name__}: {reason}") from None
    fields = {f.name: getattr(made, f.name, None) for f in dataclasses.fields(made)}
    activation = getattr(fields.pop("activation_func", None), "__name__", "gelu")
    if fields.pop("gated_linear_unit", False):
        gates = {"silu": "swiglu", "gelu": "geglu", "fast_gelu": "geglu"}
        if activation not in gates:
            raise Unreadable(f"{name}: a gate with the activation {activation}")
        fields[gates[activation]] = True
    elif activation == "squared_relu":
        fields["squared_relu"] = True
    fields["share_embeddings_and_output_weights"] = bool(
        fields.get("share_embeddings_and_output_weights")
    )
    return fields


def _precision_of(plugin: Any) -> Mapping[str, Any]:
    said = str(_value(plugin, "precision") or "")
    made: dict[str, Any] = {}
    if "bf16" in said:
        made["bf16"] = True
    elif said.startswith("16"):
        made["fp16"] = True
    for key in ("fp8", "fp8_recipe"):
        value = _value(plugin, key)
        if isinstance(value, str) and value:
            made[key] = value
    return made
