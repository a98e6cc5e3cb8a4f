"""Times of passes, and the unit in which schedules have them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

TICK = 1e-6
"""Seconds."""

Times = dict[tuple[str, int], list[float]]
"""Seconds of passes, by letter and stage."""


def now(device: torch.device) -> float:
    """Seconds of a clock when all work begun is done: on a GPU also the messages that a
    pass waits for.
    """
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class Clock:
    """Measures times of passes by kind and stage, on a GPU by events that are read
    later.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._mark: Callable[[], Any] = (
            self._event if device.type == "cuda" else time.perf_counter
        )
        self._taken: dict[tuple[str, int], list[tuple[Any, Any]]] = defaultdict(list)

    def _event(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def run(self, letter: str, stage: int, call: Callable[[], Any]) -> Any:
        started = self._mark()
        result = call()
        self._taken[letter, stage].append((started, self._mark()))
        return result

    def seconds(self) -> Times:
        if self.device.type != "cuda":
            return {
                key: [b - a for a, b in pairs] for key, pairs in self._taken.items()
            }
        torch.cuda.synchronize(self.device)
        return {
            key: [a.elapsed_time(b) / 1000 for a, b in pairs]
            for key, pairs in self._taken.items()
        }

    def clear(self) -> None:
        self._taken.clear()
