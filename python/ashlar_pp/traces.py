"""Costs from traces of PyTorch's profiler."""

from __future__ import annotations

import dataclasses
import gzip
import os
import pathlib
import warnings
from collections.abc import Iterable

from . import _core
from ._core import Costs


@dataclasses.dataclass(frozen=True)
class TracedCosts:
    """Costs of passes and transfers, measured from a trace.

    Attributes:
        costs (Costs): In ticks.
        tick_ns (float): Nanoseconds of a tick.
        text (str): A costs file for the command-line tool, with medians, quartiles and
            numbers of samples of each stage.
        warnings (tuple[str, ...]): Guesses, and possible faults.
    """

    costs: Costs
    tick_ns: float
    text: str
    warnings: tuple[str, ...]


def files_of(path: str | os.PathLike[str]) -> list[pathlib.Path]:
    """The file, or the traces of a folder, ordered by name. Raises ValueError for a
    folder without traces.
    """
    if not os.path.isdir(path):
        return [pathlib.Path(path)]
    found = sorted(
        one
        for one in pathlib.Path(path).iterdir()
        if one.name.endswith((".json", ".json.gz"))
    )
    if not found:
        raise ValueError(f"the folder '{path}' has no file *.json or *.json.gz")
    return found


def text_of(path: pathlib.Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode()


def costs_from_trace(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> TracedCosts:
    """Measures costs of a pipeline that PyTorch's runtime ran under `torch.profiler`.

    Record operators or kernels, as the profiler does by default: a pass's annotation
    (`PP:2F0`) includes the wait for its input, and the operators inside tell how long
    that was. Transfers are measured from the traces of all ranks. Their clocks differ;
    messages both ways tell by how much. Issues a UserWarning for each guess.

    Args:
        paths (path or iterable of paths): The trace of one rank, of several, or a
            folder with those of all; traces may be gzipped.

    Returns:
        TracedCosts: the costs, and what was guessed.

    Raises:
        ValueError: for other files, with line, column and key.
        OSError: for unreadable ones.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = [file for one in given for file in files_of(one)]
    costs, tick_ns, text, told = _core.costs_of_profiles(
        [(str(file), text_of(file)) for file in files]
    )
    for sentence in told:
        warnings.warn(sentence, stacklevel=2)
    return TracedCosts(costs, tick_ns, text, tuple(told))
