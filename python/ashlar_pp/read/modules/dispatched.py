"""Products, convolutions and steps, as PyTorch's dispatcher sees them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .events import Convolution, Product, Step
from .masks import Seen, opened, seen_by
from .walked import Unreadable, Walk

# Elements up to which a tensor that the model makes is computed.
MOST_COMPUTED = 1 << 24

aten = torch.ops.aten

MASKING = {"add", "add_", "where", "masked_fill", "masked_fill_"}
FILLING = {
    aten.masked_fill.Scalar,
    aten.masked_fill.Tensor,
    aten.masked_fill_.Scalar,
    aten.masked_fill_.Tensor,
}
# Operations that make and carry biases of positions.
BIASES = {"embedding", "add", "where", "clone", "_to_copy"}
STEPS = {
    "cumsum": "cumulative sum",
    "clamp": "clamp",
    "clamp_max": "clamp",
    "clamp_min": "clamp",
}


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records products, convolutions and steps of what runs under it."""

    def __init__(self, walk: Walk, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.walk = walk
        self.stack: list[str] = [""]
        self.names = {id(module): name for name, module in model.named_modules()}
        self.parameters: dict[int, str] = {}
        for name, parameter in model.named_parameters():
            self.parameters[storage_of(parameter)] = name
        self.alive: list[Any] = []  # storages, so that none gets another's identity
        self.unknown: set[int] = set()
        self.made_of: dict[int, str] = {}  # copies of weights, by storage
        # Those that met activations since the last softmax; None: without values.
        self.masks: list[torch.Tensor | None] = []
        # Masks that were added to what an embedding gives, by storage: to biases of
        # positions, which hide nothing.
        self.added: dict[int, tuple[torch.Tensor, ...]] = {}

    @property
    def module(self) -> str:
        """Name of the module that runs."""
        return self.stack[-1]

    def enter(self, module: nn.Module, _: Any) -> None:
        """Hook of all modules, before their forward."""
        name = self.names.get(id(module), self.module)
        self.stack.append(name)
        self.walk.calls[name] = self.walk.calls.get(name, 0) + 1

    def leave(self, module: nn.Module, _: Any, __: Any) -> None:
        """Hook of all modules, after their forward."""
        self.stack.pop()

    def known(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor has values."""
        return tensor.device.type != "meta" and storage_of(tensor) not in self.unknown

    def weight(self, tensor: torch.Tensor) -> str:
        """The name of the parameter that a tensor shows or copies, else empty."""
        at = storage_of(tensor)
        return self.parameters.get(at) or self.made_of.get(at, "")

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_leaves((args, kwargs)) if _is_tensor(t)]
        if all(self.known(t) for t in tensors):
            if _is_meta(kwargs.get("device")) and _is_small(args):
                kwargs["device"] = "cpu"
        else:
            self._forget_changed(func, args)
            self._remember_mask(func, tensors)
            if func is aten.index.Tensor:
                args = (args[0], self._places(args[1]))
            args, kwargs = tree_map(_on_meta, (args, kwargs))
        name = func.overloadpacket.__name__
        if func is aten._local_scalar_dense.default and _is_meta(args[0].device):
            return self._assume(args[0])
        made = func(*args, **kwargs)
        self._remember_copies(name, tensors, made)
        self._remember_biases(name, tensors, made)
        self._record(name, args, kwargs, made)
        return made

    def _places(self, indices: Iterable[Any]) -> list[Any]:
        """Numbers in place of masks with values: how many they choose is known."""
        made: list[Any] = []
        for one in indices:
            if _is_tensor(one) and one.dtype == torch.bool and self.known(one):
                made.extend(one.nonzero().unbind(1))
            else:
                made.append(one)
        return made

    def _forget_changed(self, func: Any, args: tuple[Any, ...]) -> None:
        for argument, value in zip(func._schema.arguments, args):
            info = argument.alias_info
            if info is not None and info.is_write and _is_tensor(value):
                self.unknown.add(storage_of(value))
                self.alive.append(value.untyped_storage())

    def _remember_mask(self, func: Any, tensors: list[torch.Tensor]) -> None:
        """A square tensor that is added to activations, or chooses among them."""
        if func.overloadpacket.__name__ not in MASKING:
            return
        for tensor in tensors:
            if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2]:
                continue
            if self.known(tensor):
                found = ~tensor if func in FILLING else tensor
                self.masks.append(found)
            elif tensor.dtype == torch.bool:
                self.masks.append(None)  # one without values

    def _assume(self, value: torch.Tensor) -> bool:
        if value.dtype != torch.bool:
            raise Unreadable(
                f"{self.module or 'the model'} computes a size from the values of "
                "activations"
            )
        told = f"{self.module or 'the model'}: a condition on activations is false"
        if told not in self.walk.assumed:
            self.walk.assumed.append(told)
        return False

    def _remember_copies(
        self, name: str, tensors: list[torch.Tensor], made: Any
    ) -> None:
        """A cast, a transposed copy or a product with a scalar of one weight stands
        for it."""
        if len(tensors) != 1 or not _is_tensor(made):
            return
        weight = self.weight(tensors[0])
        if weight and made.numel() == tensors[0].numel():
            self.made_of[storage_of(made)] = weight
            self.alive.append(made.untyped_storage())

    def _remember_biases(
        self, name: str, tensors: list[torch.Tensor], made: Any
    ) -> None:
        if name not in BIASES or not _is_tensor(made):
            return
        tagged = [one for one in tensors if storage_of(one) in self.added]
        if name == "embedding" and self.weight(tensors[0]):
            self.added[storage_of(made)] = ()
        elif len(tagged) == 1 and storage_of(made) != storage_of(tagged[0]):
            masks = self.added[storage_of(tagged[0])]
            others = [one for one in tensors if one is not tagged[0] and one.dim() > 0]
            hides = name == "where" and (
                len(tensors) < 2 or tensors[1] is not tagged[0]
            )
            if hides or any(not self.known(one) or one.dim() < 2 for one in others):
                return
            self.added[storage_of(made)] = (*masks, *others)
        else:
            return
        self.alive.append(made.untyped_storage())

    def seen_through(self, mask: torch.Tensor, queries: int, keys: int) -> Seen:
        """What a mask without values lets queries see, if it is biases of positions
        and known masks."""
        if storage_of(mask) not in self.added:
            return Seen(causal=None)
        open_ = torch.ones(queries, keys, dtype=torch.bool)
        for one in self.added[storage_of(mask)]:
            open_ = open_ & opened(one)
        return seen_by(open_, False, queries, keys)

    def _record(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], made: Any
    ) -> None:
        if name in ("mm", "addmm"):
            left, right = args[-2:]
            self._product(left, right, left.shape[0], right.shape[0], right.shape[1])
        elif name in ("bmm", "baddbmm"):
            left, right = args[-2:]
            inner, columns = right.shape[1:]
            self._product(left, right, left.shape[1], inner, columns, left.shape[0])
        elif name in ("_grouped_mm", "grouped_mm_fallback"):
            left, right = args[:2]
            self._grouped(left, right)
        elif name == "convolution":
            self._convolution(args, made)
        elif name == "_softmax":
            self.walk.events.append(Step(self.module, "softmax", self._seen(made)))
        elif name in STEPS:
            self.walk.events.append(Step(self.module, STEPS[name]))

    def _seen(self, scores: torch.Tensor) -> Seen | None:
        """What the masks let the queries of these scores see; None: no scores."""
        if scores.dim() < 3:
            return None
        masks, self.masks = self.masks, []
        length = scores.shape[-2]
        if not masks or any(m is None or m.shape[-1] != length for m in masks):
            return Seen(causal=None)
        if scores.shape[-1] not in (length, length + 1):  # one more is a sink
            return Seen(causal=None)
        open_ = torch.ones(length, length, dtype=torch.bool)
        for mask in masks:
            assert mask is not None
            open_ = open_ & opened(mask)
        return seen_by(open_, False, length, length)

    def _product(
        self,
        left: torch.Tensor,
        right: torch.Tensor,
        rows: int,
        inner: int,
        columns: int,
        copies: int = 1,
    ) -> None:
        weight = self.weight(right) or self.weight(left)
        if weight and not self.weight(right):
            rows, columns = columns, rows
        self.walk.events.append(
            Product(self.module, rows, inner, columns, copies, weight)
        )

    def _grouped(self, left: torch.Tensor, right: torch.Tensor) -> None:
        experts = right.shape[0] if right.dim() == 3 else left.shape[0]
        self.walk.events.append(
            Product(
                self.module,
                left.shape[-2],
                right.shape[-2],
                right.shape[-1],
                1,
                self.weight(right),
                experts,
            )
        )

    def _convolution(self, args: tuple[Any, ...], made: torch.Tensor) -> None:
        taken, weight = args[:2]
        transposed, groups = args[6], args[8]
        results, places = made.shape[1], made.shape[0] * math.prod(made.shape[2:])
        channels = taken.shape[1]
        if transposed:  # each place that is taken meets all of the kernel
            places = taken.shape[0] * math.prod(taken.shape[2:])
            channels, results = results, channels
        self.walk.events.append(
            Convolution(
                self.module,
                self.weight(weight),
                channels,
                results,
                groups,
                tuple(weight.shape[2:]),
                places,
            )
        )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_meta(device: Any) -> bool:
    return device is not None and torch.device(device).type == "meta"


def storage_of(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _on_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to("meta") if value.device.type != "meta" else value
    return torch.device("meta") if isinstance(value, torch.device) else value


def _is_small(args: tuple[Any, ...]) -> bool:
    sizes = args[0] if args and isinstance(args[0], list | tuple) else []
    whole = [size for size in sizes if isinstance(size, int)]
    return math.prod(whole) <= MOST_COMPUTED
