"""A module that trains in a loop of a program's own: its inputs, its layers, and its
architecture by a walk."""

from __future__ import annotations

import gc
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from ..model import describe
from ..modules.sources import Source
from ..modules.walk import walk
from ..modules.walked import Unreadable
from .absent import is_absent

# Modules beside the model with a larger share of its parameters are a second one.
_SMALL = 0.01


def unwrapped(module: Any) -> nn.Module:
    """The module inside of wrappers, which also leave its parts."""
    fsdp = importlib.import_module("torch.distributed.fsdp")
    kinds = (
        nn.parallel.DistributedDataParallel,
        nn.DataParallel,
        fsdp.FullyShardedDataParallel,
    )

    def inside(one: Any) -> Any:
        while isinstance(one, kinds):
            one = one.module
        return one

    module = inside(module)
    for each in list(module.modules()):
        for name, child in list(each.named_children()):
            if isinstance(child, kinds):
                setattr(each, name, inside(child))
    return module  # type: ignore[no-any-return]


def is_of_transformers(module: nn.Module) -> bool:
    """Whether it is a class of transformers itself, or adapters of peft around one."""
    base: Any = module
    if hasattr(base, "get_base_model"):
        base = base.get_base_model()
    return type(base).__module__.startswith("transformers.models.")


def bound(module: nn.Module, words: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of a forward by their names. Raises Unreadable for others."""
    given = inspect.signature(module.forward).bind(*words, **named)
    made: dict[str, Any] = {}
    for name, value in given.arguments.items():
        kind = given.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            raise Unreadable("its module takes inputs without names")
        made.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    return made


def shape_of(inputs: Mapping[str, Any]) -> tuple[int, int]:
    """Sequences, and tokens of one; zeros where no input tells. Raises Unreadable where
    several do."""
    found = {
        tuple(one.shape)
        for one in inputs.values()
        if isinstance(one, torch.Tensor)
        and one.dim() == 2
        and one.dtype in (torch.int32, torch.int64)
    }
    if len(found) > 1:
        raise Unreadable(f"its module takes ids of several shapes: {sorted(found)}")
    sequences, tokens = next(iter(found), (0, 0))
    return sequences, tokens


def architecture_of(module: nn.Module, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Of one sequence of these inputs. Raises Unreadable."""
    sequences, tokens = shape_of(inputs)
    if not sequences:
        raise Unreadable("its module takes no ids of tokens")
    one = {name: _first_of(value, sequences) for name, value in inputs.items()}
    made = describe(Source(type(module).__name__, module, one))
    for key in ("not_walked", "no_architecture"):
        if key in made:
            raise Unreadable(f"its module is no decoder that is counted: {made[key]}")
    if sequences * made["operations"] != walk(module, inputs).operations:
        raise Unreadable("its work does not grow with its sequences")
    return made


def with_ids(inputs: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """These inputs, with one sequence of ids in the place of each that is not here."""
    return {
        name: torch.ones(1, tokens, dtype=torch.long) if is_absent(value) else value
        for name, value in inputs.items()
    }


def kernel_of(file: Mapping[str, Any]) -> str:
    """As transformers name it: of products and a softmax, or of PyTorch's function."""
    found = [one for kind in file["kinds"] for one in kind["attention"]]
    return "eager" if any(one["groups"] == 0 for one in found) else "sdpa"


def _first_of(value: Any, sequences: int) -> Any:
    """Of an input, what the first sequence has."""
    if not isinstance(value, torch.Tensor) or value.dim() < 2:
        return value
    return value[:1] if value.shape[0] == sequences else value


def layers_of(module: nn.Module) -> dict[str, nn.Module]:
    """Members of the outermost lists of modules, by name."""
    made: dict[str, nn.Module] = {}
    for name, one in module.named_modules():
        is_inside = any(name.startswith(f"{outer}.") for outer in made)
        if isinstance(one, nn.ModuleList) and not is_inside:
            made.update((f"{name}.{key}", each) for key, each in one.named_children())
    return made


def has_second(module: nn.Module) -> bool:
    """Whether the program holds another model than this one."""
    gc.collect()
    mine = {id(one) for one in module.parameters()}
    others = {
        id(one): one.numel()
        for each in gc.get_objects()
        if issubclass(type(each), nn.Module)
        for one in each._parameters.values()
        if one is not None and id(one) not in mine
    }
    whole = sum(one.numel() for one in module.parameters())
    return bool(sum(others.values()) > _SMALL * whole)


def recomputation_of(layers: Mapping[str, nn.Module], calls: list[set[int]]) -> str:
    """full: each layer alone in a call that runs again; none; or another text. A call
    has the modules that it runs."""
    if not calls:
        return "none"
    parts = {
        name: {
            id(each) for each in one.modules() if each is not one and each._parameters
        }
        or {id(one)}
        for name, one in layers.items()
    }
    alone = [
        [name for name, all_of in parts.items() if all_of <= call] for call in calls
    ]
    if any(len(each) != 1 for each in alone):
        return "other"
    return "full" if {each[0] for each in alone} == set(layers) else "other"
