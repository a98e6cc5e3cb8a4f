"""What a program names and this machine lacks: tokenizers, and packages around the
training. None of it has a size that a prediction counts."""

from __future__ import annotations

import ast
import dis
import importlib
import importlib.abc
import importlib.machinery
import pathlib
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..facts.stand_ins import Distribution

_MANY = 1000  # samples: programs print some of them


class Absent:
    """Any attribute, element and result of it is again one. Going through it gives one
    element, so that no loop is long."""

    def __init__(self, *words: Any, **named: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __call__(self, *words: Any, **named: Any) -> Any:
        return Absent()

    def __getitem__(self, key: Any) -> Any:
        return Absent()

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __delitem__(self, key: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter([type(self)() for _ in range(_unpacked())])

    def keys(self) -> list[str]:
        """As words of a call, it gives none."""
        return []

    def __len__(self) -> int:
        return _MANY

    def __contains__(self, key: Any) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *words: Any) -> None:
        pass

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (Absent,)

    def __fspath__(self) -> str:
        return "absent"

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """What PyTorch makes of it has no value, either."""
        return Absent()

    def _same(self, *words: Any) -> Any:
        return Absent()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __floordiv__ = __mod__ = __or__ = __and__ = _same

    def _is_less(self, other: Any) -> bool:
        return False

    __lt__ = __gt__ = __le__ = __ge__ = _is_less


def is_absent(value: Any) -> bool:
    """Whether it stands for something that is not here."""
    return issubclass(type(value), Absent)


def _unpacked() -> int:
    """Names that the program's line gives elements to, as in a, b = ...; else 1."""
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if dis.opname[code[at]] == "UNPACK_SEQUENCE" else 1


class AbsentTokenizer(Absent):
    """A tokenizer whose files are not here: its table has the model's rows. Trainers
    ask whether it is one of the class `kind`."""

    def __init__(self, rows: int, length: Any, kind: type) -> None:
        self.rows = rows
        self.kind = kind
        self.vocab_size = rows
        self.model_max_length = length
        self.padding_side = self.truncation_side = "right"
        self.pad_token = self.eos_token = self.bos_token = self.unk_token = "</s>"
        self.pad_token_id = self.eos_token_id = self.bos_token_id = 0
        self.unk_token_id = 0
        self.chat_template = None

    __class__ = property(lambda self: self.kind)

    def __len__(self) -> int:
        return self.rows

    def add_special_tokens(self, *words: Any, **named: Any) -> int:
        return 0

    add_tokens = add_special_tokens

    def _pad(self, *words: Any, **named: Any) -> Any:  # programs ask whose it is
        return Absent()

    def __call__(self, *words: Any, **named: Any) -> Any:
        """One text that is filled up to a length has it, whatever it says."""
        length = named.get("max_length") or self.model_max_length
        fills = named.get("padding") == "max_length" and named.get("truncation")
        given = words[0] if words else named.get("text")
        is_one = isinstance(given, str) or type(given) is Absent
        if not (fills and is_one and named.get("return_tensors") == "pt"):
            return Absent()
        torch = importlib.import_module("torch")
        ones = torch.ones(1, int(length), dtype=torch.long)
        encoded = importlib.import_module("transformers").BatchEncoding
        return encoded({"input_ids": ones, "attention_mask": ones})


class _Name(Absent):
    """A name of a package: as a decorator, it leaves what it is given."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name()

    def __call__(self, *words: Any, **named: Any) -> Any:
        is_decorated = len(words) == 1 and not named
        if is_decorated and isinstance(words[0], type | types.FunctionType):
            return words[0]
        return _Name()


class _Package(types.ModuleType):
    __path__: list[str] = []
    __version__ = "99.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name()


class Packages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands, last of all finders, for packages that files of the program's own folder
    import, or files of `code`, which came with a model. Libraries find out as always
    which others there are.

    `names` collects these packages; `given` has names of some of them.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        code: pathlib.Path,
        names: set[str],
        given: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self.folder = folder.resolve()
        # Where files that ask are: a program may start in the folder above its own.
        self.own = {self.folder, code.resolve(), pathlib.Path.cwd().resolve()}
        self.names = names
        self.given = given

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        if top not in self.names:
            if "." in name or not self._is_asked_by_program():
                return None
            # A checkout that is not installed: its own package is beside the program.
            if beside := self._beside(name):
                sys.path.append(beside)
                self.own.add(pathlib.Path(beside, name).resolve())
                return importlib.machinery.PathFinder.find_spec(name, [beside])
            self.names.add(top)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _beside(self, name: str) -> str:
        """A folder around the program in which the package is."""
        for above in (pathlib.Path.cwd(), self.folder, *self.folder.parents[:3]):
            for place in (above, above / "src"):
                if next((place / name).glob("*.py"), None):
                    return str(place)
        return ""

    def find_distributions(self, context: Any) -> Iterator[Distribution]:
        name = str(context.name or "").replace("-", "_")
        if name in self.names:
            yield Distribution(name)

    def _is_asked_by_program(self) -> bool:
        """Whether a file of the program imports it, and does without it nowhere."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if name == "importlib.util":  # it only asks whether the package is there
                return False
            if not name.startswith("importlib"):
                path = pathlib.Path(frame.f_code.co_filename).resolve()
                is_own = not self.own.isdisjoint(path.parents)
                is_own = is_own and "site-packages" not in path.parts
                return is_own and not _is_tried(path, frame.f_lineno)
            frame = frame.f_back
        return False

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        made = _Package(spec.name)
        vars(made).update(self.given.get(spec.name, {}))
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _is_tried(path: pathlib.Path, line: int) -> bool:
    """Whether this line of a file is tried, with an answer to its failure."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return any(
        isinstance(node, ast.Try)
        and node.handlers
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
        for node in ast.walk(tree)
    )
