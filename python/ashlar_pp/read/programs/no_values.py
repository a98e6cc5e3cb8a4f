"""Modules of a program's own without memory: their parameters have shapes and formats,
and no values, and neither has what is computed from them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .absent import Absent, is_absent

# They ask for a value: of a loss that is logged, of a bound that is checked.
_ASK = {
    torch.Tensor.item,
    torch.Tensor.tolist,
    torch.Tensor.numpy,
    torch.Tensor.__float__,
    torch.Tensor.__int__,
    torch.Tensor.__bool__,
    torch.Tensor.__format__,
}


_SET_DATA: Any = vars(torch._C.TensorBase)["data"].__set__


def keep_no_values(own_operations: set[str]) -> None:
    """From now on. Operations of packages of their own, whose work no formula knows,
    are collected in `own_operations`."""
    real = nn.Parameter.__new__

    def new(cls: Any, data: Any = None, requires_grad: bool = True) -> Any:
        if type(data) in (torch.Tensor, nn.Parameter) and not data.is_meta:
            data = data.detach().to("meta")
        return real(cls, data, requires_grad)

    parameter: Any = nn.Parameter
    parameter.__new__ = staticmethod(new)
    for mode in (_Together(own_operations), _Asked()):
        entered: Any = mode
        entered.__enter__()


class _Together(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What meets a tensor without values loses its own."""

    def __init__(self, own_operations: set[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.own_operations = own_operations

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        found = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if any(each.is_meta for each in found):
            if func.namespace not in ("aten", "prim", "prims"):
                self.own_operations.add(str(func))
            if not all(each.is_meta for each in found):
                args, kwargs = tree_map(_without_value, (args, kwargs))
        return func(*args, **kwargs)


def _lacks(value: Any) -> bool:
    """Whether a number of a list is not here."""
    if isinstance(value, list | tuple):
        return any(map(_lacks, value[:2])) or any(map(_lacks, value[-2:]))
    return is_absent(value)


def _without_value(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value if value.is_meta else value.to("meta")
    return torch.device("meta") if isinstance(value, torch.device) else value


class _Asked(TorchFunctionMode):
    """Answers for a value that is not there: zero."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        first = args[0] if args else None
        if func in (torch.tensor, torch.as_tensor) and _lacks(first):
            return Absent()
        if func is torch.tensor and "meta" in str(kwargs.get("device")):
            kwargs = {**kwargs, "device": "cpu"}  # its value is given
        if not isinstance(first, torch.Tensor):
            return func(*args, **kwargs)
        if func == _SET_DATA and first.is_meta:
            return func(first, args[1].to("meta"))
        if func is torch.Tensor.pin_memory:
            return first
        if not first.is_meta:
            return func(*args, **kwargs)
        if func in _ASK:
            return func(torch.zeros(first.shape, dtype=first.dtype), *args[1:])
        if func is torch.Tensor.cpu:
            return first
        if func is torch.Tensor.to and "cpu" in map(str, (*args[1:], *kwargs.values())):
            return first
        if func in (torch.isfinite, torch.Tensor.isfinite):
            return torch.ones(first.shape, dtype=torch.bool)
        return func(*args, **kwargs)
