"""What one forward of a model did, and why one cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .events import Event


class Unreadable(Exception):
    """The model cannot be read; the text says why."""


@dataclass
class Walk:
    """What one forward did."""

    events: list[Event] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)  # bytes, by module
    assumed: list[str] = field(default_factory=list)
    result: Any = None

    @property
    def operations(self) -> int:
        """Of all products, attention and convolutions."""
        return sum(event.operations for event in self.events)
