"""Models of transformers without a method that makes a decoder's tokens: their parts
one after the other, each of what the one before it made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

NAME = "_tokens_by_parts"
# Inputs of which the first part reads one.
_READ = ("pixel_values", "input_features")


def add_chain(model: nn.Module, names: Iterable[str]) -> str:
    """Gives the model a method that runs these modules, in order, and its name; empty
    where the first reads neither images nor sound."""
    parts = [model.get_submodule(name) for name in names]
    if not parts:
        return ""
    taken = inspect.signature(parts[0].forward)
    if not any(name in taken.parameters for name in _READ):
        return ""
    # No parameter, buffer or module: it is the instance's alone.
    object.__setattr__(model, NAME, _chain(parts, taken))
    return NAME


def _chain(parts: list[nn.Module], taken: inspect.Signature) -> Callable[..., Any]:
    def run(**inputs: Any) -> Any:
        made = _tensor(parts[0](**inputs))
        for part in parts[1:]:
            made = _tensor(part(made))
        return made

    run.__signature__ = taken  # type: ignore[attr-defined]
    return run


def _tensor(made: Any) -> torch.Tensor:
    found = getattr(made, "last_hidden_state", made)
    first: torch.Tensor = found[0] if isinstance(found, tuple | list) else found
    return first
