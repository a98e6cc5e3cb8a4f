"""Systems that make pipeline schedules, each called as a user does. Systems that are not installed are left out.

A system has entries: the name of a schedule, the placement of its stages, and up to four functions of the system's own code.
make(p, m) makes the schedule; validate(made, p, m) checks it; lower(made, p, m) adds sends and receives;
prove(lowered, p, m) checks those. orders(made, p, m) returns the passes of each device as `stage kind micro-batch`, with the
kinds F, I, W and B (both halves). It is for comparisons, and not timed.
"""

import contextlib
import dataclasses
import importlib.metadata
import io
from typing import Any, Callable


@dataclasses.dataclass
class Entry:
    name: str
    placement: str  # linear, looped or v_shape: two stages a device unless linear
    make: Callable[[int, int], Any]
    orders: Callable[[Any, int, int], list[list[str]]]
    validate: Callable[[Any, int, int], Any] | None = None
    lower: Callable[[Any, int, int], Any] | None = None
    prove: Callable[[Any, int, int], Any] | None = None


def places(placement, p):
    """The device of each stage."""
    return [*range(p)] + {"linear": [], "looped": [*range(p)], "v_shape": [*reversed(range(p))]}[placement]


def pytorch():
    from torch.distributed.pipelining import schedules
    from torch.distributed.pipelining.stage import _PipelineStageBase

    class Stage(_PipelineStageBase):
        """The interface of a stage that building a schedule needs: no model, no processes."""

        def __init__(self, index, where):
            self.stage_index, self.group_rank = index, 0
            self.num_stages, self.group_size = len(where), max(where) + 1
            self.group = self.submod = None
            self.has_backward = True
            self.stage_index_to_group_rank = dict(enumerate(where))

        _create_grad_recv_info = _prepare_forward_infra = _prepare_backward_infra = None

    # The constructor makes the order and lowers it. Its parts are timed by calling their functions again.
    def made(kind, placement, p, m):
        where = places(placement, p)
        return kind([Stage(index, where) for index, device in enumerate(where) if device == 0], m, loss_fn=print)

    def orders(schedule, p, m):
        return [[str(a) for a in schedule.pipeline_order[rank] if a is not None] for rank in range(p)]

    def validate(schedule, p, m):
        return schedules._validate_schedule(schedule.pipeline_order, p, schedule._num_stages, m)

    def lower(schedule, p, m):
        stage_to_rank = schedule.stage_index_to_group_rank
        order = {rank: [a for a in actions if a is not None] for rank, actions in schedule.pipeline_order.items()}
        return schedules._add_send_recv(order, stage_to_rank=lambda stage: stage_to_rank[stage], num_stages=schedule._num_stages)

    def prove(placement, lowered, p):
        where = places(placement, p)
        return schedules._simulate_comms_compute(lowered, stage_to_rank=lambda stage: where[stage], num_stages=len(where))

    kinds = {
        "interleaved 1F1B": ("looped", schedules.ScheduleInterleaved1F1B),
        "looped BFS": ("looped", schedules.ScheduleLoopedBFS),
        "interleaved zero bubble": ("looped", schedules.ScheduleInterleavedZeroBubble),
        "ZBV": ("v_shape", schedules.ScheduleZBVZeroBubble),
    }
    return [
        Entry(
            name,
            placement,
            lambda p, m, k=kind, w=placement: made(k, w, p, m),
            orders,
            validate,
            lower,
            lambda lowered, p, m, w=placement: prove(w, lowered, p),
        )
        for name, (placement, kind) in kinds.items()
    ]


def megatron():
    from megatron.core.pipeline_parallel.schedules import get_schedule_table

    # forward_backward_pipelining_with_interleaving runs through this table: warm-up forwards, then one forward and one backward.
    # Without overlap, rank r warms up by 2 (p - r - 1) + (chunks - 1) groups of p. It makes no list.
    def orders(table, p, m):
        lines = []
        for rank in range(p):
            warm_up = min(len(table), 2 * (p - rank - 1) + p)
            forwards = [f"{chunk * p + rank}F{micro}" for micro, chunk in table]
            backwards = [f"{(1 - chunk) * p + rank}B{micro}" for micro, chunk in table]
            turns = [one for pair in zip(forwards[warm_up:], backwards) for one in pair]
            lines.append(forwards[:warm_up] + turns + backwards[len(table) - warm_up :])
        return lines

    return [Entry("interleaved 1F1B", "looped", lambda p, m: get_schedule_table(m, 2, p), orders)]


