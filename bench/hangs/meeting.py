"""The meeting point of ranks: operations with one key go on when all of their members
have come with the same claim, as those of NCCL do. Others wait for ever.
"""

import multiprocessing.connection
import threading
from collections.abc import Hashable

AUTHORITY = b"hangs"


def serve(address: str) -> None:
    """Serves until a rank says stop. A message is ("come", key, count, claim),
    ("forget",) between runs, or ("stop",).
    """
    arrived: dict[Hashable, list[tuple[object, multiprocessing.connection.Connection]]]
    arrived = {}
    lock = threading.Lock()
    ended = threading.Event()

    def follow(rank: multiprocessing.connection.Connection) -> None:
        while True:
            try:
                message = rank.recv()
            except (EOFError, OSError):
                return
            if message[0] == "stop":
                ended.set()
                return
            with lock:
                if message[0] == "forget":
                    arrived.clear()
                    rank.send(("forgot",))
                    continue
                _, key, count, claim = message
                there = arrived.setdefault(key, [])
                there.append((claim, rank))
                if len(there) == count:
                    del arrived[key]
                    if all(other == claim for other, _ in there):
                        for _, to in there:
                            to.send(("go", key))

    listener = multiprocessing.connection.Listener(address, authkey=AUTHORITY)

    def accept() -> None:
        while True:
            threading.Thread(
                target=follow, args=(listener.accept(),), daemon=True
            ).start()

    threading.Thread(target=accept, daemon=True).start()
    ended.wait()


class Rank:
    """A rank's side."""

    def __init__(self, address: str) -> None:
        self._connection = multiprocessing.connection.Client(address, authkey=AUTHORITY)
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, threading.Event] = {}
        self._forgot = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                return
            if message[0] == "forgot":
                self._forgot.set()
                continue
            with self._lock:
                event = self._waiting.pop(message[1], None)
            if event is not None:
                event.set()

    def come(self, key: Hashable, count: int, claim: object) -> threading.Event:
        """Says that this rank has come, and returns what is set when all have."""
        event = threading.Event()
        with self._lock:
            self._waiting[key] = event
            self._connection.send(("come", key, count, claim))
        return event

    def forget(self) -> None:
        self._forgot.clear()
        with self._lock:
            self._waiting.clear()
            self._connection.send(("forget",))
        self._forgot.wait()

    def stop(self) -> None:
        with self._lock:
            self._connection.send(("stop",))
