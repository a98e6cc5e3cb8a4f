"""Finds where a thread of this process is, and ends its waits for other ranks."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
from types import FrameType, TracebackType

import torch
import torch.distributed as dist

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OWN = os.path.dirname(__file__) + os.sep
_BESIDE = ("contextlib.py", "threading.py", "runpy.py")
_WAITING = (
    os.path.join(_TORCH, "distributed") + os.sep,
    os.path.join(_OWN, "waits.py"),
    os.path.join(_OWN, "meeting.py"),
)


def place_of(thread: int) -> str:
    """The line of user code that a thread is at; empty if there is none."""
    frame = sys._current_frames().get(thread)
    found: list[tuple[FrameType, int]] = []
    while frame is not None:
        found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return _place(found)


def place_of_error(error: BaseException) -> str:
    """The line of user code that raised the error; empty if PyTorch or the pipeline
    itself did.
    """
    found: list[tuple[FrameType, int]] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        found.insert(0, (trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return _place(found)


def _place(frames: list[tuple[FrameType, int]]) -> str:
    """frames: the frames, innermost first."""
    for frame, line in frames:
        file = frame.f_code.co_filename
        if (
            not file.startswith((_TORCH, _OWN, "<frozen"))
            and os.path.basename(file) not in _BESIDE
        ):
            return f"{os.path.basename(file)}:{line} in {frame.f_code.co_name}"
    return ""


class Stillness:
    """Measures how long a thread has been in the same wait for a message."""

    def __init__(self) -> None:
        self.at: object = None
        """The wait; None for a thread that does not wait."""
        self._since = 0.0

    def seconds(self, thread: int, now: float) -> float:
        frame = sys._current_frames().get(thread)
        at = None if frame is None else (id(frame), frame.f_lasti)
        if frame is None or not frame.f_code.co_filename.startswith(_WAITING):
            at = None
        if at is None or at != self.at:
            self.at, self._since = at, now
        return now - self._since


def break_waits() -> None:
    """Ends every wait in a group of this process with a RuntimeError, now and later,
    here and at its peers.
    """
    for group in list(dist.distributed_c10d._world.pg_map):
        if not isinstance(group, dist.ProcessGroup):
            continue
        with contextlib.suppress(RuntimeError, AttributeError, ValueError):
            if dist.get_backend(group) != "gloo":
                group.abort()
            elif group.size() > 1:
                # gloo has no other way: a wait that passes its deadline closes all
                # connections of the group.
                peer = (group.rank() + 1) % group.size()
                work = group.recv([torch.empty(1, device="cpu")], peer, _NOBODYS)
                work.wait(datetime.timedelta(milliseconds=1))


_NOBODYS = (1 << 31) - 7
"""A tag that nobody sends with."""
