"""What `xtuner train` starts: a configuration, by its file or by a name of XTuner's."""

from __future__ import annotations

import importlib.util
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..scripts.python_values import python_values
from ..values import found, read_file, replaced
from . import of_xtuner, of_xtuner_v1
from .of_xtuner import READS as READS

_QUIET = (
    "--work-dir",
    "--resume",
    "--seed",
    "--launcher",
    "--local_rank",
    "--local-rank",
)


def is_for(training: Training) -> bool:
    if training.program == "xtuner":
        return True
    place = training.program.replace(".", "/")
    return "xtuner/tools/train" in place or "xtuner/v1/train/cli/sft" in place


def read(training: Training) -> Run:
    """Raises Unreadable."""
    words = list(training.arguments)
    folder = pathlib.Path(training.command.folder)
    if "v1" in training.program:
        return _of_v1(words, training)
    nodes, devices = training.nodes, training.devices
    if training.program == "xtuner":
        if words[:1] != ["train"]:
            raise Unreadable(f"xtuner {' '.join(words[:1])}: it starts no training")
        words = words[1:]
    name, deepspeed, pairs = _parted(words)
    path = _file_of(name, folder)
    tree = replaced(read_file(path), pairs)
    if deepspeed:
        tree["deepspeed"] = deepspeed
    if not of_xtuner.is_recipe(tree):
        raise Unreadable(f"{path} is no configuration of XTuner that is read here")
    run = of_xtuner.of_recipe(tree, path, nodes * devices)
    run.unknown = [each for each in run.unknown if "--deepspeed of the" not in each]
    return run


def _parted(words: Sequence[str]) -> tuple[str, str, list[str]]:
    """The configuration, DeepSpeed's file, and NAME=VALUE of --cfg-options."""
    name = deepspeed = ""
    pairs: list[str] = []
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word == "--cfg-options":
            while rest and not rest[0].startswith("--"):
                pairs.append(rest.pop(0))
        elif word == "--deepspeed" or word in _QUIET:
            value = value if equals else (rest.pop(0) if rest else "")
            deepspeed = value if word == "--deepspeed" else deepspeed
        elif word.startswith("-"):
            raise Unreadable(f"{word}: no argument of xtuner train", flag=word)
        elif name:
            raise Unreadable(f"xtuner train takes one configuration, not {word}, too")
        else:
            name = word + equals + value
    if not name:
        raise Unreadable("xtuner train lacks a configuration")
    return name, deepspeed, pairs


def _file_of(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A file, or one of XTuner's own, in a checkout around the folder or where the
    package is installed."""
    if name.endswith(".py"):
        return found(name, folder)
    places = [each / "xtuner" / "configs" for each in (folder, *folder.parents)]
    package = importlib.util.find_spec("xtuner")
    for each in (package and package.submodule_search_locations) or ():
        places.append(pathlib.Path(each, "configs"))
    for place in places:
        for path in sorted(place.glob(f"**/{name}.py")):
            return path
    raise Unreadable(
        f"{name} is a file of XTuner, which is not on this machine: install it, or "
        f"copy the file here by `xtuner copy-cfg {name} .`"
    )


def _of_v1(words: Sequence[str], training: Training) -> Run:
    given: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        given[word] = value if equals else (rest.pop(0) if rest else "")
    if "--config" not in given:
        raise Unreadable(
            "XTuner without --config: its arguments make a configuration of models and "
            "data that is not read; write a configuration with `trainer`"
        )
    path = found(str(given["--config"]), pathlib.Path(training.command.folder))
    said = {**os.environ, **training.command.environment}
    tree = python_values(path.read_text(encoding="utf-8"), path, said)
    if not of_xtuner_v1.is_recipe(tree):
        raise Unreadable(f"{path} has no `trainer` of XTuner")
    ranks = training.nodes * training.devices
    return of_xtuner_v1.of_recipe(tree, path, ranks)
