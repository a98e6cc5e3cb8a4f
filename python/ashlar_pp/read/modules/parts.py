"""The parts of one decoder layer, from its products: sizes that account for every
matrix, or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from .events import Attention, Product, Step
from .layers import Part

# A product with less than this share of a layer's operations is no matrix of its own,
# such as the one column that scales a shared expert.
NEGLIGIBLE = 1e-3


class Inexpressible(Exception):
    """The form of a decoder has no place for a part; the text says for which."""


@dataclass
class Split:
    """The products of a layer: those of its mixer before and after it mixes, and the
    others. `child` has the mixer, empty if the layer itself mixes."""

    child: str
    before: list[Product]
    after: list[Product]
    others: list[Product]
    is_scan: bool = False


@dataclass
class Sizes:
    """A part's keys, and the parameters of its matrices."""

    keys: dict[str, Any]
    matrices: int


def is_negligible(product: Product, layer: Part) -> bool:
    """Whether a product is no matrix of its own."""
    return product.operations < NEGLIGIBLE * layer.operations and not product.experts


def split_at_mixer(layer: Part) -> Split:
    """Finds what mixes tokens in a layer, and the products on both sides of it."""
    mixers = [one.module for one in layer.attention] + list(layer.scans)
    kept = [one for one in layer.weights if not is_negligible(one, layer)]
    if not mixers:
        return Split("", [], [], kept)
    if len(layer.attention) > 1 or len(mixers) > 1:
        raise Inexpressible(f"{layer.name} mixes tokens {len(mixers)} times")
    module = mixers[0]
    child = child_of(layer, module)
    at = _place_of(layer, module)
    order = {id(event): place for place, event in enumerate(layer.events)}
    inside = [one for one in kept if child and is_inside(one.module, child)]
    if not child:  # all before it, and the next one
        inside = [one for one in kept if order[id(one)] < at]
        inside += [one for one in kept if order[id(one)] > at][:1]
    before = [one for one in inside if order[id(one)] < at]
    after = [one for one in inside if order[id(one)] > at]
    # Gates of what is mixed may be computed late.
    before, after = before + after[:-1], after[-1:]
    return Split(
        child,
        before,
        after,
        [one for one in kept if one not in inside],
        is_scan=not layer.attention,
    )


def split_at_cross(layer: Part) -> tuple[Part, Part | None]:
    """A layer without the child that attends to other tokens, and that child."""
    seen = [(one.queries, one.keys) for one in layer.attention]
    if len(seen) == 1 and seen[0][0] != seen[0][1]:
        only = child_of(layer, layer.attention[0].module)  # attends to others alone
        other = [one for one in layer.events if is_inside(one.module, only)]
        own = [one for one in layer.events if not is_inside(one.module, only)]
        return replace(layer, events=own), replace(layer, name=only, events=other)
    if len(layer.attention) != 2:
        return layer, None
    first, second = (child_of(layer, one.module) for one in layer.attention)
    if first == second or layer.attention[1].queries == layer.attention[1].keys:
        return layer, None
    other = [one for one in layer.events if is_inside(one.module, second)]
    own = [one for one in layer.events if not is_inside(one.module, second)]
    return replace(layer, events=own), replace(layer, name=second, events=other)


def cross_of(
    module: nn.Module, layer: Part | None, tokens: int, hidden: int
) -> Sizes | None:
    """Attention to an encoder's tokens, which make its keys and values."""
    if layer is None:
        return None
    attends, weights = layer.attention[0], layer.weights
    heads, head = attends.heads * attends.batch, attends.head
    queries = [one for one in weights if one.rows == tokens]
    keys = [one for one in weights if one.rows != tokens]
    given = sum(one.columns for one in keys)
    groups = given // (2 * head)
    fits = (
        len(queries) == 2
        and (queries[0].inner, queries[0].columns) == (hidden, heads * head)
        and (queries[1].inner, queries[1].columns) == (heads * head, hidden)
        and all(one.rows == attends.keys for one in keys)
        and len({one.inner for one in keys}) == 1
        and given == 2 * groups * head
        and attends.value_head == head
        and attends.seen.causal is False
    )
    if not fits:
        raise Inexpressible(f"{layer.name} attends to other tokens in a way of its own")
    matrices = sum(one.inner * one.columns for one in weights)
    own = sum(p.numel() for p in module.get_submodule(layer.name).parameters())
    sizes = {"heads": heads, "groups": groups, "head": head, "beside": own - matrices}
    return Sizes({"kind": "attention", **sizes}, matrices)


