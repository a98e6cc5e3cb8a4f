"""Faults of one rank: its n-th call of a group is lost, another, or never ends."""

import threading

import torch
import torch.distributed as dist
from backend import Aborted

# Calls of a group, and where their tensors and peers are among the arguments.
CALLS = {
    "send": (0, 1),
    "recv": (0, 1),
    "allreduce": (0, None),
    "broadcast": (0, None),
    "all_gather_single": (1, None),
    "reduce_scatter_single": (1, None),
    "barrier": (None, None),
}


class Nothing(dist._Work):
    """What a call that is lost returns: work that is done."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True


class Fault:
    """Changes what this rank issues with its `at`-th call."""

    def __init__(self, what, at, run):
        self.what = what
        self.at = at
        self.run = run
        self.count = 0
        self.hit = None
        self._thread = threading.current_thread()
        self._plain = {}

    def __enter__(self):
        for name in CALLS:
            self._plain[name] = vars(dist.ProcessGroup)[name]
            setattr(dist.ProcessGroup, name, self._changed(name))
        return self

    def __exit__(self, *_):
        for name, plain in self._plain.items():
            setattr(dist.ProcessGroup, name, plain)

    def _changed(self, name):
        def call(group, *arguments, **named):
            self.count += threading.current_thread() is self._thread
            if self.count != self.at or self.hit:
                return self._called(name, group, arguments, named)
            place, peer = CALLS[name]
            ranks = dist.get_process_group_ranks(group)
            self.hit = {
                "operation": name,
                "group": group.group_name,
                "ranks": ranks,
                "rank": self.run.rank,
                "peer": None if peer is None else ranks[arguments[peer]],
            }
            return getattr(self, "_" + self.what)(
                name, group, list(arguments), named, place
            )

        return call

    def _called(self, name, group, arguments, named):
        return self._plain[name].__get__(group)(*arguments, **named)

    def _drop(self, name, group, arguments, named, place):
        return Nothing()

    def _with(self, name, group, arguments, named, place, change):
        if place is None:
            name, arguments, named, place = "allreduce", [[torch.ones(1)]], {}, 0
        given = arguments[place]
        arguments[place] = (
            [change(each.detach()) for each in given]
            if isinstance(given, list)
            else change(given.detach())
        )
        if name.endswith("_single"):
            arguments[0] = change(arguments[0].detach())
        return self._called(name, group, arguments, named)

    def _size(self, *call):
        return self._with(*call, lambda each: torch.cat([each.reshape(-1)] * 2))

    def _dtype(self, *call):
        other = {torch.float32: torch.float64, torch.int64: torch.int32}
        return self._with(
            *call, lambda each: each.to(other.get(each.dtype, torch.int64))
        )

    def _kind(self, name, group, arguments, named, place):
        if name in ("send", "recv"):
            name = "recv" if name == "send" else "send"
            return self._called(name, group, arguments, named)
        if name == "barrier":
            return self._called("allreduce", group, [[torch.ones(1)]], {})
        return self._called("barrier", group, [], {})

    def _stop(self, *call):
        while True:
            self.run.look()
            self.run.aborted.wait(0.1)

    def _die(self, *call):
        raise Aborted
