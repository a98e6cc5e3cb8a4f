"""The layers of a model that was walked, which of them are alike, and what each has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from torch import nn

from .events import Attention, Convolution, Event, Product, Step
from .parameter_shares import adapters_of, not_run, shares_of_experts
from .walked import Walk


@dataclass
class Counts:
    """Parameters: all, those that a token meets, frozen ones, those of adapters."""

    all: int = 0
    active: int = 0
    frozen: int = 0
    adapters: int = 0


@dataclass
class Part:
    """A layer, or what is beside the layers. Names of modules are relative to it."""

    name: str
    type: str
    counts: Counts
    events: list[Event] = field(default_factory=list)
    kept: int = 0  # bytes
    calls: int = 1
    shapes: tuple[Any, ...] = ()

    @property
    def operations(self) -> int:
        """Of one forward."""
        return sum(event.operations for event in self.events)

    @property
    def weights(self) -> list[Product]:
        """Products with parameters, in their order."""
        found = [event for event in self.events if isinstance(event, Product)]
        return [product for product in found if product.parameter]

    @property
    def attention(self) -> list[Attention]:
        """In their order."""
        return [event for event in self.events if isinstance(event, Attention)]

    @property
    def convolutions(self) -> list[Convolution]:
        """In their order."""
        return [event for event in self.events if isinstance(event, Convolution)]

    @property
    def scans(self) -> dict[str, int]:
        """Operations of recurrences, by module: what computes with activations alone
        and a cumulative sum or a convolution over time, without a softmax."""
        found: dict[str, int] = {}
        recurrent = {c.module for c in self.convolutions if c.groups == c.channels}
        recurrent |= {
            step.module
            for step in self.events
            if isinstance(step, Step) and step.name == "cumulative sum"
        }
        attends = {one.module for one in self.attention}
        for event in self.events:
            if isinstance(event, Product) and not event.parameter:
                if event.module in attends:
                    continue
                found.setdefault(event.module, 0)
                found[event.module] += event.operations
        routed = {one.module for one in self.weights if one.experts}
        for module in recurrent - attends - routed:
            found.setdefault(module, 0)
        return found

    def signature(self) -> tuple[Any, ...]:
        """Equal for layers that are alike."""
        return (self.type, self.shapes, tuple(self.events), self.calls)


@dataclass
class Layers:
    """A model as its layers and what is beside them."""

    layers: list[Part]
    kinds: list[Part]  # the first layer of each kind
    kind_of: list[int]
    beside: Part
    not_run: list[str]  # outermost modules with parameters that the forward left out

    @property
    def counts(self) -> Counts:
        """Of the whole model; a shared parameter counts once."""
        total = Counts()
        for part in (*self.layers, self.beside):
            total.all += part.counts.all
            total.active += part.counts.active
            total.frozen += part.counts.frozen
            total.adapters += part.counts.adapters
        return total


def layers_of(model: nn.Module, walked: Walk) -> Layers:
    """Divides what a walk found among the layers of the model.

    Layers are the children of the outermost lists of modules, or where there is none,
    of a sequence; of stages, whose own lists have modules of one class with attention
    or convolutions, those inside.
    """
    names = _names_of_layers(model, walked)
    owner = _Owner(names)
    events: dict[str, list[Event]] = {name: [] for name in (*names, "")}
    for event in _with_attention(walked.events):
        of = owner.of(event.module)
        events[of].append(_relative(event, of))
    kept: dict[str, int] = {}
    for module, size in walked.kept.items():
        kept[owner.of(module)] = kept.get(owner.of(module), 0) + size
    shares = shares_of_experts(walked, model)
    counts: dict[str, Counts] = {name: Counts() for name in (*names, "")}
    shapes: dict[str, list[Any]] = {name: [] for name in (*names, "")}
    adapted = adapters_of(model)
    for name, parameter in model.named_parameters():
        of = owner.of(name)
        size = parameter.numel()
        one = counts[of]
        one.all += size
        one.active += int(size * shares.get(name, Fraction(1)))
        one.frozen += 0 if parameter.requires_grad else size
        one.adapters += size if any(name.startswith(a) for a in adapted) else 0
        shapes[of].append(
            (name[len(of) :], tuple(parameter.shape), parameter.requires_grad)
        )
    modules = dict(model.named_modules())

    def part(name: str) -> Part:
        return Part(
            name,
            type(modules[name]).__name__,
            counts[name],
            events[name],
            kept.get(name, 0),
            walked.calls.get(name, 0),
            tuple(shapes[name]),
        )

    layers = [part(name) for name in names]
    kinds: list[Part] = []
    kind_of: list[int] = []
    known: dict[tuple[Any, ...], int] = {}
    for layer in layers:
        signature = layer.signature()
        if signature not in known:
            known[signature] = len(kinds)
            kinds.append(layer)
        kind_of.append(known[signature])
    return Layers(layers, kinds, kind_of, part(""), not_run(model, walked))


class _Owner:
    """Finds the layer that a module or a parameter is in."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)

    def of(self, inner: str) -> str:
        """The name of the layer, empty for what is beside them."""
        at = inner
        while at and at not in self.names:
            at = at.rpartition(".")[0]
        return at


