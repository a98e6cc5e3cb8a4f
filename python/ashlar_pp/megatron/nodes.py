"""Plans of Megatron-Core's `build_schedule_plan`, whose nodes run in the order of a
braid: attention and experts compute, dispatch and combine exchange tokens.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from megatron.core.pipeline_parallel.utils import AbstractSchedulePlan, NoopScheduleNode
from megatron.core.transformer.moe.moe_layer import MoELayer

from .._core import PartCosts, StageParts

IN_TURN = "in turn, weights delayed"
KINDS = {"B": "backward", "I": "backward_input", "W": "backward_weight"}
At = Callable[[], contextlib.AbstractContextManager[None]]


class Node(NamedTuple):
    """A part of a layer's pass, as a part of PartCosts."""

    on: str  # "compute" or "exchange"
    of: str  # in a backward: "input" or "weights"
    run: Callable[[Any], Any]


class Braided(AbstractSchedulePlan):  # type: ignore[misc]
    """The plan of a micro-batch's passes of a stage.

    at: makes Megatron's parallel state that of the stage.
    parts: of all stages; None: Megatron's own order.
    """

    def __init__(self, plan: Any, stage: int, at: At, parts: PartCosts | None) -> None:
        self.plan, self.stage, self.at = plan, stage, at
        self._parts = parts
        self._layers = [plan.get_layer(i) for i in range(plan.num_layers())]
        self._ahead, self._back = list(self._forward()), list(self._backward())
        # beside its next forward: a plan whose weight pass runs with it
        self.beside: Braided | None = None
        self.letter = "B"  # of its next backward

    @property
    def event(self) -> Any:
        return self.plan.event

    def outputs(self) -> list[Any]:
        """What the nodes of a forward have made. Each has a graph of its own."""
        nodes = [self.plan.pre_process]
        for layer in self._layers:
            nodes += [getattr(layer, name) for name, _ in _nodes_of(layer)]
        nodes += [self.plan.post_process] * (self.plan.post_process is not None)
        return [
            (node.get_output(), getattr(node, "before_detached", ())) for node in nodes
        ]

    def _forward(self) -> Iterator[Node]:
        def within(layer: Any, node: Any) -> Callable[[Any], Any]:
            def run(x: Any) -> Any:
                with layer.get_fp8_context():
                    return node.forward(x)

            return run

        for layer in self._layers:
            for name, on in _nodes_of(layer):
                yield Node(on, "input", within(layer, getattr(layer, name)))

    def _backward(self) -> Iterator[Node]:
        for layer in reversed(self._layers):
            for name, on, of in backward_of(_nodes_of(layer)):
                node = getattr(layer, name)
                if of == "input":
                    run = functools.partial(_back, node)
                else:
                    release = layer.release_state if name == "attn" else None
                    run = functools.partial(_dw, node, release)
                yield Node(on, of, run)

    def _parts_of(self, kind: str) -> list[Node]:
        wanted = {"B": ("input", "weights"), "I": ("input",), "W": ("weights",)}[kind]
        return [node for node in self._back if node.of in wanted]

    def _order(self, other: Braided, kind: str) -> list[bool]:
        """The order of this forward's nodes and of the other plan's backward's."""
        if self._parts is not None:
            return self._parts.order_of_pair(self.stage, other.stage, KINDS[kind])
        each = [
            StageParts(
                [(node.on, 1) for node in plan._ahead],
                [(node.on, 1, node.of) for node in plan._back],
            )
            for plan in (self, other)
        ]
        return PartCosts(each, IN_TURN).order_of_pair(0, 1, KINDS[kind])

    @staticmethod
    def run(
        f_schedule_plan: Braided | None,
        b_schedule_plan: Braided | None,
        b_grad: Any = None,
        **_: Any,
    ) -> Any:
        """Runs a forward, a backward, or both as a pair, as Megatron's own plans do.
        Returns the forward's output.
        """
        f, b = f_schedule_plan, b_schedule_plan
        y = None
        if f is not None:
            with f.at():
                f.plan.record_current_stream()
                y = f.plan.pre_process.forward()
        if b is not None:
            with b.at():
                b.plan.record_current_stream()
                if b.plan.post_process is not None:
                    b_grad = b.plan.post_process.backward(b_grad)
        y, b_grad = _alternate(f, b, y, b_grad)
        if f is not None:
            with f.at():
                if f.plan.post_process is not None:
                    y = f.plan.post_process.forward(y)
                f.plan.wait_current_stream()
        if b is not None:
            with b.at():
                b.plan.pre_process.backward(b_grad)
                b.plan.wait_current_stream()
            b.plan.release_state()
            if b.letter == "B":
                b.release()
        return y

    def weights(self) -> None:
        """Runs the weight pass alone."""
        with self.at():
            for node in self._parts_of("W"):
                node.run(None)
        self.release()

    def release(self) -> None:
        """Lets go of the nodes, after the last pass."""
        self._ahead, self._back, self._layers = [], [], []


