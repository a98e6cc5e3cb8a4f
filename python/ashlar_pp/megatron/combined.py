"""Steps under overlap_moe_expert_parallel_comm: each pass goes through Megatron's nodes
of layers, and pairs of the schedule run as one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from megatron.core.pipeline_parallel import schedules as own
from megatron.core.pipeline_parallel.combined_1f1b import combined_forward_backward_step
from megatron.core.pipeline_parallel.utils import set_streams

from .._core import Instruction, PartCosts
from .nodes import Braided, must_be_of_these
from .places import standing_at
from .step import Step
from .supported import unwrapped


class CombinedStep(Step):
    """One step of one rank.

    parts: say in which order the nodes of pairs run; None: in Megatron's own.
    """

    def __init__(self, *given: Any, parts: PartCosts | None = None) -> None:
        super().__init__(*given)
        for stage, chunk in self._chunks.items():
            if parts is not None:
                must_be_of_these(parts, stage, unwrapped(chunk))
        set_streams()
        self._parts = parts
        self._first_half: Instruction | None = None
        self._plans: dict[tuple[int, int], Braided] = {}  # with a weight pass to come

    def _do(self, i: Any) -> None:
        if i.code != "compute":
            super()._do(i)
        elif i.overlaps_next:
            self._first_half = i
        else:
            passes = [i] if self._first_half is None else [self._first_half, i]
            self._first_half = None
            ahead = [one for one in passes if one.letter == "F"]
            back = [one for one in passes if one.letter != "F"]
            if len(ahead) == len(back) == 1:
                self._together(ahead[0], back[0])
            else:
                for one in ahead:
                    self._together(one, None)
                for one in back:
                    self._together(None, one)

    def _together(self, f: Any, b: Any) -> None:
        """Runs a forward, a backward, or both as one."""
        if b is None:
            self._both(f, None, None)
            return
        stage, k = b.stage, b.micro_batch
        run: Callable[[], None] = functools.partial(self._both, f, b, None)
        if b.letter == "W":
            plan = self._plans.pop((stage, k))
            run = (
                plan.weights
                if f is None
                else functools.partial(self._both, f, None, plan)
            )
        self._completing(b.letter, stage, run)

    def _both(self, f: Any, b: Any, beside: Braided | None) -> None:
        """beside: has the weight pass that runs with the forward."""
        x = x_back = y_back = g = None
        if f is not None:
            x = self._input_of(f.stage, f.micro_batch)
        if b is not None:
            x_back, y_back = self._alive.pop((b.stage, b.micro_batch))
            if b.stage < self._last:
                key = "B", b.stage + 1, b.micro_batch, b.stage
                g = self._take(key, str(b))
            y_back.schedule_plan.letter = b.letter
            if b.letter == "I":
                self._plans[b.stage, b.micro_batch] = y_back.schedule_plan
        at = f if f is not None else b
        with standing_at(self._program, at.stage):
            y, tokens, dx = combined_forward_backward_step(
                functools.partial(self._planned, f and f.stage, beside),
                f and self._batches[f.stage].of(f.micro_batch),
                f and self._chunks[f.stage],
                self._program.micro_batches,
                x,
                self._store(f.stage, f.micro_batch) if f is not None else [],
                b and self._chunks[b.stage],
                x_back,
                y_back,
                g,
                self._config,
                f_model_chunk_id=f
                and getattr(unwrapped(self._chunks[f.stage]), "vp_stage", None),
                collect_non_loss_data=self._collect,
                is_first_microbatch=f is not None
                and own.check_first_val_step(
                    self._first_val_step, False, self._is_first(f.stage)
                ),
                current_microbatch=f and f.micro_batch,
            )
        if f is not None:
            self.tokens += tokens
            if self._first_step is not None:
                self._first_step.forward(f.stage, [y, y.schedule_plan.outputs()])
            self._alive[f.stage, f.micro_batch] = x, y
            self._hand_on(f.stage, f.micro_batch, y)
        if b is not None and b.stage > 0:
            self._hand_back(b.stage, b.micro_batch, dx)

    def _planned(
        self,
        stage: int,
        beside: Braided | None,
        iterator: Iterator[Any] | None,
        model: Any,
        return_schedule_plan: bool,
    ) -> tuple[Braided, Callable[..., Any]]:
        """Takes the place of forward_step_func."""
        plan, loss = self._call(
            iterator, model, return_schedule_plan=return_schedule_plan
        )
        made = Braided(
            plan,
            stage,
            functools.partial(standing_at, self._program, stage),
            self._parts,
        )
        made.beside = beside
        return made, loss
