"""The calls of a model's layers, and the values between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_unflatten

from .layers import Layer
from .measurement import Measured


@dataclass
class Value:
    """A tensor that a layer returns, with the call that makes it and the calls that
    read it. A layer may hand on its input.
    """

    shape: torch.Size
    dtype: torch.dtype
    made_by: int
    read_by: list[int] = field(default_factory=list)
    is_changed: bool = False
    """Whether it is changed in place between layers: every stage repeats that on a
    copy.
    """

    def nbytes(self) -> int:
        return self.shape.numel() * self.dtype.itemsize

    def is_differentiable(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex


@dataclass
class Call:
    """A call of a layer. The leaves of its output are values, by number, or
    constants.
    """

    layer: Layer
    is_free: bool
    """Whether it has no parameters and depends on the model's inputs alone: every stage
    calls it again.
    """
    measured: Measured | None = None
    spec: TreeSpec | None = None
    leaves: list[tuple[int | None, Any]] = field(default_factory=list)
    checkpoint: int | None = None
    """The number of the model's own activation checkpoint around it, if any."""

    def trains(self) -> bool:
        """Whether the layer has a parameter that is trained."""
        return any(p.requires_grad for p in self.layer.module.parameters())

    def output(self, value: Callable[[int], torch.Tensor]) -> Any:
        assert self.spec is not None
        if self.spec.is_leaf():  # by far the most calls, and unflattening takes longer
            (at, constant), *_ = self.leaves
            return constant if at is None else value(at)
        return tree_unflatten(
            [constant if at is None else value(at) for at, constant in self.leaves],
            self.spec,
        )


@dataclass
class Trace:
    """The calls of a model, in order, and the values between them."""

    calls: list[Call]
    values: list[Value]
    changes_inputs: bool = False
    """Whether the model's own forward changes the batch in place, so that every stage
    gets a copy.
    """
    draws_python: bool = True
    """Whether the model draws from Python's or NumPy's generator."""

    def whole_layers(self) -> list[str]:
        """Names of layers whose backwards cannot be split."""
        return [
            call.layer.name
            for call in self.calls
            if call.measured is not None and call.measured.is_whole
        ]

    def crossing(self, cut: int) -> list[int]:
        """Numbers of the values that cross a cut before this call: made before it, read
        at or after it.
        """
        return [
            k
            for k, v in enumerate(self.values)
            if v.made_by < cut and any(reader >= cut for reader in v.read_by)
        ]

    def summary(self) -> str:
        """The parts of the trace that ranks have to agree on, as text."""
        calls = [
            (
                call.layer.name,
                call.is_free,
                [number for number, _ in call.leaves],
                call.checkpoint,
            )
            for call in self.calls
        ]
        values = [
            (
                tuple(v.shape),
                str(v.dtype),
                v.made_by,
                sorted(set(v.read_by)),
                v.is_changed,
            )
            for v in self.values
        ]
        return repr((calls, values))

    def widest(self) -> int:
        """The most bytes that cross a cut."""
        cuts = range(1, len(self.calls))
        return max(
            (sum(self.values[k].nbytes() for k in self.crossing(cut)) for cut in cuts),
            default=0,
        )
