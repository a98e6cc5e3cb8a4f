"""A walked model as `ashlar predict` has models: a decoder of layers, each with a
mixer and a feed-forward part."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from torch import nn

from .events import Product
from .layers import Layers, Part
from .parts import (
    Inexpressible,
    cross_of,
    feed_forward_of,
    is_inside,
    is_negligible,
    mixer_of,
    split_at_cross,
    split_at_mixer,
)
from .towers import Front, towers_of
from .walked import Walk

# A product beside the layers with less than this share of all operations counts as
# parameters alone, such as the layer of BERT's head before its logits.
NEGLIGIBLE = 1e-2
# Words, such as that of an image, that an embedding may have beyond those of logits;
# their rows count beside the tables.
MOST_WORDS_MORE = 64


def architecture_of(
    model: nn.Module,
    walked: Walk,
    layers: Layers,
    tokens: int,
    left_out: dict[str, int],
    fronts: Sequence[Front] = (),
) -> dict[str, Any]:
    """The keys of `architecture` in a model's file; modules left out are towers if
    `fronts` ran them, else nothing.

    Raises `Inexpressible`, with what the form has no place for.
    """
    if not layers.layers:
        raise Inexpressible("it has no list of layers")
    encoder = encoder_of(model, walked, layers)
    towers: list[dict[str, Any]] = []
    beside_towers = sum(left_out.values())
    if encoder:
        towers = towers_of(model, encoder, _layer_of)
        layers, inside = _behind(encoder, layers)
        beside_towers += inside
    if walked.assumed:
        raise Inexpressible(f"its work depends on values: {walked.assumed[0]}")
    if layers.counts.adapters:
        raise Inexpressible("it has adapters")
    hidden = _hidden_of(layers.layers)
    head = _head_of(model, layers.beside, 0 if encoder else tokens, hidden)
    tokens = head.rows
    for front in fronts:
        towers += towers_of(model, front, _layer_of)
    width = head.inner
    table, is_tied = _table_of(model, head)
    rest = [one for one in layers.beside.weights if one is not head]
    if width != hidden:
        _take_projections(rest, hidden, width)
    rest = [one for one in rest if one.operations > NEGLIGIBLE * walked.operations]
    if rest:
        raise Inexpressible(f"{rest[0].module} is neither a layer nor the head")
    if layers.beside.attention or layers.beside.convolutions:
        raise Inexpressible("it has attention or convolutions beside its layers")
    kinds = [_layer_of(model, kind, hidden, tokens) for kind in layers.kinds]
    beside = layers.beside.counts.all - (1 if is_tied else 2) * table
    beside -= beside_towers
    if width != hidden:
        beside -= 2 * hidden * width
    outside = [layer.name for layer in layers.layers]
    outside += [*left_out, *(name for front in fronts for name in front.names)]
    outside += encoder.names if encoder else []
    made: dict[str, Any] = {
        "hidden": hidden,
        "vocabulary": head.columns,
        "embedding": 0 if width == hidden else width,
        "is_tied": is_tied,
        "beside": beside,
        **_told_apart(model, lambda at: not any(is_inside(at, o) for o in outside)),
        "kinds": kinds,
        "layers": layers.kind_of,
    }
    if towers:
        made["towers"] = towers
    further = _further_tokens(model)
    if further:  # transformers builds none of the layers that predict them
        made["predictions"] = further
        made["predictor"] = kinds[layers.kind_of[-1]]
    frozen = [at for front in (encoder, *fronts) if front for at in front.frozen]
    frozen += _frozen_of(layers, model, head)
    if frozen:
        made["freeze"] = ",".join(frozen)
    return made


def encoder_of(model: nn.Module, walked: Walk, layers: Layers) -> Front | None:
    """The encoder of an encoder-decoder that the same forward runs."""
    config: Any = getattr(model, "config", None)
    if not getattr(config, "is_encoder_decoder", False):
        return None
    found: Any = model.get_encoder()  # type: ignore[operator]
    names = [name for name, one in model.named_modules() if one is found]
    if not names or not any(is_inside(layer.name, names[0]) for layer in layers.layers):
        return None
    reads_text = getattr(model, "main_input_name", "input_ids") == "input_ids"
    return Front(names[:1], walked, layers, reads_text)


def _behind(encoder: Front, layers: Layers) -> tuple[Layers, int]:
    """The layers and the rest without the encoder, and its parameters in the rest."""
    name = encoder.names[0]
    own = [at for at, one in enumerate(layers.layers) if not is_inside(one.name, name)]
    kinds = sorted({layers.kind_of[at] for at in own})
    events = [one for one in layers.beside.events if not is_inside(one.module, name)]
    shapes = [one for one in layers.beside.shapes if is_inside(one[0], name)]
    inside = sum(prod(shape) for _, shape, _ in shapes)
    return (
        replace(
            layers,
            layers=[layers.layers[at] for at in own],
            kinds=[layers.kinds[at] for at in kinds],
            kind_of=[kinds.index(layers.kind_of[at]) for at in own],
            beside=replace(layers.beside, events=events),
        ),
        inside,
    )


def left_out_of(model: nn.Module, layers: Layers) -> dict[str, int]:
    """Parameters of modules that text does not meet, such as those of images."""
    for name in layers.not_run:
        if any(is_inside(name, layer.name) for layer in layers.layers):
            raise Inexpressible(f"its forward leaves out {name}")
        if any(_beside(name) == _beside(layer.name) for layer in layers.layers):
            raise Inexpressible(f"its forward leaves out the layer {name}")
    return {
        name: sum(one.numel() for one in model.get_submodule(name).parameters())
        for name in layers.not_run
    }


def _beside(name: str) -> str:
    """The list that has a layer; another text for what is in none."""
    path, _, last = name.rpartition(".")
    return path if last.isdigit() else "/" + name


def _further_tokens(model: nn.Module) -> int:
    """Tokens that a configuration predicts beside the next one."""
    config = getattr(model, "config", None)
    for name in ("num_nextn_predict_layers", "num_mtp_layers"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return 0


def _hidden_of(layers: list[Part]) -> int:
    sizes = {
        [one for one in layer.weights if not is_negligible(one, layer)][-1].columns
        for layer in layers
        if layer.weights
    }
    if len(sizes) != 1:
        raise Inexpressible("its layers have several widths, or no products")
    return sizes.pop()


def _head_of(model: nn.Module, beside: Part, tokens: int, hidden: int) -> Product:
    if not beside.weights:
        raise Inexpressible("it has no head that gives logits")
    head = max(beside.weights, key=lambda one: one.columns)
    if head.columns <= hidden:  # characters are fewer than a token's numbers
        fits = [one for one in beside.weights if _tables_of(model, one, 0)]
        head = fits[-1] if fits else head
    if (head.columns <= hidden and not _tables_of(model, head, 0)) or head.copies != 1:
        raise Inexpressible("it has no head that gives logits of words")
    if tokens and head.rows != tokens:
        raise Inexpressible("its head sees other tokens than its layers")
    return head


def _tables_of(model: nn.Module, head: Product, more: int) -> list[nn.Parameter]:
    """Embeddings of as many words as the head gives logits, or some more."""
    tables: dict[int, Any] = {
        id(module.weight): module.weight
        for module in model.modules()
        if isinstance(module, nn.Embedding)
        and 0 <= module.weight.shape[0] - head.columns <= more
        and module.weight.shape[1] == head.inner
    }
    return list(tables.values())


def _table_of(model: nn.Module, head: Product) -> tuple[int, bool]:
    """The size of the embedding, and whether it is the head's matrix."""
    tables = _tables_of(model, head, 0) or _tables_of(model, head, MOST_WORDS_MORE)
    if len(tables) != 1:
        raise Inexpressible("its embedding is not one table of as many words as logits")
    matrix = dict(model.named_parameters(remove_duplicate=False))[head.parameter]
    return head.columns * head.inner, matrix is tables[0]


