"""Models whose configuration is on this machine."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..run_file import Run
from ..values import read_file


def local_model(name: str, folder: pathlib.Path) -> Mapping[str, Any] | None:
    """The configuration of a model in a folder, or among the files of the hub that are
    here; nothing is fetched."""
    hub = pathlib.Path.home() / ".cache" / "huggingface" / "hub"
    places = [pathlib.Path(folder, name, "config.json")]
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        kept = hub / ("models--" + name.replace("/", "--")) / "snapshots"
        places.extend(sorted(kept.glob("*/config.json")))
    for path in places:
        if path.is_file():
            tree = read_file(path)
            return tree if isinstance(tree, Mapping) else None
    return None


def add_local_model(
    run: Run, name: str, folder: pathlib.Path, part: str = "model"
) -> None:
    """The run's model, by its configuration where that is here; else the answer asks
    for it."""
    run.model = local_model(name, folder) if name else None
    if run.model is None:
        named = f"the {part} is {name}, which is not on this machine"
        said = named if name else f"no {part} is named"
        run.notes.append(f"{said}: give --model to ashlar predict")
