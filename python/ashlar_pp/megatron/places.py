"""Which chunks of a model a rank builds, where the placement is not Megatron's own."""

from __future__ import annotations

import copy
from typing import Any

from megatron.core.transformer.multi_token_prediction import MultiTokenPredictionBlockSubmodules, get_mtp_layer_spec

from .._core import Schedule
from .embeddings import mtp_stage


def place_of(schedule: Schedule, stage: int, pg_collection: Any) -> dict[str, Any]:
    """What to give a model's constructor beside its configuration: pre_process, post_process, vp_stage,
    pg_collection.

    Megatron numbers the layers of a chunk by its rank and its number there. Where the placement differs, as in a V,
    the collection pretends to be on the rank that has the stage in Megatron's numbering.
    """
    chunk, rank = divmod(stage, schedule.devices)
    groups = pg_collection
    if rank != pg_collection.pp.rank():
        groups = copy.copy(pg_collection)
        groups.pp = _PretendedGroup(pg_collection.pp, rank)
    route = schedule.placement.routes[0]
    if (route[0], route[-1]) != (0, schedule.devices - 1):
        # Ranks that share embeddings meet while a model is made, and the last rank would not come.
        groups = copy.copy(groups)
        groups.embd = None
    several = schedule.stages > schedule.devices
    return {
        "pre_process": stage == 0,
        "post_process": stage == schedule.stages - 1,
        "vp_stage": chunk if several else None,
        "pg_collection": groups,
    }


def mtp_of(schedule: Schedule, stage: int, config: Any, layer: Any, transformer_engine: bool) -> Any:
    """The mtp_block_spec of a stage's chunk, of layers like `layer`; None where it has none. Megatron's own
    get_gpt_mtp_block_spec asks the rank, which is right in its own numbering alone."""
    if stage != mtp_stage(config, schedule.stages):
        return None
    return MultiTokenPredictionBlockSubmodules(
        layer_specs=[get_mtp_layer_spec(layer, transformer_engine)] * config.mtp_num_layers
    )


class _PretendedGroup:
    def __init__(self, group: Any, rank: int) -> None:
        self._group, self._rank = group, rank

    def rank(self) -> int:
        return self._rank

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)
