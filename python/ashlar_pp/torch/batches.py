"""Batches and their micro-batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def inputs_of(given: Any) -> Inputs:
    """Positional and keyword inputs of the model: a tensor or tuple is positional, a
    mapping holds keywords.
    """
    if isinstance(given, Mapping):
        return (), dict(given)
    return (tuple(given), {}) if isinstance(given, (tuple, list)) else ((given,), {})


@dataclass
class Cut:
    """A batch on its device, and its micro-batches."""

    tensors: list[torch.Tensor]
    pieces: list[Any]
    first: list[Any]
    """The leaves of the first micro-batch."""


class Example:
    """One micro-batch, by whose rows batches are cut."""

    def __init__(self, given: Any, what: str) -> None:
        """what: names the batches."""
        self._what = what
        leaves, self._spec = tree_flatten(given)
        self._leaves = [
            x.detach().to("meta") if isinstance(x, torch.Tensor) else x for x in leaves
        ]

    def cut(self, batch: Any, count: int, device: torch.device) -> Cut:
        """Splits the batch into `count` parts with the example's rows.

        Tensors `count` times as long as the example's are cut along dimension 0.
        Tensors with the example's rows, and objects that are no tensors, are the same
        for all parts. Other dimensions may have other sizes than the example's.
        Raises ValueError, with the name, for other rows or numbers of dimensions, for
        objects that hold tensors, and for a tensor with the rows of one micro-batch if
        no tensor, or one of as many, is cut.
        """
        leaves, spec = tree_flatten(batch)
        if spec != self._spec:
            raise ValueError(
                f"{self._what} is not made like the example's: {spec} and {self._spec}"
            )

        def name(at: int) -> str:
            return f"{self._what}{keystr(tree_flatten_with_path(batch)[0][at][0])}"

        tensors: list[torch.Tensor] = []
        columns: list[Any] = []
        cut: set[int] = set()
        same: dict[int, int] = {}  # rows by number of the leaf
        for at, (x, e) in enumerate(zip(leaves, self._leaves)):
            if isinstance(x, torch.Tensor):
                x = x.to(device)
                tensors.append(x)
            pieces: Any = [x] * count
            if isinstance(e, torch.Tensor):
                rows = e.shape[0] if e.dim() > 0 else 0
                if (
                    not isinstance(x, torch.Tensor)
                    or x.dim() != e.dim()
                    or (e.dim() > 0 and x.shape[0] not in (rows, count * rows))
                ):
                    found = (
                        tuple(x.shape)
                        if isinstance(x, torch.Tensor)
                        else type(x).__name__
                    )
                    whole = (count * rows, *e.shape[1:]) if e.dim() > 0 else None
                    raise ValueError(
                        f"{name(at)} is {found}; {count} micro-batches of the "
                        f"example's {tuple(e.shape)} are {whole}"
                    )
                if e.dim() > 0 and x.shape[0] == count * rows:
                    pieces = x.chunk(count)
                    cut.add(rows)
                elif e.dim() > 0:
                    same[at] = rows
            elif hasattr(x, "__array__") or holds_tensors(x):
                raise ValueError(
                    f"{name(at)} is a {type(x).__name__}, which is not cut in "
                    "micro-batches: give tensors"
                )
            columns.append(pieces)
        for at, rows in same.items():
            if not cut or rows in cut:
                raise ValueError(
                    f"{name(at)} has {rows} rows, as the example, which is one "
                    f"micro-batch; a batch of {count} has {count * rows}"
                )
        parts = zip(*columns) if columns else [()] * count
        return Cut(
            tensors,
            [tree_unflatten(part, spec) for part in parts],
            [of[0] for of in columns],
        )


def holds_tensors(value: Any, depth: int = 4) -> bool:
    """Whether an object holds tensors, up to `depth` levels down."""
    if isinstance(value, torch.Tensor):
        return True
    if (
        depth == 0
        or isinstance(value, (nn.Module, type, str, bytes, int, float, complex))
        or callable(value)
    ):
        return False
    if isinstance(value, dict):
        inside = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = list(value)
    else:
        slots = (
            name
            for kind in type(value).__mro__
            for name in getattr(kind, "__slots__", ())
        )
        inside = [
            *getattr(value, "__dict__", {}).values(),
            *(getattr(value, name, None) for name in slots),
        ]
    return any(holds_tensors(one, depth - 1) for one in inside)
