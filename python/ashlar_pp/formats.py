"""Schedules for other programs."""

from __future__ import annotations

from . import _core
from ._core import Schedule

FORMATS = ("pytorch", "pytorch-comms", "json", "trace", "svg", "html")


def emit(schedule: Schedule, format: str, *, dialect: str = "newest") -> str:
    """Returns the schedule as text: `pytorch` (passes alone), `pytorch-comms` (with
    transfers, reductions and gathers), `json`, `trace` (for chrome://tracing and
    Perfetto), `svg`, `html`.

    dialect: that of PyTorch's CSV: newest, b-bw, i-b, reduce-grad, waits. Raises
    ValueError if PyTorch cannot run it.
    """
    if format == "pytorch":
        return _core.write_pytorch(schedule, dialect)
    if format == "pytorch-comms":
        return _core.lower(schedule).pytorch(dialect)
    if format in ("json", "trace", "svg", "html"):
        return str(getattr(schedule, format)())
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, not '{format}'")
