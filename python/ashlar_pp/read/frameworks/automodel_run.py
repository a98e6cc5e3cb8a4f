"""What `automodel FILE` of NeMo AutoModel starts, alone or under torchrun."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence

from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import found, read_file, replaced
from .of_automodel import READS as READS
from .of_automodel import is_recipe, of_recipe

_DEVICES = ("--nproc-per-node", "--nproc_per_node")
_FILES = ("--config", "-c")


def is_for(training: Training) -> bool:
    place = training.program.replace(".", "/")
    return training.program == "automodel" or "nemo_automodel/" in place


def read(training: Training) -> Run:
    """Raises Unreadable."""
    name, devices, pairs = _parted(training.arguments)
    path = found(name, pathlib.Path(training.command.folder))
    tree = read_file(path)
    if not isinstance(tree, Mapping) or not is_recipe(tree):
        raise Unreadable(f"{path} is no recipe of NeMo AutoModel")
    ranks = (training.nodes or 1) * (devices or training.devices)
    return of_recipe(replaced(tree, pairs), path, ranks)


def _parted(words: Sequence[str]) -> tuple[str, int, list[str]]:
    """The recipe, the devices of a node or 0, and values of the recipe."""
    name, devices, pairs, rest = "", 0, [], list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if not word.startswith("-"):
            # Older releases have a verb and a kind of model in front of the file.
            name = word if word.endswith((".yaml", ".yml")) else name
            continue
        if not equals and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        if word in _FILES:
            name = value
        elif word in _DEVICES:
            devices = int(value) if value.isdigit() else 0
        else:
            pairs.append(f"{word.lstrip('-')}={value or 'true'}")
    if not name:
        raise Unreadable("automodel lacks the file of a recipe")
    return name, devices, pairs
