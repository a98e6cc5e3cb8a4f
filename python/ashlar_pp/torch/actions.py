"""Reports which action PyTorch's runtime is executing, and which rank it waits for."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import (
    _ComputationType,
    _PipelineScheduleRuntime,
)

from .awaited import Awaited, awaited_of_receiver, awaited_of_sender
from .overrides import Method, override
from .waits import Waits


class _Watched(list[Any]):
    """The actions of a rank. The first iteration after `arm` reports each action as it
    begins, and None after the last.
    """

    def arm(self, comes_to: Callable[[Any], None]) -> None:
        self._comes_to: Callable[[Any], None] | None = comes_to

    def __iter__(self) -> Iterator[Any]:
        comes_to, self._comes_to = getattr(self, "_comes_to", None), None
        for action in super().__iter__():
            if comes_to is not None:
                comes_to(action)
            yield action
        if comes_to is not None:
            comes_to(None)


class WatchedActions:
    """Reports the actions of a runtime, which must have been loaded."""

    def __init__(
        self,
        runtime: _PipelineScheduleRuntime,
        stages: Sequence[PipelineStage],
        waits: Waits,
    ) -> None:
        self._runtime, self._waits = runtime, waits
        self._here, self._count = (
            {stage.stage_index for stage in stages},
            stages[0].num_stages,
        )
        self._group = stages[0].group
        self._known: dict[int, tuple[Any, str, Awaited | None]] = {}
        """Actions with their words, and what they wait for, by id: these stay."""
        for stage in stages:
            _watch_passes(stage, waits)

    def arm(self) -> None:
        """Makes the next step report its actions."""
        actions = self._runtime.pipeline_order_with_comms[self._runtime.rank]
        if not isinstance(actions, _Watched):
            actions = self._runtime.pipeline_order_with_comms[self._runtime.rank] = (
                _Watched(actions)
            )
        actions.arm(self._comes_to)

    def _awaited_at(self, action: Any) -> Awaited | None:
        """Describes what an action waits for, and on which rank; None if it waits for
        nobody.
        """
        stage, k, kind = (
            action.stage_index,
            action.microbatch_index,
            action.computation_type,
        )
        at = str(action)
        if kind in (_ComputationType.FORWARD, _ComputationType.RECV_F):
            return self._message("F", stage - 1, stage, k, at)
        if kind in (
            _ComputationType.FULL_BACKWARD,
            _ComputationType.BACKWARD_INPUT,
            _ComputationType.RECV_B,
        ):
            return self._message("B", stage + 1, stage, k, at)
        letter = kind.value[-1]
        if kind.value.removeprefix("WAIT_") in ("SEND_F", "SEND_B"):
            return self._message(
                letter, stage, stage + (1 if letter == "F" else -1), k, at
            )
        return None

    def _message(
        self, letter: str, stage: int, to: int, k: int, at: str
    ) -> Awaited | None:
        """Describes a message between two stages; None if both are on this rank."""
        is_received = to in self._here
        other = stage if is_received else to
        if not 0 <= other < self._count or other in self._here:
            return None
        rank = self._runtime.stage_index_to_group_rank[other]
        if self._group is not None:
            rank = dist.get_global_rank(self._group, rank)
        if is_received:
            return functools.partial(awaited_of_sender, letter, stage, k, rank, at)
        return functools.partial(awaited_of_receiver, letter, stage, k, to, rank)

    def _comes_to(self, action: Any) -> None:
        if action is None:
            self._waits.move("")
            self._waits.end()
            return
        if id(action) not in self._known:
            self._known[id(action)] = action, str(action), self._awaited_at(action)
        _, words, awaited = self._known[id(action)]
        self._waits.move(words, action.stage_index, action.microbatch_index)
        if awaited is None:
            self._waits.end()
        else:
            self._waits.begin(awaited)


def _watch_passes(stage: PipelineStage, waits: Waits) -> None:
    """Ends the wait when a pass begins: its inputs are there. Reports its error before
    PyTorch waits for messages.
    """

    def watched(own: Method) -> Method:
        def begun(*args: Any, **kwargs: Any) -> Any:
            waits.end()
            with telling(waits):
                return own(*args, **kwargs)

        return begun

    for name in (
        "forward_one_chunk",
        "backward_one_chunk",
        "backward_weight_one_chunk",
    ):
        override(stage, name, watched)


@contextlib.contextmanager
def telling(waits: Waits) -> Iterator[None]:
    """Reports an error inside to all ranks, before PyTorch waits for messages."""
    try:
        yield
    except Exception as error:
        waits.tell(error)
        raise
