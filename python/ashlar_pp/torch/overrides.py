"""Replaces methods of single objects of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Method = Callable[..., Any]


def override(
    of: object, name: str, make: Callable[[Method], Method]
) -> Callable[[], None]:
    """Replaces a method of this object by the one that `make` makes of it. Returns a
    function that undoes that.

    PyTorch's stages have no hook for it. A forward context, which later versions have,
    sees no output, and is one alone; nothing goes around backwards. A subclass would
    not do, because stages may be the caller's own.
    """
    own = getattr(of, name)
    setattr(of, name, make(own))
    return lambda: setattr(of, name, own)
