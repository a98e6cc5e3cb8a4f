"""Operations with all arguments bound but the value: `value | operation(arguments)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Block, Costs, Offload, Placement, Schedule, StageMemory


class Operation:
    """`value | operation` applies it; `operation | operation` is an operation, too."""

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
    """Returns the value itself if every rule holds for it; raises Violation
    otherwise.
    """
    return Operation(_checked)


def repeat(micro_batches: int) -> Operation:
    """Makes a schedule of a block: starts one block an interval, for `micro_batches`
    micro-batches.
    """
    return Operation(_core.repeat, micro_batches)


def squeeze() -> Operation:
    """Starts every pass as early as order and dependencies allow."""
    return Operation(_core.squeeze)


def retime(costs: Costs) -> Operation:
    """Keeps the orders under other costs, squeezed."""
    return Operation(_core.retime, costs)


def reorder(throughout: bool = False) -> Operation:
    """Moves passes up into gaps: those of warm-up and cool-down, or all."""
    return Operation(_core.reorder, throughout)


def relocate(placement: Placement) -> Operation:
    """Moves passes to another placement, in the order of their starts."""
    return Operation(_core.relocate, placement)


def improve(passes: int = 1_000_000, seed: int = 1) -> Operation:
    """Searches the best order within the same memory, with a budget of `passes`
    dispatched passes.
    """
    return Operation(_core.improve, passes, seed)


def mirror() -> Operation:
    """Makes device d device p - 1 - d."""
    return Operation(_core.mirror)


def shift(ticks: int) -> Operation:
    """Starts everything `ticks` ticks later."""
    return Operation(_core.shift, ticks)


def scale(factor: int) -> Operation:
    """Makes everything in a block take `factor` times as long."""
    return Operation(_core.scale, factor)


def with_interval(interval: int) -> Operation:
    """Sets the ticks between repetitions of a block."""
    return Operation(_core.with_interval, interval)


def overlay(other: Block) -> Operation:
    """Puts both blocks side by side, each on routes of its own."""
    return Operation(_core.overlay, other)


def split_backward() -> Operation:
    """Splits each backward into an input and a weight pass."""
    return Operation(_core.split_backward)


def fuse_backward() -> Operation:
    """Fuses input and weight passes into backwards: those of a block, or of a schedule,
    even if that makes it longer.

    In a schedule, weight passes move up to their input passes. For runtimes and models
    that cannot walk a graph in two parts. Pairs of a forward with an input or weight
    pass are taken apart. Raises Violation for a schedule with work.
    """
    return Operation(_core.fuse_backward)


fuse_backwards = fuse_backward
"""Another name of `fuse_backward`."""


def fuse_where_free() -> Operation:
    """Moves weight passes of a schedule up to their input passes and fuses them, where
    that makes it no longer.

    Autograd takes longer for both than for one backward, which walks the graph once.
    Costs stay, and so do memory limits, because activations are freed no later. Raises
    Violation as `fuse_backward` does.
    """
    return Operation(_core.fuse_where_free)


def recompute(stages: Sequence[int] | None = None) -> Operation:
    """Makes stages run each forward again before its backward: all stages of a block,
    the given ones of a schedule.
    """
    return (
        Operation(_core.recompute)
        if stages is None
        else Operation(_core.recompute, list(stages))
    )


def weights_in_first_gaps() -> Operation:
    """Moves the weight passes of a block into the first gaps after their input
    passes.
    """
    return Operation(_core.weights_in_first_gaps)


def without_collisions() -> Operation:
    """Finds the nearest block whose passes do not collide when it is repeated."""
    return Operation(_core.without_collisions)


def then(next: Schedule) -> Operation:
    """Runs one schedule after the other."""
    return Operation(_core.then, next)


def merge(other: Schedule) -> Operation:
    """Merges both schedules, each at its times."""
    return Operation(_core.merge, other)


def take(micro_batches: int) -> Operation:
    """Keeps only the first micro-batches."""
    return Operation(_core.take, micro_batches)


def fold_in_half() -> Operation:
    """Folds a bidirectional schedule onto half the devices."""
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
) -> Operation:
    """Makes a program of a schedule: passes, transfers, and sums of gradients.

    sharding: none, optimizer, gradients, weights, full (over data_ranks copies of the
    pipeline). reduction: eager, at_end, eager_middle_last. lanes: one, one_a_peer,
    one_a_direction, one_a_kind. receives: when_sent, or when_needed: as late as the
    lanes allow without holding anything up. offload: activations that move to host
    memory and back, as `selective_offload` chooses them.
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
    )


def simulate(
    costs: Costs | None = None,
    memory: Sequence[StageMemory | Sequence[StageMemory]] | None = None,
    data_ranks: int = 1,
) -> Operation:
    """Simulates a program: the time and memory of a run. memory: one StageMemory for
    all stages, or one each.

    If micro-batches differ, each is a list of one StageMemory for each micro-batch.
    """
    given: dict[str, Any] = {"data_ranks": data_ranks}
    if costs is not None:
        given["costs"] = costs
    if memory is not None:
        given["memory"] = list(memory)
    return Operation(_core.simulate, **given)
