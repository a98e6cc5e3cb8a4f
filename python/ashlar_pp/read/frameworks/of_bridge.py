"""Recipes of Megatron-Bridge: functions that give a ConfigContainer, and its YAML."""

from __future__ import annotations

import dataclasses
import enum
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

from ..facts.stand_ins import import_recipe, stood_in_for
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from . import of_nemo, of_torchtitan
from .bridge_towers import add_towers
from .of_megatron import of_fields

READS = "Megatron-Bridge"

_QUIET = """
    dataset logger checkpoint tokenizer rng scheduler dist. profiling validation
    straggler rerun ft. inprocess nvrx tensor_inspect peft optimizer. ddp. train.
    comm_overlap mixed_precision *_target_ *_call_ *_partial_ optimizer_config ft
""".split()
_SECTIONS = ("model", "train", "ddp", "optimizer")
_MIXED = (
    "bf16",
    "fp16",
    "fp8",
    "fp8_recipe",
    "fp4",
    "fp4_recipe",
    "grad_reduce_in_fp32",
)
_OVERLAPS = ("tp_comm_overlap", "overlap_grad_reduce", "overlap_param_gather")

# Fields that Megatron-LM has no argument for, and that change no step.
_QUIET_FIELDS = tuple(
    """average_in_collective batch_p2p_ deallocate_pipeline hf_model_id muon_
    parallel_output persist_layer_norm preserve_fp32 scatter_embedding store_param
    transformer_layer_spec generation_config should_pad_vocab autocast_ init_model
    perform_initialization use_cpu_initialization gradient_accumulation_fusion
    memory_efficient_layer_norm fp8_margin fp8_amax restore_modelopt""".split()
)


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return "model" in tree and isinstance(tree.get("train"), Mapping)


def of_function(name: str) -> Run:
    """The run of `module:function`, which gives a ConfigContainer of Megatron-Bridge, a
    recipe of NeMo 2, or a Trainer.Config of torchtitan.

    Raises Unreadable.
    """
    module, _, function = name.partition(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, missing = import_recipe(module)
            container = getattr(made, function)()
    except (Exception, SystemExit) as error:  # it is somebody else's code
        reason = f"{type(error).__name__}: {str(error).strip().split(chr(10))[0]}"
        raise Unreadable(f"{name}: {reason}{_what_to_install(error)}") from None
    run = _of_container(container, name)
    if missing:
        run.notes.append(f"not installed, and not needed: {' '.join(missing)}")
    return run


def _what_to_install(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return "; install the package that has it into this Python"
    if missing := stood_in_for():
        return (
            "; it may need packages that are not installed here, and that something "
            f"stood in for: {' '.join(missing)}"
        )
    return ""


def _of_container(container: Any, name: str) -> Run:
    if of_nemo.is_recipe(container):
        return of_nemo.of_recipe(container, name)
    if of_torchtitan.is_job(container):
        return of_torchtitan.of_object(container)
    tree = _plain(container)
    if not isinstance(tree, Mapping) or not is_recipe(tree):
        raise Unreadable(f"{name} gives no ConfigContainer, with a model and a train")
    return of_recipe(tree, pathlib.Path(name))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """A ConfigContainer: fields of Megatron-Core in sections. Raises Unreadable."""
    if tree.get("peft"):
        raise Unreadable(f"{path}: peft: adapters train in place of the model")
    fields: dict[str, Any] = {}
    run = Run()
    for name in _SECTIONS:
        section = tree.get(name)
        if isinstance(section, Mapping):
            if name == "model":
                section = add_towers(section, run)
            fields.update({k: v for k, v in section.items() if not k.startswith("_")})
    # These replace values of the other sections (config.py of Megatron-Bridge).
    overlap = tree.get("comm_overlap")
    if isinstance(overlap, Mapping):
        said = {k: overlap.get(k) for k in _OVERLAPS}
        fields.update({k: v for k, v in said.items() if v is not None})
    mixed = tree.get("mixed_precision")
    if isinstance(mixed, str):
        fields["mixed_precision"] = mixed
    elif isinstance(mixed, Mapping):
        fields.update({k: mixed[k] for k in _MIXED if k in mixed})
    _name_activation(fields, path)
    plain = {
        k: v
        for k, v in fields.items()
        if not isinstance(v, Mapping) and not k.startswith(_QUIET_FIELDS)
    }
    of_fields(plain, run, path.parent)
    rest = [k for k in Values(tree, str(path)).all if not k.startswith("model.")]
    quiet, unknown = sorted_out(rest, _QUIET)
    run.unknown += unknown
    run.not_read = list(dict.fromkeys(key.partition(".")[0] for key in quiet))
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
    """Dataclasses as their fields with their class, functions and enumerations as their
    names."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            "_target_": f"{type(value).__module__}.{type(value).__qualname__}",
            **{
                f.name: _plain(getattr(value, f.name, None))
                for f in dataclasses.fields(value)
                if not f.name.startswith("_")
            },
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
