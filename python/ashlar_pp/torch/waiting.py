"""Waiting for other ranks, no longer than a deadline, and who is to blame when it has passed."""

from __future__ import annotations

import datetime
import itertools
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from .awaited import Awaited

_numbers = itertools.count()


def timeout_of(group: dist.ProcessGroup | None, device: torch.device) -> float | None:
    """Seconds after which a wait in the group fails, where its backend tells."""
    try:
        whole: Any = group or dist.group.WORLD
        seconds = whole._get_backend(device).options._timeout.total_seconds()
    except (AttributeError, RuntimeError):
        return None
    return float(seconds)


class LostRank(RuntimeError):
    """Another rank has not done its part. `rank` is its number in the default group; `stage`, `micro_batch` and
    `instruction` (in PyTorch's words, like 1SEND_F0) are what others wait for."""

    def __init__(self, text: str, rank: int, awaited: dict[str, Any]) -> None:
        super().__init__(text)
        self.rank = rank
        self.stage, self.micro_batch, self.instruction = awaited["stage"], awaited["micro_batch"], awaited["instruction"]


class Waits:
    """Of one rank. Whoever waits for a third of the deadline tells so in the group's store: the rank that hangs is the one
    that others wait for and that waits for nobody. Who fails tells that."""

    SHARE = 0.75
    """Of the deadline: from then on it is found out who hangs."""

    GRACE = 10.0
    """Seconds in which what others tell is awaited at most, such as of a rank whose process has ended."""

    def __init__(self, timeout: float | None, of_group: float | None = None) -> None:
        """timeout: seconds. Without, a wait has the deadline of its group, which may be known."""
        self._timeout = timeout if timeout is not None else of_group
        self._patience = None if timeout is None else datetime.timedelta(seconds=self.SHARE * timeout)
        name = f"ashlar/{next(_numbers)}"
        self._rank = dist.get_rank()
        self._awaited: Awaited | None = None
        self._since = 0.0
        self._told = False
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None
        self._store: Any = None
        if self._timeout is not None and dist.get_world_size() > 1:
            self._store = dist.PrefixStore(name, dist.distributed_c10d._get_default_store())
            self._end = threading.Event()
            self._watch = threading.Thread(target=self._tell_long_waits, daemon=True)
            self._watch.start()

    def close(self) -> None:
        if self._watch is not None:
            self._end.set()

    def start(self, call: Callable[..., Any], *args: Any, awaited: Awaited, **options: Any) -> Any:
        """What `call` starts, which may wait itself: NCCL connects two ranks at their first message. Raises LostRank."""
        self.begin(awaited)
        try:
            started = call(*args, **options)
        except RuntimeError as error:
            raise self.blame(error) from error
        self.end()
        return started

    def wait(self, work: Any, awaited: Awaited) -> None:
        """Raises LostRank."""
        self.begin(awaited)
        try:
            if self._patience is None:
                work.wait()
            else:
                work.wait(self._patience)
        except RuntimeError as error:
            raise self.blame(error) from error
        self.end()

    def begin(self, awaited: Awaited) -> None:
        """From now on this rank waits."""
        self._since, self._awaited = time.monotonic(), awaited

    def end(self) -> None:
        self._awaited = None
        if self._told:
            self._tell(None)

    def is_waiting(self) -> bool:
        return self._awaited is not None

    def fail(self, error: BaseException, instruction: str, stage: int, micro_batch: int | None) -> None:
        """Tells the others that this rank has failed by itself."""
        root = root_of(error)
        said = f"{type(root).__name__}: {_first_line(root)}"
        awaited = {
            "rank": self._rank, "stage": stage, "micro_batch": micro_batch, "instruction": instruction, "failed": said,
            "words": f"come past {instruction}", "at": instruction,
        }
        self._awaited = lambda: awaited
        if self._store is not None:
            self._tell(self._awaited)
        self._awaited = None

    def _tell_long_waits(self) -> None:
        assert self._timeout is not None
        while not self._end.wait(self._timeout / 16):
            awaited = self._awaited
            if awaited is not None and not self._told and time.monotonic() - self._since > self._timeout / 3:
                self._tell(awaited)

    def _tell(self, awaited: Awaited | None) -> None:
        with self._lock:
            if awaited is not None and self._awaited is not awaited:
                return  # it is over
            self._told = awaited is not None
            try:
                self._store.set(str(self._rank), json.dumps(None if awaited is None else awaited()))
            except RuntimeError:
                pass  # its host may be the rank that is gone

    def _told_by(self, rank: int, until: float) -> dict[str, Any] | None:
        while True:
            try:
                if self._store.check([str(rank)]):
                    if (awaited := json.loads(self._store.get(str(rank)))) is not None:
                        return awaited
            except RuntimeError:
                return None
            if time.monotonic() >= until:
                return None
            time.sleep(0.02)

    def blame(self, error: RuntimeError) -> LostRank:
        """Who hangs, or is lost, when this rank's waiting has ended with an error."""
        now = time.monotonic()
        waited = now - self._since
        awaited = self._awaited
        assert awaited is not None, "this rank waits"
        own = last = awaited()
        seen = [self._rank, own["rank"]]
        if self._store is not None and self._timeout is not None:
            self._tell(awaited)
            until = min(self._since + self._timeout, now + self.GRACE)
            while (further := self._told_by(last["rank"], until)) is not None:
                last = further
                if further["rank"] in seen:
                    break
                seen.append(further["rank"])
        self._awaited = None
        why = f"at {own['at']}, after {waited:.1f} s ({_first_line(error)})"
        if "failed" in last:
            return LostRank(f"rank {last['rank']} failed at {last['instruction']}: {last['failed']}; {why}", last["rank"], last)
        if last["rank"] == self._rank:
            return LostRank(f"rank {own['rank']} has given up: this rank has not {last['words']}; {why}", self._rank, last)
        hangs = self._timeout is not None and waited > self._timeout / 2
        text = f"rank {last['rank']} {'hangs' if hangs else 'is lost'}: it has not {last['words']}"
        if last is not own:
            text += f" to the rank that waits at {last['at']}. This rank waits for rank {own['rank']}, which has not {own['words']}"
        return LostRank(f"{text}; {why}", last["rank"], last)


def root_of(error: BaseException) -> BaseException:
    """What came first: PyTorch puts an error of its own around those of passes."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
