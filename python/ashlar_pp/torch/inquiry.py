"""Asks all ranks where they are, when a wait has failed and nobody has said why."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
from typing import Any

from .board import Board, Question, Told
from .watch import Watched, ending


def inquire(board: Board, waits: Watched, awaited: dict[str, Any]) -> Told:
    """Finds the rank to blame that `awaited` does not come: the last in the chain of
    ranks that wait for another.
    """
    question = board.ask()
    asked = [waits.rank]
    statuses: dict[int, Told | None] = {
        waits.rank: waits.status() | {"awaited": awaited}
    }
    while True:
        waiting = asked[-1]
        suspects = (
            [awaited["rank"]]
            if awaited["rank"] != waiting
            else [r for r in awaited.get("ranks", waits.ranks) if r != waiting]
        )
        statuses |= {r: question.answer_of(r) for r in suspects if r not in statuses}
        rank = min(suspects, key=lambda r: _doubt(statuses[r], waits))
        status = statuses[rank]
        if status is None or _doubt(status, waits) < 3:
            return _told(
                rank,
                waits,
                awaited,
                _fault(rank, status, board, question, waits, awaited),
            )
        if rank in asked:
            circle = asked[asked.index(rank) :]
            each = "; ".join(
                f"rank {r} waits at {at['at']}: {at['rank']} has not {at['words']}"
                for r, at in _waits(circle, statuses)
            )
            return _told(
                rank,
                waits,
                awaited,
                f"ranks {', '.join(map(str, sorted(circle)))} wait for each other: "
                f"{each}",
            )
        asked.append(rank)
        awaited = status["awaited"]


def _waits(
    ranks: list[int], statuses: dict[int, Told | None]
) -> list[tuple[int, dict[str, Any]]]:
    return [
        (r, status["awaited"]) for r in ranks if (status := statuses[r]) is not None
    ]


def _doubt(status: Told | None, waits: Watched) -> int:
    """0: the rank does not answer; 1: it is in another call; 2: it works; 3: it waits
    itself.
    """
    if status is None:
        return 0
    if not _is_here(status, waits):
        return 1
    return 2 if status["awaited"] is None else 3


def _is_here(status: Told, waits: Watched) -> bool:
    return bool(
        status["is_inside"]
        and status["calls"] == waits.calls
        and status["kind"] == waits.kind
    )


def _told(rank: int, waits: Watched, awaited: dict[str, Any], text: str) -> Told:
    found = {"rank": rank, "by": waits.rank, "text": text}
    return found | {
        name: awaited[name]
        for name in ("stage", "micro_batch", "instruction")
        if name in awaited
    }


def _fault(
    rank: int,
    status: Told | None,
    board: Board,
    question: Question,
    waits: Watched,
    awaited: dict[str, Any],
) -> str:
    if rank in board.endings:
        return str(ending(rank, board.endings[rank].get(waits.name, 0), waits)["text"])
    if status is None:
        return (
            f"rank {rank} is lost: {state_of_process(board, rank)}. It has not "
            f"{awaited['words']}"
        )
    place = status["place"] or "in PyTorch"
    if _is_here(status, waits):
        at = (
            f"at {status['at']}, since {status['seconds']:.1f} s"
            if status["at"]
            else "there"
        )
        return f"rank {rank} hangs {at} ({place}): it has not {awaited['words']}"
    mine = f"{waits.kind}, call {waits.calls} of the pipeline"
    if status["is_inside"]:
        return (
            f"rank {rank} is in {status['kind']}, its call {status['calls']}, and rank "
            f"{waits.rank} in {mine}: all call alike"
        )
    came = (
        f"it came out of call {status['calls']} {status['seconds']:.1f} s ago, and"
        if status["calls"]
        else "it"
    )
    return f"rank {rank} does not come to {mine}: {came} is now at {place}"


def state_of_process(board: Board, rank: int) -> str:
    """The state of a rank's process, if it is on this machine. Continues a stopped one,
    so that it can end.
    """
    known = board.process(rank)
    if known is None:
        return "it does not answer"
    host, process = known
    name = f"its process {process} on {host}"
    if host != socket.gethostname() or not pathlib.Path("/proc/self/stat").exists():
        return f"{name} does not answer"
    with contextlib.suppress(OSError):
        state = (
            pathlib.Path(f"/proc/{process}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()[0]
        )
        if state in "Tt":
            os.kill(process, signal.SIGCONT)
            return f"{name} was stopped by a signal"
        if state not in "ZX":
            return f"{name} lives, but does not answer"
    return f"{name} has ended"
