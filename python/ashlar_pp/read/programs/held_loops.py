"""A loop of a program's own: its forwards, backwards and steps run without values, and
those of its third step are recorded."""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map

from ..modules.walk import walk
from ..modules.walked import Unreadable
from .absent import Absent, is_absent
from .held_parts import hold_data, hold_optimizers, of
from .held_wrappers import Wrappers
from .made_modules import bound, is_of_transformers, unwrapped
from .no_values import keep_no_values

# As many steps run, and two in a row must be alike. Others have an evaluation, or one
# micro-batch alone where a loop steps at each number that N divides.
_STEPS = 6
_MOST_FORWARDS = 100_000


class Loops:
    """What a program's own loop does. `end` writes a record; `make` makes it of the
    module that trains and what is known of a step."""

    def __init__(
        self,
        end: Callable[[dict[str, Any]], None],
        make: Callable[[nn.Module, dict[str, Any]], dict[str, Any]],
    ) -> None:
        self.end = end
        self.make = make
        self.wrappers = Wrappers(self.refuse)
        self.own_operations: set[str] = set()
        self._made_optimizers: list[weakref.ref[Any]] = []
        self._loader_batch = 0  # samples that a loader of data that are not here gives
        self._root: Any = None
        self._inputs: Any = None
        self._products = ""  # the format that autocast makes
        self._recomputed: list[set[int]] = []
        self._made: dict[Any, Any] = {}  # results by module and shapes
        self._step: Counter[Any] = Counter()
        self._steps: list[Counter[Any]] = []
        self._is_inside = False
        self._forwards = 0

    @property
    def _optimizers(self) -> list[Any]:
        """Those that the program still has."""
        found = [each() for each in self._made_optimizers]
        return [each for each in found if each is not None]

    def refuse(self, why: str) -> None:
        """Ends the program."""
        self.end({"error": why})

    def hold(self) -> None:
        """From now on."""
        keep_no_values(self.own_operations)
        self.wrappers.hold()
        self._hold_modules()
        hold_optimizers(self._made_optimizers, self._stepped)
        hold_data(self._read_absent)
        for place in (torch.Tensor, torch.autograd, Absent):
            setattr(place, "backward", self.backward)  # noqa: B010
        tensors: Any = torch.Tensor
        tensors.register_post_accumulate_grad_hook = self._other("a gradient's hook")
        vars(torch.autograd)["grad"] = self._other("torch.autograd.grad")
        vars(torch)["save"] = _nothing
        utils: Any = nn.utils
        utils.clip_grad_norm_ = lambda *words, **named: torch.zeros(())
        if torch.distributed.is_available():
            for name in _OF_RANKS:
                vars(torch.distributed)[name] = _nothing

    def _other(self, name: str) -> Callable[..., None]:
        def told(*words: Any, **named: Any) -> None:
            self.refuse(f"its step has {name}, which is not counted")

        return told

    def _hold_modules(self) -> None:
        modules: Any = nn.Module
        call = modules._call_impl

        @functools.wraps(call)
        def called(module: Any, *words: Any, **named: Any) -> Any:
            self.wrappers.called(module)
            if self._is_inside or next(module.parameters(), None) is None:
                return call(module, *words, **named)
            self._is_inside = True
            try:
                return self._forward(module, words, named)
            finally:
                self._is_inside = False

        modules.__call__ = modules._wrapped_call_impl = called

    def _read_absent(self, samples: int) -> None:
        self._loader_batch = samples

    def _forward(self, module: Any, words: Any, named: Any) -> Any:
        """One that the program calls, and no module."""
        self._forwards += 1
        if self._forwards > _MOST_FORWARDS:
            self.refuse("its loop calls no optimizer's step")
        trains = torch.is_grad_enabled() and module.training and self._has(module)
        root = unwrapped(module)
        leaves = tree_leaves((words, named))
        lacks = any(map(is_absent, leaves))
        shapes = tuple(
            (tuple(each.shape), each.dtype)
            for each in leaves
            if isinstance(each, torch.Tensor)
        )
        self._step["forward" if trains else "other", id(root), shapes] += 1
        if trains:
            self._products = autocast() or self.wrappers.products
            self._root = root
            self._inputs = bound(root, words, named)
        if lacks:
            return Absent()
        at = (id(root), shapes, module.training, trains)
        if at not in self._made:
            self.wrappers.recomputed.clear()
            self._made[at] = self._result(root, bound(root, words, named), trains)
            if trains:
                self._recomputed = list(self.wrappers.recomputed)
        return self._made[at]

    def _result(self, root: nn.Module, inputs: dict[str, Any], trains: bool) -> Any:
        try:
            made = walk(root, inputs).result
        except Unreadable:
            if is_of_transformers(root):
                return Absent()  # a configuration says its work
            raise
        if trains:
            return made
        return tree_map(
            lambda one: one.detach() if isinstance(one, torch.Tensor) else one, made
        )

    def _has(self, module: nn.Module) -> bool:
        """Whether an optimizer has parameters of it."""
        mine = {id(one) for one in module.parameters()}
        return any(not mine.isdisjoint(map(id, of(each))) for each in self._optimizers)

    def backward(self, *words: Any, **named: Any) -> None:
        """In the place of Tensor.backward."""
        self._step["backward", self.wrappers.sums] += 1

    def _stepped(self, optimizer: Any, closure: Any = None) -> Any:
        made = closure() if closure is not None else None
        self._step["step", id(optimizer)] += 1
        if self._step["step", id(optimizer)] > 1:
            self.refuse("optimizers of its parameters step apart from each other")
        if any(("step", id(each)) not in self._step for each in self._live()):
            return made  # others of the same step are still to come
        self._steps.append(self._step)
        self._step = Counter()
        if len(self._steps) == _STEPS:
            pairs = zip(self._steps, self._steps[1:])
            alike = [one for one, next_one in pairs if one == next_one]
            if not alike:
                self.refuse(
                    "its steps differ: in forwards, backwards or the shapes of data"
                )
            self._finish_as(alike[-1])
        return made

    def _live(self) -> list[Any]:
        """Optimizers of the module that trains."""
        if self._root is None:
            return []
        mine = {id(one) for one in self._root.parameters()}
        return [x for x in self._optimizers if not mine.isdisjoint(map(id, of(x)))]

    def finish(self) -> None:
        """Writes the record, if there was a step, or a backward without one."""
        if not self._steps and any(key[0] == "backward" for key in self._step):
            self.refuse("it ended, and no optimizer stepped after its backwards")
        if self._steps:
            self._finish_as(self._steps[-1])

    def finish_where_alike(self) -> None:
        """Writes the record where an error came after two steps that were alike."""
        if len(self._steps) > 1 and self._steps[-1] == self._steps[-2]:
            self._finish_as(self._steps[-1])

    def _finish_as(self, step: Counter[Any]) -> None:
        """As one of the steps that ran."""
        self._is_inside = True  # forwards are now the reader's
        try:
            self._finish(step)
        except Unreadable as error:
            self.refuse(str(error))

    def _finish(self, step: Counter[Any]) -> None:
        live = self._live()
        shapes = {key for each in self._steps for key in each if key[0] == "forward"}
        forwards = {key: n for key, n in step.items() if key[0] == "forward"}
        backwards = {key[1]: n for key, n in step.items() if key[0] == "backward"}
        if len(live) != 1:
            self.refuse(f"{len(live)} optimizers step in turn, and one is predicted")
        if any(key[0] == "other" for key in step):
            self.refuse("a step has forwards without gradients")
        if len(forwards) != 1:
            self.refuse(
                f"a step has forwards of {len(forwards)} modules or shapes, and equal "
                "ones of one module are predicted"
            )
        if len(shapes) > 1:
            self.refuse(f"its steps have forwards of {len(shapes)} shapes")
        (count,) = forwards.values()
        if count != sum(backwards.values()):
            self.refuse(
                f"a step has {count} forwards and {sum(backwards.values())} backwards"
            )
        if self.own_operations:
            self.refuse(
                f"its module calls {min(self.own_operations)}, whose work is not known"
            )
        if backwards.get(False) and backwards.get(True, 0) != 1:
            self.refuse(f"{backwards[False]} of {count} backwards sum nothing")
        made = {
            "micro_batches": count,
            "sums_each": backwards.get(True) == count and count > 1,
            "inputs": self._inputs,
            "loader_batch": self._loader_batch,
            "products": self._products,
            "optimizer": live[0],
            "recomputed": self._recomputed,
            "evaluations": sum(
                n
                for each in self._steps
                for key, n in each.items()
                if key[0] == "other"
            ),
        }
        self.end(self.make(self._root, made))


_OF_RANKS = """
    all_reduce reduce broadcast all_gather all_gather_into_tensor all_gather_object
    reduce_scatter_tensor broadcast_object_list
""".split()


def _nothing(*words: Any, **named: Any) -> None:
    pass


def autocast() -> str:
    """The format that products have by it; empty without it."""
    if not torch.is_autocast_enabled("cuda"):
        return ""
    return str(torch.get_autocast_dtype("cuda")).removeprefix("torch.")