def _take_projections(rest: list[Product], hidden: int, width: int) -> None:
    for inner, columns in ((width, hidden), (hidden, width)):
        found = [one for one in rest if (one.inner, one.columns) == (inner, columns)]
        if len(found) != 1:
            raise Inexpressible("its head is not as wide as its layers")
        rest.remove(found[0])


def _layer_of(
    model: nn.Module, layer: Part, hidden: int, tokens: int
) -> dict[str, Any]:
    if layer.calls != 1:
        raise Inexpressible(f"{layer.name} runs {layer.calls} times in one forward")
    if any(one.parameter.startswith("/") for one in layer.weights):
        raise Inexpressible(f"{layer.name} shares weights with other layers")
    layer, other = split_at_cross(layer)
    for one in layer.weights:
        if one.copies != 1 or (one.rows != tokens and not one.experts):
            raise Inexpressible(f"{layer.name}.{one.module} does not see each token")
    cross = cross_of(model.get_submodule(layer.name), other, tokens, hidden)
    split = split_at_mixer(layer)
    mixer = mixer_of(model.get_submodule(layer.name), layer, split, hidden)
    feed = feed_forward_of(
        model.get_submodule(layer.name), layer, split, hidden, tokens
    )
    made: dict[str, Any] = {}
    rest = layer.counts.all
    for part in (mixer, feed):
        rest -= part.matrices if part else 0
    if cross:
        rest -= cross.matrices + cross.keys["beside"]
        made["cross"] = cross.keys
    inside = [0, 0]
    for name, parameter in model.get_submodule(layer.name).named_parameters():
        if split.child and is_inside(name, split.child):
            inside[0] += parameter.numel()
    if mixer and feed:
        own = inside[0] - mixer.matrices if split.child else 0
        norms = _norms_of(model.get_submodule(layer.name))
        mixer.keys["beside"] = own + norms // 2
        feed.keys["beside"] = rest - mixer.keys["beside"]
    for name, kept in (("mix", mixer), ("feed", feed)):
        if kept is None:
            continue
        kept.keys.setdefault("beside", rest)
        is_own = functools.partial(_is_of, name, bool(mixer), bool(feed), split.child)
        kept.keys |= _told_apart(model.get_submodule(layer.name), is_own)
        if kept.keys["beside"] < 0:
            raise Inexpressible(f"{layer.name} has fewer parameters than its products")
        made[name] = kept.keys
    return made


