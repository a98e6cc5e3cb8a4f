"""Values that a stage was not sent. Results computed with one are unseen, too; if such
a result would matter, the step ends with an error that names the line of the model.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode,
    _pop_mode,
    _push_mode,
)
from torch.utils._pytree import tree_leaves, tree_map_only

_FOREIGN = tuple(os.path.dirname(path) + os.sep for path in (torch.__file__, __file__))


class UnseenValue(RuntimeError):
    """The model reads a value that it did not read when traced, or does between its
    layers what only one stage may do.
    """


Place = tuple[str, int, str]
"""A file, a line number, and the function there."""


def place_in_model() -> Place:
    """The current line of the model's own code."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOREIGN):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def shown(place: Place) -> str:
    name, number, function = place
    return (
        f"{os.path.basename(name)}:{number} "
        f"({linecache.getline(name, number).strip() or function})"
    )


def _storage(tensor: torch.Tensor) -> int | None:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # a wrapper without storage
        return None


def tensors_in(tree: Any) -> Iterator[torch.Tensor]:
    """Yields the tensors in a tree. Flattens no tensors and tuples of them, which are
    most of what layers take and give: that takes longer than all else here.
    """
    if isinstance(tree, torch.Tensor):
        yield tree
    elif type(tree) is tuple or type(tree) is list:
        for one in tree:
            yield from tensors_in(one)
    elif type(tree) is dict:
        for one in tree.values():
            yield from tensors_in(one)
    elif not isinstance(tree, (int, float, str, type(None))):
        yield from (x for x in tree_leaves(tree) if isinstance(x, torch.Tensor))


_TENSORS = {torch.Tensor}


class Ledger:
    """Records the memory that unseen values were written to, in one forward."""

    def __init__(self) -> None:
        self.stained: dict[int, Unseen] = {}
        self._kept: list[
            torch.Tensor
        ] = []  # memory is one tensor's only while that lives

    def stain(self, tensor: torch.Tensor, by: Unseen) -> None:
        storage = _storage(tensor)
        if storage is None:
            raise UnseenValue(by.told("is written to another tensor"))
        self.stained[storage] = by
        self._kept.append(tensor)

    def stain_of(self, tensor: torch.Tensor) -> Unseen | None:
        if isinstance(tensor, Unseen):
            return tensor
        storage = _storage(tensor) if self.stained else None
        return None if storage is None else self.stained.get(storage)

    def must_be_seen(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], reader: str
    ) -> None:
        """Raises UnseenValue if anything in them is unseen."""
        if not self.stained and not kwargs and _TENSORS.issuperset(map(type, args)):
            return  # by far the most calls
        for one in tensors_in((args, kwargs)):
            if (by := self.stain_of(one)) is not None:
                raise UnseenValue(by.told(f"is needed for {reader}"))


_SAME_NUMBERS = (
    "dropout",
    "bernoulli",
    "rand",
    "normal",
    "uniform",
    "exponential",
    "geometric",
    "cauchy",
)
"""Operations that draw the same number of random numbers for all values of a shape."""


class Unseen(torch.Tensor):
    """A tensor without values, with the shape, type and device of one that another
    stage has.
    """

    @staticmethod
    def __new__(
        cls,
        shapes: torch.Tensor,
        device: torch.device,
        ledger: Ledger,
        made_by: frozenset[str],
        place: Place | None = None,
    ) -> Unseen:
        made: Unseen = torch.Tensor._make_wrapper_subclass(
            cls,
            shapes.shape,
            strides=shapes.stride(),
            storage_offset=shapes.storage_offset(),
            dtype=shapes.dtype,
            device=device,
        )
        made.shapes, made.ledger, made.made_by, made.place = (
            shapes,
            ledger,
            made_by,
            place,
        )
        return made

    shapes: torch.Tensor
    """A tensor of the shape on the meta device."""
    ledger: Ledger
    made_by: frozenset[str]
    """Names of the layers that it comes from."""
    place: Place | None
    """Where the model computed it; None for a layer's output."""

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return (
            f"Unseen({tuple(self.shape)}, {self.dtype}, made by "
            f"{', '.join(sorted(self.made_by))})"
        )

    def told(self, what: str) -> str:
        where = f", computed with at {shown(self.place)}," if self.place else ""
        return (
            f"what {' and '.join(sorted(self.made_by))} gives{where} {what} at "
            f"{shown(place_in_model())}. That was not so when the "
            "model was traced, so this stage was not sent it. Set flags as in training "
            "before Pipeline is made, give "
            "inputs of which decisions depend in the example, or call "
            "pipe.trace_again(batch) on every rank"
        )

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        unseen = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Unseen)]
        one = unseen[-1]
        ledger = one.ledger
        if func in (
            torch.ops.aten._local_scalar_dense.default,
            torch.ops.aten.equal.default,
        ) or (
            torch.Tag.data_dependent_output in func.tags
            or torch.Tag.dynamic_output_shape in func.tags
        ):
            raise UnseenValue(one.told("decides"))
        if torch.Tag.nondeterministic_seeded in func.tags:
            _draw_as(func, args, kwargs, one)
        place = place_in_model()
        made_by = frozenset().union(*(x.made_by for x in unseen))
        device = (
            torch.device(kwargs["device"])
            if kwargs.get("device") is not None
            else one.device
        )
        try:
            on_meta = (
                {"device": torch.device("meta")}
                if kwargs.get("device") is not None
                else {}
            )
            shaped = func(
                *tree_map_only(torch.Tensor, _shapes, args),
                **{**tree_map_only(torch.Tensor, _shapes, kwargs), **on_meta},
            )
        except NotImplementedError as error:
            raise UnseenValue(
                one.told(f"goes into {func}, of which only numbers tell the shape,")
            ) from error
        written = list(_written(func, args, kwargs))
        for x in written:
            if not isinstance(x, Unseen):
                ledger.stain(x, Unseen(_shapes(x), x.device, ledger, made_by, place))
        by_shapes = {id(x.shapes): x for x in unseen}

        def wrapped(x: torch.Tensor) -> torch.Tensor:
            return by_shapes.get(id(x)) or Unseen(x, device, ledger, made_by, place)

        if written and isinstance(shaped, torch.Tensor) and len(written) == 1:
            return written[0]
        return tree_map_only(torch.Tensor, wrapped, shaped)


