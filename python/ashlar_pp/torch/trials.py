"""Chooses the plan of a pipeline by running it: the one found, if it takes less time
than 1F1B on this machine, and 1F1B otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .. import _core, catalog
from .._core import Costs, Violation
from ..certificates import must_be_certified
from .agreement import everywhere
from .clock import TICK, now
from .costs import medians
from .generators import kept_generators
from .guards import splits_backwards
from .partition import Dealt
from .plans import Plan, best_of, published, searched
from .steps import Running, Steps

_ROUNDS = 3
"""Steps of 1F1B that tell what a pass takes beyond its layers."""

_ERROR = 0.05
"""The most that a sign test may err."""


def is_less(pairs: Sequence[tuple[float, float]]) -> bool | None:
    """Whether the second of each pair is less than the first, by a sign test; None if
    that is not decided.
    """
    n, less = len(pairs), sum(b < a for a, b in pairs)

    def at_least(k: int) -> float:
        """The chance of at least k, if each had a half."""
        return sum(math.comb(n, i) for i in range(k, n + 1)) / (1 << n)

    if at_least(less) < _ERROR:
        return True
    return False if at_least(n - less) < _ERROR else None


@dataclass
class Trial:
    """Seconds of steps that two plans ran in turns."""

    plain: str
    found: str
    seconds: list[tuple[float, float]] = field(default_factory=list)
    """Of `plain` and of `found`, by round."""

    def is_faster(self) -> bool | None:
        """Whether `found` takes less time; None if that is not decided."""
        return is_less(self.seconds)

    def __str__(self) -> str:
        plain, found = (1000 * statistics.median(of) for of in zip(*self.seconds))
        ratio = statistics.median(b / a for a, b in self.seconds)
        runs = self.found if self.is_faster() else self.plain
        return (
            f"as run in turns, {len(self.seconds)} rounds: {self.plain} {plain:.2f} ms "
            f"a step, {self.found} {found:.2f} ms, {ratio:.2f} times; {runs} goes on"
        )


class Trials(Steps):
    """A pipeline whose plan is chosen. `Pipeline` derives from it."""

    plans: list[Plan]
    """The plans found, the shortest first."""
    trial: Trial | None = None
    """What was compared to choose the plan."""
    _by_count: dict[tuple[str, int], Plan]
    """Plans for other numbers of micro-batches, by name and number."""
    memory: int | None
    _budget: int
    _fuses: bool

    def _choose(
        self, dealt: Sequence[Dealt], given: Any, target: Any, trials: int
    ) -> None:
        """Searches on each placement, and sets `plans` and `plan`. trials: rounds at
        most in which the plan found and 1F1B run the example, in turns.
        """
        plain = self._plain(dealt) if trials > 0 and self._may_try() else None
        if plain is None or not self._has_room(plain):
            self.plans = self._searched(dealt)
            self.plan = self._runnable()
            return
        with self._as_it_was():
            first = self._ready(plain)
            self._seconds(first, given, target)  # warm-up
            self._clock.clear()
            steps = [self._seconds(first, given, target) for _ in range(_ROUNDS)]
            beyond = _beyond_layers(
                plain, everywhere(self._clock.seconds(), medians), min(steps)
            )
            self.plans = self._searched([_with(one, *beyond) for one in dealt])
            self.plan = found = self._runnable()
            same = found.schedule.order == plain.schedule.order
            if same or not self._has_room(found):
                return
            self.trial = Trial(plain.name, found.name)
            second = self._ready(found)
            self._seconds(second, given, target)
            while len(self.trial.seconds) < trials and self.trial.is_faster() is None:
                pair = [0.0, 0.0]
                turn = len(self.trial.seconds) % 2
                for k in (turn, 1 - turn):
                    pair[k] = self._seconds((first, second)[k], given, target)
                self.trial.seconds.append((pair[0], pair[1]))
        if not self.trial.is_faster():
            dealt_again = _with(plain.dealt, *beyond)
            plain = dataclasses.replace(
                plain,
                dealt=dealt_again,
                schedule=_core.retime(plain.schedule, dealt_again.costs),
            )
        self.plan = found if self.trial.is_faster() else plain

    def _plan_for(self, micro_batches: int) -> Plan:
        now = self.plan
        if micro_batches == now.schedule.micro_batches:
            return now
        if (key := (now.name, micro_batches)) not in self._by_count:
            self._by_count[key] = self._planned_for(micro_batches)
        return self._by_count[key]

    def _planned_for(self, micro_batches: int) -> Plan:
        """The published schedule that runs, or else one searched on its stages, for
        another number of micro-batches. Raises ValueError if there is none.
        """
        name, dealt = self.plan.name, self.plan.dealt
        if micro_batches < 1:
            raise ValueError(f"micro_batches must be at least 1, not {micro_batches}")
        if name == "given":
            return super()._plan_for(micro_batches)
        try:
            if name in catalog.entries:
                devices = dealt.placement.device_count
                made = catalog.entries[name](devices, micro_batches)
                plan = Plan(name, dealt, _core.retime(made, dealt.costs))
            else:
                plan = searched(
                    dealt, micro_batches, self.memory, self._budget, self._fuses
                )
        except Violation as broken:
            raise ValueError(
                f"there is no schedule {name} of {micro_batches} micro-batches: "
                f"{broken}"
            ) from broken
        if not self._fits(plan):
            raise ValueError(
                f"the schedule {name} of {micro_batches} micro-batches takes "
                f"{max(plan.peak_memory())} bytes, more than memory={self.memory}"
            )
        self._must_run(plan)
        if self._certified:
            must_be_certified(self._lowered(plan))
        return plan

    def _searched(self, dealt: Sequence[Dealt]) -> list[Plan]:
        return best_of(
            dealt, self.micro_batches, self.memory, self._budget, self._fuses
        )

    def _runnable(self) -> Plan:
        """The shortest plan that the runtime runs, else the shortest published schedule
        that it runs on the same stages.
        """
        if found := [plan for plan in self.plans if not self._obstacle(plan)]:
            return found[0]
        others = [
            plan
            for one in self.plans
            for plan in published(one.dealt, self.micro_batches)
        ]
        whole = [
            plan
            for plan in others
            if self._fits(plan)
            and not (self._fuses and splits_backwards(plan.schedule))
            and not self._obstacle(plan)
        ]
        return min(
            whole, key=lambda plan: plan.schedule.makespan, default=self.plans[0]
        )

    def _fits(self, plan: Plan) -> bool:
        return self.memory is None or max(plan.peak_memory()) <= self.memory

    def _plain(self, dealt: Sequence[Dealt]) -> Plan | None:
        """1F1B on a stage for each device, if it fits."""
        linear = next((one for one in dealt if one.name == "linear"), None)
        if linear is None or linear.placement.device_count < 2:
            return None
        made = catalog.one_f_one_b(linear.placement.device_count, self.micro_batches)
        plan = Plan("1f1b", linear, _core.retime(made, linear.costs))
        return plan if self._fits(plan) and not self._obstacle(plan) else None

    def _may_try(self) -> bool:
        """Whether plans can run before this rank gives up layers: the whole model is on
        the device, nothing wraps its stages, and it trains.
        """
        parameters = list(self._all_parameters())
        return (
            self._wrapped["sharding"] == "none"
            and all(p.device == self.device for p in parameters)
            and any(p.requires_grad for p in parameters)
        )

    def _has_room(self, plan: Plan) -> bool:
        """Whether the plan can run beside the whole model, on all ranks. A GPU has room
        if what the plan takes, its own weights included, is free.
        """
        if self.device.type != "cuda":
            return True
        free, _ = torch.cuda.mem_get_info(self.device)
        return bool(max(plan.peak_memory()) <= everywhere(free, min))

    def _all_parameters(self) -> Iterator[Any]:
        yield from self.skeleton.model.parameters()

    @contextlib.contextmanager
    def _as_it_was(self) -> Iterator[None]:
        """Inside, steps leave no trace in the model or in generators."""
        parameters = list(self._all_parameters())
        before = [(p.grad, p._post_accumulate_grad_hooks) for p in parameters]
        state = self._state_of_layers()
        for p in parameters:
            p.grad = None
            if p._post_accumulate_grad_hooks:
                p._post_accumulate_grad_hooks = {}  # these are for real steps
        try:
            with kept_generators(self.device), torch.enable_grad():
                self._streams.step = 0
                yield
        finally:
            state.restore()
            for p, (gradient, hooks) in zip(parameters, before):
                p.grad, p._post_accumulate_grad_hooks = gradient, hooks

    def _ready(self, plan: Plan) -> tuple[Running, dict[int, nn.Module]]:
        if self._certified:
            must_be_certified(self._lowered(plan))
        self.plan = plan
        replays = self._replays_of(self.trace, plan.dealt.cuts)
        self._parts = self._inner = {
            s: self.skeleton.part(replay.layers()) for s, replay in replays.items()
        }
        running = self._start(self.trace, plan)
        running.runtime.trust_gradients()
        return running, self._inner

    def _seconds(
        self, ready: tuple[Running, dict[int, nn.Module]], given: Any, target: Any
    ) -> float:
        """Seconds of a step with copies of the example, on the rank that takes most."""
        running, self._inner = ready
        self._run_as(running)
        m = self.micro_batches
        dist.barrier(group=self._meeting.group)
        started = now(self.device)
        self._run_pieces([given] * m, [target] * m, trains=True)
        taken = now(self.device) - started
        for p in self._all_parameters():
            p.grad = None
        return float(everywhere(taken, max))


def _messages(dealt: Dealt, stage: int) -> int:
    """Messages that a pass of the stage sends or receives."""
    route = dealt.placement.routes[0]
    return sum(
        route[stage] != route[other]
        for other in (stage - 1, stage + 1)
        if 0 <= other < len(route)
    )


def _beyond_layers(
    plan: Plan, taken: dict[tuple[str, int], float], step: float
) -> tuple[float, float, float]:
    """Seconds of a forward, of a backward, and of a message, beyond those of the
    stage's layers. taken: seconds of passes as run; step: of a whole step.
    """
    stages = range(plan.dealt.placement.stage_count)
    costs = [plan.dealt.costs.per_stage[s] for s in stages]

    def beyond(letter: str, of_layers: Sequence[int]) -> float:
        found = [
            taken[letter, s] - TICK * of_layers[s]
            for s in stages
            if (letter, s) in taken
        ]
        return max(0.0, min(found, default=0.0))

    forward = beyond("F", [f for f, _, _ in costs])
    backward = beyond("B", [i + w for _, i, w in costs])
    passes = _core.retime(
        plan.schedule, _with(plan.dealt, forward, backward, 0.0).costs
    )
    m = plan.schedule.micro_batches
    most = max(2 * m * _messages(plan.dealt, s) for s in stages)
    return forward, backward, max(0.0, step - TICK * passes.makespan) / max(1, most)


def _with(dealt: Dealt, forward: float, backward: float, message: float) -> Dealt:
    """The stages with what each pass takes beyond its layers. Where a backward is in
    two parts, the first has it.
    """
    each = []
    for s, (f, i, w) in enumerate(dealt.costs.per_stage):
        of_messages = message * _messages(dealt, s)
        more = round((backward + of_messages) / TICK) if i + w > 0 else 0
        each.append(
            (
                f + round((forward + of_messages) / TICK),
                i + more if i > 0 else 0,
                w if i > 0 else w + more,
            )
        )
    return dataclasses.replace(
        dealt, costs=Costs(per_stage=each, transfer=dealt.costs.transfer)
    )
