"""Configurations that begin as other files: `defaults` of NeMo RL, with references to
other values that OmegaConf resolves."""

from __future__ import annotations

import importlib
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable
from ..values import found, read_file

_MOST_FILES = 32
_RESOLVERS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": lambda a, b: max(a, b),
}


def inherited(tree: Mapping[str, Any], path: pathlib.Path) -> dict[str, Any]:
    """The file with those that it begins as, and with its references resolved.

    Raises Unreadable.
    """
    return resolved(_joined(tree, path, _MOST_FILES), path)


def _joined(tree: Mapping[str, Any], path: pathlib.Path, left: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    said = tree.get("defaults") or []
    for name in [said] if isinstance(said, str) else said:
        if left <= 0:
            raise Unreadable(f"{path}: more than {_MOST_FILES} files stand behind it")
        file = found(str(name), path.parent)
        below = read_file(file)
        if not isinstance(below, Mapping):
            raise Unreadable(f"{file} is no configuration with names and values")
        made = _over(made, _joined(below, file, left - 1))
    return _over(made, {k: v for k, v in tree.items() if k != "defaults"})


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Sections are joined, unless one says `_override_`."""
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        if isinstance(value, Mapping):
            joins = isinstance(old, Mapping) and not value.get("_override_")
            own = {k: v for k, v in value.items() if k != "_override_"}
            made[key] = _over(old if joins else {}, own)  # type: ignore[arg-type]
        else:
            made[key] = value
    return made


def _has_references(tree: Any) -> bool:
    if isinstance(tree, Mapping):
        return any(_has_references(value) for value in tree.values())
    if isinstance(tree, list):
        return any(_has_references(value) for value in tree)
    return isinstance(tree, str) and "${" in tree


def resolved(tree: dict[str, Any], path: pathlib.Path) -> dict[str, Any]:
    if not _has_references(tree):
        return tree
    try:
        omegaconf = importlib.import_module("omegaconf").OmegaConf
    except ModuleNotFoundError:
        raise Unreadable(
            f"{path}: omegaconf is not installed, and resolves its references: "
            "pip install omegaconf"
        ) from None
    # register_resolver is another function before 2.4; there, this is its old name.
    with warnings.catch_warnings(action="ignore"):
        for name, resolver in _RESOLVERS.items():
            if not omegaconf.has_resolver(name):
                omegaconf.register_new_resolver(name, resolver)
    try:
        made = plain(tree, omegaconf.create(tree))
    except Exception as error:  # of its grammar
        reason = str(error).strip().split("\n")[0]
        raise Unreadable(f"{path}: {reason}") from None
    return dict(made)


def plain(tree: Any, config: Any) -> Any:
    """Resolved value by value: some need an environment that is not here."""
    if not isinstance(tree, dict):
        return tree
    made = {}
    for key in tree:
        try:
            value = config[key]
        except Exception:  # a value that is missing, or whose resolver is
            value = None
        is_inner = hasattr(value, "items")
        leaf = list(value) if type(value).__name__ == "ListConfig" else value
        made[key] = plain(tree[key], value) if is_inner else leaf
    return made
