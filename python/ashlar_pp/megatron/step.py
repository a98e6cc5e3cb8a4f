"""One step of one rank: its stream of the proved program, with Megatron's hooks."""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from megatron.core.pipeline_parallel import schedules as own
from torch import nn
from torch.autograd.graph import get_gradient_edge
from torch.autograd.variable import Variable
from torch.distributed.pipelining._backward import (
    stage_backward_input,
    stage_backward_weight,
)

from .._core import Program
from ..torch.first_step import FirstStep
from ..torch.messages import Key, Messages
from ..torch.waits import Waits
from .places import standing_at
from .supported import unwrapped


class Batches:
    """Micro-batches by number, from an iterator that gives them in order."""

    def __init__(self, iterator: Iterator[Any] | None) -> None:
        self._iterator, self._next = iterator, 0
        self._kept: dict[int, Any] = {}

    def of(self, k: int) -> Iterator[Any] | None:
        if self._iterator is None:
            return None
        while k not in self._kept:
            self._kept[self._next] = next(self._iterator)
            self._next += 1
        return iter([self._kept.pop(k)])


def _backward(output: torch.Tensor, gradient: torch.Tensor | None) -> None:
    """Does what Megatron's custom_backward does: autograd's own function refuses
    outputs without their data.
    """
    if output.requires_grad:
        given = torch.ones_like(output) if gradient is None else gradient
        Variable._execution_engine.run_backward(
            (output,), (given,), False, False, (), True, True
        )


