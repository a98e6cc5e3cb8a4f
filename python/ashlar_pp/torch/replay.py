"""A stage of a cut model: the model's own forward, in which only the layers of the
stage are called.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from .clock import Clock
from .generators import Streams, torch_states
from .layers import Layer, Skeleton
from .trace import Trace
from .unseen import Between, Unseen, UnseenValue


class _StageEnds(BaseException):
    """Leaves the model's forward after the last layer of a stage. A BaseException, so
    that no handler of errors catches it.
    """


class _Joined(torch.autograd.Function):
    """Makes several outputs those of one node.

    A split backward takes the gradients of weights where their paths meet those of the
    inputs. For an output that depends on weights and on no input, such as the embedding
    in a decoder, this node is the only such place.
    """

    @staticmethod
    def forward(ctx: Any, *outputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x.detach() for x in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return gradients


class Replay:
    """The forward of a stage. Layers before it return received values; those after it
    are not reached.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        trace: Trace,
        first: int,
        end: int,
        loss_of: Callable[[Any, int], torch.Tensor],
        context: Callable[[], AbstractContextManager[Any]],
        streams: Streams,
    ) -> None:
        self.skeleton, self.trace, self.first, self.end = skeleton, trace, first, end
        self.is_last = end == len(trace.calls)
        self.incoming = trace.crossing(first) if first > 0 else []
        self.outgoing = [] if self.is_last else trace.crossing(end)
        self.loss_of, self.context, self.streams = loss_of, context, streams
        self.inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        """Inputs of each micro-batch."""
        self.batch: list[torch.Tensor] = []
        """Tensors of the first, whose versions are those of the whole batch."""
        self.micro_batch = 0
        self.numbers: dict[int, tuple[int, int]] = {}
        """Checksums, by micro-batch, of numbers given to operations between layers: up
        to the first call, and up to the end.
        """
        self._position = 0
        self._values: dict[int, torch.Tensor] = {}
        self._between = Between()
        self._changed = {
            at
            for at, call in enumerate(trace.calls)
            for number, _ in call.leaves
            if number is not None and trace.values[number].is_changed
        }
        """Numbers of the calls whose outputs are changed in place later."""

    def layers(self) -> list[Layer]:
        calls = self.trace.calls[self.first : self.end]
        return list(
            {id(call.layer): call.layer for call in calls if not call.is_free}.values()
        )

    def examples(self, numbers: list[int]) -> tuple[torch.Tensor, ...]:
        """Meta tensors in the shapes of these values."""
        return tuple(
            torch.empty(
                v.shape,
                dtype=v.dtype,
                device="meta",
                requires_grad=v.is_differentiable(),
            )
            for v in (self.trace.values[k] for k in numbers)
        )

    def __call__(self, *received: torch.Tensor) -> Any:
        self._values, self._position = dict(zip(self.incoming, received)), 0
        self._between.begin()
        self._at_first = 0
        args, kwargs = self.inputs[self.micro_batch]
        versions = [x._version for x in self.batch]
        if self.trace.changes_inputs:
            args, kwargs = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        try:
            try:
                with self.context():
                    self.streams.micro_batch = self.micro_batch
                    self.streams.seeds_python = self.trace.draws_python
                    self.streams.after_call(-1)
                    with self._between:
                        output = self.skeleton(self._call, args, kwargs)
                    if self._position != self.end:
                        raise self._other_way("its end")
                    self._between.ledger.must_be_seen(
                        (output,), {}, "the model's output"
                    )
                    return self.loss_of(output, self.micro_batch)
            except _StageEnds:
                # frees its traceback, and with it what the model had begun, such as an
                # activation checkpoint
                pass
            return self._outputs()
        finally:
            self.numbers[self.micro_batch] = (self._at_first, self._between.numbers)
            self._values = {}
            if (
                not self.trace.changes_inputs
                and [x._version for x in self.batch] != versions
            ):
                raise UnseenValue(
                    "the model's own forward changes the batch in place, which other "
                    "stages read, and did not when it was traced"
                )

    def again(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a call in a backward, by an activation checkpoint that the model makes
        between its layers.
        """
        if all(one is not layer for one in self.layers()):
            raise RuntimeError(
                "an activation checkpoint of the model's own forward calls "
                f"{layer.name}, which is in another stage: "
                "put the checkpoint into the layers"
            )
        able = [
            k for k in range(self.first, self.end) if self.trace.calls[k].layer is layer
        ]
        self.streams.of_layer(able[0])
        before = torch_states(self.skeleton.device)
        output = layer.compute(args, kwargs)
        if len(able) > 1 and torch_states(self.skeleton.device) != before:
            raise RuntimeError(
                f"{layer.name} draws random numbers and is called several times in "
                "activation checkpoints of the model's own "
                "forward, which would draw others when they compute it again: put the "
                "checkpoints into the layers"
            )
        self.streams.after_call(able[0])
        return output

    def _other_way(self, what: str) -> RuntimeError:
        expected = (
            self.trace.calls[self._position].layer.name
            if self._position < len(self.trace.calls)
            else "its end"
        )
        return RuntimeError(
            f"the model comes to {what} where it came to {expected} with the example: "
            "it decides by its inputs"
        )

    def _call(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        at = self._position
        if at >= len(self.trace.calls) or self.trace.calls[at].layer is not layer:
            raise self._other_way(layer.name)
        if at == self.first:
            self._at_first = self._between.numbers
        if at >= self.end:
            raise _StageEnds
        self._position += 1
        call = self.trace.calls[at]
        is_watching = self._between.pause()
        try:
            if call.is_free:
                self.streams.of_layer(at)
                output = layer.compute(args, kwargs)
            elif at < self.first:
                output = call.output(self._received)
            else:
                output = self._computed(at, layer, args, kwargs)
        finally:
            if is_watching:
                self._between.resume()
        self.streams.after_call(at)
        return output

    def _computed(
        self, at: int, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._between.ledger.must_be_seen(args, kwargs, layer.name)
        call = self.trace.calls[at]
        self.streams.of_layer(at)
        output = layer.compute(args, kwargs)
        is_tensor = isinstance(output, torch.Tensor)
        leaves = [output] if is_tensor else tree_leaves(output)
        if len(leaves) != len(call.leaves):
            raise RuntimeError(
                f"{layer.name} gives {len(leaves)} values, and gave {len(call.leaves)} "
                "with the example"
            )
        for (number, constant), leaf in zip(call.leaves, leaves):
            if number is not None and isinstance(leaf, torch.Tensor):
                self._values[number] = leaf
            elif number is not None or not _is_same(leaf, constant):
                before = "a tensor" if number is not None else repr(constant)
                raise RuntimeError(
                    f"{layer.name} gives {_shown(leaf)}, and gave {before} with the "
                    "example: only tensors go to other stages, "
                    "and all else is as it was, so return a tensor"
                )
        if at in self._changed:
            return call.output(self._received)
        return output

    def _received(self, number: int) -> torch.Tensor:
        """The value; an `Unseen` if it was not sent here."""
        value = self.trace.values[number]
        if number in self._values:
            return (
                self._values[number].clone()
                if value.is_changed
                else self._values[number]
            )
        name = self.trace.calls[value.made_by].layer.name
        made = Unseen(
            torch.empty(value.shape, dtype=value.dtype, device="meta"),
            self.skeleton.device,
            self._between.ledger,
            frozenset([name]),
        )
        return made.requires_grad_(
            torch.is_grad_enabled() and value.is_differentiable()
        )

    def _outputs(self) -> Any:
        given = []
        for number in self.outgoing:
            x, value = self._values[number], self.trace.values[number]
            if x.shape != value.shape or x.dtype != value.dtype:
                name = self.trace.calls[value.made_by].layer.name
                raise RuntimeError(
                    f"{name} gives {tuple(x.shape)} of {x.dtype}, and gave "
                    f"{tuple(value.shape)} of {value.dtype} with the example"
                )
            if (
                torch.is_grad_enabled()
                and value.is_differentiable()
                and not x.requires_grad
            ):
                # all frozen before it: its gradient arrives, and is dropped
                x = x.detach().requires_grad_()
            given.append(x.contiguous())
        if len(given) == 1:
            return given[0]
        if torch.is_grad_enabled():
            floats = [i for i, x in enumerate(given) if x.requires_grad]
            for i, x in zip(floats, _Joined.apply(*(given[i] for i in floats))):
                given[i] = x
        return tuple(given)


class TimedReplay:
    """A stage's replay with what each of its passes needs around it: the number of its
    micro-batch, a clock, and the check that a backward draws nothing.
    """

    def __init__(self, replay: Replay, clock: Clock, stage: int) -> None:
        self.replay, self._clock, self._stage = replay, clock, stage

    def forward(self, micro_batch: int, run: Callable[[], Any], *, trains: bool) -> Any:
        self.replay.micro_batch = micro_batch
        return self._clock.run("F", self._stage, run) if trains else run()

    def recompute(self, micro_batch: int, run: Callable[[], Any]) -> None:
        self.replay.micro_batch = micro_batch
        self._clock.run("R", self._stage, run)

    def backward(self, letter: str, micro_batch: int, run: Callable[[], Any]) -> Any:
        """letter: B for a whole backward, I and W for its parts."""
        streams, skeleton = self.replay.streams, self.replay.skeleton
        streams.micro_batch = micro_batch
        before = torch_states(skeleton.device)
        result = skeleton.calling(
            self.replay.again, self._clock.run, letter, self._stage, run
        )
        if torch_states(skeleton.device) != before:
            raise UnseenValue(
                f"a backward of stage {self._stage} draws random numbers, which "
                "would depend on the schedule: draw them in "
                "the forward"
            )
        return result


def _is_same(given: Any, constant: Any) -> bool:
    """Whether numbers and words are equal; other objects are not compared."""
    if not isinstance(constant, (int, float, complex, str, type(None))):
        return not isinstance(
            given, (int, float, complex, str, type(None), torch.Tensor)
        )
    return type(given) is type(constant) and (
        given == constant or given != given and constant != constant
    )


def _shown(given: Any) -> str:
    return "a tensor" if isinstance(given, torch.Tensor) else repr(given)
