"""Files that are not here: tokens are an array of zeros, from which a program cuts
sequences of its own length, and weights load nothing."""

from __future__ import annotations

import functools
import importlib
import os
import pathlib
from collections.abc import Callable
from typing import Any

_ELEMENTS = 1 << 27  # more than any batch; memory is taken as it is read


class _State:
    """Weights of a file that is not here. A module may load them; what else is in the
    file, such as sizes, is not known."""

    def __init__(self, path: str) -> None:
        vars(self)["path"] = path

    def __getattr__(self, name: str) -> Any:
        raise FileNotFoundError(f"{vars(self)['path']}, which is more than weights")

    def __getitem__(self, key: Any) -> Any:
        raise FileNotFoundError(f"{vars(self)['path']}, which is more than weights")


class Arrays:
    """`missing` collects the files; `asked` are those of which the program was told
    that they are not here."""

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        self.asked: set[pathlib.Path] = set()
        self._folders: set[pathlib.Path] = set()

    def leave_out(self) -> None:
        """From now on."""
        numpy: Any = importlib.import_module("numpy")
        real = numpy.memmap

        class Mapped(real):  # type: ignore[misc, valid-type]
            """A file that is mapped, if it is here."""

            def __new__(
                cls, file: Any, dtype: Any = numpy.uint8, *rest: Any, **named: Any
            ) -> Any:
                mode = rest[0] if rest else named.get("mode", "r+")
                is_path = isinstance(file, str | os.PathLike)
                if not is_path or mode not in ("r", "c") or pathlib.Path(file).exists():
                    return real.__new__(real, file, dtype, *rest, **named)
                return left_out(pathlib.Path(file), dtype, named.get("shape"))

        def left_out(path: pathlib.Path, dtype: Any, shape: Any) -> Any:
            self.missing.append(str(path))
            self._folders.add(path.absolute().parent)
            return numpy.zeros(shape or _ELEMENTS, dtype)

        numpy.memmap = Mapped
        self._leave_out_weights()
        for place, name in (
            (os.path, "exists"),
            (os.path, "isfile"),
            (pathlib.Path, "exists"),
            (pathlib.Path, "is_file"),
        ):
            setattr(place, name, self._told(getattr(place, name)))

    def _leave_out_weights(self) -> None:
        torch: Any = importlib.import_module("torch")
        load, take = torch.load, torch.nn.Module.load_state_dict

        def loaded(file: Any, *words: Any, **named: Any) -> Any:
            is_path = isinstance(file, str | os.PathLike)
            if not is_path or pathlib.Path(file).exists():
                return load(file, *words, **named)
            self.missing.append(str(file))
            return _State(str(file))

        def taken(module: Any, state: Any, *words: Any, **named: Any) -> Any:
            if isinstance(state, _State):
                return take(module, module.state_dict())
            return take(module, state, *words, **named)

        torch.load = loaded
        torch.nn.Module.load_state_dict = taken

    def _told(self, ask: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(ask)
        def told(path: Any, *words: Any, **named: Any) -> bool:
            is_here = ask(path, *words, **named)
            if not is_here and isinstance(path, str | os.PathLike):
                self.asked.add(pathlib.Path(path).absolute())
            return is_here

        return told

    def doubt(self) -> str:
        """A file that the program looked for where data are not here, and that may say
        another size; empty: none."""
        beside = {each for each in self.asked if each.parent in self._folders}
        beside -= {pathlib.Path(each).absolute() for each in self.missing}
        return str(min(beside)) if beside else ""