def elf():
    from elf.scheduling import schedulers
    from elf.scheduling.comm_scheduling import add_comms, pipelined_topological_sort
    from elf.scheduling.scheduling import OperationType, check_schedule_validity

    letters = {OperationType.FORWARD: "F", OperationType.BACKWARD_INPUTS: "I", OperationType.BACKWARD_PARAMS: "W"}

    class Neighbours:
        """Sources and targets of a stage in a chain."""

        def __init__(self, stage, count):
            self.sources = [stage - 1] if stage else []
            self.targets = [stage + 1] if stage + 1 < count else []

        def get_all_sources(self):
            return self.sources

        def get_all_targets(self):
            return self.targets

    def orders(schedule, p, m):
        lines = [[] for _ in range(p)]
        for one in schedule:
            if one.op in letters:
                lines[one.rank].append(f"{one.block_id}{letters[one.op]}{one.mb_id}")
        return lines

    def lower(schedule, p, m):
        stages = 1 + max(one.block_id for one in schedule)
        return pipelined_topological_sort(add_comms(list(schedule), [Neighbours(stage, stages) for stage in range(stages)]))

    kinds = {
        "1F1B": ("linear", schedulers.generate_1f1b_schedule),
        "ZB-H1": ("linear", schedulers.generate_zbh1_schedule),
        "ZB-H2": ("linear", schedulers.generate_zbh2_schedule),
        "Hanayo": ("v_shape", schedulers.generate_hanayo_schedule),
        "ZBV": ("v_shape", schedulers.generate_zbv_schedule),
    }
    return [
        Entry(name, placement, lambda p, m, k=kind, w=placement: k(places(w, p), m), orders, lambda s, p, m: check_schedule_validity(s), lower)
        for name, (placement, kind) in kinds.items()
    ]


def deepspeed():
    from deepspeed.runtime.pipe.schedule import BackwardPass, ForwardPass, TrainSchedule

    def orders(lines, p, m):
        made = []
        for stage, steps in enumerate(lines):
            count, order = {ForwardPass: 0, BackwardPass: 0}, []
            for one in (one for commands in steps for one in commands if type(one) in count):
                order.append(f"{stage}{'F' if type(one) is ForwardPass else 'B'}{count[type(one)]}")
                count[type(one)] += 1
            made.append(order)
        return made

    # DeepSpeed's steps have sends and receives from the start.
    return [Entry("1F1B", "linear", lambda p, m: [list(TrainSchedule(m, p, stage).steps()) for stage in range(p)], orders)]


def zero_bubble():
    from zbpp_light.auto_schedule import auto_schedule

    # These lists have sends and receives from the start.
    def orders(lines, p, m):
        letters = {"F": "F", "B": "I", "W": "W"}
        return [[f"{one.stage}{letters[one.type]}{one.minibatch}" for one in line if one.type in letters] for line in lines]

    def quiet(p, m):
        with contextlib.redirect_stdout(io.StringIO()):
            return auto_schedule(p, m)

    return [Entry("its automatic schedule", "linear", quiet, orders)]


def ashlar():
    import ashlar_pp

    def orders(schedule, p, m):
        return [[str(one) for one in line] for line in schedule.order]

    kinds = {
        "1f1b": "linear",
        "zb-h1": "linear",
        "zb-h2": "linear",
        "depth-first": "looped",
        "breadth-first": "looped",
        "interleaved-zb": "looped",
        "hanayo": "v_shape",
        "zbv": "v_shape",
        "v-half": "v_shape",
    }
    names = {"1f1b": "one_f_one_b"}
    return [
        Entry(
            name,
            placement,
            lambda p, m, n=name: getattr(ashlar_pp.catalog, names.get(n, n.replace("-", "_")))(devices=p, micro_batches=m),
            orders,
            lambda s, p, m: s.check(),
            lambda s, p, m: s | ashlar_pp.lower(),
            lambda program, p, m: program.check(),
        )
        for name, placement in kinds.items()
    ]


SYSTEMS = {  # by name: the distribution whose version is printed, and the entries
    "Ashlar": ("ashlar-pp", ashlar),
    "PyTorch": ("torch", pytorch),
    "Megatron-Core": ("megatron-core", megatron),
    "ELF": ("elf-pipeline", elf),
    "DeepSpeed": ("deepspeed", deepspeed),
    "sail-sg": ("zbpp-light", zero_bubble),
}


def found():
    """(name, version, entries) of each system that is installed."""
    for name, (distribution, entries) in SYSTEMS.items():
        try:
            yield name, importlib.metadata.version(distribution), entries()
        except (ImportError, importlib.metadata.PackageNotFoundError) as missing:
            yield name, f"not here ({missing})", []
