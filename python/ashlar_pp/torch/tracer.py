"""Traces what layers pass to each other: runs the example once, and follows every
tensor between layers.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import (
    tree_flatten,
    tree_leaves,
    tree_map_only,
    tree_unflatten,
)

from .batches import holds_tensors
from .generators import Streams
from .layers import Layer, Skeleton, visiting
from .measurement import Measured, changes_inputs, measure
from .state import State
from .trace import Call, Trace, Value
from .unseen import Between


class _Made(TorchDispatchMode):
    """Records the tensors that are made inside."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: dict[int, weakref.ref[torch.Tensor]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                self.tensors[id(one)] = weakref.ref(one)
        return result

    def alive(self) -> list[torch.Tensor]:
        return [one for made in self.tensors.values() if (one := made()) is not None]


Compute = Callable[
    ["Tracer", int, Call, tuple[Any, ...], dict[str, Any]], tuple[Any, list[int | None]]
]
"""Runs the call with this number; returns its output and, for each leaf of it, which
leaf of the arguments it is, if any.
"""


class Tracer(TorchDispatchMode):
    """Follows values through the skeleton's own operations, but not into layers."""

    def __init__(self, layers: list[Layer], streams: Streams, compute: Compute) -> None:
        super().__init__()
        self.trace = Trace([], [])
        self._parameters = {
            id(p): layer.name for layer in layers for p in layer.module.parameters()
        }
        self.streams, self._compute = streams, compute
        self.between = Between()
        self._made: dict[int, torch.Tensor] = {}
        self._inside: dict[
            int, tuple[weakref.ref[torch.Tensor], str]
        ] = {}  # tensors made inside layers, and the layer
        self._sources: dict[int, frozenset[int]] = {}  # by id of a tensor
        self._written: dict[int, frozenset[int]] = {}  # by memory
        self._kept: list[
            torch.Tensor
        ] = []  # an id is unique only while its tensor lives
        self._checkpoints: list[FrameType] = []

    def sources(self, tree: Any) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        for one in tree_leaves(tree):
            if isinstance(one, torch.Tensor):
                if id(one) in self._parameters:
                    raise ValueError(
                        "the model computes with a parameter of "
                        f"{self._parameters[id(one)]} outside of that layer: "
                        "only the layer's stage has it, so let the layer compute with "
                        "it"
                    )
                found |= self._sources.get(id(one), frozenset()) | self._written.get(
                    _storage(one), frozenset()
                )
                made, name = self._inside.get(id(one), (None, ""))
                if made is not None and made() is one and id(one) not in self._sources:
                    raise ValueError(
                        f"the model reads something from inside {name} that this layer "
                        "does not return, such as router "
                        "logits, attentions, hidden states or a cache: in a pipeline "
                        "it would be missing, so switch that off"
                    )
        return found

    def follow(self, tensor: torch.Tensor, sources: frozenset[int]) -> None:
        if id(tensor) not in self._sources:
            self._kept.append(tensor)
        self._sources[id(tensor)] = self._sources.get(id(tensor), frozenset()) | sources

    def read(self, tree: Any, by: int) -> frozenset[int]:
        sources = self.sources(tree)
        for one in sources:
            self.trace.values[one].read_by.append(by)
        return sources

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = self.sources((args, kwargs))
        if not sources:
            return result
        if torch.Tag.data_dependent_output in func.tags:
            names = ", ".join(
                sorted(
                    {
                        self.trace.calls[self.trace.values[s].made_by].layer.name
                        for s in sources
                    }
                )
            )
            raise ValueError(
                f"the model decides by what {names} gives ({func}): it cannot be cut "
                "there"
            )
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                self.follow(one, sources)
        if func._schema.is_mutable:
            for given, argument in zip(args, func._schema.arguments):
                if (
                    isinstance(given, torch.Tensor)
                    and argument.alias_info is not None
                    and argument.alias_info.is_write
                ):
                    self.follow(given, sources)
                    storage = _storage(given)
                    self._written[storage] = (
                        self._written.get(storage, frozenset()) | sources
                    )
                    for number, made in self._made.items():
                        self.trace.values[number].is_changed |= (
                            _storage(made) == storage
                        )
        return result

    def _checkpoint(self, layer: Layer) -> int | None:
        """The number of the outermost activation checkpoint around this call; None
        without one. Raises ValueError if reentrant.
        """
        outermost, frame = None, sys._getframe()
        while frame.f_back is not None and frame.f_code is not traced.__code__:
            if (
                frame.f_code.co_name == "checkpoint"
                and frame.f_code.co_filename == torch.utils.checkpoint.__file__
            ):
                outermost = frame
                if frame.f_locals.get("use_reentrant"):
                    raise ValueError(
                        f"the model calls {layer.name} in a checkpoint with "
                        "use_reentrant=True, which sees nothing of the "
                        "pipeline's other stages: set use_reentrant=False"
                    )
            frame = frame.f_back
        if outermost is None:
            return None
        if all(one is not outermost for one in self._checkpoints):
            self._checkpoints.append(outermost)
        return next(
            number for number, one in enumerate(self._checkpoints) if one is outermost
        )

    def call(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        at = len(self.trace.calls)
        if collected := _collected():
            raise ValueError(
                f"the model collects {' and '.join(collected)} from inside its layers, "
                f"by hooks of transformers, such as at {layer.name}: in a pipeline "
                "those of other stages would be missing. Switch that off, or keep the "
                "part that collects in one piece: name lists of other parts in `layers`"
            )
        self.read((args, kwargs), at)
        call = Call(layer, is_free=False, checkpoint=self._checkpoint(layer))
        self.trace.calls.append(call)
        self.streams.of_layer(at)
        where = (
            visiting(layer.module, layer.skeleton.device)
            if layer.is_here
            else contextlib.nullcontext()
        )
        with self.between.paused(), where:
            output, handed = self._called(at, call, args, kwargs)
        self.streams.after_call(at)
        leaves, call.spec = tree_flatten(output)
        for k, one in enumerate(leaves):
            if (
                not call.is_free
                and not isinstance(one, torch.Tensor)
                and holds_tensors(one)
            ):
                raise ValueError(
                    f"{layer.name} returns a {type(one).__name__} with tensors inside, "
                    "which would not go to other stages: "
                    "return tensors, tuples or dictionaries, or register the class "
                    "(torch.utils._pytree.register_pytree_node)"
                )
            if not isinstance(one, torch.Tensor) or call.is_free:
                call.leaves.append(
                    (None, one if not isinstance(one, torch.Tensor) else None)
                )
                continue
            if (position := handed[k]) is not None:
                source = tree_leaves((args, kwargs))[position]
                leaves[k] = source
                if self._known(source) is None:
                    with _disable_current_modes():  # makes it a value of its own
                        leaves[k] = source.view_as(source)
            call.leaves.append((self._value(leaves[k], at), None))
        return tree_unflatten(leaves, call.spec)

    def _called(
        self, at: int, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[int | None]]:
        layer = call.layer
        if not any(True for _ in layer.module.parameters()):
            # Follows its operations like the skeleton's: it may depend on shapes alone.
            with _disable_current_modes():
                state = State([(layer.name, layer.module)])
            output = layer.compute(args, kwargs)
            call.is_free = not self.sources(output) and not state.restore()
            if call.is_free:
                return output, []
        with _disable_current_modes():
            return self._compute(self, at, call, args, kwargs)

    def inside(self, call: Call, run: Callable[[], Any]) -> Any:
        """Runs a call, and records the tensors made inside, which the model must not
        read unless returned.
        """
        if call.measured is not None and call.measured.is_whole:
            return run()
        with _Made() as made:
            output = run()
        self._inside.update(
            (id(one), (made.tensors[id(one)], call.layer.name)) for one in made.alive()
        )
        return output

    def _known(self, tensor: torch.Tensor) -> int | None:
        return next(
            (
                one
                for one in self._sources.get(id(tensor), frozenset())
                if self._made.get(one) is tensor
            ),
            None,
        )

    def _value(self, tensor: torch.Tensor, made_by: int) -> int:
        """The number of the value: known for a tensor that a layer handed on, else
        new.
        """
        if (known := self._known(tensor)) is not None:
            return known
        number = len(self.trace.values)
        self.trace.values.append(Value(tensor.shape, tensor.dtype, made_by))
        self._made[number] = tensor
        self.follow(tensor, frozenset({number}))
        return number


def _collected() -> list[str]:
    """Outputs of inner modules that a model of transformers is collecting now."""
    capturing: Any = sys.modules.get("transformers.utils.output_capturing")
    collector = getattr(capturing, "_active_collector", None)
    found = None if collector is None else collector.get()
    return [] if not found else [key for key in found if not key.startswith("_")]


def _storage(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # a wrapper without storage
        return id(tensor)


def _handed_on(output: Any, given: Any) -> list[int | None]:
    """For each leaf of a layer's output, its position among the leaves of the
    arguments, if it is one.
    """
    positions = {
        id(one): k
        for k, one in enumerate(tree_leaves(given))
        if isinstance(one, torch.Tensor)
    }
    return [positions.get(id(one)) for one in tree_leaves(output)]


def measured(repeats: int) -> Compute:
    """A `Compute` that measures each layer, and leaves the state as one call does."""

    def compute(
        tracer: Tracer,
        at: int,
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Any, list[int | None]]:
        layer = call.layer
        before = State([(layer.name, layer.module)])
        given = State.of_objects(tree_leaves((args, kwargs)))

        def restore() -> None:
            before.restore()
            given.restore()

        layer.changes_inputs |= changes_inputs(layer, args, kwargs)
        restore()
        call.measured = measure(layer, args, kwargs, repeats, given.restore)
        restore()
        tracer.streams.of_layer(at)
        output = tracer.inside(call, lambda: layer.compute(args, kwargs))
        layer.written.update(before.changed())
        return output, _handed_on(output, (args, kwargs))

    return compute


def shared(
    trace: Trace, owner_of: Callable[[int, Layer], int], group: dist.ProcessGroup
) -> Compute:
    """A `Compute` in which the rank that has a layer calls it, and all ranks of the
    group get the output.

    trace: trace of another mode, with measured layers.
    """
    known: dict[int, list[Measured | None]] = {}
    for call in trace.calls:
        known.setdefault(id(call.layer), []).append(call.measured)

    def compute(
        tracer: Tracer,
        at: int,
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[Any, list[int | None]]:
        layer, owner = call.layer, owner_of(at, call.layer)
        of = known.get(id(layer), [])
        call.measured = (
            of.pop(0) if len(of) > 1 else next(iter(of), None)
        ) or Measured()
        told: list[Any] = [None]
        failed: Exception | None = None
        if dist.get_rank() == owner:
            try:
                before = State([(layer.name, layer.module)])
                tracer.streams.of_layer(at)
                output = tracer.inside(call, lambda: layer.compute(args, kwargs))
                layer.written.update(before.changed())
                plain = tree_map_only(torch.Tensor, lambda x: x.detach().cpu(), output)
                told = [("", plain, _handed_on(output, (args, kwargs)), layer.written)]
            except Exception as error:
                failed, told = (
                    error,
                    [(f"{type(error).__name__}: {error}", None, [], set())],
                )
        dist.broadcast_object_list(told, src=owner, group=group)
        if failed is not None:
            raise failed
        why, plain, handed, layer.written = told[0]
        if why:
            raise RuntimeError(f"{layer.name} failed on rank {owner}: {why}")
        if dist.get_rank() == owner:
            return output, handed
        return tree_map_only(
            torch.Tensor, lambda x: x.to(layer.skeleton.device), plain
        ), handed

    return compute


def traced(
    skeleton: Skeleton, args: tuple[Any, ...], kwargs: dict[str, Any], tracer: Tracer
) -> tuple[Trace, Any]:
    """Runs a micro-batch, and returns its trace and the model's output.

    Raises ValueError, with the layer, for models that cannot be followed.
    """
    args, kwargs = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    versions = [x._version for x in given]
    with tracer.streams.watching_python() as drew:
        tracer.streams.after_call(-1)
        with torch.no_grad(), tracer, tracer.between:
            output = skeleton(tracer.call, args, kwargs)
        tracer.trace.draws_python = drew()
    tracer.read(output, len(tracer.trace.calls))
    tracer.trace.changes_inputs = [x._version for x in given] != versions
    return tracer.trace, output
