"""Whether the compiled part of the package can be imported."""

from __future__ import annotations

import importlib.util
import pathlib


def must_be_there(package: str, file: str) -> None:
    """Raises ImportError, with what to do, if a package has no compiled part: Python
    finds the sources, in the folder that it was started in, before what is installed.

    Args:
        package (str): The name of the package.
        file (str): Its file.
    """
    if importlib.util.find_spec(f"{package}._core") is not None:
        return
    folder = pathlib.Path(file).parent
    raise ImportError(
        f"{folder} has the sources of {package}, and no compiled extension _core. "
        "Start Python in another folder, where it finds the installed package; or "
        "install it first, with `pip install .` at the top of the repository"
    )
