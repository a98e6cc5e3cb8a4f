"""Measures a layer: the time of each of its passes, and the bytes that it keeps between
them.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only

from .clock import now
from .layers import Layer
from .split import input_gradients
from .state import State


@dataclass
class Measured:
    """Measurement of one call of a layer, in seconds and bytes."""

    forward: float = 0.0
    backward_input: float = 0.0
    backward_weight: float = 0.0
    kept: int = 0
    """Bytes kept from its forward to its backward."""
    kept_for_weights: int = 0
    """The part of `kept` that stays from the input pass to the weight pass."""
    spread: float = 0.0
    """Seconds between the shortest and the longest of all passes together."""
    is_whole: bool = False
    """Whether its backward cannot be split: the input pass then has the time of both.
    """

    def total(self) -> float:
        return self.forward + self.backward_input + self.backward_weight


def changes_inputs(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call changes its input tensors; it runs on copies."""
    given = tree_map_only(torch.Tensor, lambda x: x.detach().clone(), (args, kwargs))
    tensors = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
    before = [x._version for x in tensors]
    with torch.no_grad():
        layer.module(*given[0], **given[1])
    return [x._version for x in tensors] != before


class KeptBytes:
    """Counts the bytes that autograd keeps, now and at most. A storage counts once;
    those of parameters do not.
    """

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        self._known = {_storage_of(p) for p in parameters}
        self._counts: dict[Any, int] = {}
        self.now = self.most = 0

    def __enter__(self) -> KeptBytes:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(
            self._pack, lambda kept: kept.tensor
        )
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, tensor: torch.Tensor) -> Any:
        key = _storage_of(tensor)
        if key not in self._known:
            count = self._counts.get(key, 0)
            self._counts[key] = count + 1
            if count == 0:
                self.now += _bytes_of(tensor)
                self.most = max(self.most, self.now)
        # detached: its graph would keep itself alive
        return _Kept(self, tensor.detach(), key)

    def release(self, tensor: torch.Tensor, key: Any) -> None:
        if key in self._known:
            return
        self._counts[key] -= 1
        if self._counts[key] == 0:
            del self._counts[key]
            self.now -= _bytes_of(tensor)


class _Kept:
    def __init__(self, counter: KeptBytes, tensor: torch.Tensor, key: Any) -> None:
        self._counter, self.tensor, self._key = counter, tensor, key

    def __del__(self) -> None:
        self._counter.release(self.tensor, self._key)


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _storage_of(tensor: torch.Tensor) -> Any:
    return _local(tensor).untyped_storage()._cdata


def _bytes_of(tensor: torch.Tensor) -> int:
    return _local(tensor).untyped_storage().nbytes()


def _differentiable(tree: Any) -> list[torch.Tensor]:
    return [
        x for x in tree_leaves(tree) if isinstance(x, torch.Tensor) and x.requires_grad
    ]


def measure(
    layer: Layer,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    repeats: int,
    restore: Callable[[], object] = lambda: None,
) -> Measured:
    """Measures the passes of a call: medians of `repeats` runs after a warm-up.
    Gradients stay as they were. restore: puts objects among the arguments back, such as
    a cache of keys, after each run.

    Raises ValueError if the backward accumulates gradients of weights by itself.
    """
    module = layer.module
    parameters = [p for p in module.parameters() if p.requires_grad]
    gradients = [p.grad for p in parameters]
    hooks = [p._post_accumulate_grad_hooks for p in parameters]
    for p in parameters:
        if p._post_accumulate_grad_hooks:  # autograd would go on with those if None
            p._post_accumulate_grad_hooks = {}  # these are for gradients of a step
    device = next(
        (x.device for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)),
        torch.device("cpu"),
    )
    result = Measured()
    counted = (0, 0, False)
    times: dict[str, list[float]] = {
        "forward": [],
        "backward_input": [],
        "backward_weight": [],
    }
    is_whole = _has_odd_backward(layer, parameters, args, kwargs)
    restore()
    for turn in range(repeats + 1):
        counted = _passes(
            layer, parameters, args, kwargs, device, times if turn else None, is_whole
        )
        restore()
    for p, before, of in zip(parameters, gradients, hooks):
        p.grad, p._post_accumulate_grad_hooks = before, of
    result.kept, result.kept_for_weights, result.is_whole = counted
    for name, seconds in times.items():
        setattr(result, name, statistics.median(seconds))
    together = [sum(of) for of in zip(*times.values())]
    result.spread = max(together) - min(together)
    if not parameters:
        result.backward_weight = 0.0  # what was measured is the clock
    return result


def _leaf(x: torch.Tensor) -> torch.Tensor:
    differentiable = x.dtype.is_floating_point or x.dtype.is_complex
    return x.detach().requires_grad_(differentiable)


_WHOLE = {"CheckpointFunctionBackward", "CompiledFunctionBackward"}
"""Autograd nodes that are a whole backward: those of reentrant checkpoints, and of
compiled modules.
"""


