"""Word embeddings that several stages have: the first, that of multi-token prediction
(MTP), and the last if its output layer shares the embedding's weights.

Megatron sums their gradients between ranks. If all of them are on one rank, as in a V,
this module sums them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from megatron.core.transformer.enums import LayerType

from .._core import Schedule
from .supported import unwrapped


def mtp_stage(config: Any, stages: int) -> int | None:
    """The stage that has all MTP layers: that of the layout, else the last; None
    without MTP.
    """
    if not getattr(config, "mtp_num_layers", None):
        return None
    layout = config.pipeline_model_parallel_layout
    if layout is None:
        return stages - 1
    ranks = layout.pipeline_model_parallel_size
    return next(
        stage
        for stage in range(stages)
        if LayerType.mtp in layout.layout[stage % ranks][stage // ranks]
    )


def hidden_states(config: Any, stages: int) -> list[int]:
    """Number of hidden states that each stage hands on: from the stage of MTP on also
    those of its layers.
    """
    own = mtp_stage(config, stages)
    return [
        1 if own is None or stage < own else 1 + config.mtp_num_layers
        for stage in range(stages)
    ]


def are_on_one_rank(schedule: Schedule, config: Any, groups: Any, tied: bool) -> bool:
    """Whether one rank has all stages with the embedding, and there are several. Raises
    ValueError, naming the options, if they are on several ranks and Megatron does not
    sum their gradients.
    """
    (route,) = schedule.placement.routes
    mtp = mtp_stage(config, schedule.stages)
    holders = sorted(
        {0}
        | ({schedule.stages - 1} if tied else set())
        | (set() if mtp is None else {mtp})
    )
    ranks = [route[stage] for stage in holders]
    named = " and ".join(
        ["share_embeddings_and_output_weights"] * tied
        + ["mtp_num_layers"] * (mtp is not None)
    )
    if (
        mtp is not None
        and config.pipeline_model_parallel_layout is not None
        and route[mtp] > mtp % schedule.devices
    ):
        raise ValueError(
            f"mtp_num_layers: Megatron looks for the hidden states of stage {mtp}, "
            "which has MTP, by its own numbering, on "
            f"rank {mtp % schedule.devices}, and the schedule has it on rank "
            f"{route[mtp]}: take a looped placement, or a "
            "layout with MTP on the last stage"
        )
    if len(set(ranks)) == 1:
        return len(ranks) > 1
    # Megatron sums the gradients of the first rank's first chunk, and of the last chunk
    # of every other rank.
    last = {rank: stage for stage, rank in enumerate(route)}
    if route[0] != 0 or any(
        route[stage] == 0 or stage != last[route[stage]] for stage in holders[1:]
    ):
        raise ValueError(
            f"{named}: stages {holders} have the word embedding, and the schedule has "
            f"them on ranks {ranks}. Megatron sums "
            "the gradients of the first chunk of rank 0 and of the last chunks of "
            "others: take a looped placement, or one "
            "with all of these stages on one rank"
        )
    if config.finalize_model_grads_func is not None and groups.pp.rank() in ranks:
        meeting = (
            [] if groups.embd is None else dist.get_process_group_ranks(groups.embd)
        )
        wanted = sorted(dist.get_global_rank(groups.pp, rank) for rank in ranks)
        if sorted(meeting) != wanted:
            raise ValueError(
                f"{named}: ranks {wanted} have the word embedding, and Megatron sums "
                f"its gradients over ranks {meeting}: "
                "give initialize_model_parallel the get_embedding_ranks of "
                "Megatron-LM's pretrain_gpt.py"
            )
    return False


def share_embeddings(chunks: list[Any]) -> None:
    """Gives the later word embeddings of a rank's chunks the first one's values.

    Megatron does so between ranks. Call it when all chunks are made, before they are
    wrapped, if a rank has several embeddings, as in a V.

    Args:
        chunks (list): This rank's chunks.
    """
    weights = _weights_of(chunks)
    for other in weights[1:]:
        other.data.copy_(weights[0].data)


@contextlib.contextmanager
def summed(chunks: list[Any]) -> Iterator[None]:
    """Inside, gradients of the word embeddings of this rank's chunks become their sum,
    once a finalize_model_grads_func has reduced them over data-parallel ranks.
    """
    weights, last = _weights_of(chunks), chunks[-1]
    reduced = last.finish_grad_sync

    def finish_grad_sync(*args: Any, **more: Any) -> None:
        reduced(*args, **more)
        gradients = [
            w.main_grad if hasattr(w, "main_grad") else w.grad for w in weights
        ]
        given = [g for g in gradients if g is not None]  # frozen embeddings have none
        for other in given[1:]:
            given[0].add_(other)
        for other in given[1:]:
            other.copy_(given[0])

    last.finish_grad_sync = finish_grad_sync
    try:
        yield
    finally:
        del last.finish_grad_sync


def must_be_equal(chunks: list[Any]) -> None:
    weights = _weights_of(chunks)
    if any(not torch.equal(weights[0], other) for other in weights[1:]):
        raise ValueError(
            "the word embeddings on this rank differ: call "
            "ashlar_pp.megatron.share_embeddings(chunks) when all chunks are "
            "made"
        )


class Alone:
    """Stands for the group of ranks that sum embeddings. It has size 1, so Megatron
    skips the sum.
    """

    def size(self) -> int:
        return 1


def _weights_of(chunks: list[Any]) -> list[torch.Tensor]:
    models = [unwrapped(chunk) for chunk in chunks]
    return [
        model.shared_embedding_or_output_weight()
        for model in models
        if getattr(model, "pre_process", False)
        or getattr(model, "mtp_process", False)
        or (
            getattr(model, "post_process", False)
            and getattr(model, "share_embeddings_and_output_weights", False)
        )
    ]