def _shapes(x: torch.Tensor) -> torch.Tensor:
    if isinstance(x, Unseen):
        return x.shapes
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


def _written(func: Any, args: Any, kwargs: Any) -> Iterable[torch.Tensor]:
    """Yields the tensors that the operation changes."""
    if not func._schema.is_mutable:
        return
    for at, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[at] if at < len(args) else kwargs.get(argument.name)
            yield from (x for x in tree_leaves(given) if isinstance(x, torch.Tensor))


def _draw_as(func: Any, args: Any, kwargs: Any, one: Unseen) -> None:
    """Draws as many random numbers as the operation does on other stages, so that later
    draws are the same.
    """
    if not any(word in func.__name__ for word in _SAME_NUMBERS):
        raise UnseenValue(one.told(f"goes into {func}, which draws random numbers,"))

    def filled(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(x.shape, dtype=x.dtype, device=x.device)

    func(
        *tree_map_only(torch.Tensor, filled, args),
        **tree_map_only(torch.Tensor, filled, kwargs),
    )


_HOOKS = {torch.Tensor.register_hook, torch.Tensor.retain_grad}

_DECIDE = {
    "item",
    "tolist",
    "numpy",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "equal",
    "allclose",
    "is_nonzero",
}

_MANY = (1 << 61) - 1


def _checksum(func: Any, x: int | float) -> int:
    """A number given to an operation, with the operation. Equal on all ranks: hashes of
    words and of NaN differ from process to process.
    """
    name = zlib.crc32(getattr(func, "__name__", "").encode())
    return hash((name, x)) if x == x else name


class Between(TorchFunctionMode):
    """Watches what a model's own forward does between its layers, on each stage.

    Refuses operations that must happen once in a model and would happen on each stage.
    Keeps a checksum of the numbers that operations are given, which must be the same on
    all stages. Their order does not count: code that walks a set of words, as Llama 4's
    does for its masks, has another one in each process.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        """Forgets what was seen in an earlier forward."""
        self.ledger = Ledger()
        self.numbers = 0

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Switches watching off inside, for layers."""
        is_watching = self.pause()
        try:
            yield
        finally:
            if is_watching:
                self.resume()

    def pause(self) -> bool:
        """Switches watching off; returns whether it was on."""
        if is_watching := _get_current_function_mode() is self:
            _pop_mode()
        return is_watching

    def resume(self) -> None:
        _push_mode(self)

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _HOOKS:
            raise UnseenValue(
                f"the model's own forward calls {func.__name__} on a tensor between "
                f"its layers, at {shown(place_in_model())}: "
                "every stage runs that code, and has a part of the gradient only. Let "
                "a layer do it"
            )
        if kwargs.get("generator") is not None:
            raise UnseenValue(
                "the model's own forward draws from a generator of its own at "
                f"{shown(place_in_model())}: every stage runs that "
                "code, and each would draw other numbers. Draw from the global "
                "generator, or in a layer"
            )
        for x in (*args, *kwargs.values()):
            if isinstance(x, (int, float)):
                self.numbers = (self.numbers + _checksum(func, x)) % _MANY
        result = func(*args, **kwargs)
        if self.ledger.stained:
            return self._stained(func, result, args, kwargs)
        return result

    def _stained(self, func: Any, result: Any, args: Any, kwargs: Any) -> Any:
        """The result, as unseen if an argument is."""
        given = (x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor))
        by = next(
            (found for x in given if (found := self.ledger.stain_of(x)) is not None),
            None,
        )
        if by is None:
            return result

        def unseen(x: torch.Tensor) -> torch.Tensor:
            if self.ledger.stain_of(x) is not None:
                return x
            return Unseen(
                _shapes(x), x.device, self.ledger, by.made_by, place_in_model()
            )

        if getattr(func, "__name__", "") in _DECIDE:
            raise UnseenValue(by.told("decides"))
        return tree_map_only(torch.Tensor, unseen, result)
