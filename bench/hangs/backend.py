"""A backend of torch.distributed that moves data by gloo, and waits and records as
ProcessGroupNCCL does: operations of one communicator run in the order of their issue,
each when all of its ranks have come; a send waits for its receive. PyTorch's own hook
records them, too.
"""

import dataclasses
import datetime
import pathlib
import queue
import threading
import time
import traceback

import torch
import torch.distributed as dist
from meeting import Rank
from torch._C import _distributed_c10d as c10d

NAME = "recorded"
OWN = {__file__, str(pathlib.Path(__file__).with_name("faults.py"))}
TIMEOUT = datetime.timedelta(minutes=10)

DTYPES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.bfloat16: "BFloat16",
    torch.float16: "Half",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.uint8: "Byte",
}


class Aborted(RuntimeError):
    """The run has been given up."""


@dataclasses.dataclass
class Operation:
    """What a lane runs: where the ranks meet, and how data moves then."""

    key: tuple
    count: int
    claim: object
    move: object


class Work(dist._Work):
    def __init__(self, run, entries):
        super().__init__()
        self.run = run
        self.entries = entries
        self.done = threading.Event()
        self.failure = None

    def finish(self):
        now = time.time_ns()
        for entry in self.entries:
            entry["state"] = "completed"
            entry["time_discovered_completed_ns"] = now
            entry["retired"] = True
        self.done.set()

    def wait(self, timeout=None):
        while not self.done.wait(0.05):
            self.run.look()
        return True

    def is_completed(self):
        return self.done.is_set()

    def is_success(self):
        return self.done.is_set()

    def get_future(self):
        future = torch.futures.Future()
        self.wait()
        future.set_result([])
        return future


class Lane:
    """Runs groups of operations one after the other, as a stream does."""

    def __init__(self, run):
        self.run = run
        self.queue = queue.SimpleQueue()
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        while True:
            operations, work = self.queue.get()
            events = [
                self.run.meeting.come(each.key, each.count, each.claim)
                for each in operations
            ]
            waiting = list(zip(events, operations, strict=True))
            moving = []
            while waiting:
                if self.run.aborted.is_set():
                    return
                left = []
                for event, each in waiting:
                    if event.wait(0.02 if len(waiting) == 1 else 0.002):
                        moving.append(each.move())
                        self.run.moved()
                    else:
                        left.append((event, each))
                waiting = left
            for each in moving:
                each.wait()
            work.finish()


class Run:
    """What all groups of a rank share during one run."""

    def __init__(self, meeting: Rank, rank: int, eager: bool, kept: int):
        self.meeting = meeting
        self.rank = rank
        self.eager = eager
        self.kept = kept
        self.entries = []
        self.configuration = {}
        self.aborted = threading.Event()
        self.progress = time.monotonic()
        self.groups = 0
        self.issued = 0
        self.lock = threading.Lock()

    def moved(self):
        self.progress = time.monotonic()

    def look(self):
        if self.aborted.is_set():
            raise Aborted

    def dump(self):
        with self.lock:
            entries = [
                {key: value for key, value in entry.items() if value is not ...}
                for entry in self.entries[-self.kept :]
            ]
        return {
            "version": "2.10",
            "pg_config": dict(self.configuration),
            "pg_status": {},
            "comm_lib_version": "2.27.3",
            "entries": entries,
        }


RUN: Run = None


def numbers(tensors):
    return sum(each.numel() for each in tensors)


