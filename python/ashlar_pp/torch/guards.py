"""Checks that refuse, with the reason, what would silently train something wrong."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule

from .._core import Schedule


def is_sharded(module: nn.Module) -> bool:
    return any(isinstance(one, FSDPModule) for one in module.modules())


def gathered_groups(module: FSDPModule) -> list[Any]:
    """Groups of a module's parameters that fully_shard gathers at once. Earlier
    versions of torch have at most one.
    """
    state = module._get_fsdp_state()
    if (several := getattr(state, "_fsdp_param_groups", None)) is not None:
        return list(several)
    return [] if state._fsdp_param_group is None else [state._fsdp_param_group]


def is_compiled(module: nn.Module) -> bool:
    return any(
        hasattr(one, "_orig_mod")
        or getattr(one, "_compiled_call_impl", None) is not None
        for one in module.modules()
    )


def splits_backwards(schedule: Schedule) -> bool:
    """Whether weights have passes of their own."""
    return any(one.letter == "W" for line in schedule.order for one in line)


def must_know_parameters(
    name: str,
    module: nn.Module,
    roots: Sequence[torch.Tensor],
    inputs: Iterable[torch.Tensor | None],
    *,
    parameters_alone: bool = False,
) -> None:
    """Raises ValueError if the roots depend on a trained tensor that is no parameter of
    the stage.

    parameters_alone: checks parameters alone; other leaves may be inputs.
    """
    known = {id(p) for p in module.parameters()} | {id(x) for x in inputs}
    for leaf in leaves_under(roots):
        if (
            isinstance(leaf, nn.Parameter if parameters_alone else torch.Tensor)
            and id(leaf) not in known
        ):
            raise ValueError(
                f"{name} or loss_fn computes with something trained, of shape "
                f"{tuple(leaf.shape)}, that is no parameter "
                "of the stage's module: its gradient would be neither scaled nor "
                "summed. Make it a parameter of the module"
            )


def leaves_under(roots: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yields the trained leaves of these tensors' graphs."""
    seen: set[Any] = set()
    stack = [r.grad_fn for r in roots if r.grad_fn is not None]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, torch.Tensor):
            yield leaf
        stack.extend(child for child, _ in node.next_functions if child is not None)


def must_have_no_parameters(loss_fn: Any, besides: Iterable[nn.Parameter] = ()) -> None:
    """Raises ValueError if a loss, however wrapped, has trained parameters of its own.
    besides: parameters that it may have.
    """
    known = {id(p) for p in besides}
    for found in _parameters_in(loss_fn, set()):
        if id(found) not in known:
            raise ValueError(
                f"loss_fn has a parameter of its own, of shape {tuple(found.shape)}: "
                "it belongs to no stage, and its gradient "
                "would be neither scaled nor summed. Make it a part of the last "
                "stage's module"
            )


def _parameters_in(value: Any, seen: set[int]) -> Iterable[nn.Parameter]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, nn.Module):
        yield from (p for p in value.parameters() if p.requires_grad)
    elif isinstance(value, nn.Parameter):
        if value.requires_grad:
            yield value
    elif isinstance(value, functools.partial):
        for one in (value.func, *value.args, *value.keywords.values()):
            yield from _parameters_in(one, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for one in value:
            yield from _parameters_in(one, seen)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _parameters_in(one, seen)
    elif callable(value) and not isinstance(value, type):
        yield from _parameters_in(getattr(value, "__self__", None), seen)
        yield from _parameters_in(getattr(value, "__wrapped__", None), seen)
        for cell in getattr(value, "__closure__", None) or ():
            try:
                held = cell.cell_contents
            except ValueError:  # not yet filled
                continue
            yield from _parameters_in(held, seen)
        yield from _parameters_in(getattr(value, "__dict__", None), seen)


def must_fit(modules: Mapping[int, nn.Module], sharding: str) -> None:
    """Raises ValueError if modules are sharded and the program is not, or the other way
    round.
    """
    for stage, module in modules.items():
        if is_sharded(module) and sharding == "none":
            raise ValueError(
                f"stage {stage} is in fully_shard, but sharding is 'none': its weights "
                "would never be gathered. "
                "Say what each rank keeps a shard of: sharding='optimizer', "
                "'gradients', 'weights' or 'full', and data_ranks"
            )
        if (
            not is_sharded(module)
            and sharding != "none"
            and any(True for _ in module.parameters())
        ):
            raise ValueError(
                f"sharding is '{sharding}', but stage {stage} is not in fully_shard: "
                "its gradients would not be summed"
            )


def must_train(modules: Iterable[int], last: int, loss_fn: Any, target: Any) -> None:
    """Raises RuntimeError or ValueError if step() cannot train. modules: stages of this
    rank; last: the last stage of all.
    """
    if not torch.is_grad_enabled():
        raise RuntimeError(
            "step() trains, and gradients are disabled here (torch.no_grad): eval() "
            "runs forwards alone"
        )
    if last not in modules:
        return
    if loss_fn is None:
        raise ValueError(
            "step() trains, and the last stage is on this rank: pipeline() needs a "
            "loss_fn"
        )
    if target is None:
        raise ValueError(
            f"stage {last}, the last, is on this rank: step() needs the target"
        )
