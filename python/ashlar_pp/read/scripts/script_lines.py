"""Where a script takes a value from: for errors that name its line."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Sequence

_ARGUMENT = re.compile(r"^\s*(?:export\s+|local\s+)?(\w+)=[\"']?\$\{?([1-9]\d*)\b")


def script_of(words: Sequence[str]) -> tuple[pathlib.Path | None, int]:
    """The script of a command, and how many arguments the command gives it."""
    for at, word in enumerate(words[:3]):
        path = pathlib.Path(word)
        if path.suffix in (".sh", ".slurm", ".sbatch", ".bash") and path.is_file():
            return path, len(words) - at - 1
    return None, 0


def _lines(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def folder_with(file: str, words: Sequence[str]) -> str:
    """The folder of the script, or one above it, from which the file is there; empty
    where none is."""
    path, _ = script_of(words)
    places = path.resolve().parents if path and file else ()
    return next((str(each) for each in places if (each / file).is_file()), "")


def arguments_wanted(words: Sequence[str]) -> list[str]:
    """The lines that take an argument which the command does not give."""
    path, given = script_of(words)
    if path is None:
        return []
    made = []
    for number, line in enumerate(_lines(path), 1):
        match = _ARGUMENT.match(line)
        if match and int(match[2]) > given:
            made.append(f"line {number} takes {match[1]} from argument {match[2]}")
    return made


def line_of(flag: str, words: Sequence[str]) -> int:
    """The first line that has `--flag`, from 1 on; 0 where none has it as it stands."""
    path, _ = script_of(words)
    if path is None or not flag:
        return 0
    name = re.escape(flag.replace("-", "_")).replace("_", "[-_]")
    for number, line in enumerate(_lines(path), 1):
        if not line.lstrip().startswith("#") and re.search(rf"--{name}(?![\w-])", line):
            return number
    return 0


def origin_of(flag: str, words: Sequence[str]) -> str:
    """Says where the empty value of `--flag` comes from, or nothing."""
    path, given = script_of(words)
    if path is None:
        return ""
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        match = re.search(rf"--{re.escape(flag)}[= ]+[\"']?\$\{{?(\w+)", line)
        if match is None:
            continue
        name = match[1]
        if name.isdigit():
            return f"line {number} takes it from argument {name}"
        for at, other in enumerate(lines, 1):
            taken = _ARGUMENT.match(other)
            if taken and taken[1] == name and int(taken[2]) > given:
                return (
                    f"line {number} takes it from ${name}, which line {at} takes from "
                    f"argument {taken[2]}"
                )
        return f"line {number} takes it from ${name}, as {name}=... before the command"
    return ""