def _alternate(f: Braided | None, b: Braided | None, y: Any, g: Any) -> Any:
    """Runs the nodes of both, or of the forward and of the weights beside it."""
    back, kind = (b, b.letter) if b is not None else (f and f.beside, "W")
    ahead = f._ahead if f is not None else []
    behind = back._parts_of(kind) if back is not None else []
    order: list[bool] = [False] * len(ahead) + [True] * len(behind)
    if f is not None and back is not None and ahead and behind:
        order = f._order(back, kind)
    nodes = iter(ahead), iter(behind)
    for is_back in order:
        node = next(nodes[is_back])
        plan = back if is_back else f
        assert plan is not None
        with plan.at():
            if not is_back:
                y = node.run(y)
            elif node.of == "weights":
                node.run(None)
            else:
                g = node.run(g)
    if f is not None and f.beside is not None:
        f.beside.release()
        f.beside = None
    return y, g


def nodes_of(has_experts: bool, predicts: bool) -> list[tuple[str, str]]:
    """The nodes of a layer's forward, and what each needs. Dense layers exchange
    nothing; layers of MTP have a node more.
    """
    return [
        ("attn", "compute"),
        *[("moe_dispatch", "exchange")] * has_experts,
        ("mlp", "compute"),
        *[("moe_combine", "exchange")] * has_experts,
        *[("mtp_post_process", "compute")] * predicts,
    ]


def backward_of(forward: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """The nodes of a backward, the last first. Attention and experts have weights."""
    for name, on in reversed(forward):
        yield name, on, "input"
        if name in ("attn", "mlp"):
            yield name, "compute", "weights"


def must_be_of_these(parts: PartCosts, stage: int, model: Any) -> None:
    """Raises ValueError for parts of other nodes than the model's layers have."""
    given = parts.stages[0 if len(parts.stages) == 1 else stage]
    layers = [nodes_of(_has_experts(layer), False) for layer in model.decoder.layers]
    if getattr(model, "mtp", None) is not None:
        layers += [
            nodes_of(_has_experts(layer.transformer_layer), True)
            for layer in model.mtp.layers
        ]
    ahead = [on for layer in layers for _, on in layer]
    back = [(on, of) for layer in reversed(layers) for _, on, of in backward_of(layer)]
    if [on for on, _ in given.forward] != ahead or [
        (on, of) for on, _, of in given.backward
    ] != back:
        raise ValueError(
            f"parts of stage {stage} are not those of Megatron's layers: its forward "
            f"has {', '.join(ahead)}, and its backward "
            + ", ".join(on if of == "input" else f"{on} of weights" for on, of in back)
        )


def _has_experts(layer: Any) -> bool:
    return isinstance(layer.mlp, MoELayer)


def _nodes_of(layer: Any) -> list[tuple[str, str]]:
    """Those of a layer's plan."""
    dispatch, predict = layer.moe_dispatch, layer.mtp_post_process
    return nodes_of(
        not isinstance(dispatch, NoopScheduleNode),
        not isinstance(predict, NoopScheduleNode),
    )


def _back(node: Any, gradient: Any) -> Any:
    gradient = node.backward(gradient)
    node.detached = node.before_detached = ()  # a weight pass may be far away
    return gradient


def _dw(node: Any, release: Callable[[], None] | None, _: Any) -> None:
    node.backward_dw()
    if release is not None:
        release()
