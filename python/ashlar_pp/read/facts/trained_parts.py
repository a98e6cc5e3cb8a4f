"""Parts of a decoder that train, as `ashlar predict --train-only` takes them, by the
names of a model's parameters."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence

from ..run_file import Run, Unreadable

# Paths of a decoder's parameters in transformers: alone, and beside a tower.
_ROOTS = ("model", "model.language_model")
# Some of each part of a layer; all train, or none.
_IN_LAYER = (
    "input_layernorm.weight",
    "self_attn.q_proj.weight",
    "self_attn.o_proj.weight",
    "mlp.up_proj.weight",
    "mlp.down_proj.weight",
    "mlp.gate.weight",
    "mlp.experts.0.up_proj.weight",
    "block_sparse_moe.gate.weight",
    "block_sparse_moe.experts.0.w1.weight",
)
_MOST_LAYERS = 200  # that a model is taken to have at most

Named = Callable[[str], bool]


def add_unfrozen(run: Run, patterns: Sequence[str]) -> None:
    """By Axolotl's unfrozen_parameters, which match the front of a path; periods are
    literal (utils/freeze.py). Raises Unreadable."""
    named: dict[str, Named] = {}
    for pattern in patterns:
        if re.search(r"\[\d*(:\d*)?\]$", pattern):
            raise Unreadable(f"unfrozen_parameters {pattern}: rows of a matrix train")
        # No path begins so: Axolotl finds nothing by it, either.
        if pattern.startswith(("embed_tokens", "layers.", "norm")):
            continue
        try:
            path = re.compile(re.sub(r"\.(?!\+)", r"\.", pattern))
        except re.error as error:
            raise Unreadable(f"unfrozen_parameters {pattern}: {error}") from None
        named[pattern] = functools.partial(_begins, path)
    add_trained(run, named, "unfrozen_parameters")


def _begins(path: re.Pattern[str], name: str) -> bool:
    return path.match(name) is not None


def add_trained(run: Run, named: Mapping[str, Named], what: str) -> None:
    """Adds the parts whose parameters train: those that any of these name; nothing
    where all do.

    Raises Unreadable where a part of a layer trains, or a name is of no decoder of
    transformers.
    """
    known = [path for root in _ROOTS for path in _paths(root)]
    for text, names in named.items():
        if not any(names(path) for path in known):
            raise Unreadable(
                f"{what} {text}: of no decoder's parameter in transformers; "
                "--train-only of ashlar predict says which parts train"
            )
    found = {_words(root, named, what) for root in _ROOTS} - {""}
    if len(found) > 1:
        found.discard("head")  # both roots have this path
    if len(found) != 1:
        raise Unreadable(f"{what}: these name no parts of one decoder")
    words = found.pop()
    if words != "embedding,head,layers":
        run.program["train_only"] = words
        if "head" in words and "embedding" not in words:
            run.unknown.append(
                f"{what}: gradients also flow through the frozen layers below, to the "
                "embedding's results"
            )


def _paths(root: str) -> list[str]:
    numbers = range(_MOST_LAYERS)
    layers = [f"{root}.layers.{i}.{name}" for i in numbers for name in _IN_LAYER]
    return [f"{root}.embed_tokens.weight", "lm_head.weight", *layers]


def _words(root: str, named: Mapping[str, Named], what: str) -> str:
    def trains(path: str) -> bool:
        return any(names(path) for names in named.values())

    made = []
    if trains(f"{root}.embed_tokens.weight"):
        made.append("embedding")
    if trains("lm_head.weight"):
        made.append("head")
    layers: list[bool] = []
    for i in range(_MOST_LAYERS):
        found = {trains(f"{root}.layers.{i}.{name}") for name in _IN_LAYER}
        if len(found) > 1:
            raise Unreadable(
                f"{what}: a part of layer {i} trains, and only whole layers are "
                "predicted"
            )
        layers.extend(found)
    if all(layers):
        made.append("layers")
    elif any(layers):
        made.extend(_ranges(layers, what))
    return ",".join(made)


def _ranges(layers: Sequence[bool], what: str) -> list[str]:
    at = [i for i, trains in enumerate(layers) if trains]
    if at[-1] == len(layers) - 1:
        raise Unreadable(f"{what}: layers up to the last train: --train-only says them")
    made = []
    while at:
        first = last = at.pop(0)
        while at and at[0] == last + 1:
            last = at.pop(0)
        made.append(f"layers={first}-{last}" if last > first else f"layers={first}")
    return made
