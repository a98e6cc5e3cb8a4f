"""Values of configuration files: sections by dotted keys, numbers, sizes."""

from __future__ import annotations

import importlib
import json
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .run_file import Unreadable

MOST_BYTES = 16_000_000
_NAMED = re.compile(r"\$\{([\w.]+)\}")


def read_file(path: pathlib.Path) -> Any:
    """A YAML, TOML, JSON or Python, by the end of its name. Raises Unreadable."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Unreadable(f"{path} is too large")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from None
    return parsed(text, path)


def found(name: str, folder: pathlib.Path) -> pathlib.Path:
    """A file that another one names: by that one's folder, those above it, or the
    folder that one works in. Raises Unreadable."""
    for place in (folder, *folder.resolve().parents, pathlib.Path.cwd()):
        path = place / name
        if path.is_file():
            return path
    raise Unreadable(
        f"{name} is not there; it was looked for from {folder} on", file=name
    )


def parsed(text: str, path: pathlib.Path) -> Any:
    """The value of a file's text. Raises Unreadable."""
    try:
        if path.suffix == ".json":
            return json.loads(text)
        if path.suffix == ".py":
            from .scripts.python_values import python_values  # which reads files, too

            return python_values(text, path)
        if path.suffix == ".toml":
            if sys.version_info >= (3, 11):
                import tomllib

                return tomllib.loads(text)
            return importlib.import_module("tomli").loads(text)
        return _yaml(text)
    except ModuleNotFoundError as error:
        raise Unreadable(
            f"{path}: {error.name} is not installed, and reads it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path}: {error}") from None


def _yaml(text: str) -> Any:
    """A YAML without its tags, which would call Python."""
    yaml = importlib.import_module("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[name-defined, misc]
        pass

    def untagged(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Loader.add_multi_constructor("", untagged)
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error).replace("\n", " ")) from None


class Values:
    """Values by dotted keys, which remembers those that were asked for."""

    def __init__(self, tree: Any, where: str) -> None:
        self.where = where
        self.all = dict(_leaves(tree, ""))
        self.asked: set[str] = set()

    def get(self, *names: str) -> Any:
        """The first of these that is there and not null; else None."""
        self.asked.update(names)
        for name in names:
            if self.all.get(name) is not None:
                return self.all[name]
        return None

    def number(self, *names: str, default: int | None = None) -> int:
        """A size from 0 on. Raises Unreadable for another value, and without one and
        without `default`."""
        value = self.get(*names)
        if value is None and default is not None:
            return default
        if value is None:
            raise Unreadable(f"{self.where} lacks {names[0]}")
        if value is True:  # an argument with nothing behind it
            raise Unreadable(
                f"{names[0]} has no value: what the script takes it from is empty",
                flag=names[0],
            )
        if isinstance(value, str) and value.replace("_", "").isdigit():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise Unreadable(f"{self.where}: {names[0]} is no size: {value!r}")
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false. Raises Unreadable for another value."""
        value = self.get(*names)
        if value is None:
            return default
        if isinstance(value, str):
            value = {"true": True, "false": False, "1": True, "0": False}.get(
                value.lower(), value
            )
        if not isinstance(value, bool):
            raise Unreadable(
                f"{self.where}: {names[0]} is not true or false: {value!r}"
            )
        return value

    def word(self, *names: str, default: str = "") -> str:
        value = self.get(*names)
        return default if value is None else str(value)

    def follow(self) -> None:
        """Puts the values that ${...} names in its place."""
        for key, value in list(self.all.items()):
            match = _NAMED.fullmatch(value) if isinstance(value, str) else None
            if match:
                self.all[key] = self.all.get(match[1])

    def section(self, name: str) -> dict[str, Any]:
        """The values below this key, by the rest of their names."""
        begin = name + "."
        return {k[len(begin) :]: v for k, v in self.all.items() if k.startswith(begin)}

    def rest(self) -> list[str]:
        """The keys that nobody asked for, and that say something."""
        empty: tuple[Any, ...] = (None, False, "", [], {})
        return [
            key
            for key, value in self.all.items()
            if key not in self.asked and value not in empty
        ]


def _leaves(tree: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(tree, Mapping):
        return
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, name + ".")
        else:
            yield name, value


def sorted_out(keys: list[str], quiet: Sequence[str]) -> tuple[list[str], list[str]]:
    """The keys that change nothing, and the others. A quiet name ends with a dot or is
    a whole key, or stands for its last part with * in front."""

    def is_quiet(key: str) -> bool:
        last = key.rpartition(".")[2]
        return any(
            last.startswith(name[1:]) if name.startswith("*") else key.startswith(name)
            for name in quiet
        )

    return [k for k in keys if is_quiet(k)], [k for k in keys if not is_quiet(k)]


def alternatives(*groups: str) -> re.Pattern[str]:
    """Any one of the patterns, which have blanks between."""
    return re.compile("|".join(" ".join(groups).split()))


def packed(samples: int, most: int) -> int:
    """Samples of a micro-batch where a limit on tokens allows `most`: the most that
    divide the samples of a rank."""
    return max(each for each in range(1, max(1, most) + 1) if samples % each == 0)


def replaced(tree: Any, pairs: Sequence[str]) -> Any:
    """The tree with NAME=VALUE in the place of what it says, names with dots.

    Raises Unreadable for other text.
    """
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name or not isinstance(tree, Mapping):
            raise Unreadable(f"--set {pair}: NAME=VALUE of the file")
        first, dot, rest = name.partition(".")
        try:
            value = parsed(text, pathlib.Path("value.yaml"))
        except Unreadable:
            value = text
        if dot:
            inner = tree.get(first)
            below = inner if isinstance(inner, Mapping) else {}
            value = replaced(below, [f"{rest}={text}"])
        alike = [key for key in tree if str(key).replace("-", "_") == first]
        tree = {**tree, (alike[0] if alike else first): value}
    return tree
