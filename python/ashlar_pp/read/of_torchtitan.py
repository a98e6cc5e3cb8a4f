"""Jobs of torchtitan: TOML of versions before 0.3, and its registry of Python."""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
from typing import Any

from .launchers import Training
from .of_megatron import plain
from .run_file import Run, Unreadable
from .values import Values, read_file

_TOML = ("--job.config_file", "--job.config-file")


def is_for(training: Training) -> bool:
    if training.is_module and training.program.startswith("torchtitan"):
        return True
    names = {word.partition("=")[0] for word in training.arguments}
    is_registry = "--module" in names and "--config" in names
    return bool(names & set(_TOML)) or (is_registry and training.name == "train.py")


def read(training: Training) -> Run:
    """Raises Unreadable."""
    given = _given(list(training.arguments))
    run = Run(framework="torchtitan")
    file = next((given.pop(name[2:]) for name in _TOML if name[2:] in given), None)
    values: dict[str, Any] = {}
    if isinstance(file, str):
        path = pathlib.Path(training.command.folder, file)
        values = of_job(read_file(path))
    elif "config" in given:
        values = _of_registry(training, str(given["config"]))
    run.arguments = {**values, **given}
    return run


def of_job(tree: Any) -> dict[str, Any]:
    """The values of a job by dotted keys, as the tool reads them."""
    return {key: _plain(value) for key, value in Values(tree, "the job").all.items()}


def _plain(value: Any) -> str | bool:
    """Lists in a list have commas inside, and blanks between."""
    if isinstance(value, list | tuple) and any(isinstance(one, list) for one in value):
        return " ".join(",".join(map(str, one)) for one in value)
    return plain(value)


def _given(words: list[str]) -> dict[str, str | bool]:
    made: dict[str, str | bool] = {}
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            kind, _, value = word.partition(":")
            if kind == "activation-checkpoint":
                made["activation_checkpoint.mode"] = value
            continue
        name, equals, value = word[2:].partition("=")
        taken: list[str] = [value] if equals else []
        while (
            not equals
            and words
            and not words[0].startswith("--")
            and not _is_command(words[0])
        ):
            taken.append(words.pop(0))
        made[name] = " ".join(taken) if taken else True
    return made


def _is_command(word: str) -> bool:
    """A subcommand of tyro: activation-checkpoint:full."""
    return word.partition(":")[0] in (
        "activation-checkpoint",
        "optimizer",
        "checkpoint",
    )


def _of_registry(training: Training, config: str) -> dict[str, Any]:
    """By torchtitan's own parser, whose registry holds the other values."""
    try:
        manager = importlib.import_module("torchtitan.config").ConfigManager()
    except Exception as error:
        raise Unreadable(
            f"--config {config} is a function of torchtitan's registry, and torchtitan "
            f"cannot be imported here ({error}): install it, or give the job's values "
            "to ashlar predict by its options"
        ) from None
    try:
        job = manager.parse_args(list(training.arguments))
    except SystemExit:
        raise Unreadable("torchtitan's parser stops at these arguments") from None
    tree = dataclasses.asdict(job)
    return {k: v for k, v in of_job(tree).items() if v not in ("None", "")}
