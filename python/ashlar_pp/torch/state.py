"""Saves and restores the visible state of modules, so that calls that measure or trace
leave nothing behind.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

_FOREIGN = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    dist.ProcessGroup,
)
"""Kinds of objects that are not looked into."""

_PLAIN = (int, float, complex, str, bytes)

_DEPTH = 8


@dataclass
class _Change:
    path: str
    is_replaced: Callable[[], bool]
    """Whether the value is another object or has other contents."""
    is_other: Callable[[], bool]
    """Whether its numbers or words differ."""
    back: Callable[[], None]


class State:
    """A copy of the attributes and buffers of modules, and of the objects below them.
    Weights are not copied.
    """

    def __init__(
        self, modules: Iterable[tuple[str, nn.Module]], beyond: tuple[type, ...] = ()
    ) -> None:
        """modules: modules by name, with all below them. beyond: more kinds of objects
        that are not looked into.
        """
        self._beyond = (*_FOREIGN, *beyond)
        self._seen: set[int] = set()
        self._changes: list[_Change] = []
        self._weights: list[tuple[str, Callable[[], bool]]] = []
        self._children: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._globals: set[str] = set()
        self._kept: list[Any] = []  # an id is unique only while its object lives
        for name, module in modules:
            if id(module) not in self._seen:
                self._seen.add(id(module))
                self._look_at_attributes(name, vars(module), _DEPTH)

    @classmethod
    def of_objects(cls, values: Iterable[Any]) -> State:
        """The state of objects, without that of tensors and modules among them."""
        state = cls(())
        for value in values:
            if not isinstance(value, (torch.Tensor, nn.Module)):
                state._look("", value, _DEPTH)
        return state

    def changed(self) -> list[str]:
        """Paths of values whose numbers or words changed. Other objects of the same
        kind are not compared.
        """
        return sorted({one.path for one in self._changes if one.is_other()})

    def restore(self) -> list[str]:
        """Puts everything back, and returns the paths of what had changed."""
        changed = self.changed()
        with torch.no_grad():
            for one in [one for one in self._changes if one.is_replaced()]:
                one.back()
        return changed

    def changed_weights(self) -> list[str]:
        """Paths of weights that were written to. These are not put back."""
        return sorted(path for path, is_changed in self._weights if is_changed())

    def replaced_modules(self) -> list[str]:
        """The paths of modules that are others now. These are not put back."""
        return sorted(
            f"{path}.{k}"
            for path, now, then in self._children
            for k in {*now, *then}
            if now.get(k) is not then.get(k)
        )

    def _look(self, path: str, value: Any, depth: int) -> None:
        if (
            depth == 0
            or value is None
            or isinstance(value, (*_PLAIN, *self._beyond))
            or id(value) in self._seen
        ):
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, torch.Tensor):
            self._look_at_tensor(path, value, depth)
        elif isinstance(value, nn.Module):
            # the depth of modules is not limited
            self._look_at_attributes(path, vars(value), _DEPTH)
        elif isinstance(value, (dict, list, set, deque)):
            self._look_at_attributes(path, value, depth)
        elif isinstance(value, (tuple, frozenset)):
            for k, one in enumerate(value):
                self._look(f"{path}[{k}]", one, depth - 1)
        elif (state := _generator_state(value)) is not None:
            get, put = state
            before = get()
            self._add(path, lambda: not _is_equal(get(), before), lambda: put(before))
        elif type(getattr(value, "__dict__", None)) is dict:
            self._look_at_attributes(path, vars(value), depth)

    def _look_at_tensor(self, path: str, tensor: torch.Tensor, depth: int) -> None:
        if vars(tensor):
            self._look_at_attributes(path, vars(tensor), depth)
        if tensor.grad_fn is not None or tensor.is_meta or hasattr(tensor, "to_local"):
            return
        if isinstance(tensor, nn.Parameter):
            version = tensor._version
            self._weights.append((path, lambda: tensor._version != version))
            return
        before = tensor.detach().clone()

        def back() -> None:
            if tensor.shape != before.shape:
                tensor.data = before
            else:
                tensor.detach().copy_(before)

        self._add(path, lambda: not _has_same_numbers(tensor.detach(), before), back)

    def _look_at_attributes(self, path: str, found: Any, depth: int) -> None:
        before = found.copy()

        def back() -> None:
            kept = (
                {key: value for key, value in found.items() if _is_of_hooks(key)}
                if isinstance(found, dict)
                else {}
            )
            found.clear()
            (found.extend if isinstance(found, (list, deque)) else found.update)(before)
            if kept:
                found.update(kept)

        if not isinstance(found, dict):
            for k, one in enumerate(before):
                self._look(f"{path}[{k}]", one, depth - 1)
            self._add(path, lambda: not _holds_same(found, before), back)
            return
        for key, of in before.items():
            below = f"{path}.{key}" if path else str(key)
            if _is_of_hooks(key):
                continue
            if key in ("_parameters", "_buffers"):
                self._look_at_attributes(path, of, depth)
            elif key == "_modules":
                self._children.append((path, of, dict(of)))
                for name, child in of.items():
                    self._look(f"{path}.{name}" if path else name, child, depth)
            else:
                self._look(below, of, depth - 1)
                self._changes.append(
                    _Change(
                        below, _replaces(found, key, of), _differs(found, key, of), back
                    )
                )
        self._add(path, lambda: found.keys() != before.keys(), back)

    def look_at_globals(self, module: nn.Module) -> State:
        """Adds global variables named by the module's forward and the functions it
        calls. Lists may grow, as logs do. Dictionaries and sets are added only if its
        own methods name them: functions of libraries use them as caches.
        """
        methods = _methods_of(type(module))
        for function in _reached_from([*methods, *_functions_in(vars(module))]):
            for path, of, name, value in _variables_of(function):
                if path in self._globals:
                    continue
                self._globals.add(path)
                if isinstance(value, (int, float)):
                    change = _Change(
                        path,
                        _replaces(of, name, value),
                        _differs(of, name, value),
                        _put(of, name, value),
                    )
                    self._changes.append(change)
                elif isinstance(value, list):
                    self._changes.append(_change_of_list(path, value))
                elif _generator_state(value) is not None or (
                    function in methods and isinstance(value, (dict, set, deque))
                ):
                    self._look(path, value, 2)
        return self

    def _add(
        self, path: str, is_changed: Callable[[], bool], back: Callable[[], None]
    ) -> None:
        self._changes.append(_Change(path, is_changed, is_changed, back))


def _is_of_hooks(key: Any) -> bool:
    """Whether the attribute is a module's dictionary of hooks, which are kept."""
    return isinstance(key, str) and key.startswith("_") and "_hooks" in key


