"""Optimizers and loaders of data in a loop that runs without values."""

from __future__ import annotations

import functools
import importlib
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from .absent import Absent, is_absent

_OF_WORKERS = (
    "num_workers prefetch_factor persistent_workers pin_memory timeout "
    "multiprocessing_context worker_init_fn pin_memory_device"
).split()


def hold_optimizers(
    made: list[weakref.ref[Any]], stepped: Callable[[Any, Any], Any]
) -> None:
    """Each that is built is added to `made`, and calls `stepped` for its step."""
    kind: Any = torch.optim.Optimizer
    begin = kind.__init__

    def step(optimizer: Any, closure: Any = None) -> Any:  # schedulers wrap it
        return stepped(optimizer, closure)

    @functools.wraps(begin)
    def begun(optimizer: Any, *words: Any, **named: Any) -> None:
        begin(optimizer, *words, **named)
        made.append(weakref.ref(optimizer))
        optimizer.step = types.MethodType(step, optimizer)

    kind.__init__ = begun
    for each in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD):
        any_kind: Any = each
        any_kind.__init__ = _unfused(any_kind.__init__)
    scaler: Any = importlib.import_module("torch.amp.grad_scaler").GradScaler
    scaler.scale = lambda self_, loss: loss
    scaler.unscale_ = scaler.update = lambda *words, **named: None
    scaler.step = lambda self_, optimizer, *words, **named: optimizer.step()


def hold_data(told: Callable[[int], None]) -> None:
    """Loaders start no processes. Of data that are not here, `told` hears how many
    samples a batch has."""
    kind: Any = torch.utils.data.DataLoader
    begin, iterate = kind.__init__, kind.__iter__

    @functools.wraps(begin)
    def begun(loader: Any, dataset: Any, *words: Any, **named: Any) -> None:
        for name in _OF_WORKERS:
            named.pop(name, None)
        begin(loader, dataset, *words, **named)

    def iterated(loader: Any) -> Any:
        if not is_absent(loader.dataset):
            return iterate(loader)
        told(int(loader.batch_size or 0))
        return iter([Absent() for _ in range(len(loader))])

    kind.__init__, kind.__iter__ = begun, iterated
    place: Any = importlib.import_module("torch.utils.data._utils.collate")
    collate = place.default_collate

    def collated(batch: Any) -> Any:
        if not any(map(is_absent, tree_leaves(batch))):
            return collate(batch)
        told(len(batch))
        return Absent()

    place.default_collate = collated


def of(optimizer: Any) -> list[Any]:
    """Its parameters."""
    return [one for group in optimizer.param_groups for one in group["params"]]


def _unfused(begin: Any) -> Any:
    """Fused kernels refuse parameters without memory."""

    @functools.wraps(begin)
    def begun(optimizer: Any, *words: Any, **named: Any) -> None:
        for name in ("fused", "foreach", "capturable"):
            named.pop(name, None)
        begin(optimizer, *words, **named)

    return begun
