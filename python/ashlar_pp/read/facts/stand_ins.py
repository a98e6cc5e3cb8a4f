"""Imports a module of recipes where packages that only train are not installed.

Recipes import the framework around them, and that imports kernels of GPUs, loggers and
loaders of data. A configuration needs none of these. So a package that the framework
imports and that is missing has a stand-in, whose names are empty classes.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any


class _Nothing(type):
    """A class with any attribute, which is such a class again."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing(name)

    def __getitem__(cls, key: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


def _nothing(name: str) -> Any:
    def take(self: Any, *words: Any, **named: Any) -> None:
        pass

    def same(self: Any, *words: Any, **named: Any) -> Any:
        # A decorator leaves what it is given.
        return words[0] if len(words) == 1 and not named else self

    return _Nothing(name, (), {"__init__": take, "__call__": same})


class _Module(types.ModuleType):
    __path__: list[str] = []
    # Frameworks refuse releases that are too old.
    __version__ = "99.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing(name)


class Distribution(importlib.metadata.Distribution):
    """A package that something stands in for, for those that ask its version."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        text = f"Name: {self._name}\nVersion: {_Module.__version__}\n"
        return text if filename in ("METADATA", "PKG-INFO") else None

    def locate_file(self, path: Any) -> Any:
        return path


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last, and answers imports of one package alone: others ask whether a
    package is there to decide what they do."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.names: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        is_stood_in = any(
            name == each or name.startswith(each + ".") for each in self.names
        )
        if not is_stood_in:
            if top == self.root and not _is_beside(name):
                return None
            if not self._imports():
                return None
            self.names.add(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def find_distributions(self, context: Any) -> Iterator[Distribution]:
        """The packages that are stood in for, to those that ask their version."""
        name = str(context.name or "").replace("-", "_")
        if name in self.names:
            yield Distribution(name)

    def _imports(self) -> bool:
        """Whether a module of the package is the one that imports."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if not name.startswith("importlib"):
                # PyTorch's door to TensorBoard imports that for the framework.
                places = (self.root + ".", "torch.utils.tensorboard.")
                return (name + ".").startswith(places)
            frame = frame.f_back
        return False

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _is_beside(name: str) -> bool:
    """A package of its own below a name that several share: megatron.energon."""
    parts = name.split(".")
    above = sys.modules.get(parts[0])
    return len(parts) == 2 and getattr(above, "__file__", None) is None


def import_recipe(name: str) -> tuple[types.ModuleType, list[str]]:
    """The module, and the packages that something stands in for.

    These stay, because recipes import more when they are called. Raises ImportError
    where the module itself is missing, and whatever its code raises.
    """
    finder = _Finder(name.partition(".")[0])
    sys.meta_path.append(finder)
    return importlib.import_module(name), sorted(finder.names)


def stood_in_for() -> list[str]:
    """The packages that something stands in for, in all imports of recipes so far."""
    return sorted(
        {
            name
            for each in sys.meta_path
            if isinstance(each, _Finder)
            for name in each.names
        }
    )
