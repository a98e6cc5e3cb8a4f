"""Messages between the ranks of the default group in its store: failures, ends of
processes, and where each rank is.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from typing import Any

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore

Told = dict[str, Any]
"""A failure has `rank` and, if known, `stage`, `micro_batch` and `instruction`; `text`
says all of it, and `by` is the rank that found it. Waits.status describes the state of
a rank.
"""

_ANSWERS = 3.0
"""Seconds within which a living rank answers."""


_PATIENCE = 5.0
"""Seconds within which the store answers."""


class Board:
    """Entries in the store, each written once. Methods raise RuntimeError when the
    store is lost with the process that has it (without torchrun, that of rank 0).
    """

    def __init__(self, generation: int) -> None:
        """generation: number of the default group in this process; several may share a
        store.
        """
        store = dist.distributed_c10d._get_default_store()
        try:
            # a wait in the default store blocks all other threads of the process
            store = store.clone()
        except (AttributeError, RuntimeError):
            pass
        self._store = PrefixStore(f"ashlar/{generation}", store)
        self._gone = ""
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.failure: Told | None = None
        self.endings: dict[int, dict[str, int]] = {}
        """Processes that have ended, by rank: how often they called each pipeline."""
        self._processes: dict[int, tuple[str, int]] = {}
        self._answered = 0
        self._lock = threading.Lock()
        self._do(
            "set",
            f"process/{self.rank}",
            json.dumps([socket.gethostname(), os.getpid()]),
        )

    def fail(self, told: Told) -> Told:
        """Records a failure, and returns the first that any rank has recorded."""
        self._do("compare_set", "failure", "", json.dumps(told))
        self._happened()
        return self._learn(self._read("failure"))

    def refuse(self, call: str, told: Told) -> None:
        """Records that a call is refused: ranks that refuse it, too, go on."""
        self._do("compare_set", f"refused/{call}", "", json.dumps(told))
        self._happened()

    def refused(self, call: str) -> Told | None:
        refused: Told | None = self._read(f"refused/{call}")
        return refused

    def end(self, calls: dict[str, int]) -> None:
        """Records that this process ends."""
        number = self._do("add", "endings", 1)
        self._do("set", f"ending/{number}", json.dumps([self.rank, calls]))
        self._happened()

    def happens(self) -> int:
        """Number of events so far."""
        return int(self._do("add", "events", 0))

    def read(self) -> None:
        """Updates `failure` and `endings` from the store."""
        if self.failure is None and (failure := self._read("failure")) is not None:
            self._learn(failure)
        for number in range(1, self._do("add", "endings", 0) + 1):
            if (ending := self._read(f"ending/{number}")) is not None:
                self.endings[ending[0]] = ending[1]

    def all_end(self) -> bool:
        """Whether every process has recorded its end."""
        return bool(self._do("add", "endings", 0) >= self.size)

    def _learn(self, failure: Told) -> Told:
        with self._lock:
            self.failure = self.failure or failure
        return self.failure

    def questions(self) -> range:
        """Numbers of the questions that this rank has yet to answer; each is returned
        once.
        """
        asked, answered = self._do("add", "questions", 0), self._answered
        self._answered = asked
        return range(answered + 1, asked + 1)

    def answer(self, question: int, status: Told) -> None:
        self._do("set", f"answer/{question}/{self.rank}", json.dumps(status))

    def ask(self) -> Question:
        """Asks all ranks where they are."""
        number = self._do("add", "questions", 1)
        self._happened()
        return Question(self, number)

    def process(self, rank: int) -> tuple[str, int] | None:
        """Host and process id of a rank; None if unknown. Known ones are kept for when
        the store is gone.
        """
        if rank not in self._processes:
            with contextlib.suppress(RuntimeError):
                if (found := self._read(f"process/{rank}")) is not None:
                    self._processes[rank] = found[0], found[1]
        return self._processes.get(rank)

    def _do(self, operation: str, *args: Any) -> Any:
        if self._gone:
            raise RuntimeError(self._gone)
        found: list[Any] = []

        def ask() -> None:
            try:
                found.append(getattr(self._store, operation)(*args))
            except RuntimeError as error:
                self._gone = str(error).splitlines()[0]

        if threading.current_thread().daemon:
            ask()
        else:  # a request has no deadline while the store's process is stopped
            asking = threading.Thread(target=ask, daemon=True)
            asking.start()
            asking.join(_PATIENCE)
            if not found and not self._gone:
                self._gone = "the store of the process group does not answer"
        if not found:
            raise RuntimeError(self._gone)
        return found[0]

    def try_again(self) -> None:
        """Allows requests again after the store did not answer."""
        self._gone = ""

    def _happened(self) -> None:
        self._do("add", "events", 1)

    def _read(self, key: str) -> Any:
        return json.loads(self._do("get", key)) if self._do("check", [key]) else None


class Question:
    def __init__(self, board: Board, number: int) -> None:
        self._board, self._number, self._until = (
            board,
            number,
            time.monotonic() + _ANSWERS,
        )

    def answer_of(self, rank: int) -> Told | None:
        """The rank's answer; None if it does not answer in time, or has ended."""
        while True:
            found: Told | None = self._board._read(f"answer/{self._number}/{rank}")
            if (
                found is not None
                or rank in self._board.endings
                or time.monotonic() > self._until
            ):
                return found
            time.sleep(0.02)
