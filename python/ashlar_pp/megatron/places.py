"""Builds a rank's chunks of a model for placements other than Megatron's own."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

from megatron.core import parallel_state
from megatron.core.transformer.multi_token_prediction import (
    MultiTokenPredictionBlockSubmodules,
    get_mtp_layer_spec,
)

from .._core import Program, Schedule
from .embeddings import mtp_stage, share_embeddings
from .programs import route_of


def chunks_of(
    schedule: Schedule, pg_collection: Any, build: Callable[..., Any]
) -> list[Any]:
    """Builds this rank's chunks of a model. Word embeddings of several are made equal.

    Args:
        schedule (Schedule): Has the placement.
        pg_collection (ProcessGroupCollection): Megatron's groups.
        build (Callable): Makes a chunk from pre_process, post_process, vp_stage and
            pg_collection, as `GPTModel(config, spec, ...)` takes them. During the call,
            Megatron's parallel state is that of the rank and chunk with this stage in
            Megatron's own numbering. Make specs inside it: `get_gpt_decoder_block_spec`
            and the like read the parallel state.

    Returns:
        list: the chunks, in the order of their stages.
    """
    chunks = []
    for stage, rank in enumerate(route_of(schedule)):
        if rank == pg_collection.pp.rank():
            place = place_of(schedule, stage, pg_collection)
            with standing_at(schedule, stage, place["pg_collection"].pp):
                chunk = build(**place)
            _saves_at(chunk, schedule, stage, place["pg_collection"].pp)
            chunks.append(chunk)
    share_embeddings(chunks)
    return chunks


@contextlib.contextmanager
def standing_at(
    schedule: Schedule | Program, stage: int, group: Any = None
) -> Iterator[None]:
    """Inside, the parallel state is that of the rank and chunk with this stage in
    Megatron's own numbering.

    group: replaces the group of pipeline ranks, for code that asks it and sends
    nothing.
    """
    names = [
        "_MPU_PIPELINE_MODEL_PARALLEL_RANK",
        "_VIRTUAL_PIPELINE_MODEL_PARALLEL_RANK",
        "_PIPELINE_MODEL_PARALLEL_GROUP",
    ]
    before = {name: getattr(parallel_state, name) for name in names}
    chunk, rank = divmod(stage, schedule.devices)
    now = dict(
        zip(
            names,
            (
                rank,
                chunk if schedule.stages > schedule.devices else before[names[1]],
                group or before[names[2]],
            ),
        )
    )
    try:
        for name, value in now.items():
            setattr(parallel_state, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(parallel_state, name, value)


def _saves_at(chunk: Any, schedule: Schedule, stage: int, group: Any) -> None:
    """Sets the parallel state while a chunk makes its checkpoint, in which names of
    layers depend on it.
    """
    if (own := getattr(chunk, "sharded_state_dict", None)) is None:
        return

    @functools.wraps(own)
    def sharded_state_dict(*args: Any, **more: Any) -> Any:
        with standing_at(schedule, stage, group):
            return own(*args, **more)

    chunk.sharded_state_dict = sharded_state_dict


def place_of(schedule: Schedule, stage: int, pg_collection: Any) -> dict[str, Any]:
    """Returns arguments of a model's constructor beside its configuration.

    Megatron numbers the layers of a chunk by its rank and its number there. If the
    placement differs, as in a V, the collection pretends to be on the rank with the
    stage in Megatron's numbering. Code that reads the parallel state instead is right
    within `chunks_of` alone.

    Args:
        schedule (Schedule): Has the placement.
        stage (int): The stage of the chunk.
        pg_collection (ProcessGroupCollection): Megatron's groups.

    Returns:
        dict[str, Any]: pre_process, post_process, vp_stage, pg_collection.
    """
    chunk, rank = divmod(stage, schedule.devices)
    groups = pg_collection
    if rank != pg_collection.pp.rank():
        groups = copy.copy(pg_collection)
        groups.pp = _PretendedGroup(pg_collection.pp, rank)
    route = route_of(schedule)
    if (route[0], route[-1]) != (0, schedule.devices - 1):
        # Ranks that share embeddings exchange them while a model is made, and the last
        # rank would not take part.
        groups = copy.copy(groups)
        groups.embd = None
    several = schedule.stages > schedule.devices
    return {
        "pre_process": stage == 0,
        "post_process": stage == schedule.stages - 1,
        "vp_stage": chunk if several else None,
        "pg_collection": groups,
    }


def mtp_of(
    schedule: Schedule, stage: int, config: Any, layer: Any, transformer_engine: bool
) -> Any:
    """Returns the mtp_block_spec of a stage's chunk.

    Megatron's own get_gpt_mtp_block_spec reads the rank, which is right in its own
    numbering, and within `chunks_of`.

    Args:
        schedule (Schedule): Has the stages.
        stage (int): The stage of the chunk.
        config (TransformerConfig): Has mtp_num_layers.
        layer (ModuleSpec): The layers are like this one.
        transformer_engine (bool): Whether layers are those of Transformer Engine.

    Returns:
        MultiTokenPredictionBlockSubmodules, optional: None if the stage has no MTP.
    """
    if stage != mtp_stage(config, schedule.stages):
        return None
    return MultiTokenPredictionBlockSubmodules(
        layer_specs=[get_mtp_layer_spec(layer, transformer_engine)]
        * config.mtp_num_layers
    )


class _PretendedGroup:
    def __init__(self, group: Any, rank: int) -> None:
        self._group, self._rank = group, rank

    def rank(self) -> int:
        return self._rank

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)