def _told_apart(module: nn.Module, is_own: Callable[[str], bool]) -> dict[str, int]:
    """Parameters of norms, and biases, among those with such names; biases of experts,
    which are no vectors, are apart."""
    norms = biases = 0
    for path, inner in module.named_modules():
        for name, one in inner.named_parameters(path, recurse=False):
            if one.dim() != 1 or not is_own(name):
                continue
            norms += one.numel() if "norm" in type(inner).__name__.lower() else 0
            biases += one.numel() if "bias" in name.rpartition(".")[2] else 0
    found = {"norms": norms, "biases": biases}
    return {key: count for key, count in found.items() if count}


def _is_of(part: str, has_mixer: bool, has_feed: bool, child: str, at: str) -> bool:
    """Whether a parameter counts to this part of its layer."""
    in_mixer = not has_feed or (has_mixer and bool(child) and is_inside(at, child))
    return in_mixer == (part == "mix")


def _norms_of(layer: nn.Module) -> int:
    """Parameters of vectors that the layer itself has."""
    size = sum(one.numel() for one in layer.parameters(recurse=False))
    for child in layer.children():
        if not any(True for _ in child.children()):
            size += sum(p.numel() for p in child.parameters() if p.dim() == 1)
    return size


def _frozen_of(layers: Layers, model: nn.Module, head: Product) -> list[str]:
    """Frozen parts, as `--freeze` has them."""
    words: list[str] = []
    whole = [
        at
        for at, layer in enumerate(layers.layers)
        if layer.counts.frozen == layer.counts.all
    ]
    for at, layer in enumerate(layers.layers):
        partly = at not in whole and layer.counts.frozen
        # A correction of routing that no optimizer touches is a frozen parameter.
        if partly and layer.counts.frozen * 1000 > layer.counts.all:
            raise Inexpressible(f"{layer.name} is frozen in part")
    words += [f"layers={at}" for at in whole]
    named = dict(model.named_parameters(remove_duplicate=False))
    rows = named[head.parameter].shape[0]
    tables = [one for one in model.modules() if isinstance(one, nn.Embedding)]
    if any(not t.weight.requires_grad and t.weight.shape[0] == rows for t in tables):
        words.append("embedding")
    if not named[head.parameter].requires_grad:
        words.append("head")
    return words