def _methods_of(kind: type, depth: int = 3) -> list[types.FunctionType]:
    """The class's forward, and methods that it names, `depth` levels down."""
    found: dict[str, types.FunctionType] = {}
    names = {"forward"}
    for _ in range(depth):
        for name in names - found.keys():
            if isinstance(function := getattr(kind, name, None), types.FunctionType):
                found[name] = function
        names = {
            name for function in found.values() for name in _names_in(function.__code__)
        }
    return list(found.values())


def _reached_from(functions: list[types.FunctionType]) -> Iterator[types.FunctionType]:
    """Yields these functions, and those that they name in turn."""
    left, seen = list(functions), set[int]()
    while left:
        function = left.pop()
        if id(function.__code__) not in seen:
            seen.add(id(function.__code__))
            yield function
            named = _functions_in([value for _, _, _, value in _variables_of(function)])
            left += [
                one
                for one in named
                if one.__module__.partition(".")[0] not in ("torch", "numpy", "random")
            ]


def _variables_of(
    function: types.FunctionType,
) -> Iterator[tuple[str, dict[str, Any], str, Any]]:
    """Yields globals and enclosed variables that a function names: the path, the
    dictionary, the name and the value.
    """
    for name in _names_in(function.__code__) & function.__globals__.keys():
        yield (
            f"{function.__module__}.{name}",
            function.__globals__,
            name,
            function.__globals__[name],
        )
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # an empty cell
            yield (
                f"{function.__module__}.{function.__qualname__}.{name}",
                {name: cell.cell_contents},
                name,
                cell.cell_contents,
            )