def _names_of_layers(model: nn.Module, walked: Walk) -> list[str]:
    deep = {
        event.module
        for event in _with_attention(walked.events)
        if isinstance(event, Attention | Convolution)
    }
    found: list[str] = []

    def is_deep(name: str) -> bool:
        return any(one == name or one.startswith(f"{name}.") for one in deep)

    def visit(name: str, module: nn.Module) -> None:
        for child_name, child in module.named_children():
            full = f"{name}.{child_name}" if name else child_name
            ran = [
                f"{full}.{inner}"
                for inner, one in child.named_children()
                if walked.calls.get(f"{full}.{inner}")
                and any(True for _ in one.parameters())
            ]
            if not isinstance(child, nn.ModuleList) or not ran:
                visit(full, child)
                continue
            for layer in ran:
                before = len(found)
                _visit_stage(layer, model.get_submodule(layer))
                if len(found) == before:
                    found.append(layer)

    def _visit_stage(name: str, stage: nn.Module) -> None:
        """Adds the layers inside a stage; none if it is a layer."""
        for inner, one in stage.named_modules():
            if not isinstance(one, nn.ModuleList) or len(one) == 0:
                continue
            inside = [f"{name}.{inner}.{at}" for at, _ in one.named_children()]
            ran = [at for at in inside if walked.calls.get(at)]
            if len({type(child) for child in one}) > 1 or not ran:
                continue
            if all(is_deep(at) for at in ran):
                found.extend(ran)

    visit("", model)
    if not found:
        found = _in_sequences(model, walked)
    return sorted(set(found), key=found.index)


def _in_sequences(model: nn.Module, walked: Walk) -> list[str]:
    """Of a model without lists, members of sequences, or of tables by name, that are of
    one class and attend."""
    deep = [
        event.module
        for event in _with_attention(walked.events)
        if isinstance(event, Attention)
    ]
    for name, module in model.named_modules():
        inside = [f"{name}.{at}".lstrip(".") for at, _ in module.named_children()]
        is_listed = isinstance(module, nn.Sequential | nn.ModuleDict)
        if is_listed and len({type(one) for one in module.children()}) == 1:
            if all(
                any(d == at or d.startswith(f"{at}.") for d in deep) for at in inside
            ):
                return inside
    return []


def _with_attention(events: list[Event]) -> list[Event]:
    """Puts attention for a product of activations, a softmax of scores and another
    product."""
    made: list[Event] = []
    scores: dict[str, int] = {}  # where the last product of activations is
    waiting: dict[str, tuple[int, Step]] = {}
    for event in events:
        if isinstance(event, Step) and event.seen is not None:
            if event.module in scores:
                waiting[event.module] = (scores.pop(event.module), event)
        elif isinstance(event, Product) and not event.parameter:
            if event.module in waiting:
                at, step = waiting.pop(event.module)
                first = made[at]
                assert isinstance(first, Product) and step.seen is not None
                if first.copies == event.copies:
                    made[at] = Attention(
                        event.module,
                        1,
                        first.copies,
                        0,
                        first.rows,
                        first.columns,
                        first.inner,
                        event.columns,
                        step.seen,
                    )
                    continue
            scores[event.module] = len(made)
        made.append(event)
    return made


def _relative(event: Event, layer: str) -> Event:
    def inside(name: str) -> str:
        return name[len(layer) :].lstrip(".") if layer else name

    if isinstance(event, Product | Convolution):
        at = event.parameter
        named = inside(at) if at.startswith(f"{layer}.") or not layer else f"/{at}"
        return replace(
            event, module=inside(event.module), parameter=named if at else ""
        )
    return replace(event, module=inside(event.module))
