"""Arguments of a program by name, as its parser would part its words."""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

FILE = pathlib.Path(__file__).parent / "megatron_flags.json"


@dataclass
class Flags:
    """Each argument by the name that the program's help has first, without hyphens in
    front: `num-layers`.

    A value is the text behind it, several words with blanks between, or True for an
    argument without one. `lacking` names arguments whose value is not there,
    `unknown` those that the parser does not have, `loose` words that belong to none.
    """

    values: dict[str, str | bool] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)


@functools.cache
def megatron_flags() -> dict[str, tuple[str, int | str]]:
    """The name and the number of words ("+", "*", "?") of each argument of Megatron-LM,
    by every name that it has."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: (flag["names"][0].lstrip("-"), flag["words"])
        for flag in table["flags"]
        for name in flag["names"]
    }


@functools.cache
def megatron_defaults() -> dict[str, bool | int | float | str]:
    """The default of each field, where it has one that is not None."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        flag["field"]: flag["default"] for flag in table["flags"] if "default" in flag
    }


def megatron_version() -> str:
    """Of the Megatron-LM that the table is of."""
    return str(json.loads(FILE.read_text(encoding="utf-8"))["version"])


def read_megatron(words: Sequence[str]) -> Flags:
    """Parts the words as Megatron-LM's parser does; the last of several counts.

    An argument that the table does not have takes the words up to the next one.
    """
    table = megatron_flags()
    made = Flags()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_flag(word):
            made.loose.append(word)
            continue
        written, equals, value = word.partition("=")
        # Forks write the same names with underscores.
        hyphened = "--" + written[2:].replace("_", "-")
        if written not in table and hyphened in table:
            written = hyphened
        is_known = written in table
        name, count = table[written] if is_known else (hyphened[2:], "*")
        if not is_known:
            made.unknown.append(name)
        taken = [value] if equals else _values(words[at:], count)
        if not equals:
            at += len(taken)
        if count == 0 and not equals:
            made.values[name] = True
        elif taken:
            made.values[name] = " ".join(taken)
        elif name in made.unknown or count in ("*", "?"):
            made.values[name] = True
        else:
            made.values[name] = ""
            made.lacking.append(name)
    return made


def _is_flag(word: str) -> bool:
    return (
        len(word) > 2
        and word.startswith("--")
        and (word[2].isalpha() or word[2] == "_")
    )


def _values(rest: Sequence[str], count: int | str) -> list[str]:
    taken: list[str] = []
    most = {"?": 1, "+": len(rest), "*": len(rest)}.get(str(count), count)
    for word in rest:
        if len(taken) == most or _is_flag(word):
            break
        taken.append(word)
    return taken


def words_by_name(words: tuple[str, ...]) -> dict[str, Any]:
    """Arguments by their names with underscores; a flag is True."""
    made: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        taken = [value] if equals else []
        while not equals and rest and not rest[0].startswith("--"):
            taken.append(rest.pop(0))
        made[name.replace("-", "_")] = " ".join(taken) if taken else True
    return made
