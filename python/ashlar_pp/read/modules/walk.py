"""One forward of a model without memory: what it computes, as PyTorch's dispatcher
sees it.

Weights are on the `meta` device, so nothing is allocated and no size is too large.
What follows from shapes and token ids alone, such as masks and positions, is computed,
so causality and windows are read from the masks themselves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn

from .attended import Attentions
from .dispatched import Recorder, storage_of
from .walked import Unreadable, Walk


class _Kept:
    """Bytes that autograd keeps, each storage once, where it is first kept."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.known: set[int] = set()

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        """Counts a tensor that the backward needs."""
        at = storage_of(tensor)
        recorder = self.recorder
        if at in self.known or at in recorder.parameters:
            return tensor
        self.known.add(at)
        recorder.alive.append(tensor.untyped_storage())
        kept = recorder.walk.kept
        size = tensor.untyped_storage().nbytes()
        kept[recorder.module] = kept.get(recorder.module, 0) + size
        return tensor

    @staticmethod
    def unpack(tensor: torch.Tensor) -> torch.Tensor:
        """Gives it back as it is."""
        return tensor


def walk(
    model: nn.Module,
    inputs: Mapping[str, Any] | Iterable[Any],
    method: str = "__call__",
) -> Walk:
    """Runs one forward of a model on the `meta` device.

    `inputs` are its arguments, by name or in order; `method` is another one that runs
    a part of the model. Raises `Unreadable`, with the
    module and the reason, if the forward needs values of activations.
    """
    told = Walk()
    recorder = Recorder(told, model)
    kept = _Kept(recorder)
    hooks = nn.modules.module
    handles = [
        hooks.register_module_forward_pre_hook(recorder.enter),
        hooks.register_module_forward_hook(recorder.leave, always_call=True),
    ]
    call: Callable[[], Any]
    if isinstance(inputs, Mapping):
        named = dict(inputs)
        call = lambda: operator.attrgetter(method)(model)(**named)  # noqa: E731
    else:
        ordered = tuple(inputs)
        call = lambda: operator.attrgetter(method)(model)(*ordered)  # noqa: E731
    try:
        with (
            torch.autograd.graph.saved_tensors_hooks(kept.pack, kept.unpack),
            torch.enable_grad(),
            recorder,
            Attentions(recorder),
        ):
            told.result = call()
    except Unreadable:
        raise
    except Exception as error:
        # A model's own code may raise anything on values that are not there.
        reason = str(error).strip().split("\n")[0][:300]
        raise Unreadable(
            f"its forward failed: {type(error).__name__}: {reason}"
        ) from error
    finally:
        for handle in handles:
            handle.remove()
    return told
