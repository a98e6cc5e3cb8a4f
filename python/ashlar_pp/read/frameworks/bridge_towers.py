"""Parts before the decoder in Megatron-Bridge's recipes, by its code at 067f987df
(src/megatron/bridge/models): they are on the first stage, and each context rank runs
them whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable, add_frozen_towers

_SIGNS = ("vision_config", "vision_tower_config", "vision_transformer_config")
# Classes whose towers are Megatron-Core's own, which tensor ranks divide; those of
# others are modules of transformers, whole on each rank.
_DIVIDED = ("Qwen3VL", "Qwen35VL", "Exaone45", "Ernie45")
# The tower, what leads from it, and the decoder.
FREEZES = ("freeze_vision_model", "freeze_vision_projection", "freeze_language_model")


def add_towers(model: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Puts what is frozen of a recipe with a tower and how ranks share it; gives the
    fields of its decoder. Raises Unreadable."""
    if not any(model.get(sign) is not None for sign in _SIGNS):
        return dict(model)
    add_frozen_towers(run, *(bool(model.get(name)) for name in FREEZES))
    if model.get("vision_dp_when_cp"):
        run.program["tower_ranks"] = "context"
    name = str(model.get("_target_") or "").rpartition(".")[2]
    if not name:
        raise Unreadable(
            "model._target_, which says whether tensor ranks divide the tower"
        )
    if not name.startswith(_DIVIDED):
        run.program["tower_ranks"] = "none"
    run.unknown.append(
        "vision_config: the recipe has a tower; give --model a file that `python -m "
        "ashlar_pp.read model` wrote of the model's configuration"
    )
    return {
        key: value
        for key, value in model.items()
        if key not in FREEZES and not key.startswith("vision_")
    }
