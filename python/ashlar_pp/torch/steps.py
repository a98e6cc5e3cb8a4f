"""Steps of a pipeline: modes of the model, micro-batches, and what all ranks agree on
before and after.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils._pytree import tree_map_only

from .. import _core
from .._core import Program
from . import guards
from .awaited import awaited_loss, awaited_of_group
from .batches import Cut, Example, inputs_of
from .clock import Clock
from .first_step import is_zero
from .generators import Streams, kept_generators, kept_of_torch, python_positions
from .gradients import StepGradients
from .layers import Skeleton
from .layout import plain_name
from .meeting import Coming, Meeting
from .modes import (
    Mode,
    Modes,
    bits_of,
    must_be_alike,
    number_from,
    number_of,
    numbers_of,
)
from .partition import StagesOfCalls
from .pipelines import stages_of
from .plans import Plan
from .pytorch_runtime import installed_lanes, prepare
from .replay import Replay
from .replay_pytorch import PytorchReplays
from .replay_runtime import ReplayRuntime, obstacle_of
from .shapes import signature_of
from .state import State
from .trace import Trace
from .tracer import Tracer, shared, traced
from .unseen import UnseenValue, tensors_in
from .waits import Waits

_MODES = 8
"""The most modes kept, the last ones used: each has its own buffers for messages."""


@dataclass
class Running:
    """Everything that runs in one mode of the model."""

    trace: Trace
    plan: Plan
    replays: dict[int, Replay]
    runtime: ReplayRuntime | PytorchReplays
    counting: list[tuple[str, nn.Module]]
    """Modules of this rank whose calls change buffers or attributes, by name: an error
    puts these back.
    """


_NOTHING = contextlib.nullcontext()


@contextlib.contextmanager
def _without_fastpath() -> Iterator[None]:
    """Switches off the fast path by which PyTorch's encoder hands layers nested tensors
    in evaluations.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class Steps:
    """Runs a model that is cut and dealt. `Pipeline` derives from it."""

    waits: Waits
    group: dist.ProcessGroup | None
    data_group: dist.ProcessGroup | None
    device: torch.device
    micro_batches: int
    """Number in the last step."""
    _count: int
    """Number in a step that is given no other."""
    skeleton: Skeleton
    module: nn.Module
    trace: Trace
    plan: Plan
    _loss_fn: Callable[[Any, Any], torch.Tensor] | None
    _loss_type: torch.dtype
    _autocast: tuple[str, torch.dtype] | None
    _meeting: Meeting
    _streams: Streams
    _modes: Modes
    _mode: Mode
    _by_mode: dict[Mode, Running]
    _example: Example
    _example_target: Example
    _gradients: StepGradients
    _certified: bool
    """Whether only certified programs may run."""
    _runtime_kind: str
    """The runtime asked for: ``auto``, ``ashlar`` or ``pytorch``."""
    _unpiped: dict[str, bool]
    """Whether the model without a pipeline gives a parameter a gradient, by name, where
    known.
    """
    _stages_of: dict[int, list[int]]
    """Stages of the calls of each layer, by id."""
    _inner: dict[int, nn.Module]
    """This rank's stages, without wrappers."""
    _parts: dict[int, nn.Module]
    """This rank's stages, in their wrappers."""
    _wrapped: dict[str, Any]

    def _state_of_layers(self) -> State:
        return State((layer.name, layer.module) for layer in self.skeleton.layers)

    def _must_be(self, expected: list[float], example: Any, target: Any) -> None:
        """Raises ValueError if the pipeline does not compute the example's loss: some
        value then leaves a layer unseen.

        expected: losses of two runs, whose difference sets the tolerance.
        """
        before = self._state_of_layers()
        with self._context(), torch.no_grad(), kept_generators(self.device):
            m, self._streams.step = self.micro_batches, 0
            self._run_pieces([example] * m, [target] * m, trains=False)
        before.restore()
        last = self._last_rank()
        told = [self._losses[0].item() if dist.get_rank(self.group) == last else None]
        dist.broadcast_object_list(
            told, src=self._global_rank(last), group=self._meeting.group
        )
        found: Any = told[0]
        if not math.isfinite(expected[0]):
            raise ValueError(
                f"the model's loss of the example is {expected[0]}: give an example "
                "with a finite one"
            )
        noise = 1e-6 * abs(expected[0]) + 10 * abs(expected[0] - expected[1])
        if not abs(found - expected[0]) <= noise:
            raise ValueError(
                f"the pipeline's loss of the example is {found}, and the model's "
                f"{expected[0]}: it reads something from inside "
                "its layers that is not what they return, such as router logits, "
                "hidden states or attentions (switch that "
                "off), or what a layer has changed in place; or it counts between its "
                "layers, or draws from a generator of its own"
            )

    def _replays_of(self, trace: Trace, cuts: list[int]) -> dict[int, Replay]:
        """Makes the replays of this rank's stages."""
        return {
            s: Replay(
                self.skeleton,
                trace,
                cuts[s],
                cuts[s + 1],
                self._stage_loss,
                self._autocasting,
                self._streams,
            )
            for s in stages_of(self.plan.schedule, dist.get_rank(self.group))
        }

    def _must_keep_order(self, trace: Trace, plan: Plan) -> None:
        """Raises ValueError if a layer that changes state in its forward would be
        called in several stages, not in the order of micro-batches, or twice.
        """
        written = {id(call.layer): call for call in trace.calls if call.layer.written}
        order = plan.schedule.order
        again = {one.stage for line in order for one in line if one.kind == "recompute"}
        for key, call in written.items():
            name = f"{call.layer.name} changes {min(call.layer.written)}"
            if len(set(self._stages_of[key])) > 1:
                raise ValueError(
                    f"{name} in its forward and is called in several stages, each of "
                    "which would have its own"
                )
            if again.intersection(self._stages_of[key]):
                raise ValueError(
                    f"{name} in its forward, which the schedule computes again"
                )
        for line in order if written else []:
            last: dict[int, int] = {}
            for one in line:
                if one.kind == "forward" and one.micro_batch < last.get(one.stage, 0):
                    raise ValueError(
                        f"{name} in its forward, and the schedule's forwards do not "
                        "come in the micro-batches' order"
                    )
                last[one.stage] = (
                    one.micro_batch if one.kind == "forward" else last.get(one.stage, 0)
                )

    def _runs_itself(self) -> bool:
        """Whether the runtime of our own runs the plan. It takes less time between
        passes than PyTorch's, but gathers no sharded weights. On GPUs PyTorch's starts
        several messages as one.
        """
        if self._runtime_kind != "auto":
            return self._runtime_kind == "ashlar"
        return self.device.type == "cpu" and self._wrapped["sharding"] == "none"

    def _lowered(self, plan: Plan) -> Program:
        lanes = "one_a_peer" if self._runs_itself() else installed_lanes()
        return _core.lower(plan.schedule, lanes=lanes, **self._wrapped)

    def _obstacle(self, plan: Plan) -> str:
        """The reason why the runtime cannot run the plan, or empty. PyTorch reduces the
        gradients of a sharded stage once, for example.
        """
        program = self._lowered(plan)
        return (
            obstacle_of(program) if self._runs_itself() else program.pytorch_obstacle()
        )

    def _must_run(self, plan: Plan) -> None:
        """Raises ValueError if the runtime cannot run the plan."""
        if obstacle := self._obstacle(plan):
            runtime = "Pipeline" if self._runs_itself() else "PyTorch"
            raise ValueError(f"{runtime} cannot run the schedule: {obstacle}")

    def _start(self, trace: Trace, plan: Plan) -> Running:
        """Makes the runtime of the plan's schedule."""
        self._clock = Clock(self.device)
        replays = self._replays_of(trace, plan.dealt.cuts)
        self._must_run(plan)
        parts = dict(self._parts)
        guards.must_fit(parts, self._wrapped["sharding"])
        prepare(parts, plan.schedule)
        how: dict[str, Any] = {
            "clock": self._clock,
            "group": self.group,
            "data_group": self.data_group,
            "waits": self.waits,
            "unpiped": self._unpiped,
        }
        runtime: ReplayRuntime | PytorchReplays
        if self._runs_itself():
            inner = plan.dealt.cuts[1:-1]
            shapes = [
                signature_of(trace.values[k] for k in trace.crossing(cut))
                for cut in inner
            ]
            runtime = ReplayRuntime(
                parts, replays, plan.schedule, shapes,
                require_certificate=self._certified, **how,
            )  # fmt: skip
        else:
            program = self._lowered(plan)
            program.check()
            runtime = PytorchReplays(
                parts, replays, plan.schedule, program,
                loss_type=self._loss_type, **how,
            )  # fmt: skip
        return Running(trace, plan, replays, runtime, self._counting())

    def _run_as(self, running: Running) -> None:
        self._running = running
        self.micro_batches = running.plan.schedule.micro_batches
        self.trace, self.plan, self._replays, self._runtime = (
            running.trace,
            running.plan,
            running.replays,
            running.runtime,
        )
        for s, replay in running.replays.items():
            self._inner[s].__dict__["execute"] = replay

    def _changed_mode(self, mode: Mode, given: Any, target: Any) -> None:
        """Traces the model as it is set now: each rank runs its own layers. Other
        values may cross the cuts.

        Raises ValueError if layers would be called in other stages than their own.
        """
        before = self._running
        if mode not in self._by_mode:
            plan = self._plan_for(mode[-1])
            known = next(
                (one for key, one in self._by_mode.items() if key[:-1] == mode[:-1]),
                None,
            )
            if known is not None:
                self._by_mode[mode] = self._started(known.trace, plan, known.plan)
            else:
                self._by_mode[mode] = self._traced_again(plan, given, target, before)
        running = self._by_mode[mode] = self._by_mode.pop(mode)
        self._run_as(running)
        self._mode = mode
        while len(self._by_mode) > _MODES:
            del self._by_mode[next(iter(self._by_mode))]

    def _plan_for(self, micro_batches: int) -> Plan:
        """The plan of the same stages for another number of micro-batches. Raises
        ValueError if there is none.
        """
        if micro_batches == self.plan.schedule.micro_batches:
            return self.plan
        raise ValueError(
            f"the schedule has {self.plan.schedule.micro_batches} micro-batches, not "
            f"{micro_batches}"
        )

    def _started(self, trace: Trace, plan: Plan, cut_as: Plan) -> Running:
        """Makes what runs a plan, with the cuts of another."""
        dealt = dataclasses.replace(plan.dealt, cuts=cut_as.dealt.cuts)
        plan = dataclasses.replace(plan, dealt=dealt)
        self._must_keep_order(trace, plan)
        return self._start(trace, plan)

    def _traced_again(
        self, plan: Plan, given: Any, target: Any, before: Running
    ) -> Running:
        """Traces a micro-batch, and makes what runs the plan in this mode."""
        stages = StagesOfCalls(self._stages_of)
        placement = plan.schedule.placement.routes[0]
        compute = shared(
            self.trace,
            lambda at, layer: self._global_rank(placement[stages.of(at, layer)]),
            self._meeting.group,
        )
        layers, loss = self._state_of_layers(), torch.zeros(())
        with kept_generators(self.device), self._context():
            self._streams.step = self._streams.micro_batch = 0
            args, kwargs = given
            trace, output = traced(
                self.skeleton,
                args,
                kwargs,
                Tracer(self.skeleton.layers, self._streams, compute),
            )
            with torch.no_grad():
                loss = self._loss(output, target)
        layers.restore()
        other = "rank {other} follows other values between layers than rank 0"
        self._meeting.must_agree({other: number_of(trace.summary())})
        dealt = dataclasses.replace(
            plan.dealt, cuts=stages.cuts(trace, plan.schedule.stages)
        )
        plan = dataclasses.replace(plan, dealt=dealt)
        running = self._started(trace, plan, plan)
        self._run_as(running)
        try:
            self._must_be([loss.item(), loss.item()], given, target)
        except BaseException:
            self._run_as(before)
            raise
        return running

    def _last_rank(self) -> int:
        return int(self.plan.schedule.placement.routes[0][-1])

    def _global_rank(self, rank: int) -> int:
        return rank if self.group is None else dist.get_global_rank(self.group, rank)

    def _autocast_now(self) -> tuple[str, torch.dtype] | None:
        kind = self.device.type
        return (
            (kind, torch.get_autocast_dtype(kind))
            if torch.is_autocast_enabled(kind)
            else None
        )

    @contextlib.contextmanager
    def _context(self) -> Iterator[None]:
        """The settings in which the model's own forward runs."""
        with self._autocasting(), _without_fastpath():
            yield

    def _autocasting(self) -> contextlib.AbstractContextManager[Any]:
        if self._autocast is None:
            return _NOTHING
        kind, dtype = self._autocast
        return torch.autocast(kind, dtype=dtype)

    def _loss(self, output: Any, target: Any) -> torch.Tensor:
        if self._loss_fn is not None:
            loss: object = self._loss_fn(output, target)
        else:
            loss = (
                output
                if isinstance(output, torch.Tensor)
                else getattr(output, "loss", None)
            )
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise ValueError(
                "without loss_fn, the model's output must have a `loss` of one number; "
                "its inputs may lack labels"
            )
        return loss

    def _stage_loss(self, output: Any, micro_batch: int) -> torch.Tensor:
        loss = self._loss(output, self._targets[micro_batch])
        self._losses[micro_batch] = loss.detach()
        if isinstance(self._runtime, ReplayRuntime):  # which divides the gradient
            return loss
        return torch.stack([loss.reshape(()) / self.micro_batches])

    def _counting(self) -> list[tuple[str, nn.Module]]:
        here = [
            layer for layer in self.skeleton.layers if layer.written and layer.is_here
        ]
        written = {path.rpartition(".")[0] for layer in here for path in layer.written}
        return [
            found
            for layer in here
            for found in layer.module.named_modules(prefix=layer.name)
            if found[0] in written
        ]

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """Restores the state of layers if a step fails."""
        before = State(self._running.counting)
        try:
            yield
        except BaseException:
            before.restore()
            raise

    def _agreed(
        self,
        batch: Any,
        target: Any,
        inputs: dict[str, Any],
        micro_batches: int | None,
        trains: bool,
    ) -> tuple[Cut, Cut]:
        """Moves a batch to the device and splits it; returns it and its target.
        Raises ValueError on all ranks if one would do otherwise.
        """
        shared = self._gradients.flags()
        coming = self._meeting.expect(3 + len(shared))
        failed: Exception | None = None
        given = aim = Cut([], [], [])
        mode: Mode = ()
        try:
            if self._autocast_now() != self._autocast:
                raise ValueError(
                    f"autocast is {self._autocast_now()}, and was {self._autocast} "
                    "when the pipeline was made"
                )
            args, kwargs = inputs_of(batch[0] if len(batch) == 1 else batch)
            m = micro_batches or self._count
            self._plan_for(m)
            given = self._example.cut((args, {**kwargs, **inputs}), m, self.device)
            aim = self._example_target.cut(target, m, self.device)
            mode = (*self._modes.now(given.first), m)
        except Exception as error:
            failed = error
        mine = numbers_of(mode, trains, (given.tensors, aim.tensors))
        everyone = self._meeting.gather(
            [int(failed is not None), *mine, *shared], coming
        )
        if failed is not None:
            raise failed
        if (
            other := next((rank for rank, of in enumerate(everyone) if of[0]), None)
        ) is not None:
            raise ValueError(
                f"rank {other} of the pipeline refuses its batch, and says why: this "
                "rank was given another"
            )
        must_be_alike([of[1:3] for of in everyone])
        if trains:
            self._gradients.must_be_alike([of[3:] for of in everyone])
        if mode != self._mode:
            self._changed_mode(mode, given.pieces[0], aim.pieces[0])
        return given, aim

    def _run(
        self,
        batch: Any,
        target: Any,
        inputs: dict[str, Any],
        micro_batches: int | None,
        trains: bool,
    ) -> torch.Tensor:
        given, aim = self._agreed(batch, target, inputs, micro_batches, trains)
        own = self._modes.own_attributes()
        self._streams.step = self._streams.trained
        # from here on, because another mode may count in other layers
        with self._undone():
            fault = ""
            coming = self._meeting.expect(
                2 * self.plan.schedule.stages + len(self._gradients.present()) + 2
            )
            kept = kept_generators if self.trace.draws_python else kept_of_torch
            with kept(self.device):
                before = python_positions()
                self._run_pieces(given.pieces, aim.pieces, trains=trains)
                if not self.trace.draws_python and python_positions() != before:
                    fault = (
                        "the model draws from Python's or NumPy's generator, and did "
                        "not when it was traced: call pipe.trace_again(batch) on every "
                        "rank"
                    )
            if trains:
                self._drop_zeros()
            if self._modes.own_attributes() != own:
                changed = next(
                    name
                    for name, now in self._modes.own_attributes().items()
                    if now != own[name]
                )
                fault = (
                    f"the model's own forward changes attributes of '{changed}', and "
                    "every stage runs it: let a layer change them"
                )
            loss = self._finished_alike(fault, coming)
        self._streams.trained += trains
        return loss

    def _drop_zeros(self) -> None:
        """Takes away zeros of parameters that have no gradient without a pipeline, so
        that an optimizer leaves them alone.
        """
        if all(self._unpiped.values()):
            return
        for name, p in self.module.named_parameters():
            if not self._unpiped.get(plain_name(name), True) and is_zero(p.grad):
                p.grad = None

    def _finished_alike(self, fault: str, coming: Coming) -> torch.Tensor:
        """Returns the step's loss. Raises UnseenValue on all ranks if the model's own
        forward computed other numbers on a stage, or if there is a fault on any.
        """
        stages = self.plan.schedule.stages
        sums = [0] * (2 * stages)
        for s, replay in self._replays.items():
            for k in range(self.micro_batches):
                for side in range(2):
                    sums[2 * s + side] = (
                        sums[2 * s + side] * 1_000_003 + replay.numbers[k][side]
                    ) % (1 << 61)
        present = self._gradients.present()
        source = self._global_rank(self._last_rank())
        has_last = self.waits.rank == source
        loss = bits_of(self._mean_loss()) if has_last else 0
        found = self.waits.start(
            self._meeting.add,
            [*sums, *present, loss, int(bool(fault))],
            coming,
            awaited=functools.partial(
                awaited_of_group, source, self.waits.ranks, "the end of the step"
            )
            if has_last
            else functools.partial(awaited_loss, stages - 1, source),
        )
        self._gradients.expect(found[2 * stages : -2])
        if found[-1]:
            raise UnseenValue(
                fault
                or "the model's own forward changes attributes, or draws as it did not "
                "when traced, on another rank, which says what"
            )
        for s in range(1, stages):
            if found[2 * s] != found[2 * s - 1]:
                raise UnseenValue(
                    f"the model's own forward computes with other numbers on stage {s} "
                    f"than on stage {s - 1}: every stage runs it, "
                    "and something there counts its calls, or draws from a generator "
                    "of its own. Let a layer do that"
                )
        return torch.tensor(
            number_from(found[-2]), dtype=torch.double, device=self.device
        )

    def _mean_loss(self) -> float:
        each = torch.tensor([one.item() for one in self._losses], dtype=torch.double)
        return float(each.mean().item())

    def _run_pieces(
        self, pieces: list[Any], targets: list[Any], *, trains: bool
    ) -> None:
        m = self.micro_batches
        self._losses: list[Any] = [None] * m
        batch = list(tensors_in(pieces[0]))
        for replay in self._replays.values():
            replay.inputs, replay.batch = pieces, batch
        self._targets = targets
        none = (
            torch.autocast(self._autocast[0], enabled=False)
            if self._autocast
            else _NOTHING
        )
        # backwards run outside of autocast, as in a loop without a pipeline
        with none, _without_fastpath():
            self._runtime.run(trains=trains)

    def _moved(self, tree: Any) -> Any:
        return tree_map_only(torch.Tensor, lambda x: x.to(self.device), tree)
