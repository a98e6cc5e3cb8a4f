"""The two kinds of readers, and the words for those of a table.

A reader is a module. Its `READS` names what it reads, with commas between several.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .run_file import Run
from .scripts.launchers import Training


class RecipeReader(Protocol):
    """Reads configuration files. `of_recipe` raises Unreadable."""

    READS: str

    def is_recipe(self, tree: Mapping[str, Any], /) -> bool: ...

    def of_recipe(self, tree: Mapping[str, Any], path: pathlib.Path, /) -> Run: ...


class LaunchReader(Protocol):
    """Reads the arguments of a program. `read` raises Unreadable."""

    READS: str

    def is_for(self, training: Training, /) -> bool: ...

    def read(self, training: Training, /) -> Run: ...


def names_of(readers: Sequence[RecipeReader] | Sequence[LaunchReader]) -> list[str]:
    """What they read, each name once, in the table's order."""
    return list(dict.fromkeys(n for one in readers for n in one.READS.split(", ")))


def in_words(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
