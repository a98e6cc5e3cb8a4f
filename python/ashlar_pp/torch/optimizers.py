"""Guards optimizers and scalers of a pipeline: states belong to parameters by name, and
all ranks take a step or none.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

_MARK = "of_parameter"
"""The key in an optimizer's state of a parameter for a hash of the parameter's name."""


def _number_of(name: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(name.encode(), digest_size=6).digest(), "little"
    )


class StateGuard:
    """Marks optimizer states with the names of their parameters, and refuses a step
    with the state of another parameter.

    Optimizers number their parameters. A state saved where layers were dealt otherwise
    would silently be loaded, with the moments of other layers.
    """

    def __init__(self, names: Mapping[nn.Parameter, str]) -> None:
        self._names = {id(p): (p, name) for p, name in names.items()}
        self._hooks = [
            register_optimizer_step_pre_hook(self._before),
            register_optimizer_step_post_hook(self._after),
        ]

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _states(
        self, optimizer: torch.optim.Optimizer
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for group in optimizer.param_groups:
            for p in group["params"]:
                known, name = self._names.get(id(p), (None, ""))
                if (
                    known is not None
                    and known is p
                    and (state := optimizer.state.get(known))
                ):
                    yield name, state

    def _before(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for name, state in self._states(optimizer):
            if state.get(_MARK, _number_of(name)) != _number_of(name):
                raise ValueError(
                    f"the optimizer's state of {name} was saved for another parameter: "
                    "layers were dealt otherwise then. Save and "
                    "load pipe.optimizer_state(optimizer), which goes by names"
                )

    def _after(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for name, state in self._states(optimizer):
            state[_MARK] = _number_of(name)


class OptimizerState:
    """An optimizer's state by the names of the whole model, for
    torch.distributed.checkpoint. It also loads where layers are dealt otherwise. A
    shared parameter is there under each of its names.
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        aliases: list[list[str]],
    ) -> None:
        self._module, self._optimizer, self._aliases = module, optimizer, aliases
        self._options = StateDictOptions(flatten_optimizer_state_dict=True)

    def _others(self, key: str) -> Iterable[str]:
        """The key under the parameter's other names."""
        for names in self._aliases:
            for name in names:
                for begin in ("state.", "param_groups."):
                    if key.startswith(f"{begin}{name}."):
                        return [
                            begin + other + key[len(begin) + len(name) :]
                            for other in names
                            if other != name
                        ]
        return []

    def _found(self) -> dict[str, Any]:
        """The state as PyTorch returns it. PyTorch creates missing state, but not while
        there are gradients.
        """
        gradients = {p: p.grad for p in self._module.parameters()}
        for p in gradients:
            p.grad = None
        found = get_optimizer_state_dict(
            self._module, self._optimizer, options=self._options
        )
        for p, gradient in gradients.items():
            p.grad = gradient
        return found

    def state_dict(self) -> dict[str, Any]:
        found = self._found()
        kept = {
            key: value for key, value in found.items() if not key.endswith(f".{_MARK}")
        }
        return kept | {
            other: value for key, value in kept.items() for other in self._others(key)
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        mine = self._found()
        known = {key: value for key, value in state.items() if key in mine}
        marks = {key: value for key, value in mine.items() if key.endswith(f".{_MARK}")}
        set_optimizer_state_dict(
            self._module, self._optimizer, known | marks, options=self._options
        )


def gathered_state(module: nn.Module, group: dist.ProcessGroup) -> dict[str, Any]:
    """Gathers the module states of all ranks of the group on its first; {} on
    others.
    """

    def in_host(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return (
            value.full_tensor() if hasattr(value, "full_tensor") else value.detach()
        ).cpu()

    mine = {name: in_host(value) for name, value in module.state_dict().items()}
    first = dist.get_process_group_ranks(group)[0]
    everyone: list[Any] | None = (
        [None] * dist.get_world_size(group) if dist.get_rank() == first else None
    )
    dist.gather_object(mine, everyone, dst=first, group=group)
    return {name: value for one in everyone or [] for name, value in one.items()}


def must_decide_together(loss_fn: Any, model: nn.Module) -> None:
    """Raises ValueError if losses are scaled by a scaler that checks the gradients of
    one rank alone.
    """
    if any(
        isinstance(one, GradScaler) and not isinstance(one, ShardedGradScaler)
        for one in _reachable((loss_fn, vars(model)))
    ):
        raise ValueError(
            "loss_fn uses a GradScaler, which skips a step on the ranks alone whose "
            "own gradients overflow: use "
            "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler"
            "(process_group=group), which decides for all ranks"
        )


def _reachable(value: Any) -> Iterator[Any]:
    """Yields what a function can reach: its closure, the globals that it names, and
    their attributes.
    """
    seen: set[int] = set()
    stack = [(value, 6)]
    while stack:
        one, depth = stack.pop()
        if (
            depth == 0
            or id(one) in seen
            or isinstance(
                one, (str, bytes, int, float, torch.Tensor, type, types.ModuleType)
            )
        ):
            continue
        seen.add(id(one))
        yield one
        inside: list[Any] = []
        if isinstance(one, Mapping):
            inside = list(one.values())
        elif isinstance(one, (list, tuple, set, frozenset)):
            inside = list(one)
        elif isinstance(one, nn.Module):
            inside = [
                value
                for name, value in vars(one).items()
                if name not in ("_parameters", "_buffers")
            ]
        else:
            code = getattr(one, "__code__", None)
            if isinstance(code, types.CodeType):
                inside = [one.__globals__.get(name) for name in _names_in(code)]
            for cell in getattr(one, "__closure__", None) or ():
                try:
                    inside.append(cell.cell_contents)
                except ValueError:  # not yet filled
                    continue
            attributes = getattr(one, "__dict__", None)
            inside += [
                getattr(one, name, None)
                for name in (
                    "__self__",
                    "__func__",
                    "func",
                    "args",
                    "keywords",
                    "__wrapped__",
                )
            ]
            inside += list(attributes.values()) if type(attributes) is dict else []
        stack.extend((value, depth - 1) for value in inside if value is not None)


def _names_in(code: types.CodeType) -> set[str]:
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*(_names_in(one) for one in inner))
