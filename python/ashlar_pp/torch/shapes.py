"""Shapes that stages give each other, found by running the stages on fake tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map_only

from .passes import tensors_of

Signature = tuple[tuple[torch.Size, torch.dtype], ...]
"""Shape and type of each tensor that a stage gives."""


def signature_of(tensors: Any) -> Signature:
    return tuple((t.shape, t.dtype) for t in tensors)


def words_of(signature: Signature) -> str:
    return (
        ", ".join(f"{tuple(shape)} of {dtype}" for shape, dtype in signature)
        or "nothing"
    )


def trace(
    stage: str,
    module: nn.Module,
    inputs: Any,
    kwargs: dict[str, Any],
    device: torch.device,
    sequences: bool,
) -> Signature:
    """Signature of the stage's outputs. inputs: tensors, or a signature. Respects
    autocast; draws no random numbers.
    """
    # a compiled module would be compiled for this, too
    module = getattr(module, "_orig_mod", module)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():

        def fake(t: torch.Tensor) -> torch.Tensor:
            return mode.from_tensor(t.detach())

        named = [
            *module.named_parameters(remove_duplicate=False),
            *module.named_buffers(remove_duplicate=False),
        ]
        values = {name: fake(t) for name, t in named}
        arguments = [
            tree_map_only(torch.Tensor, fake, x)
            if not (
                isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], torch.Size)
            )
            else torch.empty(x[0], dtype=x[1], device=device)
            for x in inputs
        ]
        given = tree_map_only(torch.Tensor, fake, kwargs)
        output = torch.func.functional_call(
            module, values, (*arguments, None) if sequences else tuple(arguments), given
        )
        return signature_of(tensors_of(output[0] if sequences else output, stage))
