"""Schedules under Megatron-Core's interface, in place of `get_forward_backward_func()`.

    run = ashlar_pp.megatron.forward_backward(schedule)
    losses = run(
        forward_step_func=…, data_iterator=…, model=chunks,
        num_microbatches=…, seq_length=…, micro_batch_size=…,
    )

The i-th chunk of a rank is the i-th of the stages that the schedule has there, in
ascending order. In looped placements that is Megatron's own numbering; `chunks_of`
builds chunks for any placement. Chunks exchange one tensor, of one shape for each
stage.
"""

from .embeddings import share_embeddings
from .forward_backward import forward_backward
from .places import chunks_of, mtp_of, place_of
from .supported import UNSUPPORTED

__all__ = [
    "UNSUPPORTED",
    "chunks_of",
    "forward_backward",
    "mtp_of",
    "place_of",
    "share_embeddings",
]
