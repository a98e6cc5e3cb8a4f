"""Defaults of a program's own arguments, and tables in it, by its syntax: nothing of it
runs."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

from ..run_file import Unreadable
from ..values import MOST_BYTES
from .python_values import Code, python_values

# Paths of empty variables may begin so, too: -2026.json.
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?$")


def syntax_of(path: pathlib.Path) -> ast.Module | None:
    """None: it is not there, or no Python."""
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return None


def arguments_of(tree: ast.Module) -> dict[str, tuple[str, Any]]:
    """Each word of argparse's add_argument: the name that it sets, with its default
    where that is a value. A flag is False."""
    made: dict[str, tuple[str, Any]] = {}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "add_argument":
            continue
        words = [_known(each) for each in call.args]
        named = {each.arg: _known(each.value) for each in call.keywords}
        texts = [word for word in words if isinstance(word, str)]
        long = next((word for word in texts if word.startswith("--")), "")
        name = str(named.get("dest") or long.lstrip("-").replace("-", "_"))
        default = named.get("default")
        if named.get("action") == "store_true" and default is None:
            default = False
        made.update((word, (name, default)) for word in texts if name)
    return made


def _known(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return None


def table_of(tree: ast.Module, name: str, path: pathlib.Path) -> Any:
    """What the file assigns to a name, with its imports; None: nothing known."""
    kept: list[ast.stmt] = [
        node
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        or (
            isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        )
    ]
    try:
        made = python_values(ast.unparse(ast.Module(kept, [])), path, {}).get(name)
    except Unreadable:
        return None
    return None if isinstance(made, Code) else made


def given_of(
    words: tuple[str, ...], known: dict[str, tuple[str, Any]]
) -> dict[str, Any]:
    """A command's arguments by name, over the program's defaults; several values are a
    list. Words that the program does not know keep their names."""
    made = {name: default for name, default in known.values()}
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if not _OPTION.match(word):
            continue
        taken = [value] if equals else []
        while not equals and rest and not _OPTION.match(rest[0]):
            taken.append(rest.pop(0))
        if word not in known and word.startswith("--"):
            longer = [each for each in known if each.startswith(word)]
            word = longer[0] if len(longer) == 1 else word  # as argparse takes it
        name = known.get(word, (word.lstrip("-").replace("-", "_"), None))[0]
        made[name] = taken[0] if len(taken) == 1 else (taken or True)
    return made
