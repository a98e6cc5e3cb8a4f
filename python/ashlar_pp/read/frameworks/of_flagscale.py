"""Configurations of FlagScale over Megatron-LM: a YAML of the experiment, which names
another one with the arguments, in sections."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..scripts.recording import Command
from ..values import read_file
from . import of_megatron

READS = "FlagScale"

_SECTIONS = ("system", "model", "data")
# Sections and values for files, and for the devices of other kinds.
_QUIET = ("logging", "checkpoint", "hetero", "no_shared_fs", "data_path", "seed")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    experiment = tree.get("experiment")
    if isinstance(experiment, Mapping):
        return isinstance(experiment.get("task"), Mapping)
    system = tree.get("system")
    return isinstance(system, Mapping) and "tensor_model_parallel_size" in system


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Of the experiment, or of its arguments alone. Raises Unreadable."""
    experiment = tree.get("experiment") or {}
    task = experiment.get("task") or {}
    kind, backend = task.get("type", "train"), task.get("backend", "megatron")
    if kind != "train" or backend != "megatron":
        raise Unreadable(
            f"{path}: FlagScale's task {kind} by {backend}: only training by megatron "
            "is read"
        )
    values = _train_of(tree, path) if experiment else tree
    hetero = (values.get("system") or {}).get("hetero") or {}
    if hetero.get("enable_hetero"):
        raise Unreadable(
            f"{path}: enable_hetero: stages have ranks of their own, or devices of "
            "several kinds; no layout here has them"
        )
    fields: dict[str, Any] = {}
    for name in _SECTIONS:
        fields.update(values.get(name) or {})
    _round_width(fields)
    program = pathlib.PurePath(str(task.get("entrypoint") or "train_gpt.py")).name
    words = tuple(_words(fields))
    command = Command((program, *words), str(path.parent), {}, ())
    run = of_megatron.read(Training(program, words, command))
    runner = experiment.get("runner") or {}
    devices = runner.get("nproc_per_node")
    if isinstance(devices, int):
        run.notes.append(f"launched on {runner.get('nnodes', 1)} x {devices} devices")
    return run


def _train_of(tree: Mapping[str, Any], path: pathlib.Path) -> Mapping[str, Any]:
    """The file that the experiment names, with what stands over it."""
    names = [
        each["train"]
        for each in tree.get("defaults") or []
        if isinstance(each, Mapping) and "train" in each
    ]
    own = tree.get("train") or {}
    if not names:
        return own if isinstance(own, Mapping) else {}
    file = path.parent / "train" / f"{str(names[-1]).removesuffix('.yaml')}.yaml"
    if not file.is_file():
        raise Unreadable(f"{path} takes in {file}, which is not there")
    made = dict(read_file(file))
    for name in _SECTIONS if isinstance(own, Mapping) else ():
        made[name] = {**(made.get(name) or {}), **(own.get(name) or {})}
    return made


def _round_width(fields: dict[str, Any]) -> None:
    """Its own arguments of a gated layer's width (runner/auto_tuner/utils.py), which a
    width that is said replaces."""
    multiple = fields.pop("multiple_of", None)
    factor = fields.pop("hidden_dim_multiplier", None) or 1
    if fields.get("ffn_hidden_size") or not fields.get("swiglu") or not multiple:
        return
    width = int(int(4 * fields["hidden_size"] * 2 / 3) * factor)
    fields["ffn_hidden_size"] = -(-width // multiple) * multiple


def _words(fields: Mapping[str, Any]) -> Iterator[str]:
    """As flagscale/runner/utils.py makes arguments of them."""
    for name, value in fields.items():
        if name in _QUIET or value is None or value is False:
            continue
        if isinstance(value, Mapping):
            yield from _words(value)
            continue
        yield "--" + name.replace("_", "-")
        if value is not True:
            yield from (
                [str(each) for each in value]
                if isinstance(value, list)
                else [str(value)]
            )
