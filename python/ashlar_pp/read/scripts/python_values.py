"""Values of a configuration that is Python, by its syntax: nothing of it runs.

Names of other modules stand for themselves, as text: `torch.optim.AdamW`. A call of one
is a mapping with its name under `_call_`. An expression that cannot be known without
running it is its own text, too.
"""

from __future__ import annotations

import ast
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable
from .python_expressions import CALL, Call, Code, Expressions

__all__ = ["CALL", "Call", "Code", "python_values"]

_MOST_STEPS = 200_000
_MOST_FILES = 20


def python_values(
    text: str, path: pathlib.Path, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The names that a file assigns, with their values. Names that it assigns where it
    chooses, or goes, by something that is not known are themselves.

    `environment` is this process's, unless it is given. Raises Unreadable where the
    file stops, or has statements of another kind.
    """
    said = dict(os.environ if environment is None else environment)
    return _Reader(path, [], said).names_of(text)


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Reader(Expressions):
    """Reads one file; `above` are those that read it."""

    def __init__(
        self, path: pathlib.Path, above: list[pathlib.Path], environment: dict[str, str]
    ) -> None:
        super().__init__(path, environment)
        self.above = [*above, path.resolve()]
        self.own: set[str] = set()
        self.steps = 0

    def names_of(self, text: str) -> dict[str, Any]:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Unreadable(f"{self.path}: {error}") from None
        self._run(tree.body)
        return {name: self.names[name] for name in self.own if name in self.names}

    def _run(self, body: list[ast.stmt]) -> None:
        for node in body:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise self.stop(node, "too many steps")
            try:
                self._statement(node)
            except (_Break, _Continue, Unreadable):
                raise
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise self.stop(node, f"{type(error).__name__}: {error}") from None
            except (AttributeError, RecursionError, MemoryError) as error:
                raise self.stop(node, f"{type(error).__name__}: {error}") from None

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for each in node.names:
                name = each.asname or each.name.partition(".")[0]
                self.names[name] = Code(each.name if each.asname else name)
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                name = f"{'.' * node.level}{node.module or ''}.{each.name}"
                self.names[each.asname or each.name] = Code(name)
        elif isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self._assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            before = self.value(_loaded(node.target))
            after = self.value(node.value)
            self._assign(node.target, self._made(node, node.op, before, after))
        elif isinstance(node, ast.If):
            chosen = self.value(node.test)
            if isinstance(chosen, (Code, Call)):
                self._forget([*node.body, *node.orelse])
            else:
                self._run(node.body if chosen else node.orelse)
        elif isinstance(node, ast.For):
            self._loop(node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.names[node.name] = Code(node.name)
        elif isinstance(node, ast.With):
            self._with(node)
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.Break):
            raise _Break
        elif isinstance(node, ast.Continue):
            raise _Continue
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.names.pop(target.id, None)
        elif isinstance(node, ast.Raise):
            why = ast.unparse(node.exc) if node.exc else "an error"
            raise self.stop(node, f"it stops by {why}")
        elif not isinstance(node, (ast.Pass, ast.Assert, ast.Global)):
            raise self.stop(
                node, f"a statement that is not read: {type(node).__name__}"
            )

    def _loop(self, node: ast.For) -> None:
        items = self.value(node.iter)
        if isinstance(items, (Code, Call)):
            self._forget([node, *node.orelse])
            return
        for item in items:
            self._assign(node.target, item)
            try:
                self._run(node.body)
            except _Continue:
                continue
            except _Break:
                return
        self._run(node.orelse)

    def _forget(self, body: list[ast.stmt]) -> None:
        """Names that statements may change, which are not known from here on."""
        for node in (each for one in body for each in ast.walk(one)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._put(node.id, Code(node.id))
            elif isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
                is_method = isinstance(node, ast.Call) and isinstance(
                    node.func, ast.Attribute
                )
                is_stored = not isinstance(node, ast.Call) and isinstance(
                    node.ctx, ast.Store
                )
                root = node.func if isinstance(node, ast.Call) else node
                while isinstance(root, (ast.Attribute, ast.Subscript)):
                    root = root.value
                name = root.id if isinstance(root, ast.Name) else ""
                is_own = isinstance(self.names.get(name), (dict, list))
                if (is_method or is_stored) and is_own:
                    self._put(name, Code(name))

    def _with(self, node: ast.With) -> None:
        """mmengine's `with read_base()`, whose imports are files beside this one."""
        first = self.value(node.items[0].context_expr)
        if not isinstance(first, Call) or not first[CALL].endswith(".read_base"):
            for one in node.items:
                if one.optional_vars is not None:
                    self._assign(one.optional_vars, Code(ast.unparse(one.context_expr)))
            self._run(node.body)
            return
        for each in node.body:
            if (
                not isinstance(each, ast.ImportFrom)
                or not each.level
                or not each.module
            ):
                raise self.stop(each, "only files beside this one are read")
            folder = self.path.parent
            for _ in range(each.level - 1):
                folder = folder.parent
            path = folder.joinpath(*each.module.split(".")).with_suffix(".py")
            if not path.is_file() or len(self.above) > _MOST_FILES:
                raise self.stop(each, f"{path} is not there, or one of too many")
            if path.resolve() in self.above:
                raise self.stop(each, f"{path} reads itself")
            text = path.read_text(encoding="utf-8")
            made = _Reader(path, self.above, self.environment).names_of(text)
            named = [one.name for one in each.names]
            for name in made if named == ["*"] else named:
                self._put(name, made[name])

    def _put(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.own.add(name)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._put(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, Code):
                parts = [Code(f"{value}[{i}]") for i in range(len(target.elts))]
            else:
                parts = list(value)
            if len(parts) != len(target.elts):
                raise self.stop(target, "so many names for other values")
            for one, part in zip(target.elts, parts):
                self._assign(one, part)
        elif isinstance(target, ast.Attribute):
            self._holder(target.value)[target.attr] = value
        elif isinstance(target, ast.Subscript):
            holder, key = self.value(target.value), self.value(target.slice)
            if not isinstance(holder, Code):
                holder[key] = value
            elif holder == "os.environ":
                self.environment[str(key)] = str(value)
            else:
                raise self.stop(target, f"it sets a field of {holder}")
        else:
            raise self.stop(target, "an assignment that is not read")

    def _holder(self, node: ast.expr) -> dict[str, Any]:
        """What a field is set of: a call, or a field of one that nothing has set."""
        value = self.value(node)
        if isinstance(node, ast.Attribute) and isinstance(value, Code):
            holder = self._holder(node.value)
            value = holder[node.attr] = Call({CALL: str(value)})
        if not isinstance(value, dict):
            raise self.stop(node, f"it sets a field of {ast.unparse(node)}")
        return value


def _loaded(target: ast.expr) -> ast.expr:
    """The same place, to be read."""
    return ast.parse(ast.unparse(target), mode="eval").body
