"""Data of a program that runs up to its training: it is left out, or empty."""

from __future__ import annotations

import builtins
import importlib
import io
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from .absent import Absent

# Columns of data that are not of text: with them, trainers expect other models.
_OF_OTHERS_THAN_TEXT = ("image", "images", "video", "videos", "audio", "audios")
_SAMPLES = 100_000  # so many that steps of large batches have theirs
# Empty files; others are an empty list of JSON.
_OF_LINES = {".json": "[]", ".jsonl": "", ".txt": "", ".csv": "", ".tsv": ""}


def open_absent_data(words: Sequence[str], missing: list[str]) -> None:
    """A file of data that the program's words name, and that is not here, is empty;
    its name is added to `missing`."""
    real = builtins.open

    def is_named(path: pathlib.Path) -> bool:
        named = any(str(path) in word or word in str(path) for word in words if word)
        return str(path) in words or (path.suffix in _OF_LINES and named)

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        path = pathlib.Path(file) if isinstance(file, str | pathlib.Path) else None
        is_read = not set("wax") & set(mode)
        if path and is_read and is_named(path) and not path.exists():
            missing.append(str(path))
            text = _OF_LINES.get(path.suffix, "[]")
            return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)
        return real(file, mode, *rest, **named)

    builtins.open = opened


def load_no_data(missing: list[str]) -> None:
    """Data sets of the package `datasets` are left out: they may be large, and no size
    of a step is theirs."""
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        return

    class Data(Absent):
        """Trainers ask whether it is a data set."""

        __class__ = property(lambda self: datasets.Dataset)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return Data()

        def __call__(self, *words: Any, **named: Any) -> Any:
            return Data()

        def __getitem__(self, key: Any) -> Any:
            return Absent() if isinstance(key, int) else Data()

        def __len__(self) -> int:
            return _SAMPLES

        def __iter__(self) -> Iterator[Any]:
            return (Absent() for _ in range(_SAMPLES))

        def __contains__(self, key: Any) -> bool:
            return key not in _OF_OTHERS_THAN_TEXT

    def loaded(*words: Any, **named: Any) -> Any:
        missing.append(str(words[0] if words else named.get("path", "")))
        return Data()

    def joined(real: Any) -> Any:
        def join(all: Any, *words: Any, **named: Any) -> Any:
            if not all:  # a program found no file to make one of
                missing.append("data sets to join")
            is_absent = not all or any(issubclass(type(each), Absent) for each in all)
            return Data() if is_absent else real(all, *words, **named)

        return join

    from_dict = datasets.Dataset.from_dict

    def made(columns: Any, *words: Any, **named: Any) -> Any:
        is_absent = issubclass(type(columns), Absent)
        return Data() if is_absent else from_dict(columns, *words, **named)

    datasets.Dataset.from_dict = made
    for name in ("load_dataset", "load_from_disk"):
        setattr(datasets, name, loaded)
    for name in ("concatenate_datasets", "interleave_datasets"):
        setattr(datasets, name, joined(getattr(datasets, name)))
