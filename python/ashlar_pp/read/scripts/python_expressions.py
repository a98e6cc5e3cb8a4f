"""Values of Python expressions, by their syntax: nothing of them runs."""

from __future__ import annotations

import ast
import builtins
import operator
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from ..run_file import Unreadable

CALL = "_call_"
MOST_ITEMS = 1_000_000


class Code(str):
    """A name, or an expression, that stands for itself."""


class Call(dict[str, Any]):
    """A call by its name and arguments; those without a name are in `_words_`."""


_PLAIN = {
    name: getattr(builtins, name)
    for name in "abs bool dict enumerate float int len list max min range reversed "
    "round set sorted str sum tuple zip".split()
}
_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset("get items keys values pop update copy setdefault".split()),
    list: frozenset("append extend copy index count insert".split()),
    tuple: frozenset("index count".split()),
    str: frozenset(
        "join lower upper split strip replace startswith endswith lstrip rstrip "
        "removeprefix removesuffix rsplit partition rpartition".split()
    ),
}
_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_UNARY: dict[type[ast.AST], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}


class Expressions:
    """Those of one file, whose names have these values so far."""

    def __init__(self, path: pathlib.Path, environment: dict[str, str]) -> None:
        self.path = path
        self.environment = environment
        self.names: dict[str, Any] = {"__name__": "configuration"}

    def stop(self, node: ast.AST, why: str) -> Unreadable:
        line = getattr(node, "lineno", 0)
        return Unreadable(f"{self.path}, line {line}: {why}")

    def value(self, node: ast.expr) -> Any:
        """A value, or a name or an expression that stands for itself."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            return Code(node.id)
        if isinstance(node, ast.Attribute):
            return self._field(node)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            items = self._items(node.elts)
            return tuple(items) if isinstance(node, ast.Tuple) else items
        if isinstance(node, ast.Dict):
            made: dict[Any, Any] = {}
            for key, each in zip(node.keys, node.values):
                value = self.value(each)
                if key is None:
                    made.update(value)
                else:
                    made[self.value(key)] = value
            return made
        if isinstance(node, ast.BinOp):
            left, right = self.value(node.left), self.value(node.right)
            return self._made(node, node.op, left, right)
        if isinstance(node, ast.UnaryOp):
            value = self.value(node.operand)
            if isinstance(value, Code) or type(node.op) not in _UNARY:
                return Code(ast.unparse(node))
            return _UNARY[type(node.op)](value)
        if isinstance(node, ast.BoolOp):
            return self._either(node)
        if isinstance(node, ast.Compare):
            return self._compared(node)
        if isinstance(node, ast.IfExp):
            chosen = self.value(node.test)
            if isinstance(chosen, Code):
                return Code(ast.unparse(node))
            return self.value(node.body if chosen else node.orelse)
        if isinstance(node, ast.JoinedStr):
            return self._text(node)
        if isinstance(node, ast.Subscript):
            return self._item(node)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._comprehended(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        return Code(ast.unparse(node))

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        made: list[Any] = []
        for each in nodes:
            if isinstance(each, ast.Starred):
                made.extend(self.value(each.value))
            else:
                made.append(self.value(each))
        return made

    def _made(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        known = not isinstance(left, (Code, Call)) and not isinstance(
            right, (Code, Call)
        )
        is_format = isinstance(op, ast.Mod) and isinstance(left, str)
        if not known or is_format or type(op) not in _BINARY:
            return Code(ast.unparse(node))
        if isinstance(op, ast.Pow) and _size(left) * abs(right) > MOST_ITEMS:
            raise self.stop(node, "too large a value")
        if isinstance(op, ast.Mult) and _times(left, right) > MOST_ITEMS:
            raise self.stop(node, "too large a value")
        return self._limited(node, _BINARY[type(op)](left, right))

    def _limited(self, node: ast.AST, value: Any) -> Any:
        if _size(value) > MOST_ITEMS:
            raise self.stop(node, "too large a value")
        return value

    def _either(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = None
        for each in node.values:
            value = self.value(each)
            if isinstance(value, Code):
                return Code(ast.unparse(node))
            if bool(value) != is_and:
                return value
        return value

    def _compared(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for op, each in zip(node.ops, node.comparators):
            right = self.value(each)
            # A name of a module is one of its things, and no None.
            is_none = isinstance(op, (ast.Is, ast.IsNot)) and right is None
            if right == "os.environ" and isinstance(op, ast.In):
                return left in self.environment
            if isinstance(left, Code) and not (is_none and "(" not in left):
                return Code(ast.unparse(node))
            if isinstance(right, Code) or type(op) not in _BINARY:
                return Code(ast.unparse(node))
            if not _BINARY[type(op)](left, right):
                return False
            left = right
        return True

    def _text(self, node: ast.JoinedStr) -> str:
        parts: list[str] = []
        is_known = True
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = self.value(each.value)
                is_known &= not isinstance(value, Code) and each.format_spec is None
                parts.append(str(value))
            else:
                parts.append(str(self.value(each)))
        text = "".join(parts)
        return text if is_known else Code(text)

    def _field(self, node: ast.Attribute) -> Any:
        holder = self.value(node.value)
        if isinstance(holder, Code):
            return Code(f"{holder}.{node.attr}")
        if isinstance(holder, dict) and node.attr in holder:
            return holder[node.attr]
        if isinstance(holder, Call):
            return Code(f"{holder[CALL]}.{node.attr}")
        return Code(ast.unparse(node))

    def _item(self, node: ast.Subscript) -> Any:
        holder = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            at: Any = slice(*(None if b is None else self.value(b) for b in bounds))
        else:
            at = self.value(node.slice)
        if holder == "os.environ" and isinstance(at, str) and at in self.environment:
            return self.environment[at]
        if isinstance(holder, (Code, Call)) or isinstance(at, Code):
            return Code(ast.unparse(node))
        return holder[at]

    def _comprehended(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        if len(node.generators) != 1:
            return Code(ast.unparse(node))
        one = node.generators[0]
        items = self.value(one.iter)
        if isinstance(items, (Code, Call)):
            return Code(ast.unparse(node))
        before = dict(self.names)
        made = []
        for item in items:
            if not self._name(one.target, item):
                return Code(ast.unparse(node))
            tests = [self.value(test) for test in one.ifs]
            if any(isinstance(test, Code) for test in tests):
                return Code(ast.unparse(node))
            if all(tests):
                made.append(self.value(node.elt))
        self.names = before
        return made

    def _name(self, target: ast.expr, item: Any) -> bool:
        """Gives names to an item, or to its parts."""
        if isinstance(target, ast.Name):
            self.names[target.id] = item
            return True
        if not isinstance(target, ast.Tuple) or isinstance(item, (Code, Call, str)):
            return False
        return len(target.elts) == len(item) and all(
            self._name(each, part) for each, part in zip(target.elts, item)
        )

    def _called(self, node: ast.Call) -> Any:
        words = self._items(node.args)
        named: dict[str, Any] = {}
        for each in node.keywords:
            value = self.value(each.value)
            if each.arg is not None:
                named[each.arg] = value
            elif isinstance(value, Mapping):
                named.update({str(k): v for k, v in value.items() if k != CALL})
            else:
                return Code(ast.unparse(node))
        if isinstance(node.func, ast.Attribute):
            holder = self.value(node.func.value)
            for kind, methods in _METHODS.items():
                is_one = isinstance(holder, kind) and node.func.attr in methods
                if is_one and not isinstance(holder, (Code, Call)):
                    made = getattr(holder, node.func.attr)(*words, **named)
                    self._limited(node, holder)
                    return self._limited(node, made)
        name = self.value(node.func)
        if not isinstance(name, Code):
            return Code(ast.unparse(node))
        if name in _PLAIN and name not in self.names:
            # A mapping may hold what is not known.
            if name != "dict" and any(isinstance(each, Code) for each in words):
                return Code(ast.unparse(node))
            if name == "range" and max(map(abs, words), default=0) > MOST_ITEMS:
                raise self.stop(node, "too large a value")
            return _PLAIN[name](*words, **named)
        if name in ("os.environ.get", "os.getenv") and words:
            said = self.environment.get(str(words[0]))
            return said if said is not None else (words[1] if len(words) > 1 else None)
        call = Call({CALL: str(name), **named})
        if words:
            call["_words_"] = words
        return call


def _size(value: Any) -> int:
    """Items, or bits of a number."""
    if isinstance(value, int):
        return value.bit_length()
    return len(value) if hasattr(value, "__len__") else 1


def _times(left: Any, right: Any) -> int:
    """The size of a product: of two numbers, or of a sequence that is repeated."""
    if hasattr(left, "__len__") and isinstance(right, int):
        return len(left) * right
    if hasattr(right, "__len__") and isinstance(left, int):
        return len(right) * left
    return _size(left) + _size(right)
