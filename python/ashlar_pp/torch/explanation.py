"""Describes a pipeline in words and a picture."""

from __future__ import annotations

from collections.abc import Sequence

from ..comparison import Table
from .plans import Plan, published
from .trace import Trace


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def _stage(plan: Plan, trace: Trace, stage: int) -> str:
    dealt = plan.dealt
    first, end = dealt.cuts[stage], dealt.cuts[stage + 1]
    owned = [call.layer.name for call in trace.calls[first:end] if not call.is_free]
    names = (
        owned[0]
        if len(owned) == 1
        else f"{owned[0]} ... {owned[-1]} ({len(owned)} layers)"
    )
    forward, inputs, weights = dealt.costs.per_stage[stage]
    memory = dealt.memory[stage]
    return (
        f"stage {stage} on device {dealt.placement.routes[0][stage]}: {names}; forward "
        f"{forward}, input pass {inputs}, "
        f"weight pass {weights} us; parameters {_size(memory.weights)}, a micro-batch "
        f"keeps {_size(memory.stash)}"
    )


def _cut(plan: Plan, trace: Trace, stage: int) -> str:
    parts = []
    for k in trace.crossing(plan.dealt.cuts[stage]):
        value = trace.values[k]
        shape = "x".join(str(n) for n in value.shape)
        parts.append(
            f"{trace.calls[value.made_by].layer.name} ({shape} "
            f"{str(value.dtype).removeprefix('torch.')})"
        )
    return f"  to stage {stage} go: {', '.join(parts)}"


def _row(plan: Plan) -> dict[str, object]:
    of = plan.schedule
    gap = None if plan.bound is None else of.makespan / plan.bound - 1
    return {
        "schedule": plan.name,
        "stages": of.stages,
        "us": of.makespan,
        "bound": plan.bound,
        "gap": gap,
        "bubble_rate": of.bubble_rate,
        "memory": _size(max(plan.peak_memory())),
    }


def explained(
    plan: Plan,
    plans: Sequence[Plan],
    trace: Trace,
    micro_batches: int,
    memory: int | None,
) -> str:
    """Describes a pipeline. Alternatives are the other plans, and the catalog's
    schedules on their placements.

    memory: bytes that a device may hold; None: as many activations as 1F1B holds.
    """
    lines = []
    for stage in range(plan.schedule.stages):
        if stage > 0:
            lines.append(_cut(plan, trace, stage))
        lines.append(_stage(plan, trace, stage))
    free = sorted({call.layer.name for call in trace.calls if call.is_free})
    again = f", and {', '.join(free)}" if free else ""
    lines.append(
        "every stage computes again from the inputs: what the model does between its "
        f"layers{again}"
    )
    lines.append("")
    lines.append(plan.schedule.text(160))
    rows = [_row(one) for one in plans]
    for one in plans:
        rows += [_row(other) for other in published(one.dealt, micro_batches)]
    lines.append(str(Table(rows)))
    peaks = ", ".join(_size(n) for n in plan.peak_memory())
    limit = "as many activations as 1F1B" if memory is None else _size(memory)
    lines.append(f"memory by device: {peaks}; limit: {limit}")
    return "\n".join(lines)
