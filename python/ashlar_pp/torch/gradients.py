"""Gradients around a step: sums for parameters in several stages, and gradients from
before.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .agreement import made_groups
from .layers import Skeleton
from .layout import Layout, plain_name
from .partition import Dealt
from .trace import Trace


class StepGradients:
    """Gradients of a step. Must be made on every rank, before layers are freed."""

    def __init__(
        self,
        skeleton: Skeleton,
        dealt: Dealt,
        trace: Trace,
        group: dist.ProcessGroup | None,
    ) -> None:
        names: dict[int, list[str]] = {}
        parameters: dict[int, nn.Parameter] = {}
        stages: dict[int, set[int]] = {}
        route = dealt.placement.routes[0]
        self._layout: dict[str, tuple[tuple[int, ...], set[int]]] = {}
        for name, layer in skeleton.places.items():
            of = {
                dealt.stage_of(k)
                for k, call in enumerate(trace.calls)
                if call.layer is layer
            }
            for inner, p in layer.module.named_parameters(remove_duplicate=False):
                parameters[id(p)] = p
                names.setdefault(id(p), []).append(f"{name}.{inner}")
                stages.setdefault(id(p), set()).update(of)
                self._layout[plain_name(f"{name}.{inner}")] = (
                    tuple(p.shape),
                    {route[s] for s in of} or {0},
                )
        for container, module in skeleton.containers.items():
            for inner, own in module._parameters.items():
                if own is not None:
                    parameters[id(own)] = own
                    names.setdefault(id(own), []).append(
                        f"{container}.{inner}" if container else inner
                    )
                    stages.setdefault(id(own), set()).update(
                        range(dealt.placement.stage_count)
                    )
                    self._layout[plain_name(names[id(own)][-1])] = (
                        tuple(own.shape),
                        set(route),
                    )
        rank = dist.get_rank(group)
        self._all_names = list(names.values())
        self._names = [of for of in self._all_names if len(of) > 1]
        self._shared: list[_Shared] = []
        self._group = group
        self._present: list[int] = []
        self._counted_elsewhere: set[int] = set()
        holders_of = {
            key: sorted({route[s] for s in stages[key]}) for key in parameters
        }
        ranks_of = {
            key: tuple(
                d if group is None else dist.get_global_rank(group, d) for d in holders
            )
            for key, holders in holders_of.items()
            if len(holders) > 1
        }
        made = made_groups(ranks_of.values())
        for key, ranks in ranks_of.items():
            is_here = rank in holders_of[key]
            self._shared.append(
                _Shared(
                    names[key][0], parameters[key] if is_here else None, made.get(ranks)
                )
            )
            if is_here and rank != holders_of[key][0]:
                self._counted_elsewhere.add(key)
        self._first_names = {p: names[key][0] for key, p in parameters.items()}
        self._several_stages = [
            names[key] for key in parameters if len(stages[key]) > 1
        ]

    def layout(self) -> Layout:
        """Ranks of the group that have each parameter; a layer that is not called is on
        the first.
        """
        return self._layout

    def shared_names(self) -> list[list[str]]:
        """Names in the model of each parameter that has several."""
        return self._names

    def of_one_stage(self, names: set[str]) -> dict[str, bool]:
        """Whether each parameter that a single stage has is in the set, by name."""
        several = {name for of in self._several_stages for name in of}
        return {
            plain_name(name): name in names
            for of in self._all_names
            for name in of
            if name not in several
        }

    def refuse_shared_in_wrapped(self, sharded: bool) -> None:
        """Raises ValueError if sharded stages share a parameter: each wrapper would
        divide it.
        """
        if sharded and self._several_stages:
            raise ValueError(
                f"{' and '.join(self._several_stages[0])} is one parameter in several "
                "stages: fully_shard would divide it "
                "in each; untie it, or leave `wrap` out"
            )

    @contextlib.contextmanager
    def of_a_step(self, module: nn.Module) -> Iterator[None]:
        """Inside, gradients are those of the step; at the end they are summed and added
        to earlier ones. Errors undo the step.
        """
        carried = {p: p.grad for p in module.parameters()}
        for p in carried:
            p.grad = None
        try:
            yield
            self._finish()
        except BaseException:
            for p, before in carried.items():
                p.grad = before
            raise
        for p, before in carried.items():
            if before is not None:
                p.grad = before if p.grad is None else before.add_(p.grad)

    def clip(
        self, module: nn.Module, max_norm: float, norm_type: float, device: torch.device
    ) -> torch.Tensor:
        """Clips as torch.nn.utils.clip_grad_norm_ does, by the norm over all ranks of
        the group, and returns it.
        """
        by_mesh: dict[object, list[torch.Tensor]] = {}
        for p in module.parameters():
            if p.grad is not None and id(p) not in self._counted_elsewhere:
                by_mesh.setdefault(getattr(p.grad, "device_mesh", None), []).append(
                    p.grad
                )
        norms = [torch.zeros((), device=device)]
        for gradients in by_mesh.values():
            norm = torch.nn.utils.get_total_norm(gradients, norm_type)
            norms.append(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        largest = math.isinf(norm_type)
        total = torch.stack([norm.double() for norm in norms])
        total = total.max() if largest else (total**norm_type).sum()
        dist.all_reduce(
            total,
            op=dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM,
            group=self._group,
        )
        total = (total if largest else total ** (1 / norm_type)).to(norms[-1].dtype)
        torch.nn.utils.clip_grads_with_norm_(module.parameters(), max_norm, total)
        return total

    def first_names(self) -> dict[nn.Parameter, str]:
        """The first name in the model of each parameter."""
        return self._first_names

    def flags(self) -> list[int]:
        """A flag for each parameter that ranks share: 0 if not here, else 1, plus 1 if
        trained, plus 2 if it has hooks.
        """
        return [
            0
            if one.parameter is None
            else 1 + one.parameter.requires_grad + 2 * bool(_hooks_of(one.parameter))
            for one in self._shared
        ]

    def must_be_alike(self, everyone: list[list[int]]) -> None:
        """Raises ValueError on all ranks if flags show that a sum over ranks would be
        wrong.
        """
        for k, one in enumerate(self._shared):
            found = {
                rank: flags[k] for rank, flags in enumerate(everyone) if flags[k] > 0
            }
            if any(flag > 2 for flag in found.values()):
                raise ValueError(
                    f"{one.name} is in stages of several ranks and has hooks of its "
                    "gradient, which would see the gradient of one "
                    "rank alone: change gradients after step()"
                )
            if len(set(found.values())) > 1:
                trained = [rank for rank, flag in found.items() if flag == 2]
                raise ValueError(
                    f"{one.name} is in stages of ranks {sorted(found)}, and requires a "
                    f"gradient on {trained} alone: set "
                    "requires_grad on all of them alike"
                )

    def present(self) -> list[int]:
        """Whether this rank has a gradient of each parameter that ranks share."""
        return [
            int(one.parameter is not None and one.parameter.grad is not None)
            for one in self._shared
        ]

    def expect(self, present: list[int]) -> None:
        """present: sums over all ranks. A parameter without a gradient on any rank gets
        none, as without a pipeline.
        """
        self._present = present

    def _finish(self) -> None:
        for one, count in zip(self._shared, self._present):
            p = one.parameter
            if p is not None and count > 0:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                dist.all_reduce(p.grad, group=one.group)


@dataclass
class _Shared:
    """A parameter in stages of several ranks. `group` is that of these ranks, if this
    rank is one of them.
    """

    name: str
    parameter: nn.Parameter | None
    group: dist.ProcessGroup | None


def _hooks_of(p: nn.Parameter) -> Any:
    return p._backward_hooks or p._post_accumulate_grad_hooks
