"""Checks after the first training step that each trainable parameter has a gradient, or
a reason to have none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage
from torch.utils._pytree import tree_leaves

from .guards import gathered_groups, leaves_under
from .layout import plain_name
from .overrides import Method, override


def _call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)


class FirstStep:
    """Records on one rank which parameters the outputs of its stages depend on, and
    which got a gradient.

    has_gradient: tells whether a parameter has one after the step.
    unpiped: whether the model without a pipeline gives it one, by name, where known.
    """

    def __init__(
        self,
        modules: Mapping[int, nn.Module],
        has_gradient: Callable[[nn.Parameter], bool] | None = None,
        unpiped: Mapping[str, bool] | None = None,
    ) -> None:
        self.is_over = False
        self._unpiped = unpiped or {}
        self._has_gradient = has_gradient or (lambda p: p.grad is not None)
        self._modules = modules
        self._parameters = {
            stage: {
                id(p): (plain_name(name), p) for name, p in module.named_parameters()
            }
            for stage, module in modules.items()
        }
        self._used: dict[int, set[int]] = {stage: set() for stage in modules}
        self._missing: dict[int, list[tuple[str, bool]]] = {}
        self._beyond: dict[int, list[str]] = {}

    def forward(self, stage: int, outputs: Any) -> None:
        """Records what the outputs of a micro-batch, or its loss, depend on."""
        used, known = self._used[stage], self._parameters[stage]
        if self.is_over or all(
            key in used for key, (_, p) in known.items() if p.requires_grad
        ):
            return
        shards = _gathered_parameters(self._modules[stage])
        for leaf in leaves_under(
            x for x in tree_leaves(outputs) if isinstance(x, torch.Tensor)
        ):
            used.add(shards.get(id(leaf), id(leaf)))

    def look(self, stage: int) -> None:
        """Records which parameters have no gradient, before sums over ranks give them
        zeros, and which have one that they do not have without a pipeline.
        """
        if stage in self._missing:
            return
        unpiped = self._unpiped
        self._missing[stage] = [
            (
                f"{name} of stage {stage}",
                unpiped.get(name, key in self._used[stage]),
            )
            for key, (name, p) in self._parameters[stage].items()
            if p.requires_grad and not self._has_gradient(p)
        ]
        self._beyond[stage] = [
            f"{name} of stage {stage}"
            for name, p in self._parameters[stage].values()
            if p.requires_grad
            and not unpiped.get(name, True)
            and self._has_gradient(p)
            and not is_zero(p.grad)
        ]

    def finish(
        self, group: dist.ProcessGroup | None, call: Callable[..., Any] = _call
    ) -> None:
        """Raises RuntimeError on every rank of the group if a gradient was lost, or is
        one that the model does not give without a pipeline; warns of parameters that
        have none there either. Every rank of the group has to call this.
        call: runs the exchange, where waits are watched.
        """
        for stage in self._modules:
            self.look(stage)
        mine = [one for missing in self._missing.values() for one in missing]
        beyond = [name for names in self._beyond.values() for name in names]
        everyone: list[Any] = [None] * dist.get_world_size(group)
        call(
            dist.all_gather_object,
            everyone,
            ([name for name, is_expected in mine if is_expected], beyond),
            group=group,
        )
        self.is_over = True
        lost, more = (
            [
                f"{name} on rank {rank}"
                for rank, of in enumerate(everyone)
                for name in of[k]
            ]
            for k in range(2)
        )
        if lost:
            why = (
                "and the model without a pipeline gives it one"
                if self._unpiped
                else "though the loss may depend on it"
            )
            raise RuntimeError(
                f"{some(lost)} got no gradient in the first step, {why}: the backward "
                "has lost it. "
                "If it is not to be trained, freeze it with requires_grad_(False)"
            )
        if more:
            raise RuntimeError(
                f"{some(more)} got a gradient in the first step, and the model without "
                "a pipeline gives it none. A checkpoint with use_reentrant=True gives "
                "none where no input needs a gradient, as behind frozen layers, and "
                "what a stage receives needs one: set use_reentrant=False, or freeze "
                "it with requires_grad_(False)"
            )
        if unused := [name for name, is_expected in mine if not is_expected]:
            warnings.warn(
                f"{some(unused)} got no gradient in the first step: nothing depends "
                "on it" + (", nor without a pipeline" if self._unpiped else ""),
                stacklevel=2,
            )


def is_zero(gradient: torch.Tensor | None) -> bool:
    """Whether a gradient has no number but zeros. A stage sends zeros where the next
    one does not use its output, and a backward from zeros gives zeros.
    """
    return gradient is None or not bool(torch.count_nonzero(gradient))


def watch_forwards(stage: PipelineStage, first: FirstStep) -> None:
    """Makes PyTorch's stage record its outputs in training steps, except those of the
    last stage.
    """

    def watched(own: Method) -> Method:
        def forward(*args: Any, **kwargs: Any) -> Any:
            output = own(*args, **kwargs)
            if stage.has_backward and not stage.is_last:
                first.forward(stage.stage_index, output)
            return output

        return forward

    override(stage, "forward_one_chunk", watched)


def _gathered_parameters(module: nn.Module) -> dict[int, int]:
    """Maps parameters that fully_shard has gathered to their shards, by id."""
    return {
        id(one._unsharded_param): id(one.sharded_param)
        for child in module.modules()
        if isinstance(child, FSDPModule)
        for group in gathered_groups(child)
        for one in group.fsdp_params
        if hasattr(one, "_unsharded_param")
    }


def some(names: list[str]) -> str:
    rest = len(names) - 3
    return ", ".join(names[:3]) + (f" and {rest} more" if rest > 0 else "")
