"""Schedules and blocks out of files."""

from __future__ import annotations

import json
from typing import Any

from . import _core
from ._core import Block, Costs, Placement, Schedule


def read_json(text: str) -> Schedule | Block:
    """A schedule as `emit(schedule, "json")` and the command-line tool write it, or a building block, which has `cells`.

    Raises ValueError for what is no such file, Violation for what breaks a rule.
    """
    file = json.loads(text)
    try:
        return _value_of(file)
    except KeyError as missing:
        raise ValueError(f"the file lacks {missing}") from None
    except TypeError as wrong:
        raise ValueError(f"the file has a value of a wrong type: {wrong}") from None


def _value_of(file: dict[str, Any]) -> Schedule | Block:
    routes = file["placement"]
    placement = Placement(routes if isinstance(routes[0], list) else [routes])
    shape: dict[str, Any] = {key: file[key] for key in ("stage_edges", "micro_batch_sizes", "route") if key in file}
    if "stage_edges" in shape:
        shape["stage_edges"] = [(a, b) for a, b in shape["stage_edges"]]
    costs = _costs_of(file.get("costs", {}))
    if "cells" in file:
        return _core.block(placement, file["cells"], file["interval"], costs, **shape)
    shape |= {key: file[key] for key in ("starts", "sequence_chunks") if key in file}
    return _core.schedule(placement, file["orders"], costs, **shape)


def _costs_of(given: dict[str, Any]) -> Costs:
    def ticks(stage: dict[str, int]) -> Any:
        given = [stage.get(key, 1) for key in ("forward", "backward_input", "backward_weight")]
        return (*given, stage["recompute"]) if "recompute" in stage else tuple(given)

    keys = ("transfer", "transfer_between_nodes", "node_size", "overlapped", "speeds", "sequence_chunks", "micro_batches")
    others = {key: given[key] for key in keys if key in given}
    others["levels"] = [(level["devices"], level["transfer"]) for level in given.get("levels", [])]
    others["links"] = [(link["from"], link["to"], link["transfer"]) for link in given.get("links", [])]
    return Costs(per_stage=[ticks(stage) for stage in given.get("per_stage", [given])], **others)
