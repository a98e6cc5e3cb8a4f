"""Attention in a forward without memory: a call is recorded, and its parts are not."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from .dispatched import Recorder
from .events import Attention
from .masks import seen_by


class _Attended(torch.autograd.Function):
    """Attention as a fused kernel keeps it: queries, keys, values, result and a sum
    for each row."""

    @staticmethod
    def forward(
        ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> torch.Tensor:
        # Fused kernels write heads side by side, so that the next product reads the
        # result itself and no copy of it is kept.
        width = value.shape[-1]
        if query.dim() > 2:
            *batch, heads, queries, _ = query.shape
            made = query.new_empty((*batch, queries, heads, width)).transpose(-2, -3)
        else:
            made = query.new_empty((*query.shape[:-1], width))
        sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
        ctx.save_for_backward(query, key, value, made, sums)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a walk has no backward")


class Attentions:
    """Stands for scaled_dot_product_attention: records a call, whose parts then are
    not."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.own = nn.functional.scaled_dot_product_attention

    def __enter__(self) -> None:
        nn.functional.scaled_dot_product_attention = self.attend

    def __exit__(self, *_: Any) -> None:
        nn.functional.scaled_dot_product_attention = self.own

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        """Takes what PyTorch's function takes."""
        recorder = self.recorder
        queries, keys = query.shape[-2], key.shape[-2]
        mask = attn_mask
        if mask is not None and not recorder.known(mask):
            seen = recorder.seen_through(mask, queries, keys)
        else:
            seen = seen_by(mask, is_causal, queries, keys)
        head = query.shape[-1]
        batch = math.prod(query.shape[:-3])
        heads = query.shape[-3] if query.dim() > 2 else 1
        groups = key.shape[-3] if key.dim() > 2 else 1
        recorder.walk.events.append(
            Attention(
                recorder.module,
                batch,
                heads,
                groups,
                queries,
                keys,
                head,
                value.shape[-1],
                seen,
            )
        )
        made = _Attended.apply(query, key, value)
        assert isinstance(made, torch.Tensor)
        return made
