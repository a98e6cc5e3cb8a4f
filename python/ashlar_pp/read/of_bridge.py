"""Recipes of Megatron-Bridge: functions that give a ConfigContainer, and its YAML."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import pathlib
from collections.abc import Mapping
from typing import Any

from .of_megatron import of_fields
from .run_file import Run, Unreadable
from .values import Values, sorted_out

_QUIET = """
    dataset logger checkpoint tokenizer rng scheduler dist. profiling validation
    straggler rerun ft. inprocess nvrx tensor_inspect peft optimizer. ddp. train.
    comm_overlap mixed_precision *_target_ *_call_ *_partial_
""".split()
_SECTIONS = ("model", "train", "ddp", "optimizer")
_MIXED = ("bf16", "fp16", "fp8", "fp8_recipe", "fp4", "fp4_recipe")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return "model" in tree and isinstance(tree.get("train"), Mapping)


def of_function(name: str) -> Run:
    """The run of `module:function`, which gives a ConfigContainer.

    Raises Unreadable.
    """
    module, _, function = name.partition(":")
    try:
        container = getattr(importlib.import_module(module), function)()
    except Exception as error:  # it is somebody else's code
        raise Unreadable(f"{name}: {type(error).__name__}: {error}") from None
    tree = _plain(container)
    if not isinstance(tree, Mapping) or not is_recipe(tree):
        raise Unreadable(f"{name} gives no ConfigContainer, with a model and a train")
    return of_recipe(tree, pathlib.Path(name))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """A ConfigContainer: fields of Megatron-Core in sections. Raises Unreadable."""
    if tree.get("peft"):
        raise Unreadable(f"{path}: peft: adapters train in place of the model")
    fields: dict[str, Any] = {}
    for name in _SECTIONS:
        section = tree.get(name)
        if isinstance(section, Mapping):
            fields.update({k: v for k, v in section.items() if not k.startswith("_")})
    mixed = tree.get("mixed_precision")
    if isinstance(mixed, str):
        fields["mixed_precision"] = mixed
    elif isinstance(mixed, Mapping):
        fields.update({k: mixed[k] for k in _MIXED if k in mixed})
    _name_activation(fields, path)
    run = Run()
    of_fields(
        {k: v for k, v in fields.items() if not isinstance(v, Mapping)},
        run,
        path.parent,
    )
    rest = [k for k in Values(tree, str(path)).all if not k.startswith("model.")]
    run.not_read, run.unknown = sorted_out(rest, _QUIET)
    return run


def _name_activation(fields: dict[str, Any], path: pathlib.Path) -> None:
    """The gate of a model by its activation, as arguments name them."""
    said = fields.pop("activation_func", None)
    if isinstance(said, Mapping):
        said = said.get("_target_", "")
    name = str(said or "gelu").rpartition(".")[2]
    if not fields.pop("gated_linear_unit", False):
        if name == "squared_relu":
            fields["squared_relu"] = True
        elif said is not None and name not in ("gelu", "fast_gelu"):
            raise Unreadable(f"{path}: activation {name} without a gate")
        return
    gates = {
        "silu": "swiglu",
        "gelu": "geglu",
        "fast_gelu": "geglu",
        "quick_gelu": "quick_geglu",
    }
    if said is None:
        name = "silu"
    if name not in gates:
        raise Unreadable(f"{path}: a gate with the activation {name} is not read")
    fields[gates[name]] = True


def _plain(value: Any) -> Any:
    """Dataclasses as their fields, functions and enumerations as their names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(getattr(value, f.name, None))
            for f in dataclasses.fields(value)
            if not f.name.startswith("_")
        }
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__name__", None)
