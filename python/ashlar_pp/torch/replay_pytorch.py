"""Runs replays in PyTorch's own runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.pipelining import PipelineStage

from .._core import Program, Schedule
from .clock import Clock
from .pytorch_runtime import PytorchRuntime
from .replay import Replay, TimedReplay
from .split import keeps_saved_tensors
from .waits import Waits


class ReplayStage(PipelineStage):
    """A stage for PyTorch's runtime. Its shapes are known, and every stage has the
    model's inputs by micro-batch.
    """

    def __init__(
        self,
        part: torch.nn.Module,
        timed: TimedReplay,
        index: int,
        count: int,
        device: torch.device,
        group: dist.ProcessGroup | None,
        loss_type: torch.dtype,
    ) -> None:
        replay = timed.replay
        outputs = (
            (torch.empty(1, dtype=loss_type, device="meta"),)
            if replay.is_last
            else replay.examples(replay.outgoing)
        )
        super().__init__(
            part,
            index,
            count,
            device,
            input_args=replay.examples(replay.incoming),
            output_args=outputs,
            group=group,
        )
        self.timed = timed

    def forward_maybe_with_nosync(self, *args: Any, **kwargs: Any) -> Any:
        """Makes gradients of what was received contiguous: PyTorch sends them as they
        are. Adds an argument if there is none: on a GPU, fully_shard fails for a module
        called without arguments.
        """
        for x in args:
            if x.requires_grad:
                x.register_hook(torch.Tensor.contiguous)
        if isinstance(self.submod, FSDPModule) and not args:
            args = (torch.empty(0, device=self.device),)
        return super().forward_maybe_with_nosync(*args, **kwargs)

    def forward_one_chunk(self, fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        forward = super().forward_one_chunk
        try:
            return self.timed.forward(
                fwd_chunk_id,
                lambda: forward(fwd_chunk_id, *args, **kwargs),
                trains=self.has_backward,
            )
        except RuntimeError as error:
            if error.__cause__ is None:
                raise
            # PyTorch's error names the arguments' shapes instead of the fault
            raise error.__cause__  # noqa: B904

    def backward_one_chunk(
        self,
        bwd_chunk_id: int,
        loss: Any = None,
        full_backward: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        backward = super().backward_one_chunk
        self.timed.backward(
            "B" if full_backward else "I",
            bwd_chunk_id,
            lambda: backward(bwd_chunk_id, loss, full_backward, *args, **kwargs),
        )
        if not hasattr(self, "_get_grad_send_meta") and bwd_chunk_id in self.bwd_cache:
            # Earlier versions of torch send a gradient of everything that was received,
            # whole numbers included.
            received: Any = self.args_recv_info[bwd_chunk_id]
            self.bwd_cache[bwd_chunk_id] = tuple(
                torch.zeros_like(info.buffer) if gradient is None else gradient
                for gradient, info in zip(self.bwd_cache[bwd_chunk_id], received)
            )

    def get_local_bwd_output(self, mb_index: int) -> Any:
        """Returns () in an evaluation, in which PyTorch hands gradients between stages
        of a rank all the same.
        """
        return super().get_local_bwd_output(mb_index) if self.has_backward else ()

    def set_local_bwd_input(self, next_stage_bwd_outputs: Any, mb_index: int) -> None:
        if self.has_backward:
            super().set_local_bwd_input(next_stage_bwd_outputs, mb_index)

    def backward_weight_one_chunk(
        self, bwd_chunk_id: int, *args: Any, **kwargs: Any
    ) -> None:
        backward = super().backward_weight_one_chunk
        self.timed.backward(
            "W", bwd_chunk_id, lambda: backward(bwd_chunk_id, *args, **kwargs)
        )


class PytorchReplays(PytorchRuntime):
    """Runs the replays of this rank's stages as PyTorch runs stages."""

    def __init__(
        self,
        parts: Mapping[int, torch.nn.Module],
        replays: Mapping[int, Replay],
        schedule: Schedule,
        program: Program,
        *,
        clock: Clock,
        group: dist.ProcessGroup | None,
        data_group: dist.ProcessGroup | None,
        waits: Waits,
        unpiped: Mapping[str, bool],
        loss_type: torch.dtype,
    ) -> None:
        stages: list[PipelineStage] = [
            ReplayStage(
                parts[s],
                TimedReplay(replay, clock, s),
                s,
                schedule.stages,
                clock.device,
                group,
                loss_type,
            )
            for s, replay in replays.items()
        ]
        super().__init__(
            stages,
            program,
            lambda loss, _: loss,
            scale_grads=False,
            data_group=data_group,
            keeps_saved=keeps_saved_tensors(parts.values(), schedule),
            waits=waits,
            unpiped=unpiped,
            is_agreed=True,
        )
        self._has_last = any(replay.is_last for replay in replays.values())

    def run(self, *, trains: bool) -> None:
        """Runs the micro-batches that the replays were given."""
        call: Callable[..., Any] = self.step if trains else self.eval
        target = torch.zeros(self._n_microbatches) if self._has_last else None
        call(target=target, return_outputs=False)
