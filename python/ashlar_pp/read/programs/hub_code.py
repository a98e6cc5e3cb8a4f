"""Code that comes with a model's weights, from a folder in the place of the hub's."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any


def take_code(folder: pathlib.Path | None) -> None:
    """Files of code that `trust_remote_code` asks of a model that is not here are those
    of `folder`. Without them, the program stops, and says which it lacks."""
    dynamic: Any = importlib.import_module("transformers.dynamic_module_utils")
    real = dynamic.get_cached_module_file

    def get(name: Any, file: str, *words: Any, **named: Any) -> Any:
        if pathlib.Path(str(name), file).is_file():
            return real(str(name), file, *words, **named)
        if folder and pathlib.Path(folder, file).is_file():
            return real(str(folder), file, *words, **named)
        try:
            return real(str(name), file, *words, **named)
        except OSError:  # it asks the hub
            raise FileNotFoundError(
                f"{file}, code that comes with {name}, is not on this machine; --model "
                "DIR is a folder with it and the model's config.json"
            ) from None

    dynamic.get_cached_module_file = get
    # It would stop for packages that a generation alone needs; others have stand-ins.
    dynamic.check_imports = dynamic.get_relative_imports
