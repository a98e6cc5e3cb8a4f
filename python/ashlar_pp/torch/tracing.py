"""What layers pass to each other: one run of the example, in which every tensor between layers is followed."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from .batches import holds_tensors
from .cutting import Layer, Skeleton, visiting
from .measuring import Measured, changes_inputs, measure, random_state


@dataclass
class Value:
    """A tensor that a layer gives: where it is made, and by which calls it is read. A layer may hand on its input."""

    shape: torch.Size
    dtype: torch.dtype
    made_by: int
    read_by: list[int] = field(default_factory=list)
    is_changed: bool = False
    """In place, between layers: every stage does that again, with a copy."""

    def nbytes(self) -> int:
        return self.shape.numel() * self.dtype.itemsize

    def is_differentiable(self) -> bool:
        return self.dtype.is_floating_point or self.dtype.is_complex


@dataclass
class Call:
    """A call of a layer. The leaves of its output are values, by number, or constants."""

    layer: Layer
    is_free: bool
    """It has no parameters and depends on the model's inputs alone: every stage calls it again."""
    measured: Measured | None = None
    spec: TreeSpec | None = None
    leaves: list[tuple[int | None, Any]] = field(default_factory=list)
    checkpoint: int | None = None
    """The number of the activation checkpoint around it that the model makes between layers."""

    def output(self, value: Callable[[int], torch.Tensor]) -> Any:
        assert self.spec is not None
        return tree_unflatten([constant if at is None else value(at) for at, constant in self.leaves], self.spec)


@dataclass
class Trace:
    """The calls of a model in their order, and the values between them."""

    calls: list[Call]
    values: list[Value]
    repeated: dict[int, set[int]]
    """Random numbers that the skeleton draws itself, and the calls that read them."""

    def whole_layers(self) -> list[str]:
        """Layers whose backwards cannot be split."""
        return [call.layer.name for call in self.calls if call.measured is not None and call.measured.is_whole]

    def crossing(self, cut: int) -> list[int]:
        """The values that go over a cut before this call: made before, read at or after it."""
        return [k for k, v in enumerate(self.values) if v.made_by < cut and any(reader >= cut for reader in v.read_by)]

    def widest(self) -> int:
        """The most bytes that go over a cut."""
        cuts = range(1, len(self.calls))
        return max((sum(self.values[k].nbytes() for k in self.crossing(cut)) for cut in cuts), default=0)


