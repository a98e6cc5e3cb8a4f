"""Operations with all arguments bound but the value: `value | operation(arguments)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Block, Costs, Offload, Placement, Residency, Schedule, StageMemory


class Operation:
    """A function with all arguments bound but the first, its value.

    `value | operation` applies it; `operation | operation` is an operation, too.

    Args:
        call (Callable): Takes the value first.
        *args: Arguments after the value.
        **kwargs: Arguments by keyword.
    """

    def __init__(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._call, self._args, self._kwargs = call, args, kwargs

    def __call__(self, value: Any) -> Any:
        return self._call(value, *self._args, **self._kwargs)

    def __ror__(self, value: Any) -> Any:
        return self(value)

    def __or__(self, after: Operation) -> Operation:
        if not isinstance(after, Operation):
            return NotImplemented
        return Operation(lambda value: after(self(value)))

    def __repr__(self) -> str:
        words = [repr(a) for a in self._args] + [
            f"{k}={v!r}" for k, v in self._kwargs.items()
        ]
        return f"{getattr(self._call, '__name__', 'operation')}({', '.join(words)})"


def _checked(value: Any) -> Any:
    value.check()
    return value


def check() -> Operation:
    """Returns the value itself if every rule holds for it.

    Returns:
        Operation: from a block, schedule or program to itself. Raises `Violation`, with
        the rule and the passes that break it.
    """
    return Operation(_checked)


def repeat(micro_batches: int) -> Operation:
    """Makes a schedule of a block, which is started once an interval.

    Args:
        micro_batches (int): The micro-batches of the schedule: a multiple of those of
            the block.

    Returns:
        Operation: from a block to a schedule. Raises `Violation` for other numbers of
        micro-batches.
    """
    return Operation(_core.repeat, micro_batches)


def squeeze() -> Operation:
    """Starts every pass as early as order and dependencies allow.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` if passes wait for
        each other in a cycle.
    """
    return Operation(_core.squeeze)


def retime(costs: Costs) -> Operation:
    """Keeps the orders under other costs, squeezed.

    Args:
        costs (Costs): In ticks, one stage or one each.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` for
        costs of another number of stages.
    """
    return Operation(_core.retime, costs)


def reorder(throughout: bool = False) -> Operation:
    """Moves passes up into gaps.

    Args:
        throughout (bool): Moves all passes, not only those of warm-up and cool-down.
            Default: ``False``.

    Returns:
        Operation: from a schedule to a schedule. It is no longer, and no
        device holds more than the one that held most.
    """
    return Operation(_core.reorder, throughout)


def relocate(placement: Placement) -> Operation:
    """Moves passes to another placement, in the order of their starts.

    Args:
        placement (Placement): Has as many stages as the schedule.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` for
        another number of stages.
    """
    return Operation(_core.relocate, placement)


def improve(passes: int = 1_000_000, seed: int = 1) -> Operation:
    """Searches the best order within the same memory.

    Args:
        passes (int): The budget, in dispatched passes. Default: 1,000,000.
        seed (int): Seed of the search, which is deterministic. Default: 1.

    Returns:
        Operation: from a schedule to a schedule. Raises `ValueError` for
        schedules with pairs or recomputes.
    """
    return Operation(_core.improve, passes, seed)


def mirror() -> Operation:
    """Makes device d device p - 1 - d.

    Returns:
        Operation: from a block or a schedule to one of its kind.
    """
    return Operation(_core.mirror)


def shift(ticks: int) -> Operation:
    """Starts everything later.

    Args:
        ticks (int): By how much; negative for earlier.

    Returns:
        Operation: from a block or a schedule to one of its kind.
    """
    return Operation(_core.shift, ticks)


def scale(factor: int) -> Operation:
    """Makes everything in a block take longer.

    Args:
        factor (int): How many times as long, at least 1.

    Returns:
        Operation: from a block to a block.
    """
    return Operation(_core.scale, factor)


def with_interval(interval: int) -> Operation:
    """Sets the ticks between repetitions of a block.

    Args:
        interval (int): In ticks, at least 1.

    Returns:
        Operation: from a block to a block.
    """
    return Operation(_core.with_interval, interval)


def overlay(other: Block) -> Operation:
    """Puts both blocks side by side, each on routes of its own.

    Args:
        other (Block): Has as many devices and stages.

    Returns:
        Operation: from a block to a block. Raises `Violation` for other numbers
        of devices or stages, or another interval.
    """
    return Operation(_core.overlay, other)


def split_backward() -> Operation:
    """Splits each backward into an input and a weight pass.

    Returns:
        Operation: from a block or a schedule to one of its kind.
    """
    return Operation(_core.split_backward)


def fuse_backward() -> Operation:
    """Fuses input and weight passes, even if that makes a schedule longer.

    In a schedule, weight passes move up to their input passes; pairs of a forward with
    an input or weight pass are taken apart. For runtimes and models that cannot walk a
    graph in two parts.

    Returns:
        Operation: from a block or a schedule to one of its kind. Raises
        `Violation` for a schedule with work.
    """
    return Operation(_core.fuse_backward)


fuse_backwards = fuse_backward
"""Another name of `fuse_backward`."""


def fuse_where_free() -> Operation:
    """Fuses weight passes of a schedule with their input passes, where that is free.

    A weight pass moves up to its input pass if that makes neither makespan nor span
    longer. Autograd takes longer for both than for one backward, which walks the graph
    once. Costs stay, and so do memory limits, because activations are freed no later.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` for one with
        work.
    """
    return Operation(_core.fuse_where_free)


def recompute(stages: Sequence[int] | None = None) -> Operation:
    """Makes stages run each forward again before its backward.

    Args:
        stages (sequence of int, optional): Stages of a schedule. Default: all stages of
            a block.

    Returns:
        Operation: from a schedule to a schedule or, without `stages`, from a block to a
        block. Raises `Violation` for stages that recompute already.
    """
    return (
        Operation(_core.recompute)
        if stages is None
        else Operation(_core.recompute, list(stages))
    )


def weights_in_first_gaps() -> Operation:
    """Moves weight passes of a block into the first gaps after their input passes.

    Returns:
        Operation: from a block to a block.
    """
    return Operation(_core.weights_in_first_gaps)


def without_collisions() -> Operation:
    """Finds the nearest block whose passes do not collide when it is repeated.

    Returns:
        Operation: from a block to a block. Raises `Violation` if a device has
        more work than fits into the interval.
    """
    return Operation(_core.without_collisions)


def then(next: Schedule) -> Operation:
    """Runs one schedule after the other, with a flush between.

    Args:
        next (Schedule): Has as many devices and stages.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` for other
        numbers of devices or stages.
    """
    return Operation(_core.then, next)


def merge(other: Schedule) -> Operation:
    """Merges both schedules, each at its times.

    Args:
        other (Schedule): Has as many devices and stages.

    Returns:
        Operation: from a schedule to a schedule. Passes may overlap until it is
        squeezed. Raises `Violation` for other numbers of devices or stages.
    """
    return Operation(_core.merge, other)


def take(micro_batches: int) -> Operation:
    """Keeps only the first micro-batches.

    Args:
        micro_batches (int): How many, at least 1.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` if there are
        fewer.
    """
    return Operation(_core.take, micro_batches)


def fold_in_half() -> Operation:
    """Folds a bidirectional schedule onto half the devices.

    Returns:
        Operation: from a schedule to a schedule. Raises `Violation` unless both
        halves mirror each other.
    """
    return Operation(_core.fold_in_half)


def lower(
    *,
    data_ranks: int = 1,
    sharding: str = "none",
    reduction: str = "eager",
    lanes: str = "one",
    weight_buffers: int = 1,
    prefetch: int = 1,
    receives: str = "when_sent",
    offload: Offload | None = None,
    residency: Residency | None = None,
) -> Operation:
    """Makes a program of a schedule: passes, transfers, and sums of gradients.

    Args:
        data_ranks (int): Copies of the pipeline. Default: 1.
        sharding (str): What each copy keeps a shard of: ``none``, ``optimizer``,
            ``gradients``, ``weights`` or ``full``.
        reduction (str): When gradients are summed: ``eager``, ``at_end`` or
            ``eager_middle_last``.
        lanes (str): Which transfers of a device keep one order: ``one`` (all),
            ``one_a_peer``, ``one_a_direction`` or ``one_a_kind``.
        weight_buffers (int): Buffers for weights that are gathered. Default: 1.
        prefetch (int): Passes by which a gather goes ahead. Default: 1.
        receives (str): ``when_sent``, or ``when_needed``: as late as the lanes allow
            without holding anything up.
        offload (Offload, optional): Activations that move to host memory and back, as
            `selective_offload` chooses them.
        residency (Residency, optional): When devices have weights whole, instead of
            `weight_buffers` and `prefetch`.

    Returns:
        Operation: from a schedule to a program. Raises `ValueError` for other words,
        `Violation` for numbers out of range.
    """
    return Operation(
        _core.lower,
        data_ranks=data_ranks,
        sharding=sharding,
        reduction=reduction,
        lanes=lanes,
        weight_buffers=weight_buffers,
        prefetch=prefetch,
        receives=receives,
        offload=offload,
        residency=residency,
    )


def simulate(
    costs: Costs | None = None,
    memory: Sequence[StageMemory | Sequence[StageMemory]] | None = None,
    data_ranks: int = 1,
) -> Operation:
    """Simulates a program: the time and memory of a run.

    Args:
        costs (Costs, optional): In ticks. Default: `Costs()`.
        memory (sequence, optional): One `StageMemory` for all stages, or one each. If
            micro-batches differ, each is a list of one for each micro-batch.
        data_ranks (int): Copies of the pipeline. Default: 1.

    Returns:
        Operation: from a program to a `Simulation`.
    """
    given: dict[str, Any] = {"data_ranks": data_ranks}
    if costs is not None:
        given["costs"] = costs
    if memory is not None:
        given["memory"] = list(memory)
    return Operation(_core.simulate, **given)
