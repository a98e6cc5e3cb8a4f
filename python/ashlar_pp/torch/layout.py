"""Checks which rank has which parameters against a layout."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch.distributed as dist
from torch import nn

Parameters = dict[str, tuple[tuple[int, ...], bool]]
"""Shape by name, and whether the parameter is trained."""
Layout = Mapping[str, tuple[tuple[int, ...], Collection[int]]]
"""Shape by name, and the ranks that have the parameter."""

_WRAPPERS = {"_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module"}


def plain_name(name: str) -> str:
    """The name without the parts that compilers and checkpoints insert."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


def parameters_of(module: nn.Module) -> Parameters:
    each = module.named_parameters(remove_duplicate=False)
    return {plain_name(name): (tuple(p.shape), p.requires_grad) for name, p in each}


def fault_in(given: Sequence[Parameters], layout: Layout) -> str:
    """Describes the first parameter with other ranks or another shape than in the
    layout, or not trained on all of them, or trained and not in the layout. Empty if
    there is none.

    given: parameters of each rank.
    """
    for name, (shape, ranks) in layout.items():
        have = [rank for rank, mine in enumerate(given) if name in mine]
        if have != sorted(ranks):
            return (
                f"{name} is on {_listed(have)}, and belongs on {_listed(sorted(ranks))}"
            )
        trained = [rank for rank in have if given[rank][name][1]]
        if trained and trained != have:
            return (
                f"{name} is trained on {_listed(trained)} alone, and belongs on "
                f"{_listed(have)}"
            )
        for rank in have:
            if (found := given[rank][name][0]) != shape:
                return (
                    f"{name} has shape {found} on rank {rank}, and should have {shape}"
                )
    for rank, mine in enumerate(given):
        for name, (_, trains_here) in mine.items():
            if trains_here and name not in layout:
                return f"{name} is on rank {rank}, and the layout has no such parameter"
    return ""


def fault_in_stages(stages: Sequence[Parameters], whole: Parameters) -> str:
    """Describes the first parameter that is not in exactly one stage, or differs from
    the whole model's; empty if none.
    """
    for name in dict.fromkeys([*whole, *(name for stage in stages for name in stage)]):
        have = [number for number, stage in enumerate(stages) if name in stage]
        if name not in whole:
            return f"{name} of stage {have[0]} is no parameter of the model"
        if len(have) != 1:
            return (
                f"{name} is in {f'stages {have}' if have else 'no stage'}, and belongs "
                "in one"
            )
        if (found := stages[have[0]][name][0]) != whole[name][0]:
            return (
                f"{name} has shape {found} in stage {have[0]}, and {whole[name][0]} in "
                "the model"
            )
    return ""


def must_be_laid_out(
    mine: Parameters, layout: Layout, group: dist.ProcessGroup | None
) -> None:
    """Raises ValueError on every rank of the group if a parameter is not where the
    layout says, or if ranks have other layouts. Every rank of the group has to call
    this.
    """
    everyone: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, (mine, dict(layout)), group=group)
    for rank, (_, other) in enumerate(everyone):
        if other != everyone[0][1]:
            first = everyone[0][1]
            name = next(
                name for name in [*first, *other] if first.get(name) != other.get(name)
            )
            raise ValueError(
                f"rank {rank} has another model than rank 0: {name} is "
                f"{_shown(other, name)} there, and {_shown(first, name)} here"
            )
    if fault := fault_in([parameters for parameters, _ in everyone], layout):
        raise ValueError(f"the model is not where its layout says: {fault}")


def _shown(layout: Layout, name: str) -> str:
    if name not in layout:
        return "missing"
    shape, ranks = layout[name]
    return f"of shape {shape} on {_listed(sorted(ranks))}"


def _listed(ranks: Sequence[int]) -> str:
    if not ranks:
        return "no rank"
    return (
        f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
    )