class _Made(TorchDispatchMode):
    """The tensors that are made inside."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: dict[int, weakref.ref[torch.Tensor]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                self.tensors[id(one)] = weakref.ref(one)
        return result

    def alive(self) -> list[torch.Tensor]:
        return [one for made in self.tensors.values() if (one := made()) is not None]


class _Tracer(TorchDispatchMode):
    """Follows values through the skeleton's own operations. It does not look into layers."""

    def __init__(self, layers: list[Layer], repeats: int) -> None:
        super().__init__()
        self.trace = Trace([], [], {})
        self._parameters = {id(p): layer.name for layer in layers for p in layer.module.parameters()}
        self.repeats = repeats
        self._made: dict[int, torch.Tensor] = {}
        self._inside: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}  # what layers have made, and who
        self._sources: dict[int, frozenset[int]] = {}  # by id of a tensor; negative ones are random numbers
        self._same_storage: dict[int, list[int]] = {}
        self._kept: list[torch.Tensor] = []  # an id is of one tensor only as long as that lives
        self._checkpoints: list[FrameType] = []

    def sources(self, tree: Any) -> frozenset[int]:
        found: frozenset[int] = frozenset()
        for one in tree_leaves(tree):
            if isinstance(one, torch.Tensor):
                if id(one) in self._parameters:
                    raise ValueError(
                        f"the model computes with a parameter of {self._parameters[id(one)]} outside of that layer: "
                        "only the layer's stage has it, so let the layer compute with it"
                    )
                found |= self._sources.get(id(one), frozenset())
                made, name = self._inside.get(id(one), (None, ""))
                if made is not None and made() is one and id(one) not in self._sources:
                    raise ValueError(
                        f"the model reads something from inside {name} that this layer does not return, such as router "
                        "logits, attentions, hidden states or a cache: in a pipeline it would be missing, so switch that off"
                    )
        return found

    def follow(self, tensor: torch.Tensor, sources: frozenset[int]) -> None:
        if id(tensor) not in self._sources:
            self._kept.append(tensor)
            self._same_storage.setdefault(_storage(tensor), []).append(id(tensor))
        self._sources[id(tensor)] = self._sources.get(id(tensor), frozenset()) | sources

    def read(self, tree: Any, by: int) -> frozenset[int]:
        sources = self.sources(tree)
        for one in sources:
            if one < 0:
                self.trace.repeated[one].add(by)
            else:
                self.trace.values[one].read_by.append(by)
        return sources

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        sources = self.sources((args, kwargs))
        if torch.Tag.nondeterministic_seeded in func.tags:
            number = -1 - len(self.trace.repeated)
            self.trace.repeated[number] = set()
            sources |= {number}
        if not sources:
            return result
        if torch.Tag.data_dependent_output in func.tags:
            names = ", ".join(sorted({self.trace.calls[self.trace.values[s].made_by].layer.name for s in sources if s >= 0}))
            raise ValueError(f"the model decides by what {names or 'its random numbers'} gives ({func}): it cannot be cut there")
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor):
                self.follow(one, sources)
        if func._schema.is_mutable:
            for given, argument in zip(args, func._schema.arguments):
                if isinstance(given, torch.Tensor) and argument.alias_info is not None and argument.alias_info.is_write:
                    self.follow(given, sources)
                    storage = _storage(given)
                    for alias in self._same_storage[storage]:
                        self._sources[alias] |= sources
                    for number, made in self._made.items():
                        self.trace.values[number].is_changed |= _storage(made) == storage
        return result

    def _checkpoint(self, layer: Layer) -> int | None:
        """The number of the outermost activation checkpoint that this call of a layer is in."""
        outermost, frame = None, sys._getframe()
        while frame.f_back is not None and frame.f_code is not trace.__code__:
            if frame.f_code.co_name == "checkpoint" and frame.f_code.co_filename == torch.utils.checkpoint.__file__:
                outermost = frame
                if frame.f_locals.get("use_reentrant"):
                    raise ValueError(
                        f"the model calls {layer.name} in a checkpoint with use_reentrant=True, which sees nothing of the "
                        "pipeline's other stages: set use_reentrant=False"
                    )
            frame = frame.f_back
        if outermost is None:
            return None
        if all(one is not outermost for one in self._checkpoints):
            self._checkpoints.append(outermost)
        return next(number for number, one in enumerate(self._checkpoints) if one is outermost)

    def call(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        at = len(self.trace.calls)
        read = self.read((args, kwargs), at)
        with visiting(layer.module, layer.skeleton.device):
            return self._called(at, layer, args, kwargs)

    def _called(self, at: int, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        has_parameters = any(True for _ in layer.module.parameters())
        call = Call(layer, is_free=False, checkpoint=self._checkpoint(layer))
        self.trace.calls.append(call)
        with _disable_current_modes():
            layer.changes_inputs |= changes_inputs(layer, args, kwargs)
        if not has_parameters:  # its operations are followed like the skeleton's: it may only ask for a shape
            before = random_state()
            output = layer.compute(args, kwargs)
            call.is_free = before == random_state() and not self.sources(output)
        if not call.is_free:
            with _disable_current_modes():
                call.measured = measure(layer, args, kwargs, self.repeats)
                with contextlib.nullcontext() if call.measured.is_whole else _Made() as made:
                    output = layer.compute(args, kwargs)
            if made is not None:
                self._inside.update((id(one), (made.tensors[id(one)], layer.name)) for one in made.alive())
        leaves, call.spec = tree_flatten(output)
        for one in leaves:
            if not call.is_free and not isinstance(one, torch.Tensor) and holds_tensors(one):
                raise ValueError(
                    f"{layer.name} returns a {type(one).__name__} with tensors inside, which would not go to other stages: "
                    "return tensors, tuples or dictionaries, or register the class (torch.utils._pytree.register_pytree_node)"
                )
            if not isinstance(one, torch.Tensor) or call.is_free:
                call.leaves.append((None, one if not isinstance(one, torch.Tensor) else None))
                continue
            call.leaves.append((self._value(one, at), None))
        return output

    def _value(self, tensor: torch.Tensor, made_by: int) -> int:
        """The number of the value: that of a tensor that a layer handed on, or a new one."""
        for one in self._sources.get(id(tensor), frozenset()):
            if one >= 0 and self._made.get(one) is tensor:
                return one
        number = len(self.trace.values)
        self.trace.values.append(Value(tensor.shape, tensor.dtype, made_by))
        self._made[number] = tensor
        self.follow(tensor, frozenset({number}))
        return number


def _storage(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # of a wrapper that has none
        return id(tensor)


def trace(skeleton: Skeleton, args: tuple[Any, ...], kwargs: dict[str, Any], repeats: int) -> Trace:
    """Runs the example and measures every layer on the way. Buffers are as they were.

    Raises ValueError for what cannot be followed, with the layer.
    """
    buffers = [(b, b.detach().clone()) for b in skeleton.buffers()]
    own = [(of, name, b, b._version) for of in skeleton.containers.values() for name, b in of._buffers.items() if b is not None]
    tracer = _Tracer(skeleton.layers, repeats)
    with torch.no_grad(), tracer:
        output = skeleton(tracer.call, args, kwargs)
    tracer.read(output, len(tracer.trace.calls))
    for of, name, b, version in own:
        if of._buffers[name] is not b or b._version != version:
            raise ValueError(
                f"the model's own forward changes the buffer '{name}', and every stage runs that forward: let a layer change it"
            )
    for b, before in buffers:
        b.detach().copy_(before)
    return tracer.trace
