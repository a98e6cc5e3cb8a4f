"""A stage of a cut model: the model's own forward, in which only the layers of the stage are called."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage
from torch.utils._pytree import tree_leaves

from .cutting import Layer, Skeleton
from .tracing import Trace


class _StageEnds(BaseException):
    """Leaves the model's forward after the last layer of a stage. No handler of errors should see it."""


class _Joined(torch.autograd.Function):
    """Several outputs as those of one node.

    A split backward takes the gradients of weights where their paths meet those of the inputs. An output that depends
    on weights and on no input, such as the embedding in a decoder, has no such place but this.
    """

    @staticmethod
    def forward(ctx: Any, *outputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x.detach() for x in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return gradients


class Replay:
    """What a stage computes. Layers before it give what was received; those after it are not reached."""

    def __init__(
        self,
        skeleton: Skeleton,
        trace: Trace,
        first: int,
        end: int,
        loss_of: Callable[[Any, int], torch.Tensor],
        context: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.skeleton, self.trace, self.first, self.end = skeleton, trace, first, end
        self.is_last = end == len(trace.calls)
        self.incoming = trace.crossing(first) if first > 0 else []
        self.outgoing = [] if self.is_last else trace.crossing(end)
        self.loss_of, self.context = loss_of, context
        self.inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        """Of each micro-batch."""
        self.micro_batch = 0
        self._position = 0
        self._values: dict[int, torch.Tensor] = {}

    def layers(self) -> list[Layer]:
        calls = self.trace.calls[self.first : self.end]
        return list({id(call.layer): call.layer for call in calls if not call.is_free}.values())

    def examples(self, numbers: list[int]) -> tuple[torch.Tensor, ...]:
        """Tensors without numbers, in the shapes of these values."""
        return tuple(
            torch.empty(v.shape, dtype=v.dtype, device="meta", requires_grad=v.is_differentiable())
            for v in (self.trace.values[k] for k in numbers)
        )

    def __call__(self, *received: torch.Tensor) -> Any:
        for x in received:
            if x.requires_grad:
                x.register_hook(torch.Tensor.contiguous)  # it is sent
        self._values, self._position = dict(zip(self.incoming, received)), 0
        args, kwargs = self.inputs[self.micro_batch]
        try:
            try:
                with self.context():
                    output = self.skeleton(self._call, args, kwargs)
                    if self._position != self.end:
                        raise self._other_way("its end")
                    return self.loss_of(output, self.micro_batch)
            except _StageEnds:
                pass  # its traceback goes, and with it what the model had begun, such as an activation checkpoint
            return self._outputs()
        finally:
            self._values = {}

    def again(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call in a backward, by an activation checkpoint that the model makes between its layers."""
        if all(one is not layer for one in self.layers()):
            raise RuntimeError(
                f"an activation checkpoint of the model's own forward calls {layer.name}, which is in another stage: "
                "put the checkpoint into the layers"
            )
        return layer.compute(args, kwargs)

    def _other_way(self, what: str) -> RuntimeError:
        expected = self.trace.calls[self._position].layer.name if self._position < len(self.trace.calls) else "its end"
        return RuntimeError(f"the model comes to {what} where it came to {expected} with the example: it decides by its inputs")

    def _call(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        at = self._position
        if at >= len(self.trace.calls) or self.trace.calls[at].layer is not layer:
            raise self._other_way(layer.name)
        if at >= self.end:
            raise _StageEnds
        self._position += 1
        call = self.trace.calls[at]
        if call.is_free:
            return layer.compute(args, kwargs)
        if at < self.first:
            return call.output(self._received)
        output = layer.compute(args, kwargs)
        leaves = tree_leaves(output)
        if len(leaves) != len(call.leaves):
            raise RuntimeError(f"{layer.name} gives {len(leaves)} values, and gave {len(call.leaves)} with the example")
        for (number, constant), leaf in zip(call.leaves, leaves):
            if number is not None and isinstance(leaf, torch.Tensor):
                self._values[number] = leaf
            elif number is not None or not _is_same(leaf, constant):
                before = "a tensor" if number is not None else repr(constant)
                raise RuntimeError(
                    f"{layer.name} gives {_shown(leaf)}, and gave {before} with the example: only tensors go to other stages, "
                    "and all else is as it was, so return a tensor"
                )
        if any(number is not None and self.trace.values[number].is_changed for number, _ in call.leaves):
            return call.output(self._received)
        return output

    def _received(self, number: int) -> torch.Tensor:
        """The value, or for one that nobody reads here a tensor of its shape."""
        value = self.trace.values[number]
        if number in self._values:
            return self._values[number].clone() if value.is_changed else self._values[number]
        make = torch.empty if value.is_differentiable() else torch.zeros  # of integers any may be an index
        return make(value.shape, dtype=value.dtype, device=self._device())

    def _device(self) -> torch.device | None:
        return next((x.device for x in tree_leaves(self.inputs[self.micro_batch]) if isinstance(x, torch.Tensor)), None)

    def _outputs(self) -> Any:
        given = []
        for number in self.outgoing:
            x, value = self._values[number], self.trace.values[number]
            if x.shape != value.shape or x.dtype != value.dtype:
                name = self.trace.calls[value.made_by].layer.name
                raise RuntimeError(
                    f"{name} gives {tuple(x.shape)} of {x.dtype}, and gave {tuple(value.shape)} of {value.dtype} with the example"
                )
            if torch.is_grad_enabled() and value.is_differentiable() and not x.requires_grad:
                x = x.detach().requires_grad_()  # frozen up to here: its gradient arrives, and is dropped
            given.append(x.contiguous())
        if len(given) == 1:
            return given[0]
        if torch.is_grad_enabled():
            floats = [i for i, x in enumerate(given) if x.requires_grad]
            for i, x in zip(floats, _Joined.apply(*(given[i] for i in floats))):
                given[i] = x
        return tuple(given)


def _is_same(given: Any, constant: Any) -> bool:
    """Of numbers and words; other objects stand for themselves."""
    if not isinstance(constant, (int, float, complex, str, type(None))):
        return not isinstance(given, (int, float, complex, str, type(None), torch.Tensor))
    return type(given) is type(constant) and (given == constant or given != given and constant != constant)


def _shown(given: Any) -> str:
    return "a tensor" if isinstance(given, torch.Tensor) else repr(given)


class Clock:
    """Times passes by kind and stage: on a GPU by events, which are read later."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._taken: dict[tuple[str, int], list[tuple[Any, Any]]] = {}

    def _mark(self) -> Any:
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def run(self, letter: str, stage: int, call: Callable[[], Any]) -> Any:
        started = self._mark()
        result = call()
        self._taken.setdefault((letter, stage), []).append((started, self._mark()))
        return result

    def seconds(self) -> dict[tuple[str, int], list[float]]:
        if self.device.type != "cuda":
            return {key: [b - a for a, b in pairs] for key, pairs in self._taken.items()}
        torch.cuda.synchronize(self.device)
        return {key: [a.elapsed_time(b) / 1000 for a, b in pairs] for key, pairs in self._taken.items()}

    def clear(self) -> None:
        self._taken.clear()


class ReplayStage(PipelineStage):
    """A stage for PyTorch's runtime. Shapes are known, and inputs of the model come by micro-batch to every stage."""

    def __init__(
        self,
        part: torch.nn.Module,
        replay: Replay,
        clock: Clock,
        index: int,
        count: int,
        device: torch.device,
        group: dist.ProcessGroup | None,
        loss_type: torch.dtype,
    ) -> None:
        outputs = (torch.empty(1, dtype=loss_type, device="meta"),) if replay.is_last else replay.examples(replay.outgoing)
        super().__init__(
            part, index, count, device, input_args=replay.examples(replay.incoming), output_args=outputs, group=group
        )
        self.replay, self.clock = replay, clock

    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any:
        """On a GPU, fully_shard fails where a module is called without arguments."""
        if isinstance(self.submod, FSDPModule) and not args:
            args = (torch.empty(0, device=self.device),)
        return super().forward_maybe_with_nosync(*args, **kwargs)

    def forward_one_chunk(self, fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        self.replay.micro_batch = fwd_chunk_id
        forward = super().forward_one_chunk
        try:
            if not self.has_backward:
                return forward(fwd_chunk_id, *args, **kwargs)
            return self.clock.run("F", self.stage_index, lambda: forward(fwd_chunk_id, *args, **kwargs))
        except RuntimeError as error:
            if error.__cause__ is None:
                raise
            raise error.__cause__  # PyTorch's tells the arguments' shapes instead of what is wrong

    def _timed_backward(self, letter: str, backward: Callable[[], Any]) -> None:
        with self.replay.skeleton.calling(self.replay.again):
            self.clock.run(letter, self.stage_index, backward)

    def backward_one_chunk(
        self, bwd_chunk_id: int, loss: Any = None, full_backward: bool = True, *args: Any, **kwargs: Any
    ) -> None:
        backward = super().backward_one_chunk
        self._timed_backward(
            "B" if full_backward else "I", lambda: backward(bwd_chunk_id, loss, full_backward, *args, **kwargs)
        )
        if not hasattr(self, "_get_grad_send_meta") and bwd_chunk_id in self.bwd_cache:
            # Earlier versions of torch send a gradient of everything that was received, whole numbers included.
            received: Any = self.args_recv_info[bwd_chunk_id]
            self.bwd_cache[bwd_chunk_id] = tuple(
                torch.zeros_like(info.buffer) if gradient is None else gradient
                for gradient, info in zip(self.bwd_cache[bwd_chunk_id], received)
            )

    def get_local_bwd_output(self, mb_index: int) -> Any:
        """Nothing in an evaluation, for which PyTorch hands on gradients between stages of a rank all the same."""
        return super().get_local_bwd_output(mb_index) if self.has_backward else ()

    def set_local_bwd_input(self, next_stage_bwd_outputs: Any, mb_index: int) -> None:
        if self.has_backward:
            super().set_local_bwd_input(next_stage_bwd_outputs, mb_index)

    def backward_weight_one_chunk(self, bwd_chunk_id: int, *args: Any, **kwargs: Any) -> None:
        backward = super().backward_weight_one_chunk
        self._timed_backward("W", lambda: backward(bwd_chunk_id, *args, **kwargs))
