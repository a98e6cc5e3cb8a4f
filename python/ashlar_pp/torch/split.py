"""Backwards in two parts: the gradients of the inputs first, those of the weights
later.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch._functorch.config
from torch import nn
from torch.autograd.graph import GradientEdge, Node

from .._core import Schedule
from .guards import is_compiled, splits_backwards


def keeps_saved_tensors(modules: Iterable[nn.Module], schedule: Schedule) -> bool:
    """Whether compiled stages run split backwards, whose second part reads what the
    first has saved.
    """
    return splits_backwards(schedule) and any(map(is_compiled, modules))


def compiling(*, keeps: bool) -> AbstractContextManager[None]:
    """Inside, backwards are compiled without reuse of the memory of their saved
    tensors, if `keeps`.
    """
    return (
        torch._functorch.config.patch(donated_buffer=False)
        if keeps
        else contextlib.nullcontext()
    )


def _accumulator(leaf: torch.Tensor) -> Node:
    """The node that accumulates the leaf's gradient."""
    function = leaf.view_as(leaf).grad_fn
    assert function is not None
    node = function.next_functions[0][0]
    assert node is not None
    return node


def _node_of(t: torch.Tensor | GradientEdge) -> Node:
    if isinstance(t, GradientEdge):
        return t.node
    return _accumulator(t) if t.grad_fn is None else t.grad_fn


def _children(node: Node) -> list[Node]:
    return [child for child, _ in node.next_functions if child is not None]


def _children_first(roots: Iterable[Node]) -> list[Node]:
    seen: set[Node] = set()
    order: list[Node] = []
    stack = [(root, False) for root in roots]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend(
                (child, False) for child in _children(node) if child not in seen
            )
    return order


class _Use:
    """A place where weights enter: a node on the way to the inputs, and the gradient
    that it is given.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.given: tuple[torch.Tensor | None, ...] | None = None
        self.weights: dict[Node, torch.Tensor] = {}

    def keep(self, given: tuple[torch.Tensor | None, ...]) -> None:
        self.given = given

    def weight_gradients(self) -> None:
        edges = [
            (GradientEdge(self.node, i), g)
            for i, g in enumerate(self.given or ())
            if g is not None
        ]
        if not edges:
            return
        found = torch.autograd.grad(
            [edge for edge, _ in edges],
            [GradientEdge(node, 0) for node in self.weights],
            [g for _, g in edges],
            allow_unused=True,
        )
        for weight, gradient in zip(self.weights.values(), found):
            _add(weight, gradient)


def _add(weight: torch.Tensor, gradient: torch.Tensor | None) -> None:
    """Adds to `.grad` and calls hooks, as autograd does at a leaf. A gradient has its
    weight's strides there, too: sums over ranks go by memory, and a tied weight's
    gradient may come transposed on one of them.
    """
    if gradient is not None:
        if gradient.layout == torch.strided and gradient.stride() != weight.stride():
            gradient = torch.empty_like(weight, dtype=gradient.dtype).copy_(gradient)
        weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)
        for hook in (weight._post_accumulate_grad_hooks or {}).values():
            hook(weight)


def _uses(
    roots: Sequence[torch.Tensor | GradientEdge],
    inputs: Sequence[torch.Tensor],
    weights: dict[Node, torch.Tensor],
) -> list[_Use] | None:
    """All places where weights enter; None if a weight enters at several, or apart from
    the inputs.
    """
    targets = {_accumulator(x) for x in inputs}
    to_inputs: set[Node] = set()
    below: dict[Node, set[Node]] = {}  # the weights below a node with no input below
    uses: list[_Use] = []
    known: set[Node] = set()
    top = [_node_of(r) for r in roots]
    for node in _children_first(top):
        children = _children(node)
        if node in targets or any(child in to_inputs for child in children):
            to_inputs.add(node)
            found = {
                weight
                for child in children
                if child not in to_inputs
                for weight in below[child]
            }
            if not found:
                continue
            if known & found:
                return None
            known |= found
            uses.append(_Use(node))
            uses[-1].weights = {weight: weights[weight] for weight in found}
        else:
            below[node] = (
                {node}
                if node in weights
                else {w for child in children for w in below[child]}
            )
    if any(node not in to_inputs and below[node] for node in top):
        return None
    return uses


def input_gradients(
    roots: Sequence[torch.Tensor | GradientEdge],
    gradients: list[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    weights: Iterable[torch.Tensor],
) -> tuple[list[torch.Tensor | None], Callable[[], None]]:
    """Returns the gradients of the inputs, and a function that adds those of the
    weights to `.grad`. Call it once.

    roots: outputs with these gradients, or edges that stand for them. They and the
    inputs, which are leaves, must require gradients. If a weight is used in several
    places, or not together with an input, the first part does the whole backward, and
    the second does nothing.
    """
    ends: Any = roots
    trained: dict[Node, torch.Tensor] = {
        _accumulator(w): w for w in weights if w.requires_grad
    }
    uses = _uses(roots, inputs, trained)
    if uses is None or not inputs:
        of = list(trained.values())
        found: Any = torch.autograd.grad(
            ends, [*inputs, *of], gradients, allow_unused=True
        )
        for weight, gradient in zip(of, found[len(inputs) :]):
            _add(weight, gradient)
        return list(found[: len(inputs)]), lambda: None
    hooks = [use.node.register_prehook(use.keep) for use in uses]
    try:
        found = torch.autograd.grad(
            ends, inputs, gradients, retain_graph=True, allow_unused=True
        )
    finally:
        for hook in hooks:
            hook.remove()
    uses.reverse()

    def by_use() -> None:
        while uses:
            uses.pop(0).weight_gradients()

    return list(found), by_use
