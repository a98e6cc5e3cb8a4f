"""verl's own configuration, composed by Hydra with the words of a command."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

from ..facts.inherited import plain
from ..run_file import Unreadable


def folder_of_verl() -> pathlib.Path | None:
    """Its configurations, where verl and Hydra are installed; verl is not imported."""
    if importlib.util.find_spec("hydra") is None:
        return None
    found = importlib.util.find_spec("verl")
    for place in (found.submodule_search_locations or []) if found else []:
        folder = pathlib.Path(place, "trainer", "config")
        if folder.is_dir():
            return folder
    return None


def composed(name: str, words: Sequence[str]) -> Any:
    """The whole configuration `name`; None where verl or Hydra is missing.

    Raises Unreadable where Hydra stops at the words.
    """
    folder = folder_of_verl()
    if folder is None or not (folder / f"{name}.yaml").is_file():
        return None
    hydra = importlib.import_module("hydra")
    omegaconf = importlib.import_module("omegaconf").OmegaConf
    overrides = [word for word in words if not word.startswith("-") and "=" in word]
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            hydra.initialize_config_dir(str(folder), version_base=None),
        ):
            made = hydra.compose(config_name=name, overrides=overrides)
        return plain(omegaconf.to_container(made, resolve=False), made)
    except Exception as error:  # of its grammar, and of keys that are not there
        reason = str(error).strip().split("\n")[0]
        raise Unreadable(f"verl's {name} stops at these words: {reason}") from None
