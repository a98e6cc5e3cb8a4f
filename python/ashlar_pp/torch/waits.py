"""Waits for other ranks up to a deadline, and finds who is to blame when it has
passed.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import itertools
import re
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch.distributed as dist

from .awaited import Awaited, awaited_of_group
from .board import Told
from .inquiry import inquire, state_of_process
from .threads import Stillness
from .watch import watch, words_of_error

_numbers: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


def timeout_of(group: dist.ProcessGroup | None) -> float | None:
    """Seconds after which a wait in the group fails; None if its backend does not
    tell.
    """
    whole: Any = group or dist.group.WORLD
    for device in whole._device_types:
        with contextlib.suppress(AttributeError, RuntimeError):
            return float(whole._get_backend(device).options._timeout.total_seconds())
    return None


class LostRank(RuntimeError):
    """Another rank has not done its part.

    Args:
        text (str): The whole message.
        told (dict): What is known of the fault.

    Attributes:
        rank (int): Its number in the default group.
        stage (int, optional): The stage that others wait for, or where it failed.
        micro_batch (int, optional): The micro-batch of that.
        instruction (str, optional): In PyTorch's notation, like 1SEND_F0.
    """

    def __init__(self, text: str, told: Told) -> None:
        super().__init__(text)
        self.rank: int = told["rank"]
        self.stage, self.micro_batch = told.get("stage"), told.get("micro_batch")
        self.instruction: str | None = told.get("instruction")


class Waits:
    """Waits of one pipeline on this rank. All its ranks make each `call`: an error in
    it is told to the others, which then stop waiting.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        timeout: float | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """timeout: seconds; by default, a wait has the deadline of its group. alone: no
        other rank waits for this one.
        """
        self.ranks: list[int] = dist.get_process_group_ranks(group or dist.group.WORLD)
        self.rank = dist.get_rank()
        of_group = timeout_of(group)
        self.timeout = timeout if timeout is not None else of_group
        self.patience = None if timeout is None else datetime.timedelta(seconds=timeout)
        ranks = f"{zlib.crc32(repr(self.ranks).encode()):08x}"
        self.name = f"{ranks}/{next(_numbers[ranks])}"
        self.calls = 0
        self.kind = ""
        self.is_inside = self.has_begun = self.is_broken = False
        self.thread = threading.get_ident()
        self.stillness = Stillness()
        self._why = ""
        self._awaited: Awaited | None = None
        self.move("")
        self._makes = False
        self._watch = None if alone else watch()
        if self._watch is not None:
            with contextlib.suppress(RuntimeError):
                self._watch.board.read()
            if self._watch.board.failure is not None:
                # the program went on after a failure, which all would report again
                self._watch = None
            else:
                self._watch.pipelines.add(self)

    @contextlib.contextmanager
    def call(self, kind: str, *, makes: bool = False) -> Iterator[None]:
        """Wraps a call of all ranks, named `kind`. Raises LostRank for faults of other
        ranks. makes: the call makes the pipeline, and is not counted.
        """
        if self.is_inside:  # a part of another call
            yield
            return
        if self.is_broken:
            raise RuntimeError(
                "an earlier call failed, and its messages may still be on their way: "
                f"{self._why}"
            )
        self.calls += not makes
        self.kind, self.thread, self.has_begun, self._makes = (
            kind,
            threading.get_ident(),
            False,
            makes,
        )
        self.move(f"the start of {kind}")
        self.is_inside = True
        try:
            self._must_be_whole()
            yield
            if makes and self._watch is not None:
                # rank 0 has the store, and may be gone with it later
                self._watch.board.process(0)
        except BaseException as error:
            if (lost := self._explained(error)) is not None:
                raise lost from error
            raise
        finally:
            self._awaited = None
            self.move("")
            self.is_inside = False
            if self._watch is not None:
                self._watch.finished(self)

    def call_name(self) -> str:
        return f"{self.name}/{self.calls}"

    def move(
        self, instruction: str, stage: int | None = None, micro_batch: int | None = None
    ) -> None:
        """Sets what this rank does from now on."""
        self.at, self.stage, self.micro_batch, self.since = (
            instruction,
            stage,
            micro_batch,
            time.monotonic(),
        )

    def start(
        self, call: Callable[..., Any], *args: Any, awaited: Awaited, **options: Any
    ) -> Any:
        """Runs `call`, which may itself wait: NCCL connects two ranks at their first
        message. Returns what it started.
        """
        self.begin(awaited)
        started = call(*args, **options)
        self.end()
        return started

    def wait(self, work: Any, awaited: Awaited) -> None:
        self.begin(awaited)
        if self.patience is None:
            work.wait()
        else:
            work.wait(self.patience)
        self.end()

    def begin(self, awaited: Awaited) -> None:
        """Marks this rank as waiting. Raises LostRank if a failure is known."""
        self._must_be_whole()
        self.since, self._awaited = time.monotonic(), awaited

    def end(self) -> None:
        self.since, self._awaited = time.monotonic(), None

    def tell(self, error: BaseException) -> None:
        """Tells the other ranks what is wrong on this one, before the call has
        ended.
        """
        if self._watch is None or _is_of_messages(error) or isinstance(error, LostRank):
            return
        text = f"rank {self.rank} failed at {self.at}: {words_of_error(root_of(error))}"
        told = {
            "rank": self.rank,
            "by": self.rank,
            "stage": self.stage,
            "micro_batch": self.micro_batch,
            "instruction": self.at,
            "text": text,
        }
        self._watch.remember(error, told)
        with contextlib.suppress(RuntimeError):
            if self.has_begun and not self._makes:
                self.is_broken, self._why = True, text
                self._watch.board.fail(told)
            else:
                self._watch.board.refuse(self.call_name(), told)

    def status(self) -> Told:
        """The state of this rank, for others that ask."""
        return {
            "rank": self.rank,
            "name": self.name,
            "calls": self.calls,
            "kind": self.kind,
            "is_inside": self.is_inside,
            "at": self.at,
            "seconds": time.monotonic() - self.since,
            "awaited": self.awaited(),
        }

    def awaited(self) -> dict[str, Any] | None:
        """A description of what this rank waits for; None if it does not wait."""
        awaited = self._awaited
        if awaited is not None:
            return awaited()
        if self.is_inside and self.stillness.at is not None:
            return awaited_of_group(self.rank, self.ranks, self.at)
        return None

    def _must_be_whole(self) -> None:
        if (
            self._watch is not None
            and (failure := self._watch.board.failure) is not None
        ):
            raise self._lost(failure, "")

    def _explained(self, error: BaseException) -> LostRank | None:
        """LostRank if the error is another rank's fault; None if it is this rank's own,
        which is told to the others.
        """
        if self._watch is None or isinstance(error, LostRank):
            return None
        if not _is_of_messages(error):
            self.tell(error)
            return None
        waited = (
            f", after {time.monotonic() - self.since:.1f} s "
            f"({_words_of_messages(root_of(error))})"
        )
        own = self.awaited() or awaited_of_group(self.rank, self.ranks, self.at)
        try:
            told = self._watch.learn(self) or inquire(self._watch.board, self, own)
            told = self._watch.board.fail(told)
        except RuntimeError:  # the store is gone
            state = state_of_process(self._watch.board, own["rank"])
            lost = f"rank {own['rank']} is lost: {state}. It has not {own['words']}"
            told = {**own, "by": self.rank, "text": lost}
            self._watch.board.try_again()
            with contextlib.suppress(RuntimeError):
                self._watch.board.fail(told)
        return self._lost(told, f"; this rank waited at {own['at']}{waited}")

    def _lost(self, told: Told, more: str) -> LostRank:
        text = told["text"]
        if told["rank"] == self.rank != told["by"]:
            text = f"rank {told['by']} has given up because of this rank: {text}"
        self.is_broken, self._why = True, text
        return LostRank(text + more, told)