def child_of(layer: Part, module: str) -> str:
    """The child of a layer that has a module. Of a list that has all of the layer, it
    is the list's member."""
    paths = [one.module.split(".") for one in layer.weights]
    is_list = len({path[0] for path in paths}) == 1 and all(
        len(path) > 1 and path[1].isdigit() for path in paths
    )
    return ".".join(module.split(".")[: 2 if is_list else 1])


def is_inside(name: str, child: str) -> bool:
    """Whether a module or a parameter is a child's own."""
    return name == child or name.startswith(f"{child}.")


def _place_of(layer: Part, module: str) -> int:
    """The place of the last event of a mixer."""
    places = [
        place
        for place, event in enumerate(layer.events)
        if event.module == module
        and not (isinstance(event, Product) and event.parameter)
    ]
    return places[-1]


def mixer_of(module: nn.Module, layer: Part, split: Split, hidden: int) -> Sizes | None:
    """The mixer of a layer; None: it has none."""
    if not split.before and not split.after:
        if layer.attention or layer.scans:
            raise Inexpressible(f"{layer.name} mixes tokens without matrices")
        return None
    if len(split.after) != 1 or split.after[0].columns != hidden:
        raise Inexpressible(f"{layer.name} has no single product after it mixes tokens")
    if split.is_scan:
        return _scan_of(layer, split, hidden)
    attends = layer.attention[0]
    seen = attends.seen
    if attends.cross or attends.queries != attends.keys:
        raise Inexpressible(f"{layer.name} attends to other tokens than its own")
    if seen.causal is None:
        raise Inexpressible(f"{layer.name}: its mask is not known")
    if seen.other:
        raise Inexpressible(f"{layer.name}: its mask has a form of its own")
    if any(one.inner != hidden for one in split.before):
        made = _compressed_of(layer, attends, split, hidden)
    else:
        made = _heads_of(layer, attends, split, hidden)
    made.keys.update(_seen_of(module, attends, split.child))
    if not seen.causal:
        if "window" in made.keys and not seen.window:
            raise Inexpressible(
                f"{layer.name}: its window is longer than the example, which --tokens "
                "makes longer"
            )
        made.keys["sees_all"] = True
    return made


def _heads_of(layer: Part, attends: Attention, split: Split, hidden: int) -> Sizes:
    heads, head = attends.heads * attends.batch, attends.head
    given = sum(one.columns for one in split.before)
    if split.after[0].inner != heads * head or attends.value_head != head:
        raise Inexpressible(f"{layer.name}: its values are not as wide as its keys")
    if given % head:
        raise Inexpressible(f"{layer.name}: its heads have several sizes")
    # The rest is of keys and values, and perhaps of a gate as large as the queries.
    rest = given // head - heads
    found = []
    for gate in (0, heads):
        groups = (rest - gate) // 2
        fits = rest - gate == 2 * groups and groups > 0 and heads % groups == 0
        if fits and (attends.groups in (0, groups, heads)):
            found.append((attends.groups != groups, gate > 0, groups))
    if not found:
        raise Inexpressible(
            f"{layer.name}: {given} columns are no queries, keys and values"
        )
    _, has_gate, groups = min(found)
    keys = {"kind": "attention", "heads": heads, "groups": groups, "head": head}
    if has_gate:
        keys["has_gate"] = True
    return Sizes(keys, hidden * given + heads * head * hidden)