def _names_in(code: types.CodeType) -> set[str]:
    """Names in a code object, and in functions and comprehensions inside it."""
    return set(code.co_names).union(
        *(_names_in(one) for one in code.co_consts if isinstance(one, types.CodeType))
    )


def _functions_in(found: Any, depth: int = 3) -> list[types.FunctionType]:
    """The functions in dictionaries, lists and tuples, `depth` levels down."""
    if isinstance(found, types.FunctionType):
        return [found]
    if depth == 0 or not isinstance(found, (dict, list, tuple)):
        return []
    values = list(found.values()) if isinstance(found, dict) else list(found)
    return [
        function for value in values for function in _functions_in(value, depth - 1)
    ]


def _put(of: dict[str, Any], name: str, value: Any) -> Callable[[], None]:
    return lambda: of.__setitem__(name, value)


def _change_of_list(path: str, value: list[Any]) -> _Change:
    """Watches a list, which may grow as a log does."""
    before = list(value)
    return _Change(
        path,
        lambda: not _holds_same(value, before),
        lambda: not _holds_same(value[: len(before)], before),
        lambda: value.__setitem__(slice(None), before),
    )


def _replaces(found: dict[Any, Any], key: Any, before: Any) -> Callable[[], bool]:
    return lambda: found.get(key) is not before


def _differs(found: dict[Any, Any], key: Any, before: Any) -> Callable[[], bool]:
    """Tells whether an entry differs. Another tensor with the same numbers does not
    count.
    """
    is_tensor = (
        isinstance(before, torch.Tensor)
        and before.grad_fn is None
        and not before.is_meta
    )
    numbers = (
        before.detach().clone()
        if is_tensor and not isinstance(before, nn.Parameter)
        else None
    )

    def is_other() -> bool:
        now = found.get(key)
        if now is before or key not in found:
            return key not in found
        if numbers is not None and isinstance(now, torch.Tensor):
            return not _has_same_numbers(now.detach(), numbers)
        return type(now) is not type(before) or (
            isinstance(now, _PLAIN) and not _is_same(now, before)
        )

    return is_other


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (
        type(a) is type(b) and isinstance(a, _PLAIN) and (a == b or a != a and b != b)
    )


def _holds_same(found: Any, before: Any) -> bool:
    if isinstance(found, set):
        return bool(found == before)
    return len(found) == len(before) and all(map(_is_same, found, before))


def _has_same_numbers(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if torch.equal(a, b):
        return True
    return (
        a.is_floating_point()
        and torch.equal(a.isnan(), b.isnan())
        and torch.equal(a.nan_to_num(), b.nan_to_num())
    )


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_is_equal(a[key], b[key]) for key in a)
    return bool((a == b) if not hasattr(a, "shape") else (a == b).all())


def _set_state(generator: torch.Generator, state: torch.Tensor) -> None:
    generator.set_state(state)


def _generator_state(
    value: Any,
) -> tuple[Callable[[], Any], Callable[[Any], None]] | None:
    """Functions that get and set the state of a random generator; None for other
    objects.
    """
    if isinstance(value, torch.Generator):
        return value.get_state, functools.partial(_set_state, value)
    if isinstance(value, random.Random):
        return value.getstate, value.setstate
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.random.RandomState):
        return value.get_state, value.set_state
    if numpy is not None and isinstance(value, numpy.random.Generator):
        generator = value.bit_generator
        return (lambda: generator.state), (
            lambda state: setattr(generator, "state", state)
        )
    return None
