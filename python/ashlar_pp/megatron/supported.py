"""Options of Megatron's configuration that our schedules do not support, and the model
inside a chunk's wrappers.
"""

from __future__ import annotations

from typing import Any

from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel
from torch.nn.parallel import DataParallel, DistributedDataParallel

UNSUPPORTED = {
    "ep_overlap_early_attn_memory_release": (
        "parts of forward_backward say in which order nodes run"
    ),
    "num_microbatches_with_partial_activation_checkpoints": (
        "every micro-batch of a chunk keeps the same"
    ),
    "defer_embedding_wgrad_compute": (
        "a schedule with split backwards defers all of them"
    ),
    "variable_seq_lengths": "messages of a stage have one shape",
    "fine_grained_activation_offloading": (
        "it follows the order of Megatron's own schedules"
    ),
}


def must_support(config: Any, adjust: Any, splits: bool) -> None:
    for option, reason in UNSUPPORTED.items():
        if getattr(config, option, None):
            raise ValueError(f"{option} is not supported: {reason}")
    if getattr(config, "cuda_graph_impl", "none") != "none":
        raise ValueError(
            "cuda_graph_impl is not supported: graphs are made for the order and the "
            "layers of Megatron's own schedules"
        )
    if adjust is not None:
        raise ValueError(
            "adjust_tensor_shapes_fn is not supported: messages of a stage have one "
            "shape"
        )
    if (
        splits
        and getattr(config, "overlap_moe_expert_parallel_comm", False)
        and not config.delay_wgrad_compute
    ):
        raise ValueError(
            "overlap_moe_expert_parallel_comm does not go with backwards that autograd "
            "splits: set delay_wgrad_compute, or run `schedule | "
            "ashlar_pp.fuse_backwards()`"
        )
    if (
        splits
        and config.recompute_granularity is not None
        and not config.delay_wgrad_compute
    ):
        raise ValueError(
            "recompute_granularity does not go with split backwards: Megatron's "
            "checkpoints cannot give gradients of "
            "inputs alone. Run `schedule | ashlar_pp.fuse_backwards()`, or layers with "
            "delay_wgrad_compute"
        )
    if (
        splits
        and config.gradient_accumulation_fusion
        and not config.delay_wgrad_compute
    ):
        raise ValueError(
            "gradient_accumulation_fusion does not go with split backwards: its layers "
            "add the gradients of their weights in "
            "the input pass and again in the weight pass. Turn it off, run `schedule | "
            "ashlar_pp.fuse_backwards()`, or "
            "layers with delay_wgrad_compute"
        )


def must_reduce_right(chunk: Any, splits: bool) -> None:
    """Raises ValueError for wrappers whose hooks do not see the backwards that complete
    gradients.
    """
    for module in chunk.modules():
        kind = type(module).__name__
        if isinstance(
            module, (DataParallel, DistributedDataParallel, FullyShardedDataParallel)
        ):
            raise ValueError(
                f"a chunk is in torch's {kind}, which Megatron's schedules do not tell "
                "when gradients are complete: use "
                "megatron.core.distributed.DistributedDataParallel"
            )
        whole = isinstance(module, FSDPModule) or type(module).__module__.startswith(
            "megatron.core.distributed.fsdp"
        )
        if splits and (whole or kind == "TorchFullyShardedDataParallel"):
            raise ValueError(
                f"{kind} does not go with split backwards: its hooks see no weight "
                "pass. Run `schedule | "
                "ashlar_pp.fuse_backwards()`, or chunks in "
                "megatron.core.distributed.DistributedDataParallel"
            )


def unwrapped(chunk: Any) -> Any:
    """The model inside DistributedDataParallel and Float16Module."""
    while hasattr(chunk, "module"):
        chunk = chunk.module
    return chunk