def _compressed_of(layer: Part, attends: Attention, split: Split, hidden: int) -> Sizes:
    """Multi-head latent attention: queries, keys and values through low ranks."""
    heads, wide = attends.heads * attends.batch, attends.head
    first = [one for one in split.before if one.inner == hidden]
    second = [one for one in split.before if one.inner != hidden]
    value = split.after[0].inner // heads
    up_queries = [one for one in second if one.columns == heads * wide]
    up_keys = [one for one in second if one not in up_queries[:1]]
    odd = Inexpressible(f"{layer.name}: its attention has other matrices than latent")
    if len(up_keys) != 1 or len(first) != 2:
        raise odd
    kv_rank = up_keys[0].inner
    nope = up_keys[0].columns // heads - value
    rope = wide - nope
    q_rank = up_queries[0].inner if up_queries else 0
    expected = sorted([q_rank or heads * wide, kv_rank + rope])
    if sorted(one.columns for one in first) != expected or nope <= 0 or rope < 0:
        raise odd
    if up_keys[0].columns != heads * (nope + value):
        raise odd
    keys = {
        "kind": "compressed",
        "heads": heads,
        "groups": heads,
        "head": wide,
        "q_rank": q_rank,
        "kv_rank": kv_rank,
        "nope": nope,
        "rope": rope,
        "value_head": value,
    }
    weights = (*split.before, *split.after)
    return Sizes(keys, sum(one.inner * one.columns for one in weights))


def _seen_of(module: nn.Module, attends: Attention, child: str) -> dict[str, int]:
    """The window or chunk, from the mask or, if it is longer than the example, from
    the module."""
    seen = attends.seen
    if seen.window or seen.chunk:
        return {"window": seen.window} if seen.window else {"chunk": seen.chunk}
    at = module.get_submodule(child) if child else module
    config = getattr(at, "config", None)
    kind = getattr(at, "layer_type", None) or getattr(at, "attention_type", None)
    if kind is None:
        kind = _listed_kind(at, config)
    if kind == "chunked_attention":
        return {"chunk": int(config.attention_chunk_size)}  # type: ignore[union-attr]
    if kind not in (None, "sliding_attention"):
        return {}
    window = getattr(at, "sliding_window", None)
    if window is None and kind == "sliding_attention":
        window = getattr(config, "sliding_window", None)
    if window is None and kind is None:
        window = _general_window(config)
    return {"window": window} if isinstance(window, int) and window > 0 else {}


def _listed_kind(module: nn.Module, config: Any) -> str | None:
    kinds = getattr(config, "layer_types", None)
    at = getattr(module, "layer_idx", None)
    if isinstance(kinds, list | tuple) and isinstance(at, int) and at < len(kinds):
        return str(kinds[at])
    return None


def _general_window(config: Any) -> int | None:
    """Of configurations whose layers are all alike."""
    if getattr(config, "use_sliding_window", True) is False:
        return None
    return getattr(config, "sliding_window", None)


def _scan_of(layer: Part, split: Split, hidden: int) -> Sizes:
    """A state-space layer or linear attention."""
    odd = Inexpressible(f"{layer.name}: its recurrence has other matrices than known")
    inner = split.after[0].inner
    first = [one for one in split.before if one.inner == hidden]
    second = [one for one in split.before if one not in first]
    given = sum(one.columns for one in first)
    depthwise = [one for one in layer.convolutions if one.groups == one.channels]
    channels = sum(one.channels for one in depthwise)
    keys: dict[str, Any] = {"kind": "state_space", "inner": inner}
    if channels == inner and len(second) == 2 and given == 2 * inner:
        makes, steps = second
        if makes.inner != inner or steps.columns != inner:
            raise odd
        keys["rank"] = steps.inner
        keys["keys"] = (makes.columns - steps.inner) // 2
        if makes.columns != keys["rank"] + 2 * keys["keys"]:
            raise odd
    elif not second:
        both = channels - inner if channels else given - 2 * inner
        keys["keys"] = both // 2
        keys["steps"] = given - 2 * inner - both
        if both <= 0 or both % 2 or keys["steps"] < 0:
            raise odd
    else:
        raise odd
    weights = (*first, *second, *split.after)
    return Sizes(keys, sum(one.inner * one.columns for one in weights))


