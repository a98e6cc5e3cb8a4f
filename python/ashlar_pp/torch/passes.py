"""The passes of one stage by autograd: forward, recompute, backward, and backward in
two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from .first_step import FirstStep
from .generators import kept_states
from .guards import must_know_parameters
from .inputs import must_have_rows_of
from .split import input_gradients

Loss = Callable[..., torch.Tensor]
Tensors = Sequence[torch.Tensor | None]


def tensors_of(output: Any, stage: str) -> tuple[torch.Tensor, ...]:
    """The tensors that go to the next stage. Raises TypeError for other outputs."""
    given = output if isinstance(output, (tuple, list)) else (output,)
    for one in given:
        if not isinstance(one, torch.Tensor):
            raise TypeError(
                f"{stage} gives a {type(one).__name__}: what goes from stage to stage "
                "is a tensor, or a tuple of tensors"
            )
    return tuple(given)


def has_gradient(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


class MicroBatch:
    """Arguments of a forward from outside the pipeline."""

    def __init__(
        self,
        kwargs: dict[str, Any] | None = None,
        target: Any = None,
        loss_kwargs: dict[str, Any] | None = None,
        is_cut: bool = False,
    ) -> None:
        """is_cut: whether the target was cut from that of a whole batch."""
        self.kwargs, self.target, self.loss_kwargs, self.is_cut = (
            kwargs or {},
            target,
            loss_kwargs or {},
            is_cut,
        )


class _Kept:
    """Values that a forward keeps for the backward of its micro-batch."""

    def __init__(
        self, inputs: Tensors, state: torch.Tensor | None, roots: list[torch.Tensor]
    ) -> None:
        self.inputs, self.state, self.roots = inputs, state, roots
        self.gradients: list[torch.Tensor] = []
        self.weight_part: Callable[[], None] | None = None


class StagePasses:
    """Runs passes of one stage. They add gradients of weights to `.grad` of the
    module's parameters.

    A module maps tensors to a tensor or a tuple of tensors. If sequences come in
    chunks, it also takes the state that the chunk before left (None for the first), and
    returns its output and the state for the next chunk.
    """

    def __init__(
        self,
        module: nn.Module,
        stage: int,
        is_first: bool,
        loss_fn: Loss | None,
        sequence_chunks: int,
        first: FirstStep | None = None,
    ) -> None:
        self.module, self.is_first, self.loss_fn, self.sequence_chunks = (
            module,
            is_first,
            loss_fn,
            sequence_chunks,
        )
        self.stage, self.name, self.first = stage, f"stage {stage}", first
        self._is_checked = False
        self.share = 1.0
        """The part of the gradient that a loss is given."""
        self.losses: dict[int, torch.Tensor] = {}
        self.clear()

    def clear(self) -> None:
        """Drops the state of an unfinished step."""
        self._kept: dict[int, _Kept] = {}
        self._checkpoints: dict[int, tuple[Any, ...]] = {}
        self._states: dict[int, torch.Tensor] = {}  # by the chunk that takes it
        self._state_gradients: dict[
            int, torch.Tensor | None
        ] = {}  # by the chunk that took the state
        self.losses.clear()

    def forward(
        self,
        k: int,
        inputs: tuple[Any, ...],
        given: MicroBatch,
        *,
        trains: bool,
        again: bool = False,
    ) -> Any:
        """Returns the output of micro-batch k, detached. again: it will be recomputed,
        and keeps its inputs only.
        """
        state = self._states.pop(k, None)
        if again:
            self._checkpoints[k] = (inputs, state, given, kept_states(self._device()))
        with torch.set_grad_enabled(trains and not again):
            return self._run(k, inputs, state, given)

    def recompute(self, k: int) -> None:
        inputs, state, given, as_then = self._checkpoints.pop(k)
        hands_on = self._states.pop(k + 1, None)  # the forward has handed it on already
        as_now = kept_states(self._device())
        as_then()
        try:
            self._run(k, inputs, state, given)
        finally:
            as_now()
        if hands_on is not None:
            self._states[k + 1] = hands_on
        else:
            self._states.pop(k + 1, None)

    def _device(self) -> torch.device | None:
        return next((p.device for p in self.module.parameters()), None)

    def _run(
        self,
        k: int,
        inputs: tuple[Any, ...],
        state: torch.Tensor | None,
        given: MicroBatch,
    ) -> Any:
        keeps = torch.is_grad_enabled()
        read: list[torch.Tensor | None] = []
        if keeps and not self.is_first:
            inputs = tuple(x.detach().requires_grad_(has_gradient(x)) for x in inputs)
            read.extend(x if x.requires_grad else None for x in inputs)
        if state is not None and keeps:
            state = state.detach().requires_grad_()
        if self.sequence_chunks > 1:
            output, left = self.module(*inputs, state, **given.kwargs)
        else:
            output, left = self.module(*inputs, **given.kwargs), None
        if self.loss_fn is not None and given.target is not None:
            if given.is_cut:
                must_have_rows_of(output, given.target)
            loss = self.loss_fn(output, given.target, **given.loss_kwargs)
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                raise TypeError(
                    "loss_fn must give one number, a tensor of one element, not "
                    f"{_shown(loss)}"
                )
            self.losses[k] = loss.detach()
            roots = [loss]
        elif keeps:
            roots = list(tensors_of(output, self.name))
        else:
            roots = []
        if left is not None and (k + 1) % self.sequence_chunks != 0:
            self._states[k + 1] = left.detach()
            roots.append(left)
        if keeps:
            if not self._is_checked:
                self._must_know_parameters(roots, [*read, state])
                self._is_checked = True
            if self.first is not None:
                self.first.forward(self.stage, roots)
            self._kept[k] = _Kept(read, state if state is not None else None, roots)
        if isinstance(output, torch.Tensor):
            return output.detach()
        return tree_map_only(torch.Tensor, torch.Tensor.detach, output)

    def _must_know_parameters(self, roots: list[torch.Tensor], read: Tensors) -> None:
        must_know_parameters(self.name, self.module, roots, read)

    def backward(self, k: int, gradients: Tensors | None) -> list[torch.Tensor | None]:
        """Returns the gradients of the inputs, and adds those of the weights."""
        kept = self._kept.pop(k)
        self._take_gradients(k, kept, gradients)
        if kept.roots:
            torch.autograd.backward(kept.roots, kept.gradients)
        state = None if kept.state is None else kept.state.grad
        return self._hand_back(
            k, kept, [None if x is None else x.grad for x in kept.inputs], state
        )

    def backward_input(
        self, k: int, gradients: Tensors | None
    ) -> list[torch.Tensor | None]:
        """Returns the gradients of the inputs alone. If no input needs one, the weight
        pass does the whole backward.
        """
        kept = self._kept[k]
        self._take_gradients(k, kept, gradients)
        asked = [x for x in (*kept.inputs, kept.state) if x is not None]
        if not asked or not kept.roots:
            return self._hand_back(k, kept, [None] * len(kept.inputs), None)
        found, kept.weight_part = input_gradients(
            kept.roots, kept.gradients, asked, self.module.parameters()
        )
        kept.roots, kept.gradients = [], []
        state = None if kept.state is None else found.pop()
        rest = iter(found)
        result = self._hand_back(
            k, kept, [None if x is None else next(rest) for x in kept.inputs], state
        )
        kept.inputs, kept.state = [], None
        return result

    def backward_weight(self, k: int) -> None:
        """Adds the gradients of the weights, from what the input pass has kept."""
        kept = self._kept.pop(k)
        if kept.weight_part is not None:
            kept.weight_part()
        elif kept.roots:
            torch.autograd.backward(kept.roots, kept.gradients)

    def _take_gradients(self, k: int, kept: _Kept, gradients: Tensors | None) -> None:
        """Keeps the roots that require gradients, with their gradients. gradients: None
        for a loss.
        """
        given: list[torch.Tensor | None] = (
            [torch.full_like(kept.roots[0], self.share)]
            if gradients is None
            else list(gradients)
        )
        if len(kept.roots) > len(given):
            given.append(self._state_gradients.pop(k + 1))
        pairs = [
            (r, g)
            for r, g in zip(kept.roots, given)
            if r.requires_grad and g is not None
        ]
        kept.roots, kept.gradients = [r for r, _ in pairs], [g for _, g in pairs]

    def _hand_back(
        self,
        k: int,
        kept: _Kept,
        found: list[torch.Tensor | None],
        of_state: torch.Tensor | None,
    ) -> list[torch.Tensor | None]:
        """Returns gradients of the inputs: zeros if nothing depends on one, None for
        types without gradients.
        """
        if self.sequence_chunks > 1 and k % self.sequence_chunks != 0:
            self._state_gradients[k] = of_state
        return [
            x if x is None else torch.zeros_like(x) if g is None else g
            for x, g in zip(kept.inputs, found)
        ]


def _shown(value: Any) -> str:
    return (
        f"one of shape {tuple(value.shape)}"
        if isinstance(value, torch.Tensor)
        else type(value).__name__
    )
