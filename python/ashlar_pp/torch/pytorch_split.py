"""Splits backwards in PyTorch's stages as ours are split."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage

from .overrides import Method, override
from .split import input_gradients


def split_as_ours(stage: PipelineStage) -> None:
    """Makes the stage split backwards as ours. PyTorch's split omits weights that meet
    no input with a gradient: all of a stage behind frozen ones, or those of an output
    of their own. It fails if a weight is used in several places.
    """

    def split(own: Method) -> Method:
        def backward(
            kind: Any, given: dict[str, Any], last_backward: bool = False
        ) -> Any:
            if kind == "full":
                return own(kind, given, last_backward)
            if isinstance(stage.submod, FSDPModule):
                stage.submod.set_reshard_after_backward(False)
                stage.submod.set_requires_gradient_sync(False)
            if kind == "weight":
                given["param_groups"]()
                return (), None
            return _input_pass(stage, given)

        return backward

    override(stage, "backward_maybe_with_nosync", split)


def _input_pass(stage: PipelineStage, given: dict[str, Any]) -> Any:
    """Returns the gradients of the inputs, and the weight pass."""
    outputs, inputs, gradients = (
        given["stage_output"],
        given["input_values"],
        given["output_grads"],
    )
    asked = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    roots, known = [], []
    for i, output in enumerate(outputs):
        if isinstance(output, GradientEdge):
            roots.append(output)
            known.append(gradients[i])
        elif isinstance(output, torch.Tensor) and output.requires_grad:
            # Takes an edge, because the output gives up its graph, whose upper part is
            # not needed any more.
            roots.append(get_gradient_edge(output))
            known.append(
                _gradient(
                    output,
                    None if gradients is None else gradients[i],
                    gradients is None,
                )
            )
            # an input that is handed on keeps its graph
            if output.grad_fn is not None and not output._is_view():
                output.detach_()
    if not roots:
        return (None,) * len(inputs), lambda: None
    found, weight_pass = input_gradients(roots, known, asked, stage.submod.parameters())
    by_input = dict(zip(map(id, asked), found))
    return tuple(by_input.get(id(x)) for x in inputs), weight_pass


def _gradient(
    output: torch.Tensor, given: torch.Tensor | None, is_loss: bool
) -> torch.Tensor:
    """The given gradient; without one, 1 for a loss, and 0 for an output that the next
    stage does not use.
    """
    if given is not None:
        return given
    return torch.ones_like(output) if is_loss else torch.zeros_like(output)
