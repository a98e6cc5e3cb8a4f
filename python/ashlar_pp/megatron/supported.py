"""What of Megatron's configuration a schedule of ours cannot keep, and what a chunk wraps."""

from __future__ import annotations

from typing import Any

from .._core import Schedule

UNSUPPORTED = {
    "overlap_moe_expert_parallel_comm": "it interleaves the layers of two passes, which a schedule of passes does not know",
    "num_microbatches_with_partial_activation_checkpoints": "every micro-batch of a chunk keeps the same",
    "defer_embedding_wgrad_compute": "a schedule with split backwards defers all of them",
    "variable_seq_lengths": "messages have one shape",
    "fine_grained_activation_offloading": "it follows the order of Megatron's own schedules",
    "mtp_num_layers": "its layers pass several tensors between chunks",
}


def must_support(config: Any, chunks: list[Any], adjust: Any, schedule: Schedule, splits: bool) -> None:
    for option, reason in UNSUPPORTED.items():
        if getattr(config, option, None):
            raise ValueError(f"{option} is not supported: {reason}")
    if adjust is not None:
        raise ValueError("adjust_tensor_shapes_fn is not supported: messages have one shape")
    if splits and config.recompute_granularity is not None and not config.delay_wgrad_compute:
        raise ValueError(
            "recompute_granularity does not go with split backwards: Megatron's checkpoints cannot give gradients of "
            "inputs alone. Run `schedule | ashlar_pp.fuse_backwards()`, or layers with delay_wgrad_compute"
        )
    (route,) = schedule.placement.routes
    tied = any(getattr(unwrapped(chunk), "share_embeddings_and_output_weights", False) for chunk in chunks)
    if tied and (route[0], route[-1]) != (0, schedule.devices - 1):
        raise ValueError(
            "share_embeddings_and_output_weights: Megatron sums the gradients of both between the first and the last rank, "
            f"and the schedule has the first stage on rank {route[0]} and the last on rank {route[-1]}: take a looped "
            "placement, or do not share"
        )


def unwrapped(chunk: Any) -> Any:
    """The model inside DistributedDataParallel and Float16Module."""
    while hasattr(chunk, "module"):
        chunk = chunk.module
    return chunk
