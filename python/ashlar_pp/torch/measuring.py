"""What a layer takes: the time of each of its passes, and the bytes that it keeps between them."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only

from .cutting import Layer
from .split import input_gradients


@dataclass
class Measured:
    """Of one call of a layer: seconds, and bytes."""

    forward: float = 0.0
    backward_input: float = 0.0
    backward_weight: float = 0.0
    kept: int = 0
    """From its forward to its backward."""
    kept_for_weights: int = 0
    """Of that, from the input pass to the weight pass."""
    is_whole: bool = False
    """Its backward cannot be split: the input pass has the time of all."""

    def total(self) -> float:
        return self.forward + self.backward_input + self.backward_weight


def random_state() -> tuple[Any, ...]:
    """Of every generator in use, to compare."""
    states = [torch.get_rng_state()]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states.append(torch.cuda.get_rng_state())
    return tuple(tuple(one.tolist()) for one in states)


def changes_inputs(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call changes tensors that it is given. All is as it was before."""
    given = tree_map_only(torch.Tensor, lambda x: x.detach().clone(), (args, kwargs))
    tensors = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
    buffers = [(b, b.detach().clone()) for b in layer.module.buffers()]
    before = [x._version for x in tensors]
    devices = [x.device for x in tensors[:1] if x.device.type == "cuda"]
    with torch.no_grad(), torch.random.fork_rng(devices=devices):
        layer.module(*given[0], **given[1])
    for b, known in buffers:
        b.detach().copy_(known)
    return [x._version for x in tensors] != before


class KeptBytes:
    """Bytes of what autograd keeps, now and at most. A storage counts once; those of parameters do not."""

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        self._known = {_storage_of(p) for p in parameters}
        self._counts: dict[Any, int] = {}
        self.now = self.most = 0

    def __enter__(self) -> KeptBytes:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda kept: kept.tensor)
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
        return _Kept(self, tensor.detach(), key)  # not its graph, which would keep itself alive

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
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor) and x.requires_grad]


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def measure(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any], repeats: int) -> Measured:
    """What the passes of a call take: a warm-up, and the median of so many.

    All is as it was before: gradients, buffers, random numbers, and arguments that are no tensors.
    """
    module = layer.module
    parameters = [p for p in module.parameters() if p.requires_grad]
    gradients = [p.grad for p in parameters]
    hooks = [p._post_accumulate_grad_hooks for p in parameters]
    for p in parameters:
        p._post_accumulate_grad_hooks = None  # they are of gradients of a step
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    device = next((x.device for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)), torch.device("cpu"))
    result = Measured()
    counted = (0, 0, False)
    times: dict[str, list[float]] = {"forward": [], "backward_input": [], "backward_weight": []}
    devices = [device] if device.type == "cuda" else []
    for turn in range(repeats + 1):
        with torch.random.fork_rng(devices=devices):
            counted = _passes(layer, parameters, args, kwargs, device, times if turn else None)
        for b, before in buffers:
            b.detach().copy_(before)
    for p, before, of in zip(parameters, gradients, hooks):
        p.grad, p._post_accumulate_grad_hooks = before, of
    result.kept, result.kept_for_weights, result.is_whole = counted
    for name, seconds in times.items():
        setattr(result, name, statistics.median(seconds))
    return result


def _leaf(x: torch.Tensor) -> torch.Tensor:
    differentiable = x.dtype.is_floating_point or x.dtype.is_complex
    return x.detach().requires_grad_(differentiable)


_WHOLE = {"CheckpointFunctionBackward", "CompiledFunctionBackward"}
"""Nodes of autograd's that are a backward by themselves: of reentrant checkpoints, and of compiled modules."""


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


def _passes(
    layer: Layer,
    parameters: list[nn.Parameter],
    args: Any,
    kwargs: Any,
    device: torch.device,
    times: dict[str, list[float]] | None,
) -> tuple[int, int, bool]:
    """Runs each pass once. The bytes that autograd keeps after the forward and after the input pass, and `is_whole`."""
    args, kwargs = _copied((args, kwargs))
    inputs = _differentiable((args, kwargs))
    for p in parameters:
        p.grad = None
    seconds = {"forward": 0.0, "backward_input": 0.0, "backward_weight": 0.0}
    with torch.enable_grad(), KeptBytes(layer.module.parameters()) as counter:
        started = _now(device)
        output = layer.compute(args, kwargs)
        seconds["forward"] = _now(device) - started
        kept = left = counter.now
        outputs = [y for y in {id(y): y for y in _differentiable(output)}.values() if y.grad_fn is not None]
        del output
        given = [torch.ones_like(y) for y in outputs]
        is_whole = _is_whole(outputs)
        started = _now(device)
        if outputs and (is_whole or not inputs):
            torch.autograd.backward(outputs, given)
            seconds["backward_input" if is_whole else "backward_weight"] = _now(device) - started
        elif outputs:
            _, weight_pass = input_gradients(outputs, given, inputs, parameters)
            seconds["backward_input"] = _now(device) - started
            outputs.clear()
            inputs.clear()
            left = counter.now
            started = _now(device)
            weight_pass()
            seconds["backward_weight"] = _now(device) - started
    if times is not None:
        for name, taken in seconds.items():
            times[name].append(taken)
    return kept, left, is_whole


def _copied(tree: Any) -> Any:
    """Tensors as leaves, other objects as copies: a layer may change them."""
    return copy.copy(tree_map_only(torch.Tensor, _leaf, tree))
