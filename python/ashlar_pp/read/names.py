"""Names of programs and of their arguments, by a table that the tool reads, too."""

from __future__ import annotations

import functools
import json
import pathlib
import re
from typing import Any

FILE = pathlib.Path(__file__).parent / "megatron_names.json"


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def why_nothing_trains(program: str) -> str:
    """Why a file or a module with this name starts no training; empty: it may."""
    name = program.removesuffix(".py").rpartition(".")[2].lower()
    words = re.split(r"[^a-z0-9]+", name)
    for kind in _table()["programs"]:
        is_one = any(
            word.startswith(tuple(kind["begins"])) or word in kind["is"]
            for word in words
        )
        is_other = any(word.startswith(tuple(kind["unless"])) for word in words)
        if is_one and not is_other and not kind.get("trains"):
            return str(kind["why"])
    return ""


def tells_of_model(argument: str) -> bool:
    """Whether an argument that nobody knows has the name of a part of a model."""
    parts = argument.replace("_", "-").split("-")
    return not set(parts).isdisjoint(_table()["parts_of_models"])