Made = TypeVar("Made", bound=Callable[..., None])


def making(kind: str) -> Callable[[Made], Made]:
    """Decorates the __init__ of an object that all ranks of its `group` make, named
    `kind`; gives it `waits`.
    """

    def of(init: Made) -> Made:
        @functools.wraps(init)
        def made(
            self: Any,
            *args: Any,
            group: dist.ProcessGroup | None = None,
            **options: Any,
        ) -> None:
            alone = (
                dist.get_world_size(group) == 1
                and options.get("data_group") is None
                and options.get("wrap") is None
            )
            self.waits = Waits(group, alone=alone)
            with self.waits.call(kind, makes=True):
                init(self, *args, group=group, **options)

        return made  # type: ignore[return-value]

    return of


def root_of(error: BaseException) -> BaseException:
    """The error of a pass, without those that PyTorch puts around it."""
    while (
        error.__cause__ is not None
        and isinstance(error, RuntimeError)
        and "ailed to run " in str(error)
    ):
        error = error.__cause__
    return error


def _is_of_messages(error: BaseException) -> bool:
    """Whether messages failed, rather than this rank's own work."""
    root = root_of(error)
    while root.__cause__ is not None:
        root = root.__cause__
    words = ("gloo", "pair closure", "NCCL", "Broken pipe", "Connection reset")
    return isinstance(root, dist.DistError) or (
        isinstance(root, RuntimeError) and any(one in str(root) for one in words)
    )


def _words_of_messages(error: BaseException) -> str:
    """The first line of an error, without the library's source line and advice."""
    first = (
        str(error).strip().splitlines()[0]
        if str(error).strip()
        else type(error).__name__
    )
    return re.sub(r"^\[[^]]*\] ", "", first).partition(". This is typically")[0]
