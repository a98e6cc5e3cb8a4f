"""Waiting for other ranks, no longer than a deadline, and who is to blame when it has passed."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist


Debt = Callable[[], dict[str, Any]]
"""Who (`rank`) owes what (`stage`, `micro_batch`, `instruction`, and `words` for all that), and `at`, where this rank
needs it."""


class LostRank(RuntimeError):
    """Another rank has not done its part. `rank` is its number in the default group; `stage`, `micro_batch` and
    `instruction` (in PyTorch's words, like 1SEND_F0) are what it owes."""

    def __init__(self, text: str, rank: int, debt: dict[str, Any]) -> None:
        super().__init__(text)
        self.rank = rank
        self.stage, self.micro_batch, self.instruction = debt["stage"], debt["micro_batch"], debt["instruction"]


class Waits:
    """Of one rank. Whoever waits for half of the deadline tells so in the group's store: the rank that hangs is the one
    that others wait for and that waits for nobody."""

    SHARE = 0.75
    """Of the deadline: from then on it is found out who hangs."""

    def __init__(self, name: str, timeout: float | None) -> None:
        self._name, self._timeout = name, timeout
        self._rank = dist.get_rank()
        self._debt: Debt | None = None
        self._since = 0.0
        self._told = False
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None
        self._store: Any = None
        if timeout is not None:
            self._store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
            self._patience = datetime.timedelta(seconds=self.SHARE * timeout)
            self._end = threading.Event()
            self._watch = threading.Thread(target=self._tell_long_waits, daemon=True)
            self._watch.start()

    def close(self) -> None:
        if self._watch is not None:
            self._end.set()

    def start(self, call: Callable[..., Any], *args: Any, debt: Debt, **options: Any) -> Any:
        """What `call` starts. Raises LostRank if the other side is gone."""
        try:
            return call(*args, **options)
        except RuntimeError as error:
            self._since = time.monotonic()
            raise self._blame(debt, error) from error

    def wait(self, work: Any, debt: Debt) -> None:
        """Raises LostRank."""
        self._since, self._debt = time.monotonic(), debt
        try:
            if self._timeout is None:
                work.wait()
            else:
                work.wait(self._patience)
        except RuntimeError as error:
            raise self._blame(debt, error) from error
        self._debt = None
        if self._told:
            self._tell(None)

    def _tell_long_waits(self) -> None:
        assert self._timeout is not None
        while not self._end.wait(self._timeout / 16):
            debt = self._debt
            if debt is not None and not self._told and time.monotonic() - self._since > self._timeout / 3:
                self._tell(debt)

    def _tell(self, debt: Debt | None) -> None:
        with self._lock:
            if debt is not None and self._debt is not debt:
                return  # it is over
            self._told = debt is not None
            try:
                self._store.set(str(self._rank), json.dumps(None if debt is None else debt()))
            except RuntimeError:
                pass  # its host may be the rank that is gone

    def _told_by(self, rank: int, until: float) -> dict[str, Any] | None:
        while True:
            try:
                if self._store.check([str(rank)]):
                    if (debt := json.loads(self._store.get(str(rank)))) is not None:
                        return debt
            except RuntimeError:
                return None
            if time.monotonic() >= until:
                return None
            time.sleep(0.02)

    def _blame(self, debt: Debt, error: RuntimeError) -> LostRank:
        waited = time.monotonic() - self._since
        own = last = debt()
        seen = [self._rank, own["rank"]]
        if self._store is not None:
            self._debt = debt
            self._tell(debt)
            until = self._since + (self._timeout or 0.0)
            while (further := self._told_by(last["rank"], until)) is not None:
                last = further
                if further["rank"] in seen:
                    break
                seen.append(further["rank"])
        self._debt = None
        why = f"at {own['at']}, after {waited:.1f} s ({_first_line(error)})"
        if last["rank"] == self._rank:
            return LostRank(f"rank {own['rank']} has given up: this rank has not {last['words']}; {why}", self._rank, last)
        text = f"rank {last['rank']} {'hangs' if self._timeout else 'is lost'}: it has not {last['words']}"
        if last is not own:
            text += f" to the rank that waits at {last['at']}. This rank waits for rank {own['rank']}, which has not {own['words']}"
        return LostRank(f"{text}; {why}", last["rank"], last)


def _first_line(error: RuntimeError) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
