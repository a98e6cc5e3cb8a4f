"""What `oumi train` starts, and jobs of clusters that start it."""

from __future__ import annotations

import pathlib
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import found, read_file, replaced
from . import of_oumi
from .of_oumi import READS as READS

_ALONE = ("--verbose", "-v")  # options without a value, and without a section
_ACCELERATE = ("config_file", "use_fsdp", "use_deepspeed", "mixed_precision")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def is_for(training: Training) -> bool:
    return training.program == "oumi"


def read(training: Training) -> Run:
    """Raises Unreadable."""
    folder = pathlib.Path(training.command.folder)
    words = training.arguments
    if words[:2] == ("launch", "up"):
        path, pairs = _parted(words[2:], folder)
        tree = read_file(path)
        if not isinstance(tree, Mapping) or not is_recipe(tree):
            raise Unreadable(f"{path} is no job of oumi")
        return of_recipe(_with(tree, pairs), path)
    if words[:1] != ("train",):
        raise Unreadable(f"oumi {' '.join(words[:2])}: it starts no training")
    run = _train(words[1:], folder, training.nodes, training.devices)
    said = dict(training.launcher_options)
    if training.launcher == "accelerate" and {*_ACCELERATE} & {*said}:
        run.unknown.append("what accelerate is told, in place of oumi's own FSDP")
    return run


def _train(words: Sequence[str], folder: pathlib.Path, nodes: int, devices: int) -> Run:
    path, pairs = _parted(words, folder)
    tree = read_file(path)
    if not isinstance(tree, Mapping) or not of_oumi.is_recipe(tree):
        raise Unreadable(f"{path} is no configuration of oumi")
    return of_oumi.of_recipe(_with(tree, pairs), path, nodes, devices)


def _with(tree: Mapping[str, Any], pairs: Sequence[str]) -> Any:
    """Other options than those with a section, or of the file, are of the program."""
    names = [pair.partition("=")[0] for pair in pairs]
    kept = [p for p, name in zip(pairs, names) if "." in name or name in tree]
    return replaced(tree, kept)


def _parted(
    words: Sequence[str], folder: pathlib.Path
) -> tuple[pathlib.Path, list[str]]:
    """The configuration, and the values of it that are said in other words."""
    name, pairs, rest = "", [], list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in _ALONE:
            continue
        if not word.startswith("-"):
            if "." not in word or not equals:
                raise Unreadable(f"oumi: {word} belongs to no option")
            pairs.append(f"{word}={value}")
            continue
        if not equals and rest and not rest[0].startswith("--"):
            equals, value = "=", rest.pop(0)
        if word in ("-c", "--config"):
            name = value
        elif word.startswith("--no-"):
            pairs.append(f"{word[5:]}=false")
        else:
            pairs.append(f"{word[2:]}={value if equals else 'true'}")
    if not name:
        raise Unreadable("oumi lacks -c FILE")
    name = name.removeprefix("oumi://")
    if not name.endswith((".yaml", ".yml", ".json")):
        raise Unreadable(f"{name} is a name that oumi knows: give its file")
    return found(name, folder), pairs


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return isinstance(tree.get("run"), str) and bool({"resources", "setup"} & set(tree))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Of a job: the training that its script starts, by the words of its line. Raises
    Unreadable."""
    started = _started(tree["run"], tree.get("envs") or {})
    if len(started) != 1:
        raise Unreadable(
            f"{path} is a job of a cluster, and its `run` starts "
            f"{'several trainings' if started else 'no training'} by `oumi train -c "
            "FILE`: read the configuration of the training"
        )
    words = list(started[0])
    at = words.index("train")
    nodes, devices = int(tree.get("num_nodes") or 1), _devices(tree)
    if "torchrun" not in words[:at] and "launch" not in words[:at]:
        nodes, devices = 1, 1
    run = _train(words[at + 1 :], path.parent, nodes, devices)
    if devices:
        run.notes.append(f"launched on {nodes} x {devices} devices")
    return run


def _started(script: str, variables: Mapping[str, Any]) -> list[list[str]]:
    """Words of the lines that start `oumi train`."""
    made = []
    for line in script.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        at = [i for i, each in enumerate(words[:-1]) if words[i : i + 2] == _TRAIN]
        if at and words[0] not in ("echo", "printf"):
            made.append([_filled(word, variables) for word in words])
    return made


_TRAIN = ["oumi", "train"]


def _filled(word: str, variables: Mapping[str, Any]) -> str:
    return _VARIABLE.sub(lambda match: str(variables.get(match[1], match[0])), word)


def _devices(tree: Mapping[str, Any]) -> int:
    """A node's, by A100:8; 0 where nothing says them."""
    resources = tree.get("resources")
    said = resources.get("accelerators") if isinstance(resources, Mapping) else None
    if isinstance(said, Mapping) and len(said) == 1:
        said = f"{next(iter(said))}:{next(iter(said.values()))}"
    match = re.fullmatch(r"[\w-]+(?::(\d+))?", said) if isinstance(said, str) else None
    return int(match[1] or 1) if match else 0