def _is_whole(outputs: Iterable[torch.Tensor]) -> bool:
    seen: set[Any] = set()
    stack = [y.grad_fn for y in outputs]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        if node.name() in _WHOLE:
            return True
        seen.add(node)
        stack.extend(child for child, _ in node.next_functions)
    return False


def _sums_of(parameters: list[nn.Parameter]) -> dict[tuple[int, str], torch.Tensor]:
    """Tensors attached to parameters, such as main_grad."""
    return {
        (k, name): tensor
        for k, p in enumerate(parameters)
        for name, tensor in vars(p).items()
        if isinstance(tensor, torch.Tensor)
        and tensor.grad_fn is None
        and not isinstance(tensor, nn.Parameter)
    }


def _is_unchanged(
    now: torch.Tensor, before: tuple[torch.Tensor, torch.Tensor] | None
) -> bool:
    """before: the tensor, and a copy of its values."""
    return (
        before is not None and now is before[0] and torch.equal(now.detach(), before[1])
    )


def _has_odd_backward(
    layer: Layer, parameters: list[nn.Parameter], args: Any, kwargs: Any
) -> bool:
    """Whether the backward cannot be split: it is one node, or changes more than
    gradients and so must run once.

    Raises ValueError if it accumulates gradients by itself, which no step of a pipeline
    could undo, sum or scale.
    """
    args, kwargs = _copied((args, kwargs))
    with torch.enable_grad():
        outputs = [
            y
            for y in {
                id(y): y for y in _differentiable(layer.compute(args, kwargs))
            }.values()
            if y.grad_fn is not None
        ]
        if not outputs or _is_whole(outputs):
            return bool(outputs)
        before = {
            key: (sum_, sum_.detach().clone())
            for key, sum_ in _sums_of(parameters).items()
        }
        state = State([(layer.name, layer.module)])
        for p in parameters:
            p.grad = None
        leaves = [*_differentiable((args, kwargs)), *parameters]
        torch.autograd.grad(
            outputs, leaves, [torch.ones_like(y) for y in outputs], allow_unused=True
        )
    own_sum = next(
        (
            (k, name)
            for (k, name), found in _sums_of(parameters).items()
            if not _is_unchanged(found, before.get((k, name)))
        ),
        None,
    )
    changed = bool(state.restore())
    if own_sum is not None:
        of = next(
            n for n, p in layer.module.named_parameters() if p is parameters[own_sum[0]]
        )
        raise ValueError(
            f"the backward of {layer.name} adds to {of}.{own_sum[1]} by itself (fused "
            "accumulation of gradients): a step could "
            "not undo, sum or scale that. Switch it off, so that autograd fills .grad"
        )
    if any(p.grad is not None for p in parameters):
        raise ValueError(
            f"the backward of {layer.name} writes to .grad of its weights by itself, "
            "which a split backward would do twice: "
            "return the gradients from the backward"
        )
    return changed


def _passes(
    layer: Layer,
    parameters: list[nn.Parameter],
    args: Any,
    kwargs: Any,
    device: torch.device,
    times: dict[str, list[float]] | None,
    is_whole: bool,
) -> tuple[int, int, bool]:
    """Runs each pass once. Returns the bytes that autograd keeps after the forward and
    the input pass, and `is_whole`.
    """
    args, kwargs = _copied((args, kwargs))
    inputs = _differentiable((args, kwargs))
    for p in parameters:
        p.grad = None
    seconds = {"forward": 0.0, "backward_input": 0.0, "backward_weight": 0.0}
    with torch.enable_grad(), KeptBytes(layer.module.parameters()) as counter:
        started = now(device)
        output = layer.compute(args, kwargs)
        seconds["forward"] = now(device) - started
        kept = left = counter.now
        outputs = [
            y
            for y in {id(y): y for y in _differentiable(output)}.values()
            if y.grad_fn is not None
        ]
        del output
        given = [torch.ones_like(y) for y in outputs]
        is_whole = is_whole or _is_whole(outputs)
        started = now(device)
        if outputs and (is_whole or not inputs):
            torch.autograd.backward(outputs, given)
            seconds["backward_input" if is_whole else "backward_weight"] = (
                now(device) - started
            )
        elif outputs:
            _, weight_pass = input_gradients(outputs, given, inputs, parameters)
            seconds["backward_input"] = now(device) - started
            outputs.clear()
            inputs.clear()
            left = counter.now
            started = now(device)
            weight_pass()
            seconds["backward_weight"] = now(device) - started
    if times is not None:
        for name, taken in seconds.items():
            times[name].append(taken)
    return kept, left, is_whole


def _copied(tree: Any) -> Any:
    """Tensors as detached leaves, in new containers: a layer may change these."""
    return copy.copy(tree_map_only(torch.Tensor, _leaf, tree))
