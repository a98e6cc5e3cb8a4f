"""The record of a loop of a program's own, of its objects and of what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from ..frameworks.of_trainer import LENGTHS
from ..modules.walked import Unreadable
from .held_parts import of
from .held_wrappers import Wrappers
from .made_modules import (
    architecture_of,
    has_second,
    is_of_transformers,
    kernel_of,
    layers_of,
    recomputation_of,
    shape_of,
    with_ids,
)


def record_of(
    module: nn.Module,
    made: Mapping[str, Any],
    wrappers: Wrappers,
    own: Mapping[str, Any],
    model: dict[str, Any],
) -> dict[str, Any]:
    """`made` is what the loop does with the module that trains, `own` are the program's
    own values, and `model` is the module as plain values. Raises Unreadable."""
    _must_train(module, made["optimizer"])
    sequences, tokens = shape_of(made["inputs"])
    layers = layers_of(module)
    record: dict[str, Any] = {
        "by": ["its own loop"],
        "own": own,
        "model": model,
        "has_second": has_second(module),
        "replaces": ["the loop"],
    }
    if not is_of_transformers(module):  # whose configurations tell all of a model
        length = next((own[name] for name in LENGTHS if own.get(name)), 0)
        file = architecture_of(module, with_ids(made["inputs"], int(length)))
        names = [one["name"] for one in file["layers"]]
        layers = {name: module.get_submodule(name) for name in names}
        model["config"], model["kernel"] = None, kernel_of(file)
        record["architecture"] = file
    is_unit = [id(one) in wrappers.units for one in layers.values()]
    world = torch.distributed
    record["loop"] = {
        "sequences": sequences or made["loader_batch"],
        "tokens": tokens,
        "micro_batches": made["micro_batches"],
        "sums_each": made["sums_each"],
        "products": made["products"],
        "wrapper": wrappers.kind,
        "options": wrappers.options,
        "gathers": "layers" if all(is_unit) else "other",
        "recomputes": recomputation_of(layers, made["recomputed"]),
        "ranks": world.get_world_size() if world.is_initialized() else 1,
        "is_compiled": wrappers.is_compiled,
        "evaluations": made["evaluations"],
    }
    return record


def _must_train(module: nn.Module, optimizer: Any) -> None:
    if any(group.get("amsgrad") for group in optimizer.param_groups):
        raise Unreadable("amsgrad keeps a third state of each parameter: not counted")
    mine = {id(one) for one in module.parameters()}
    trained = {id(one) for one in of(optimizer)}
    if not trained <= mine:
        raise Unreadable("its optimizer has parameters of other modules, too")
    if any(one.requires_grad and id(one) not in trained for one in module.parameters()):
        raise Unreadable("parameters have gradients that nothing updates")
