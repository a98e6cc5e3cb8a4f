"""The step of a schedule as one scan over its rounds, in a shard_map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._core import Schedule
from .rounds import Rounds, rounds_of, stages_by_device

Tree = Any
Stage = Callable[[Tree, Tree], Tree]
Loss = Callable[[Tree, Tree, Tree], jax.Array]


def value_and_grad(
    schedule: Schedule, stage: Stage, loss: Loss, *, mesh: Mesh, axis: str = "stage"
) -> Callable[..., Any]:
    """Returns a step that runs the schedule, compiled by jax.jit.

    It has the arguments parameters, head, inputs and labels. The parameters' first axis
    is that of stages, in the order of `stages_by_device`; the first axis of inputs and
    labels is that of micro-batches; labels and head may be any trees, also None. It
    returns the mean loss of the micro-batches, and gradients by parameters, head and
    inputs. Gradients of micro-batches are added up as they come. Each backward computes
    its stage again from the stage's input, which is all that a forward keeps; an input
    pass and a weight pass do so both. A round ends when its longest pass has, for all
    devices exchange after it.

    Args:
        schedule (Schedule): Its stages are a chain of one route, as many on each
            device, without recomputes. Pairs run one after the other.
        stage (Callable): stage(parameters, x), of one stage. The result has the shape
            of x.
        loss (Callable): loss(head, x, label), of a micro-batch's last result.
        mesh (Mesh): Its axis has the schedule's devices.
        axis (str): Name of that axis. Default: ``"stage"``.

    Returns:
        Callable: the step.

    Raises:
        ValueError: for a schedule that cannot run, or if the axis has another size.
        Violation: for a schedule that is not proved.
    """
    rounds = rounds_of(schedule)
    if mesh.shape.get(axis) != schedule.devices:
        raise ValueError(
            f"the schedule is for {schedule.devices} devices, and axis {axis!r} of the "
            f"mesh has {mesh.shape.get(axis)}"
        )
    run = _Loop(schedule, rounds, stage, loss, axis)
    one, each = PartitionSpec(), PartitionSpec(axis)
    given = each, one, one, one
    mapped = jax.shard_map(
        run,
        mesh=mesh,
        in_specs=given,
        out_specs=(one, (each, one, one)),
        check_vma=False,
    )

    def step(parameters: Tree, head: Tree, inputs: Tree, labels: Tree) -> Any:
        trees = parameters, head, inputs, labels
        placed = (
            jax.device_put(tree, NamedSharding(mesh, spec))
            for tree, spec in zip(trees, given)
        )
        return mapped(*placed)

    compiled: Callable[..., Any] = jax.jit(step)
    return compiled


class _Loop:
    """What one device does."""

    def __init__(
        self, schedule: Schedule, rounds: Rounds, stage: Stage, loss: Loss, axis: str
    ) -> None:
        self._rounds, self._stage, self._loss, self._axis = rounds, stage, loss, axis
        self._devices, self._count = schedule.devices, schedule.micro_batches
        self._chunks = len(stages_by_device(schedule)) // schedule.devices

    def __call__(self, parameters: Tree, head: Tree, inputs: Tree, labels: Tree) -> Any:
        self._must_fit(parameters, inputs, labels)
        r = self._rounds
        device = lax.axis_index(self._axis)
        table = r.branch, r.chunk, r.micro_batch, r.input, r.gradient
        rows = jax.tree.map(
            lambda one: jnp.asarray(one)[:, device],
            (table, r.input_from, r.gradient_from),
        )

        def slots(count: int) -> Tree:
            return jax.tree.map(
                lambda x: jnp.zeros((count, *x.shape[1:]), x.dtype), inputs
            )

        zeros = jax.tree.map(jnp.zeros_like, (parameters, head, inputs))
        start = slots(r.input_slots), slots(r.gradient_slots), (*zeros, jnp.zeros(()))

        def round_(state: Any, row: Any) -> Any:
            (branch, chunk, k, x_slot, g_slot), x_from, g_from = row
            xs, gs, sums = state
            own = _at(parameters, chunk)
            x = jax.tree.map(
                lambda all_of_them, kept: jnp.where(x_slot < 0, all_of_them, kept),
                _at(inputs, k),
                _at(xs, x_slot) if r.input_slots else _at(inputs, k),
            )
            g = _at(gs, g_slot) if r.gradient_slots else x
            where = chunk, k, x_slot < 0
            made = lax.switch(
                branch, self._branches(), sums, where, own, head, x, g, _at(labels, k)
            )
            sums, message = made
            for i, shift in enumerate(r.shifts):
                came = message if shift == 0 else self._passed_on(message, shift)
                xs, gs = _put(xs, x_from[i], came), _put(gs, g_from[i], came)
            return (xs, gs, sums), None

        (_, _, (by_stage, *others)), _ = lax.scan(round_, start, rows)
        by_head, by_inputs, value = lax.psum(others, self._axis)
        return value, (by_stage, by_head, by_inputs)

    def _passed_on(self, message: Tree, shift: int) -> Tree:
        to = [(d, (d + shift) % self._devices) for d in range(self._devices)]
        return lax.ppermute(message, self._axis, to)

    def _must_fit(self, parameters: Tree, inputs: Tree, labels: Tree) -> None:
        for what, tree, first in (
            ("parameters", parameters, self._chunks),
            ("inputs", inputs, self._count),
            ("labels", labels, self._count),
        ):
            for leaf in jax.tree.leaves(tree):
                if leaf.ndim == 0 or leaf.shape[0] != first:
                    raise ValueError(
                        f"{what} of a device have the first axis {first}, not one of "
                        f"shape {leaf.shape}"
                    )
        x = _shapes(_at(inputs, 0))
        y = _shapes(jax.eval_shape(self._stage, _at(parameters, 0), _at(inputs, 0)))
        if x != y:
            raise ValueError(f"a stage makes {y} of {x}: the next one takes the same")

    def _branches(self) -> list[Callable[..., Any]]:
        """What a device does in a round: idle, the passes, those of the last stage."""
        stage, count = self._stage, self._count

        def idle(sums: Any, where: Any, p: Tree, h: Tree, x: Tree, *_: Any) -> Any:
            return sums, jax.tree.map(jnp.zeros_like, x)

        def forward(sums: Any, where: Any, p: Tree, h: Tree, x: Tree, *_: Any) -> Any:
            return sums, stage(p, x)

        def backward(of_weights: bool, of_input: bool) -> Callable[..., Any]:
            def run(
                sums: Any, where: Any, p: Tree, h: Tree, x: Tree, g: Tree, _: Tree
            ) -> Any:
                dp, dx = None, None
                if of_weights and of_input:
                    dp, dx = jax.vjp(stage, p, x)[1](g)
                elif of_input:
                    (dx,) = jax.vjp(lambda x: stage(p, x), x)[1](g)
                else:
                    (dp,) = jax.vjp(lambda p: stage(p, x), p)[1](g)
                return _added(sums, where, dp, None, dx, None, x)

            return run

        def last(of_weights: bool, of_input: bool) -> Callable[..., Any]:
            def run(
                sums: Any, where: Any, p: Tree, h: Tree, x: Tree, _: Tree, label: Tree
            ) -> Any:
                def value(p: Tree, h: Tree, x: Tree) -> jax.Array:
                    return self._loss(h, stage(p, x), label) / count

                by = (0, 1) * of_weights + (2,) * of_input
                told, found = jax.value_and_grad(value, argnums=by)(p, h, x)
                dp, dh = found[:2] if of_weights else (None, None)
                dx = found[-1] if of_input else None
                return _added(sums, where, dp, dh, dx, told if of_input else None, x)

            return run

        kinds = [(True, True), (False, True), (True, False)]
        # The backward of the last stage computes it again, so its forward does nothing.
        return [
            idle,
            forward,
            *(backward(*kind) for kind in kinds),
            idle,
            *(last(*kind) for kind in kinds),
        ]


def _added(
    sums: Any, where: Any, dp: Tree, dh: Tree, dx: Tree, told: Any, x: Tree
) -> Any:
    """Adds what a backward has found, and returns its message."""
    (by_stage, by_head, by_inputs, value), (chunk, k, is_first) = sums, where
    if dp is not None:
        by_stage = jax.tree.map(lambda a, b: a.at[chunk].add(b), by_stage, dp)
    if dh is not None:
        by_head = jax.tree.map(jnp.add, by_head, dh)
    if dx is not None:
        by_inputs = _put(by_inputs, jnp.where(is_first, k, -1), dx)
    if told is not None:
        value += told
    message = jax.tree.map(jnp.zeros_like, x) if dx is None else dx
    return (by_stage, by_head, by_inputs, value), message


def _shapes(tree: Tree) -> list[tuple[tuple[int, ...], str]]:
    return [(leaf.shape, str(leaf.dtype)) for leaf in jax.tree.leaves(tree)]


def _at(tree: Tree, i: Any) -> Tree:
    return jax.tree.map(lambda all_of_them: all_of_them[i], tree)


def _put(tree: Tree, i: Any, value: Tree) -> Tree:
    """Sets the i-th, if i is not negative."""

    def put(all_of_them: jax.Array, one: jax.Array) -> jax.Array:
        index = jnp.where(i < 0, all_of_them.shape[0], i)
        return all_of_them.at[index].set(one, mode="drop")

    return jax.tree.map(put, tree, value)
