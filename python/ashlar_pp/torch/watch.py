"""A thread that reads what other ranks tell: it answers them, ends waits that are in
vain, and ends a process that hangs.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime
import multiprocessing
import multiprocessing.util
import os
import sys
import threading
import time
import traceback
import weakref
from types import TracebackType
from typing import Any, Protocol

import torch.distributed as dist

from .board import Board, Told
from .threads import Stillness, break_waits, place_of, place_of_error

GRACE = 10.0
"""Seconds beyond its deadline after which a rank that hangs after a failure is ended.
"""

_LINGER = 3.0
"""Seconds that a process that ends after a failure waits for the others' ends: it may
have the store, and torchrun stops all processes at the first end. Rank 0, which may
have the store, waits a third of that in any case.
"""

_PATIENCE = 2.0
"""Seconds after which a wait counts as in vain because another rank has refused the
call, or has ended.
"""


class Watched(Protocol):
    """The waits of a pipeline, as the thread sees them."""

    name: str
    rank: int
    ranks: list[int]
    calls: int
    kind: str
    is_inside: bool
    is_broken: bool
    since: float
    timeout: float | None
    patience: datetime.timedelta | None
    thread: int
    stillness: Stillness

    def call_name(self) -> str: ...
    def status(self) -> Told: ...


class Watch(threading.Thread):
    def __init__(self, store: Any, generation: int) -> None:
        super().__init__(name="ashlar: watch", daemon=True)
        self.of_store = store
        self.board = Board(generation)
        self.pipelines: weakref.WeakSet[Watched] = weakref.WeakSet()
        self._over = threading.Event()
        self._happened = 0
        self._looked: dict[str, tuple[str, Told | None]] = {}
        self._told_error: tuple[int, Told] | None = None
        self._calls: dict[str, int] = {}

    def run(self) -> None:
        while not self._over.wait(self._interval()):
            try:
                self._look()
            except (
                RuntimeError
            ):  # the store is gone, so other ranks can tell nothing more
                if self.board.failure is None:
                    return
            for waits in list(self.pipelines):
                self._end_if_it_hangs(waits)

    def _interval(self) -> float:
        """Seconds between looks: fewer while a rank may wait, more for many ranks,
        which share the store.
        """
        short = (
            any(w.is_inside for w in list(self.pipelines))
            or self.board.failure is not None
        )
        return max(0.25 if short else 1.0, self.board.size / 1000)

    def _look(self) -> None:
        board = self.board
        if (happened := board.happens()) != self._happened:
            self._happened = happened
            board.read()
            self._looked.clear()
            for question in board.questions():
                board.answer(question, self._status())
        for waits in list(self.pipelines):
            if not waits.is_inside or waits.is_broken:
                continue
            still = waits.stillness.seconds(waits.thread, time.monotonic())
            reason = self._reason(waits)
            if reason is not None and still > (
                0.4 if reason is board.failure else _PATIENCE
            ):
                break_waits()
            elif (
                waits.patience is not None
                and still > waits.patience.total_seconds() + 1
            ):
                break_waits()  # a wait that has no deadline of its own

    def learn(self, waits: Watched) -> Told | None:
        """Reads the store, and returns `_reason`."""
        self.board.read()
        self._looked.clear()
        return self._reason(waits)

    def _reason(self, waits: Watched) -> Told | None:
        """The known reason why a pipeline's call cannot end; None if there is none."""
        if self.board.failure is not None:
            return self.board.failure
        call = waits.call_name()
        if self._looked.get(waits.name, ("", None))[0] != call:
            self._looked[waits.name] = call, self.board.refused(call)
        if (refused := self._looked[waits.name][1]) is not None and refused[
            "rank"
        ] != self.board.rank:
            return refused
        for rank, calls in self.board.endings.items():
            if rank in waits.ranks and calls.get(waits.name, 0) < waits.calls:
                return ending(rank, calls.get(waits.name, 0), waits)
        return None

    def _status(self) -> Told:
        known = list(self.pipelines)
        inside = [w for w in known if w.is_inside]
        found = max(inside or known, key=lambda w: w.since, default=None)
        if found is None:
            return {
                "calls": 0,
                "kind": "",
                "is_inside": False,
                "place": place_of(threading.main_thread().ident or 0),
            }
        return found.status() | {"place": place_of(found.thread)}

    def _end_if_it_hangs(self, waits: Watched) -> None:
        failure = self.board.failure
        if (
            failure is None
            or waits.is_broken
            or not (waits.is_inside or failure["rank"] == self.board.rank)
        ):
            return
        if time.monotonic() - waits.since > (waits.timeout or 0) + GRACE:
            words = (
                f"ashlar: rank {self.board.rank} is ended, because it hangs and the "
                f"others have given up: {failure['text']}\n"
            )
            stack = traceback.format_stack(sys._current_frames().get(waits.thread))
            print("".join([words, *stack]), file=sys.stderr, flush=True)
            os._exit(1)

    def finished(self, waits: Watched) -> None:
        """Counts a finished call, also of a pipeline that is soon deleted."""
        self._calls[waits.name] = waits.calls

    def remember(self, error: BaseException, told: Told) -> None:
        """Keeps what was told of an error that may yet end this process."""
        self._told_error = id(error), told

    def failed_outside(self, error: BaseException) -> None:
        """Reports an uncaught error."""
        if self.board.failure is not None:
            return
        told = (
            self._told_error[1]
            if self._told_error is not None and self._told_error[0] == id(error)
            else None
        )
        if told is None:
            rank, status = self.board.rank, self._status()
            after = (
                f", after {calls_in_words(status['calls'])} of it"
                if status["calls"]
                else ""
            )
            text = (
                f"rank {rank} failed outside of its pipeline{after}: "
                f"{words_of_error(error)}"
            )
            told = {"rank": rank, "by": rank, "text": text}
        with contextlib.suppress(RuntimeError):
            self.board.fail(told)

    def end(self) -> None:
        """Ends the thread with the process: later it would return into an interpreter
        that is gone.
        """
        self._over.set()
        self.join(2 * _LINGER)
        with contextlib.suppress(RuntimeError):
            self.board.end(self._calls)
            until = time.monotonic() + (
                _LINGER
                if self.board.failure is not None
                else _LINGER / 3 * (self.board.rank == 0)
            )
            while not self.board.all_end() and time.monotonic() < until:
                time.sleep(0.1)


