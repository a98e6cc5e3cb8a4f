"""The passes of one stage by autograd: forward, recompute, backward, and backward in two parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _Kept:
    """What a forward keeps for the backward of its micro-batch."""

    def __init__(self, inputs: list[torch.Tensor], roots: list[torch.Tensor]) -> None:
        self.inputs, self.roots = inputs, roots
        self.gradients: list[torch.Tensor] = []
        self.parameter_groups: list[dict[str, Any]] | None = None


class StagePasses:
    """Gradients of weights are added to `.grad` of the module's parameters.

    A module maps a tensor to a tensor. Of sequences that come in chunks, it maps a tensor and the state that
    the chunk before left (None: there is none) to a tensor and the state for the next chunk.
    """

    def __init__(self, module: nn.Module, is_first: bool, loss_fn: Loss | None, sequence_chunks: int) -> None:
        self.module, self.is_first, self.loss_fn, self.sequence_chunks = module, is_first, loss_fn, sequence_chunks
        self._kept: dict[int, _Kept] = {}
        self._checkpoints: dict[int, tuple[Any, ...]] = {}
        self._states: dict[int, torch.Tensor] = {}  # of the chunk after
        self._state_gradients: dict[int, torch.Tensor] = {}  # of the chunk before
        self.losses: dict[int, torch.Tensor] = {}

    def forward(
        self, k: int, inputs: tuple[torch.Tensor, ...], target: torch.Tensor | None, *, trains: bool, again: bool
    ) -> torch.Tensor:
        """The output of micro-batch k, detached. `again`: it will be recomputed, and keeps its inputs only."""
        state = self._states.pop(k, None)
        if again:
            self._checkpoints[k] = (inputs, state, target, torch.random.get_rng_state())
        with torch.set_grad_enabled(trains and not again):
            return self._run(k, inputs, state, target)

    def recompute(self, k: int) -> None:
        inputs, state, target, random = self._checkpoints.pop(k)
        hands_on = self._states.pop(k + 1, None)  # the forward has done so
        with torch.random.fork_rng(devices=[]):
            torch.random.set_rng_state(random)
            self._run(k, inputs, state, target)
        if hands_on is not None:
            self._states[k + 1] = hands_on
        else:
            self._states.pop(k + 1, None)

    def _run(
        self, k: int, inputs: tuple[torch.Tensor, ...], state: torch.Tensor | None, target: torch.Tensor | None
    ) -> torch.Tensor:
        keeps = torch.is_grad_enabled()
        read: list[torch.Tensor] = []
        if keeps and not self.is_first:
            inputs = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)
            read.extend(inputs)
        if self.sequence_chunks > 1:
            if state is not None and keeps:
                state = state.detach().requires_grad_()
                read.append(state)
            output, left = self.module(*inputs, state)
        else:
            output, left = self.module(*inputs), None
        roots = [output]
        if self.loss_fn is not None and target is not None:
            loss = self.loss_fn(output, target)
            self.losses[k] = loss.detach()
            roots = [loss]
        if left is not None and (k + 1) % self.sequence_chunks != 0:
            self._states[k + 1] = left.detach()
            roots.append(left)
        if keeps:
            self._kept[k] = _Kept(read, roots)
        return output.detach()

    def backward(self, k: int, gradient: torch.Tensor | None) -> torch.Tensor | None:
        """The gradient of the input, and those of the weights at once."""
        kept = self._kept.pop(k)
        self._take_gradients(k, kept, gradient)
        torch.autograd.backward(kept.roots, kept.gradients)
        return self._hand_back(k, [x.grad for x in kept.inputs])

    def backward_input(self, k: int, gradient: torch.Tensor | None) -> torch.Tensor | None:
        """The gradient of the input alone. Where nobody asks for it, the weight pass does all."""
        kept = self._kept[k]
        self._take_gradients(k, kept, gradient)
        if not kept.inputs:
            return None
        of_inputs, kept.parameter_groups = stage_backward_input(
            kept.roots, kept.gradients, kept.inputs, iter(self.module.parameters())
        )
        kept.roots, kept.inputs, kept.gradients = [], [], []
        return self._hand_back(k, list(of_inputs))

    def backward_weight(self, k: int) -> None:
        """The gradients of the weights, from what the input pass has kept."""
        kept = self._kept.pop(k)
        if kept.parameter_groups is None:
            torch.autograd.backward(kept.roots, kept.gradients)
        else:
            stage_backward_weight(iter(self.module.parameters()), kept.parameter_groups)

    def _take_gradients(self, k: int, kept: _Kept, gradient: torch.Tensor | None) -> None:
        kept.gradients = [torch.ones_like(kept.roots[0]) if gradient is None else gradient]
        if len(kept.roots) > 1:
            kept.gradients.append(self._state_gradients.pop(k + 1))

    def _hand_back(self, k: int, gradients: list[torch.Tensor | None]) -> torch.Tensor | None:
        """Gradients stand in the order of the inputs, that of the state last."""
        if self.sequence_chunks > 1 and k % self.sequence_chunks != 0:
            of_state = gradients.pop()
            assert of_state is not None
            self._state_gradients[k] = of_state
        return gradients[0] if gradients else None
