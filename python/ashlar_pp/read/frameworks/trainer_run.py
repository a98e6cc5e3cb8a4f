"""What programs over the Trainer of transformers are started with: words, a file of
their own or of another framework, and what accelerate is told."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.heads import head_of_program
from ..facts.preferences import preference_of, refuse_second_model
from ..flags import words_by_name
from ..recipes import reader_of
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import found, read_file, replaced
from . import of_trainer
from .of_trainer import MICRO, of_arguments
from .of_trainer import READS as READS
from .own_programs import refuse_own_engine

_FILES = (".yaml", ".yml", ".json", ".toml")


def is_for(training: Training) -> bool:
    words = (word.partition("=")[0].lstrip("-") for word in training.arguments)
    if {*MICRO, "deepspeed", "deepspeed_config"} & {w.replace("-", "_") for w in words}:
        return True
    return _config_file(training) is not None


def read(training: Training) -> Run:
    """Raises Unreadable."""
    refuse_own_engine(training)
    file = _config_file(training)
    given = words_by_name(training.arguments)
    kind = preference_of(given, training.name)
    of_kind = {"rl": kind} if kind else head_of_program(training.name)
    if not of_kind:
        refuse_second_model({}, training.name)
    accelerate = accelerate_of(training)
    if file is None:
        folder = pathlib.Path(training.command.folder)
        return of_arguments({**given, **of_kind}, folder, accelerate)
    tree = read_file(file)
    reader = reader_of(tree, file)
    given = {k: v for k, v in given.items() if k not in ("config", "config_file")}
    given.update(_loose_values(training))
    if reader is of_trainer:
        return of_arguments({**tree, **given, **of_kind}, file.parent, accelerate)
    pairs = [f"{name}={value}" for name, value in given.items()]
    return reader.of_recipe(replaced(tree, pairs), file)


def accelerate_of(training: Training) -> dict[str, Any]:
    """What accelerate's own file and words say: how ranks share the state."""
    if training.launcher != "accelerate":
        return {}
    given = {k: (v if v else True) for k, v in training.launcher_options}
    if "config_file" in given:
        folder = pathlib.Path(training.command.folder)
        path = found(str(given.pop("config_file")), folder)
        tree = read_file(path)
        if not isinstance(tree, Mapping):
            raise Unreadable(f"{path} is no configuration of accelerate")
        return {**tree, **given}
    return given


def _loose_values(training: Training) -> dict[str, str]:
    """NAME=VALUE beside a file, as LLaMA-Factory, lingua and Hydra take them."""
    made: dict[str, str] = {}
    is_of_option = False
    for word in training.arguments:
        name, equals, value = word.lstrip("+").partition("=")
        if equals and not is_of_option and not word.startswith("-"):
            made[name] = value
        is_of_option = word.startswith("-") and "=" not in word
    return made


def _config_file(training: Training) -> pathlib.Path | None:
    words = list(training.arguments)
    for at, word in enumerate(words):
        is_named = at > 0 and words[at - 1] in ("--config", "--config_file", "-c")
        is_loose = not any(w.startswith("-") for w in words[: at + 1]) and at < 2
        if word.startswith("config="):  # OmegaConf's, as lingua has it
            is_named, word = True, word.partition("=")[2]
        path = pathlib.Path(training.command.folder, word)
        if (is_named or is_loose) and path.suffix in _FILES:
            if path.is_file():
                return path
            raise Unreadable(
                f"{training.program} reads {path}, which is not there", file=word
            )
    return None
