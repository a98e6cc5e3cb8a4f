"""A part before the decoder as products alone: queries that attend to an image, layers
of several widths, and what else has no form of layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .events import Attention, Convolution, Event, Product
from .parts import Inexpressible


def products_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """All products of these, in their order: with weights, and of activations, as
    scores of attention and their use are. Each matrix is there once.

    Raises `Inexpressible` for experts.
    """
    made: list[dict[str, Any]] = []
    weights: dict[tuple[str, int], dict[str, Any]] = {}
    for event in events:
        for one, parameter in _sizes_of(event):
            known = weights.get((parameter, one["columns"])) if parameter else None
            if known:  # runs again, or parts of a matrix
                known["rows"] += one["rows"]
                continue
            made.append(one)
            if parameter:
                weights[parameter, one["columns"]] = one
            else:
                one["is_of_activations"] = True
    return made


def _sizes_of(event: Event) -> list[tuple[dict[str, Any], str]]:
    if isinstance(event, Product):
        if event.experts:
            raise Inexpressible(f"{event.module} has experts")
        rows = event.rows * event.copies
        return [(_size(rows, event.inner, event.columns), event.parameter)]
    if isinstance(event, Convolution):
        taken = event.operations // (2 * event.places * event.results)
        return [(_size(event.places, taken, event.results), event.parameter)]
    if isinstance(event, Attention):
        rows = event.batch * event.heads * event.queries
        return [
            (_size(rows, event.head, event.keys), ""),
            (_size(rows, event.keys, event.value_head), ""),
        ]
    return []


def _size(rows: int, inner: int, columns: int) -> dict[str, Any]:
    return {"rows": rows, "inner": inner, "columns": columns}
