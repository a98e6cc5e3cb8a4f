"""DeepSpeed's own file, which says a batch and how ranks share the state."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run

READS = "DeepSpeed"

_SIGNS = frozenset(
    ("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size")
)


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return bool(_SIGNS & set(tree))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """The tool reads its values."""
    return Run(framework="deepspeed", arguments=tree)
