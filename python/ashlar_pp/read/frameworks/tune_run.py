"""What `tune run` of torchtune starts: a recipe, a configuration, values over it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import found, read_file, replaced
from .of_torchtune import READS as READS
from .of_torchtune import RECIPE, is_recipe, of_recipe
from .torchtune_model import root_of


def is_for(training: Training) -> bool:
    name = training.program.removesuffix(".py").rpartition("recipes/")[2]
    is_own = RECIPE.fullmatch(name) is not None and "--config" in training.arguments
    return training.launcher == "tune" or is_own


def read(training: Training) -> Run:
    """Raises Unreadable."""
    words = list(training.arguments)
    if "--config" not in words[:-1]:
        raise Unreadable(f"{training.program}: tune run needs --config FILE")
    at = words.index("--config")
    path = _config_file(words[at + 1], pathlib.Path(training.command.folder))
    tree = read_file(path)
    if not isinstance(tree, Mapping) or not is_recipe(tree):
        raise Unreadable(f"{path} is no configuration of torchtune")
    given = [*words[:at], *words[at + 2 :]]
    for word in [word for word in given if word.startswith("~")]:
        tree = _without(tree, word[1:])
    pairs = [_of_component(tree, word) for word in given if not word.startswith("~")]
    ranks = training.nodes * training.devices
    return of_recipe(replaced(tree, pairs), path, training.program, ranks)


def _config_file(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A file, or the name of one of torchtune's own."""
    if name.endswith((".yaml", ".yml", ".json")):
        return found(name, folder)
    root = root_of(folder)
    path = root / "recipes" / "configs" / f"{name}.yaml" if root else None
    if path is None or not path.is_file():
        raise Unreadable(
            f"--config {name} is a file of torchtune, which is not on this machine: "
            f"install it, or copy the file here by `tune cp {name} FILE`"
        )
    return path


def _of_component(tree: Mapping[str, Any], pair: str) -> str:
    """model=NAME stands for model._component_=NAME (torchtune/config/_utils.py)."""
    name, equals, value = pair.lstrip("-").partition("=")
    part = tree.get(name)
    is_short = isinstance(part, Mapping) and "_component_" in part
    return f"{name}{'._component_' if is_short else ''}{equals}{value}"


def _without(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    first, dot, rest = name.partition(".")
    made = {key: value for key, value in tree.items() if dot or key != first}
    if dot and isinstance(tree.get(first), Mapping):
        made[first] = _without(tree[first], rest)
    return made
