"""The gradients that a model has without a pipeline, found without its numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from .state import State


class _Step(nn.Module):
    """A forward and backward of a model. Both are in one call, because an activation
    checkpoint reads the weights again in the backward.
    """

    def __init__(
        self, model: nn.Module, loss_of: Callable[[Any], torch.Tensor]
    ) -> None:
        super().__init__()
        self.model, self.loss_of = model, loss_of

    def forward(self, args: Any, kwargs: Any) -> None:
        self.loss_of(self.model(*args, **kwargs)).backward()


def trained_unpiped(
    model: nn.Module, loss_of: Callable[[Any], torch.Tensor], args: Any, kwargs: Any
) -> set[str] | None:
    """Names of the parameters to which a step of the whole model gives a gradient.

    The model runs forward and backward on the meta device, where its weights and
    activations take no memory. Returns None if it cannot: it decides by numbers, or has
    operations that need them. A parameter with several names counts under all.

    loss_of: makes the loss of the model's output on the meta device.
    """
    named = {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
    meta = {id(t): meta_like(t).requires_grad_(t.requires_grad) for t in named.values()}
    before = State([("", model)])
    try:
        with torch.enable_grad():
            torch.func.functional_call(
                _Step(model, loss_of),
                {f"model.{name}": meta[id(t)] for name, t in named.items()},
                tree_map_only(torch.Tensor, meta_like, (args, kwargs)),
            )
    except Exception:
        return None
    finally:
        before.restore()
    return {name for name, t in named.items() if meta[id(t)].grad is not None}


def meta_like(x: torch.Tensor) -> torch.Tensor:
    """A tensor like this one without numbers."""
    return torch.empty_like(x, device="meta", requires_grad=False)
