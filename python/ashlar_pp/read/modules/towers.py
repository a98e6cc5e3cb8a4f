"""Parts of a model before its decoder: encoders, towers for images or sound, and what
leads from them to the decoder."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from .events import Attention, Convolution, Product
from .layers import Layers, Part, layers_of
from .parts import Inexpressible, is_inside
from .tower_chains import add_chain
from .tower_inputs import inputs_for
from .tower_products import products_of
from .walk import walk
from .walked import Unreadable, Walk

# Methods of transformers' models that make a decoder's tokens of images or sound.
METHODS = ("get_image_features", "get_audio_features")


@dataclass
class Front:
    """What runs before the decoder: `names` are modules, in their order."""

    names: list[str]
    walked: Walk
    layers: Layers
    reads_text: bool = False
    frozen: list[str] = field(default_factory=list)


def front_of(model: nn.Module, left_out: Iterable[str]) -> list[Front]:
    """Walks what makes tokens of an image or of sound, of modules that text does not
    meet. Raises `Unreadable` if it needs other inputs than an image or a recording."""
    found = []
    rest = list(left_out)
    for name in METHODS:
        method = _path_of(model, name)
        walked = _walked(model, method) if rest else None
        if walked is None:
            continue
        names = [
            name
            for name in rest
            if any(is_inside(at, name) for at in walked.calls)
            or any(is_inside(one, name) for one in _used(walked))
        ]
        rest = [name for name in rest if name not in names]
        if names:
            found.append(Front(names, walked, layers_of(model, walked)))
    if rest and not found:
        walked = _walked(model, add_chain(model, rest))
        if walked is not None:
            return [Front(rest, walked, layers_of(model, walked))]
        raise Unreadable(
            f"nothing of the model makes tokens by {rest[0]} alone, as "
            f"{' or '.join(METHODS)} would"
        )
    return found


def _path_of(model: nn.Module, method: str) -> str:
    """The method of the model, or of what its head stands on; the one that says what it
    takes, where one hands all on to the other."""
    found = ""
    for path in (method, f"model.{method}"):
        try:
            taken = inspect.signature(operator.attrgetter(path)(model)).parameters
        except AttributeError:
            continue
        if taken and "args" not in taken:
            return path
        found = found or path
    return found


def _walked(model: nn.Module, method: str) -> Walk | None:
    if not method:
        return None
    reason = None
    for inputs in inputs_for(model, operator.attrgetter(method)(model)):
        try:
            walked = walk(model, inputs, method)
        except Unreadable as error:
            reason = error
            continue
        if walked.assumed:
            raise Unreadable(f"its work depends on values: {walked.assumed[0]}")
        return walked
    if reason:
        raise reason
    return None


def _used(walked: Walk) -> list[str]:
    return [getattr(event, "parameter", "") for event in walked.events]


def towers_of(model: nn.Module, front: Front, layer_of: Any) -> list[dict[str, Any]]:
    """The keys of `towers` in a model's file. `layer_of` makes those of a layer.

    Raises `Inexpressible`.
    """
    made: list[dict[str, Any]] = []
    behind = _behind(model, front, front.names[-1])
    for name in (*front.names, *behind):
        apart = behind if name == front.names[-1] else []
        try:
            tower = _tower_of(model, front, name, layer_of, apart)
        except Inexpressible:
            if front.reads_text:
                raise
            tower = _as_products(model, front, name, apart)
        tower["continues"] = bool(made)
        made.append(tower)
        parameters = _parameters(model, name, apart).values()
        if not any(one.requires_grad for one in parameters):
            front.frozen.append(tower["name"])
    return made


def _behind(model: nn.Module, front: Front, name: str) -> list[str]:
    """Modules of the last part with products behind its layers, such as Qwen2-VL's
    merger: they lead to the decoder, and programs train them alone."""
    events = front.walked.events
    layers = [front.layers.layers[at].name for at in _layers_in(front, name)]
    last = -1
    for at, event in enumerate(events):
        if any(is_inside(event.module, layer) for layer in layers):
            last = at
    found: dict[str, int] = {}
    for child, _ in model.get_submodule(name).named_children():
        path = f"{name}.{child}"
        own = [
            at
            for at, event in enumerate(events)
            if isinstance(event, Product | Convolution)
            and is_inside(event.parameter, path)
        ]
        if layers and own and own[0] > last:
            found[path] = own[0]
    return sorted(found, key=lambda path: found[path])


def _layers_in(front: Front, name: str) -> list[int]:
    return [
        at
        for at, layer in enumerate(front.layers.layers)
        if is_inside(layer.name, name) and (layer.attention or layer.scans)
    ]


def _parameters(
    model: nn.Module, name: str, apart: list[str]
) -> dict[int, nn.Parameter]:
    """Those of a module without some of its parts."""
    owned = {id(one): one for one in model.get_submodule(name).parameters()}
    for path in apart:
        for one in model.get_submodule(path).parameters():
            owned.pop(id(one), None)
    return owned


def _tower_of(
    model: nn.Module, front: Front, name: str, layer_of: Any, apart: list[str]
) -> dict[str, Any]:
    """The tower of a module; parts that stand `apart` are towers of their own."""
    inside = _layers_in(front, name)
    layers = [front.layers.layers[at] for at in inside]
    if not layers and any(_mixes(one, name) for one in front.walked.events):
        raise Inexpressible(f"{name} attends, and has no layers")
    made: dict[str, Any] = {"name": name.removeprefix("model.")}
    if apart:  # its name is theirs, too: visual.blocks beside visual.merger
        within = layers[0].name.removeprefix(name + ".").partition(".")[0]
        made["name"] += "." + within
    owned = _parameters(model, name, apart)
    rest = sum(one.numel() for one in owned.values())
    if front.reads_text:  # its embedding is the decoder's
        table = model.get_input_embeddings().weight  # type: ignore[operator]
        rest -= table.numel() if id(table) in owned else 0
    if layers:
        tokens = _tokens_of(layers[0])
        widths = {layer.weights[-1].columns for layer in layers}
        if len(widths) != 1:
            raise Inexpressible(f"{name}: its layers have several widths")
        hidden = widths.pop()
        kinds: dict[int, int] = {}
        made.update(hidden=hidden, tokens=0 if front.reads_text else tokens)
        numbers = []
        for at in inside:
            kinds.setdefault(front.layers.kind_of[at], len(kinds))
            numbers.append(kinds[front.layers.kind_of[at]])
        made["kinds"] = [
            layer_of(model, joined(front.layers.kinds[one]), hidden, tokens)
            for one in kinds
        ]
        made["layers"] = numbers
        if any("cross" in kind for kind in made["kinds"]):
            raise Inexpressible(f"{name} has layers that attend to other tokens")
        rest -= sum(layer.counts.all for layer in layers)
    products = _products_of(front, name, [layer.name for layer in layers], apart)
    if not layers:
        made["tokens"] = products[0]["rows"] if products else 0
    if front.reads_text and products:
        raise Inexpressible(f"{name} has products beside its layers")
    if products:
        made["products"] = products
    made["beside"] = rest - sum(one["inner"] * one["columns"] for one in products)
    if made["beside"] < 0:
        raise Inexpressible(f"{name} has fewer parameters than its products")
    return made


def _mixes(event: Any, name: str) -> bool:
    of_activations = isinstance(event, Product) and not event.parameter
    is_one = of_activations or isinstance(event, Attention)
    return is_one and is_inside(event.module, name)


def _as_products(
    model: nn.Module, front: Front, name: str, apart: list[str]
) -> dict[str, Any]:
    """A part without layers of the form that a decoder has. Raises `Inexpressible`."""
    events = [
        one
        for one in front.walked.events
        if is_inside(one.module, name)
        and not any(is_inside(one.module, path) for path in apart)
    ]
    products = products_of(events)
    with_weights = [one for one in products if "is_of_activations" not in one]
    if not with_weights:
        raise Inexpressible(f"{name} has no products")
    rest = sum(one.numel() for one in _parameters(model, name, apart).values())
    rest -= sum(one["inner"] * one["columns"] for one in with_weights)
    if rest < 0:
        raise Inexpressible(f"{name} has fewer parameters than its products")
    return {
        "name": name.removeprefix("model."),
        "tokens": with_weights[0]["rows"],
        "products": products,
        "beside": rest,
    }


def _tokens_of(layer: Part) -> int:
    if not layer.weights:
        raise Inexpressible(f"{layer.name} has no products")
    return layer.weights[0].rows


def _products_of(
    front: Front, name: str, layers: list[str], apart: list[str]
) -> list[dict[str, Any]]:
    """Products with weights beside the layers; a convolution without groups is one."""
    elsewhere = [*layers, *apart]
    found: dict[tuple[str, int], dict[str, Any]] = {}  # parts of a matrix are apart
    is_ahead = bool(layers)
    for event in front.walked.events:
        is_ahead = is_ahead and not any(
            is_inside(event.module, layer) for layer in layers
        )
        if not isinstance(event, Product | Convolution) or not event.parameter:
            continue
        at = event.parameter
        if not is_inside(at, name) or any(is_inside(at, one) for one in elsewhere):
            continue
        if isinstance(event, Product):
            rows, inner, columns = event.rows, event.inner, event.columns
            if event.experts or event.copies != 1:
                raise Inexpressible(f"{event.module} is no product of all tokens")
        else:
            if event.groups != 1:
                raise Inexpressible(f"{event.module} is a convolution in groups")
            rows, columns = event.places, event.results
            inner = event.operations // (2 * rows * columns)
        key = (at, columns)
        if key in found:
            found[key]["rows"] += rows
            continue
        found[key] = {"rows": rows, "inner": inner, "columns": columns}
        if is_ahead:
            found[key]["is_ahead"] = True
    return list(found.values())


def joined(layer: Part) -> Part:
    """A layer whose tokens attend in several groups has attention in chunks; those of
    unequal size count as of the size with as many scores."""
    groups: dict[str, list[Attention]] = {}
    rows = layer.weights[0].rows if layer.weights else 0
    for one in layer.attention:
        # Several images are several groups; other batches are of heads.
        count = one.batch if one.batch * one.queries == rows else 1
        alone = replace(one, batch=one.batch // count)
        groups.setdefault(one.module, []).extend([alone] * count)
    events: list[Any] = []
    done: set[str] = set()
    for event in layer.events:
        many = groups.get(event.module, []) if isinstance(event, Attention) else []
        if len(many) < 2:
            events.append(event)
            continue
        if event.module in done:
            continue
        done.add(event.module)
        alike = {replace(one, queries=0, keys=0) for one in many}
        own = all(one.queries == one.keys and one.batch == 1 for one in many)
        plain = many[0].seen.causal is False and not many[0].seen.other
        if len(alike) != 1 or not own or not plain:
            raise Inexpressible(f"{layer.name} attends in several ways")
        tokens = sum(one.queries for one in many)
        scores = sum(one.queries**2 for one in many)
        seen = replace(many[0].seen, chunk=round(scores / tokens))
        events.append(replace(many[0], queries=tokens, keys=tokens, seen=seen))
    return replace(layer, events=events)
