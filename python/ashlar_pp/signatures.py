"""Explains arguments that a function of the extension does not take: which one, and
what it should be.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

LARGEST = 2**63 - 1
DEFAULT = re.compile(r"\\\d+")
"""The number of a default value, in a signature with a list of these beside it."""


class _Parameter:
    def __init__(self, given: ast.arg, needed: bool) -> None:
        self.name, self.wanted, self.needed = given.arg, given.annotation, needed


def _parameters(signature: str) -> tuple[list[_Parameter], list[_Parameter]]:
    """Parameters by position or keyword, and those by keyword alone."""
    (function,) = ast.parse(DEFAULT.sub("None", signature) + ": ...").body
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    first_with_default = len(plain) - len(given.defaults)
    return (
        [_Parameter(one, k < first_with_default) for k, one in enumerate(plain)],
        [
            _Parameter(one, default is None)
            for one, default in zip(given.kwonlyargs, given.kw_defaults)
        ],
    )


def _words(wanted: ast.expr | None) -> str:
    text = ast.unparse(wanted) if wanted is not None else "anything"
    for prefix in ("collections.abc.", "ashlar_pp._core.", "typing."):
        text = text.replace(prefix, "")
    return text.replace(" | ", " or ")


def _takes(wanted: ast.expr | None, value: Any) -> bool:
    """Whether a value may be of an annotated type."""
    if isinstance(wanted, ast.BinOp):
        return _takes(wanted.left, value) or _takes(wanted.right, value)
    if isinstance(wanted, ast.Constant) and wanted.value is None:
        return value is None
    if isinstance(wanted, ast.Subscript):
        inner = (
            wanted.slice.elts if isinstance(wanted.slice, ast.Tuple) else [wanted.slice]
        )
        kind = _words(wanted.value)
        if kind == "tuple":
            return (
                isinstance(value, (tuple, list))
                and len(value) == len(inner)
                and all(map(_takes, inner, value))
            )
        if kind in ("Sequence", "list", "Iterable"):
            is_row = isinstance(value, collections.abc.Iterable) and not isinstance(
                value, (str, bytes)
            )
            return is_row and (
                not isinstance(value, (list, tuple))
                or all(_takes(inner[0], one) for one in value)
            )
        return kind != "Callable" or callable(value)
    name = _words(wanted)
    plain: dict[str, tuple[type, ...]] = {
        "str": (str,),
        "bool": (bool,),
        "float": (numbers.Real,),
    }
    if name == "int":
        return hasattr(value, "__index__") and abs(value) <= LARGEST
    if name in plain:
        return isinstance(value, plain[name])
    if wanted is not None and "_core." in ast.unparse(wanted):
        return name in {base.__name__ for base in type(value).__mro__}
    return True


def _shown(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number beyond 64 bits"
    if isinstance(value, (list, tuple)) and value:
        return (
            f"a {type(value).__name__} of "
            f"{' and '.join(sorted({type(one).__name__ for one in value}))}"
        )
    return type(value).__name__


def _problem(signature: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    plain, by_name = _parameters(signature)
    if len(args) > len(plain):
        return f"it takes at most {len(plain)} arguments by position, not {len(args)}"
    given = {one.name: value for one, value in zip(plain, args)}
    for name, value in kwargs.items():
        if name in given:
            return f"{name} is given twice"
        given[name] = value
    known = {one.name: one for one in [*plain, *by_name]}
    for name in given:
        if name not in known:
            return (
                f"it has no parameter '{name}'; it has: "
                f"{', '.join(n for n in known if n != 'self')}"
            )
    for one in known.values():
        if (
            one.name in given
            and one.name != "self"
            and not _takes(one.wanted, given[one.name])
        ):
            return (
                f"{one.name} must be {_words(one.wanted)}, not "
                f"{_shown(given[one.name])}"
            )
    for one in known.values():
        if one.needed and one.name not in given:
            return f"{one.name} is missing: it must be {_words(one.wanted)}"
    return f"these arguments do not fit {signature.removeprefix('def ')}"


def problem(
    name: str, signatures: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str:
    """Describes what is wrong with arguments, by nanobind's signatures of a
    function.
    """
    found = dict.fromkeys(
        _problem(one[0], args, kwargs) for one in signatures if "NoReturn" not in one[0]
    )
    return f"{name}(): {', or '.join(found)}"


def problem_of_new(kind: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Describes what is wrong with the arguments of a constructor."""
    return problem(kind.__name__, kind.__init__.__nb_signature__, (None, *args), kwargs)  # type: ignore[misc]


def _told(function: Any, name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
            text = problem(name, function.__nb_signature__, args, kwargs)
        raise TypeError(text)

    return call


def tell(module: Any) -> None:
    """Makes all functions and methods of an extension explain wrong arguments."""
    # Functions are replaced, because nanobind makes its message before any translator
    # of exceptions sees the error.
    for name, value in list(vars(module).items()):
        if type(value).__name__ == "nb_func":
            setattr(module, name, _told(value, name))
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for method, function in list(vars(value).items()):
                if type(function).__name__ == "nb_method" and not method.startswith(
                    "__"
                ):
                    setattr(value, method, _told(function, method))
