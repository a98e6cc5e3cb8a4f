"""Models whose configuration is on this machine."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from .values import read_file


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