def feed_forward_of(
    module: nn.Module, layer: Part, split: Split, hidden: int, tokens: int
) -> Sizes | None:
    """The feed-forward part of a layer; None: it has none."""
    routed = [one for one in split.others if one.experts]
    others = [one for one in split.others if not one.experts]
    if routed:
        return _experts_of(module, layer, routed, others, hidden, tokens)
    if not others:
        return None
    width, is_gated = _gated(layer, others, hidden)
    keys: dict[str, Any] = {"kind": "dense", "is_gated": is_gated, "width": width}
    return Sizes(keys, sum(one.inner * one.columns for one in others))


def _gated(layer: Part, products: list[Product], outside: int) -> tuple[int, bool]:
    """The width of two or three matrices between `outside`, and whether it is three."""
    down = ([one for one in products if one.columns == outside] or products)[-1]
    ups = [one for one in products if one is not down]
    given = sum(one.columns for one in ups)
    fits = down.columns == outside and all(one.inner == outside for one in ups)
    if not fits or given not in (down.inner, 2 * down.inner):
        raise Inexpressible(
            f"{layer.name}: {len(products)} matrices are no feed-forward part"
        )
    return down.inner, given == 2 * down.inner


def _experts_of(
    module: nn.Module,
    layer: Part,
    routed: list[Product],
    others: list[Product],
    hidden: int,
    tokens: int,
) -> Sizes:
    experts, rows = routed[0].experts, routed[0].rows
    latent = routed[-1].columns if routed[-1].columns != hidden else 0
    width, is_gated = _gated(layer, routed, latent or hidden)
    if rows % tokens:
        raise Inexpressible(f"{layer.name}: tokens have unequal numbers of experts")
    keys: dict[str, Any] = {
        "kind": "experts",
        "is_gated": is_gated,
        "experts": experts,
        "chosen": rows // tokens,
        "expert_width": width,
    }
    matrices = sum(one.inner * one.columns * experts for one in routed)
    for inner, columns in (
        (hidden, experts),
        *(((hidden, latent), (latent, hidden)) if latent else ()),
    ):
        found = [one for one in others if (one.inner, one.columns) == (inner, columns)]
        if found:
            others = [one for one in others if one is not found[0]]
        elif columns != experts:
            raise Inexpressible(f"{layer.name}: {inner} x {columns} is missing")
        matrices += inner * columns
    if others:
        shared, shared_is_gated = _gated(layer, others, hidden)
        if shared_is_gated != is_gated:
            raise Inexpressible(f"{layer.name}: only some of its experts have gates")
        keys["shared_width"] = shared
        matrices += sum(one.inner * one.columns for one in others)
    if latent:
        keys["latent"] = latent
    biases = _biases_of_experts(module, routed[0].module, experts)
    if biases:
        keys["beside_expert"] = biases
        matrices += biases * experts
        clamps = [
            event
            for event in layer.events
            if isinstance(event, Step)
            and event.name == "clamp"
            and event.module == routed[0].module
        ]
        keys["is_clamped"] = bool(clamps)
    keys.update(_groups_of(module, experts))
    return Sizes(keys, matrices)


def _biases_of_experts(module: nn.Module, name: str, experts: int) -> int:
    """Parameters of one expert beside its matrices."""
    size = 0
    for parameter in module.get_submodule(name).parameters():
        if parameter.dim() == 2 and parameter.shape[0] == experts:
            size += parameter.numel() // experts
    return size


def _groups_of(module: nn.Module, experts: int) -> dict[str, int]:
    """A token's experts lie in some of these groups."""
    for one in module.modules():
        if getattr(one, "topk_method", "") == "greedy":
            continue
        names = ("num_group", "n_group", "num_expert_group")
        groups = next((getattr(one, at) for at in names if hasattr(one, at)), None)
        chosen = getattr(one, "topk_group", None)
        if isinstance(groups, int) and isinstance(chosen, int) and groups > 1:
            if experts % groups == 0 and 0 < chosen <= groups:
                return {"groups": groups, "chosen_groups": chosen}
    return {}