class Step:
    """One step of one rank."""

    def __init__(
        self,
        program: Program,
        chunks: dict[int, Any],
        iterators: list[Any],
        config: Any,
        groups: Any,
        shapes: list[tuple[int, ...]],
        forward_step_func: Callable[..., Any],
        forward_only: bool,
        collect_non_loss_data: bool,
        first_val_step: bool | None,
        first: FirstStep | None,
        waits: Waits,
    ) -> None:
        self._first_step, self._waits = first, waits
        self._program, self._config, self._groups = program, config, groups
        self._rank, self._last = groups.pp.rank(), program.stages - 1
        stages = list(chunks)
        if iterators == [None]:
            iterators = [None] * len(chunks)
        if len(iterators) != len(chunks):
            raise ValueError(
                f"data_iterator must be a list of {len(chunks)}, one for each chunk, "
                f"not of {len(iterators)}"
            )
        self._call, self._forward_only = forward_step_func, forward_only
        self._collect, self._first_val_step = collect_non_loss_data, first_val_step
        self._chunks = chunks
        self._number = {stage: i for i, stage in enumerate(stages)}
        self._batches = {
            stage: Batches(iterator) for stage, iterator in zip(stages, iterators)
        }
        self._device = torch.cuda.current_device()
        self.tokens = torch.zeros([], dtype=torch.int, device=self._device)
        self._messages = Messages(
            program,
            groups.pp,
            self._device,
            waits,
            lambda stage, _: ((torch.Size(shapes[stage]), config.pipeline_dtype),),
        )
        self._alive: dict[tuple[int, int], Any] = {}
        self._losses: dict[int, list[Any]] = {}
        self._left = {
            stage: program.micro_batches for stage in stages
        }  # backwards left until the gradient is complete
        self._inputs_left = dict(self._left)
        self._delayed = (
            {stage: delayed_layers(chunk) for stage, chunk in self._chunks.items()}
            if config.delay_wgrad_compute
            else {}
        )
        self._shared: dict[int, list[nn.Parameter]] = {}
        self._no_sync: contextlib.ExitStack | None = None
        self._first = set(stages)  # stages without a forward yet

    def losses(self) -> list[Any]:
        return [one for k in sorted(self._losses) for one in self._losses[k]]

    def run(self) -> None:
        self._sync(False)
        sync = self._config.param_sync_func
        if sync is not None and not self._forward_only:
            each = sync if isinstance(sync, list) else itertools.repeat(sync)
            for chunk, function in zip(self._chunks.values(), each):
                function(chunk.parameters())
        try:
            for instruction in self._program.stream(self._rank):
                self._waits.move(
                    str(instruction), instruction.stage, instruction.micro_batch
                )
                self._do(instruction)
            self._messages.finish()
        finally:
            self._sync(True)

    def _sync(self, on: bool) -> None:
        """Sets whether backwards start reductions, in Megatron's
        DistributedDataParallel.
        """
        if on and self._no_sync is not None:
            self._no_sync.close()
            self._no_sync = None
        elif not on and self._no_sync is None:
            given = self._config.no_sync_func or contextlib.nullcontext
            self._no_sync = contextlib.ExitStack()
            for function in given if isinstance(given, list) else [given]:
                self._no_sync.enter_context(function())

    def _do(self, i: Any) -> None:
        if i.code == "compute":
            passes = {
                "F": self._forward,
                "B": self._fused,
                "I": self._input,
                "W": self._weight,
            }
            with standing_at(self._program, i.stage):
                passes[i.letter](i.stage, i.micro_batch)
        elif i.code == "send":
            self._messages.send(i)
        elif i.code == "receive":
            self._messages.receive(i)
        elif (
            i.code == "all-reduce"
            and self._config.grad_sync_func is not None
            and not self._forward_only
        ):
            given = self._config.grad_sync_func
            function = (
                given[self._number[i.group]] if isinstance(given, list) else given
            )
            function(self._chunks[i.group].parameters())

    def _take(self, key: Key, at: str) -> torch.Tensor:
        (value,) = self._messages.take(key, at)
        assert value is not None
        return value

    def _hand_back(self, stage: int, k: int, gradient: torch.Tensor) -> None:
        self._messages.put(("B", stage, k, stage - 1), [gradient])

    def _input_of(self, stage: int, k: int) -> torch.Tensor | None:
        if stage == 0:
            return None
        x = self._take(("F", stage - 1, k, stage), f"{stage}F{k}")
        return x.requires_grad_(not self._forward_only)

    def _store(self, stage: int, k: int) -> list[Any]:
        """Where the losses of a micro-batch go."""
        return self._losses.setdefault(k, []) if stage == self._last else []

    def _is_first(self, stage: int) -> bool:
        """Whether this is the first forward of a stage."""
        first = stage in self._first
        self._first.discard(stage)
        return first

    def _hand_on(self, stage: int, k: int, y: torch.Tensor) -> None:
        """Gives an output to the next stage, which keeps the data that it gives up."""
        if stage == self._last:
            return
        self._messages.put(("F", stage, k, stage + 1), [y.detach()])
        if not self._forward_only:
            own.deallocate_output_tensor(y, self._config.deallocate_pipeline_outputs)

    def _forward(self, stage: int, k: int) -> None:
        x, chunk = self._input_of(stage, k), self._chunks[stage]
        with torch.set_grad_enabled(not self._forward_only):
            y, tokens = own.forward_step(
                self._call,
                self._batches[stage].of(k),
                chunk,
                self._program.micro_batches,
                x,
                self._store(stage, k),
                self._config,
                self._groups.cp.size(),
                self._collect,
                None,
                own.check_first_val_step(
                    self._first_val_step, self._forward_only, self._is_first(stage)
                ),
                k,
                getattr(unwrapped(chunk), "vp_stage", None),
                stage == self._last,
            )
        self.tokens += tokens
        if not self._forward_only:
            if self._first_step is not None:
                self._first_step.forward(stage, y)
            self._alive[stage, k] = (
                x,
                y,
                get_gradient_edge(y) if y.requires_grad else None,
            )
        self._hand_on(stage, k, y)

    def _gradient(
        self, stage: int, k: int, at: str
    ) -> tuple[Any, torch.Tensor, torch.Tensor | None, Any]:
        x, y, edge = self._alive.pop((stage, k))
        if stage < self._last:
            return x, y, self._take(("B", stage + 1, k, stage), at), edge
        if self._config.grad_scale_func is not None:
            y = self._config.grad_scale_func(y)
            edge = get_gradient_edge(y)
        return x, y, None, edge

    def _completing(
        self, letter: str, stage: int, backward: Callable[[], None]
    ) -> None:
        """Runs a backward (B), or its input or weight pass (I, W). The last one of a
        chunk starts its reduction, unless `grad_sync_func` does; so does, under
        delay_wgrad_compute, the last that completes the gradients of weights without a
        backward_dw, like those of norms.
        """
        kinds = (self._inputs_left, "BI"), (self._left, "BW")
        own = [left for left, letters in kinds if letter in letters]
        for left in own:
            left[stage] -= 1
        is_last = any(left[stage] == 0 for left in own)
        self._sync(is_last and self._config.grad_sync_func is None)
        backward()
        self._sync(False)

    def _fused(self, stage: int, k: int) -> None:
        x, y, g, _ = self._gradient(stage, k, f"{stage}B{k}")

        def backward() -> None:
            _backward(y, g)
            self._delayed_weights(stage)

        self._completing("B", stage, backward)
        if stage > 0:
            self._hand_back(stage, k, x.grad)

    def _input(self, stage: int, k: int) -> None:
        """Runs an input pass. Under delay_wgrad_compute it is a whole backward, in
        which layers keep what their weights need. Otherwise autograd goes down from the
        output. Megatron's cross entropy overwrites what it has saved, so no part of a
        graph can be walked twice. Weights with several uses, like the output layer's
        for each loss of MTP, would need that: their gradients are complete here, and
        the weight pass adds them.
        """
        x, y, g, edge = self._gradient(stage, k, f"{stage}I{k}")
        if stage in self._delayed:
            self._completing("I", stage, lambda: _backward(y, g))
            if stage > 0:
                self._hand_back(stage, k, x.grad)
        elif stage == 0:  # no rank needs the gradient of its input
            self._alive[stage, k] = y, g, None
        else:
            root = y if g is None else edge
            given = torch.ones_like(y) if g is None else g
            dx, gradients, groups = self._input_and_shared(stage, root, given, x, edge)
            self._hand_back(stage, k, dx)
            self._alive[stage, k] = None, gradients, groups

    def _input_and_shared(
        self, stage: int, root: Any, given: torch.Tensor, x: torch.Tensor, edge: Any
    ) -> Any:
        """Gradients of the input and of weights with several uses; for the others, what
        the weight pass needs.
        """
        if stage not in self._shared:
            self._shared[stage] = used_several_times(
                edge.node, self._chunks[stage].parameters()
            )
        shared = self._shared[stage]
        others = (
            p
            for p in self._chunks[stage].parameters()
            if not any(p is one for one in shared)
        )
        before = [p.grad for p in shared]  # PyTorch's function would add to it
        for p in shared:
            p.grad = None
        (dx, *gradients), groups = stage_backward_input(
            [root], [given], [x, *shared], others
        )
        for p, old in zip(shared, before):
            p.grad = old
        return dx, gradients, groups

    def _weight(self, stage: int, k: int) -> None:
        if stage in self._delayed:
            self._completing("W", stage, lambda: self._delayed_weights(stage))
            return
        y, g, groups = self._alive.pop((stage, k))
        self._completing(
            "W",
            stage,
            lambda: (
                _backward(y, g)
                if groups is None
                else self._weights_of(stage, groups, g)
            ),
        )

    def _delayed_weights(self, stage: int) -> None:
        for layer in self._delayed.get(stage, ()):
            layer.backward_dw()

    def _weights_of(
        self, stage: int, groups: list[Any], shared: list[torch.Tensor | None]
    ) -> None:
        """Runs a weight pass. Autograd's hooks do not see these gradients, so it does
        what Megatron's DistributedDataParallel does in its hooks.
        """
        chunk = self._chunks[stage]
        stage_backward_weight(iter(chunk.parameters()), groups)
        for p, gradient in zip(self._shared[stage], shared):
            if gradient is not None:
                p.grad = gradient if p.grad is None else p.grad + gradient
        if hasattr(chunk, "_make_backward_post_hook"):
            for p in chunk.parameters():
                if p.requires_grad and p.grad is not None:
                    chunk._make_backward_post_hook(p)()


def used_several_times(
    root: Any, parameters: Iterator[nn.Parameter]
) -> list[nn.Parameter]:
    """The parameters that several nodes of the graph under `root` use."""
    users: collections.Counter[Any] = collections.Counter()
    reached, left = {root}, [root]
    while left:
        for node, _ in left.pop().next_functions:
            users[node] += 1
            if node is not None and node not in reached:
                reached.add(node)
                left.append(node)
    return [
        p
        for p in parameters
        if p.requires_grad and users[get_gradient_edge(p).node] > 1
    ]


def delayed_layers(chunk: nn.Module) -> list[Any]:
    """Layers that compute the gradients of their weights on request, the last one
    first, as in a backward. Leaves out modules that pass the request to their own
    layers, some of them to a part of these only.
    """
    asked = [module for module in chunk.modules() if hasattr(module, "backward_dw")]
    askers = {
        module
        for module in asked
        for child in module.modules()
        if child is not module and hasattr(child, "backward_dw")
    }
    return [module for module in reversed(asked) if module not in askers]
