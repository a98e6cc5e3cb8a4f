"""Schedules for other programs."""

from __future__ import annotations

from . import _core
from ._core import Schedule

FORMATS = ("pytorch", "pytorch-comms", "json", "trace", "svg", "html")


def emit(schedule: Schedule, format: str, *, dialect: str = "newest") -> str:
    """Writes a schedule for another program.

    Args:
        schedule (Schedule): The schedule.
        format (str): ``pytorch`` (passes alone), ``pytorch-comms`` (with transfers,
            reductions and gathers), ``json``, ``trace`` (for chrome://tracing and
            Perfetto), ``svg`` or ``html``.
        dialect (str): That of PyTorch's CSV: ``newest``, ``b-bw``, ``i-b``,
            ``reduce-grad`` or ``waits``.

    Returns:
        str: the text of the file.

    Raises:
        ValueError: for another format or dialect, or if PyTorch cannot run it.
    """
    if format == "pytorch":
        return _core.write_pytorch(schedule, dialect)
    if format == "pytorch-comms":
        return _core.lower(schedule).pytorch(dialect)
    if format in ("json", "trace", "svg", "html"):
        return str(getattr(schedule, format)())
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, not '{format}'")
