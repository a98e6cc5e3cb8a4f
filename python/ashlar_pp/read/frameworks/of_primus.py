"""Configurations of Primus over Megatron-LM, torchtitan or MaxText, a YAML in its
repository."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import read_file
from . import of_maxtext, primus_hybrid
from .of_megatron import of_fields
from .of_torchtitan import of_job

READS = "Primus"

_VARIABLE = re.compile(r"\$\{([^:{}]+)(?::([^}]*))?\}")


# Its files list these for all; programs for decoders do not read them.
_OF_OTHERS = ("retro_", "bert_", "vision_", "dino_", "ict_", "biencoder_", "img_")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    modules = tree.get("modules")
    if modules is None and {"extends", "bases"} & set(tree):
        return True
    return isinstance(modules, Mapping) and "pre_trainer" in modules


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """The values of its trainer's file, of its model's, and its own, in this order.

    Raises Unreadable, also where those files are not there.
    """
    if "modules" not in tree:
        raise Unreadable(
            f"{path} is a part that Primus's configurations take in, and starts no "
            "training: read one of those"
        )
    trainer = tree["modules"]["pre_trainer"]
    framework = str(trainer.get("framework", "megatron"))
    if framework not in ("megatron", "torchtitan", "maxtext"):
        raise Unreadable(f"{path}: framework {framework} of Primus is not read here")
    fields: dict[str, Any] = {}
    for kind, key in (("modules", "config"), ("models", "model")):
        name = str(_evaluated(trainer.get(key) or ""))
        fields = _merged(fields, _extended(_place(path, kind, framework, name), 0))
    fields = _merged(fields, trainer.get("overrides") or {})
    if framework == "torchtitan":
        job = of_job({k: v for k, v in fields.items() if k != "primus_turbo"})
        return Run(framework="torchtitan", arguments=job)
    if framework == "maxtext":
        return _of_maxtext(fields, path)
    run = Run()
    quiet = () if fields.get("retro_add_retriever") else _OF_OTHERS
    plain = {
        k: v
        for k, v in fields.items()
        if not isinstance(v, Mapping) and not k.startswith(quiet)
    }
    values = {k: _evaluated(v) for k, v in plain.items()}
    if not primus_hybrid.spec_of(values):
        of_fields(values, run, path.parent)
        return run
    made = primus_hybrid.architecture_of(values)
    of_fields(primus_hybrid.without_layers(values), run, path.parent)
    words = int(run.arguments.get("vocab_size") or 0)
    if words <= 0:
        raise Unreadable(f"{path}: its tokenizer is not known: --set vocab_size=N")
    multiple = int(values.get("make_vocab_size_divisible_by") or 128)
    multiple *= int(values.get("tensor_model_parallel_size") or 1)
    words = -(-words // multiple) * multiple
    run.model = {"architecture": {**made, "vocabulary": words}}
    return run


def _of_maxtext(fields: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Its values in the place of a file beside MaxText's own, where these are there."""
    if fields.get("override_model"):
        raise Unreadable(f"{path}: override_model: another model than MaxText's")
    places = [
        folder / "third_party" / "maxtext" / "src" / name / "configs"
        for folder in path.resolve().parents
        for name in ("maxtext", "MaxText")
    ]
    place = next((one / path.name for one in places if one.is_dir()), path)
    values = {key: _evaluated(value) for key, value in fields.items()}
    run = of_maxtext.of_fields(values, {}, place)
    if run.program.get("attention") == "cudnn":
        del run.program["attention"]  # on AMD, Transformer Engine has other kernels
    return run


def _place(path: pathlib.Path, kind: str, framework: str, name: str) -> pathlib.Path:
    for folder in path.resolve().parents:
        place = folder / "primus" / "configs" / kind / framework / name
        if name and place.is_file():
            return place
    raise Unreadable(
        f"{path}: {name or 'a file'} of Primus's {kind} is not there: keep the file in "
        "Primus's repository"
    )


def _extended(path: pathlib.Path, depth: int) -> dict[str, Any]:
    """The values of a file over those of the files that it extends."""
    if depth > 20:
        raise Unreadable(f"{path} extends itself")
    tree = read_file(path)
    if not isinstance(tree, Mapping):
        raise Unreadable(f"{path} is no configuration with names and values")
    made: dict[str, Any] = {}
    for base in [*(tree.get("bases") or []), *(tree.get("extends") or [])]:
        made = _merged(made, _extended(path.parent / str(base), depth + 1))
    own = {k: v for k, v in tree.items() if k not in ("bases", "extends")}
    return _merged(made, own)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Sections are merged, other values replaced."""
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            made[key] = _merged(old, value)
        else:
            made[key] = value
    return made


def _evaluated(value: Any) -> Any:
    """With variables of the environment, or their defaults, in their place."""
    if not isinstance(value, str):
        return value
    text = _VARIABLE.sub(lambda m: os.environ.get(m[1], m[2] or ""), value)
    return None if text in ("null", "") else text