def words_of_error(error: BaseException) -> str:
    text = str(error).strip()
    words = type(error).__name__ + (f": {text.splitlines()[0]}" if text else "")
    place = place_of_error(error)
    return f"{words} ({place})" if place else words


def ending(rank: int, calls: int, waits: Watched) -> Told:
    text = (
        f"rank {rank} has ended after {calls_in_words(calls)} of the pipeline, and "
        f"this is call {waits.calls}, {waits.kind}"
    )
    return {"rank": rank, "by": dist.get_rank(), "text": text}


def calls_in_words(calls: int) -> str:
    return f"{calls} call{'' if calls == 1 else 's'}"


_watch: Watch | None = None
_generations = 0


def watch() -> Watch | None:
    """The watch of the default group, started if needed; None if the group has one
    rank.
    """
    global _watch, _generations
    if dist.get_world_size() == 1:
        return None
    store = dist.distributed_c10d._get_default_store()
    if _watch is None or _watch.of_store is not store:
        if _watch is None:
            _hear_of_the_end()
        else:
            _watch._over.set()
        _generations += 1
        _watch = Watch(store, _generations)
        _watch.start()
    return _watch


def _hear_of_the_end() -> None:
    before = sys.excepthook

    def tell(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if _watch is not None:
            _watch.failed_outside(error)
        before(kind, error, trace)

    sys.excepthook = tell
    atexit.register(_end)
    if multiprocessing.parent_process() is not None:
        # a forked process does not run atexit
        multiprocessing.util.Finalize(None, _end, exitpriority=100)


def _end() -> None:
    global _watch
    if _watch is not None:
        watch, _watch = _watch, None
        watch.end()