class Backend(c10d.Backend):
    def __init__(self, options, group):
        super().__init__(options.group_rank, options.group_size)
        self.run = RUN
        ranks = list(options.global_ranks_in_group) or list(range(options.group_size))
        self.ranks = ranks
        self.gloo = dist.ProcessGroupGloo(
            options.store, options.group_rank, options.group_size, TIMEOUT
        )
        self.group_name = str(options.group_id)
        self.description = ""
        self.number = self.run.groups
        self.run.groups += 1
        self.lanes = {}
        self.channels = {}
        self.collective_seq = 0
        self.p2p_seq = 0
        self.operation_id = 0
        self.batch = None

    @property
    def supports_coalescing(self):
        return True

    @property
    def options(self):
        return c10d.Backend.Options(NAME, TIMEOUT)

    def getBackendName(self):
        return NAME

    def _lane(self, key):
        if key not in self.lanes:
            self.lanes[key] = Lane(self.run)
        return self.lanes[key]

    def _record(self, name, inputs, outputs, is_p2p):
        if not self.description:
            self.description = names().get(self.group_name, "undefined")
        self.run.configuration.setdefault(
            self.group_name,
            {
                "name": self.group_name,
                "desc": self.description,
                "ranks": str(self.ranks),
            },
        )
        stack = [
            {"name": frame.name, "filename": frame.filename, "line": frame.lineno}
            for frame in reversed(traceback.extract_stack())
            if frame.filename not in OWN
        ]
        with self.run.lock:
            entry = {
                "frames": stack,
                "record_id": self.run.issued,
                "pg_id": self.number,
                "process_group": (self.group_name, self.description),
                "thread_name": "pt_main_thread",
                "thread_id": str(threading.get_native_id()),
                "collective_seq_id": self.collective_seq,
                "p2p_seq_id": self.p2p_seq,
                "op_id": self.operation_id,
                "profiling_name": "nccl:" + name,
                "time_created_ns": time.time_ns(),
                "input_sizes": [list(each.shape) for each in inputs],
                "input_dtypes": [DTYPES[each.dtype] for each in inputs],
                "output_sizes": [list(each.shape) for each in outputs],
                "output_dtypes": [DTYPES[each.dtype] for each in outputs],
                "state": "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None,
                "retired": False,
                "timeout_ms": 600000,
                "is_p2p": is_p2p,
            }
            self.run.issued += 1
            self.run.entries.append(entry)
            return entry

    def _issue(self, operation, lane, entry):
        self.run.look()
        self.run.moved()
        if self.batch is not None:
            self.batch.append(operation)
            return Work(self.run, [])
        work = Work(self.run, [entry])
        self._lane(lane).queue.put(([operation], work))
        return work

    def start_coalescing(self):
        self.batch = []

    def end_coalescing(self):
        batch, self.batch = self.batch, None
        if not batch:
            return None
        entry = self._record("coalesced", [], [], batch[0].key[1] == "p2p")
        work = Work(self.run, [entry])
        self._lane("all").queue.put((batch, work))
        return work

    def _transfer(self, kind, tensors, peer):
        me = self.rank()
        if self.batch is None or not any(o.key[1] == "p2p" for o in self.batch):
            self.p2p_seq += 1
        self.operation_id += 1
        together = self.batch is not None or self.run.eager
        lane = "all" if together else (min(me, peer), max(me, peer))
        source, target = (me, peer) if kind == "send" else (peer, me)
        channel = (together, source, target)
        self.channels[channel] = self.channels.get(channel, 0) + 1
        arrow = "->" if kind == "send" else "<-"
        entry = self._record(f"{kind} {me}{arrow}{peer}", tensors, tensors, True)
        key = (self.group_name, "p2p", *channel, self.channels[channel])
        claim = sum(each.numel() * each.element_size() for each in tensors)
        tag = 100 + self.channels[channel] * 2 + together

        def move():
            if kind == "send":
                sent = [each.detach().contiguous() for each in tensors]
                return self.gloo.send(sent, peer, tag)
            return self.gloo.recv(tensors, peer, tag)

        return self._issue(Operation(key, 2, claim, move), lane, entry)

    def send(self, tensors, dstRank, tag=0):
        return self._transfer("send", list(tensors), dstRank)

    def recv(self, tensors, srcRank, tag=0):
        return self._transfer("recv", list(tensors), srcRank)

    def _together(self, name, inputs, outputs, claim, move):
        if not self.batch:
            self.collective_seq += 1
        self.operation_id += 1
        entry = self._record(name, inputs, outputs, False)
        key = (self.group_name, "all", self.collective_seq, self.operation_id)
        return self._issue(
            Operation(
                key[:3] + (len(self.batch or ()),), self.size(), (name, claim), move
            ),
            "all",
            entry,
        )

    @staticmethod
    def _claim(tensors):
        return (numbers(tensors), str(tensors[0].dtype))

    def allreduce(self, tensors, opts=None):
        return self._together(
            "all_reduce",
            tensors,
            tensors,
            self._claim(tensors),
            lambda: self.gloo.allreduce(tensors, opts),
        )

    def allreduce_coalesced(self, tensors, opts=None):
        def move():
            plain = c10d.AllreduceOptions()
            plain.reduceOp = opts.reduceOp
            for each in tensors:
                last = self.gloo.allreduce([each], plain)
            return last

        return self._together(
            "allreduce_coalesced", tensors, tensors, self._claim(tensors), move
        )

    def broadcast(self, tensors, opts=None):
        return self._together(
            "broadcast",
            tensors,
            tensors,
            self._claim(tensors),
            lambda: self.gloo.broadcast(tensors, opts),
        )

    def reduce(self, tensors, opts=None):
        return self._together(
            "reduce",
            tensors,
            tensors,
            self._claim(tensors),
            lambda: self.gloo.reduce(tensors, opts),
        )

    def allgather(self, outputs, inputs, opts=None):
        return self._together(
            "all_gather",
            inputs,
            outputs[0],
            self._claim(inputs),
            lambda: self.gloo.allgather(outputs, inputs),
        )

    def all_gather_single(self, output, inputs, opts=None):
        def move():
            parts = list(output.view(-1).chunk(self.size()))
            return self.gloo.allgather([parts], [inputs.reshape(-1)])

        return self._together(
            "_all_gather_base", [inputs], [output], self._claim([inputs]), move
        )

    def reduce_scatter_single(self, output, inputs, opts=None):
        def move():
            whole = inputs.clone()
            work = self.gloo.allreduce([whole], c10d.AllreduceOptions())
            work.wait()
            output.view(-1).copy_(whole.view(-1).chunk(self.size())[self.rank()])
            return work

        return self._together(
            "_reduce_scatter_base", [inputs], [output], self._claim([inputs]), move
        )

    def barrier(self, opts=None):
        return self._together("barrier", [], [], (0, ""), lambda: self.gloo.barrier())


def names():
    """Descriptions of groups by their names."""
    world = dist.distributed_c10d._world
    return {
        str(name): (group.group_desc or "undefined")
        for group, name in world.pg_names.items()
    }


def install():
    dist.Backend.register_backend(NAME, Backend, extended_api=True, devices=["cpu"])
