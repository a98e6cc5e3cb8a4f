"""The layers between which a model may be cut, and a skeleton that runs the model's own
forward around them.

A model is a tree of modules. Modules with layers below them are opened. Their Python
code, which makes masks and positions and passes tensors from layer to layer, is the
skeleton. It runs on every rank. Every child of an opened module that is not opened
itself is a layer, including embeddings, norms and heads. A layer's parameters are only
on the rank of its stage.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map_only

from .unseen import UnseenValue, place_in_model, shown


class Layer(nn.Module):
    """Takes the module's place in the skeleton. Its attributes are the module's, also
    if that is on another rank.

    `Skeleton.run` determines what a call does.
    """

    def __init__(self, name: str, module: nn.Module, skeleton: Skeleton) -> None:
        super().__init__()
        self.name = name
        self.training = module.training
        self.__dict__["skeleton"] = skeleton
        self.__dict__["module"] = (
            # not a child: the stage's module has the parameters, under the model's
            # names
            module
        )
        self.changes_inputs = False
        """Whether a call changes its inputs in place."""
        self.is_here = True
        """Whether this rank has the parameters."""
        self.written: set[str] = set()
        """Attributes and buffers that a call changes, by their paths in the model."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if (
                not self.__dict__.get("is_here", True)
                and f"{self.name}.{name}" in self.written
            ):
                raise UnseenValue(
                    f"the model reads {self.name}.{name} at {shown(place_in_model())}, "
                    "which calls of that layer change: it is in "
                    "another stage. Let the layer return it"
                ) from None
            return getattr(self.__dict__["module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets the module's attributes, such as a dropout probability that a trainer
        changes.
        """
        if (
            name in ("name", "training", "changes_inputs", "is_here", "written")
            or "module" not in self.__dict__
        ):
            super().__setattr__(name, value)
        else:
            setattr(self.module, name, value)

    def named_modules(
        self,
        memo: set[nn.Module] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, nn.Module]]:
        """Includes the module's if this rank has it, so the model's parameters are
        those of this rank.
        """
        known = set() if memo is None else memo
        if self in known:
            return
        if remove_duplicate:
            known.add(self)
        yield prefix, self
        if self.is_here:
            yield from self.module.named_modules(known, prefix, remove_duplicate)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        if not self.is_here:
            raise RuntimeError(
                f"{self.name} is on another rank, so this is no state of the whole "
                "model: pipe.whole_state_dict() gathers it, "
                "and pipe.state_dict() is that of this rank's layers"
            )
        return self.module.state_dict(*args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.module)

    def __bool__(self) -> bool:
        return bool(self.module)

    def __len__(self) -> int:
        return len(self.module)

    def __getitem__(self, index: Any) -> Any:
        return self.module[index]

    def train(self, mode: bool = True) -> Layer:
        self.module.train(mode)
        self.training = mode
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.skeleton.run(self, args, kwargs)

    def compute(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the module. It gets copies if it changes inputs in place, so received
        and sent tensors stay intact.
        """
        if self.changes_inputs:
            args, kwargs = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        return self.module(*args, **kwargs)

    def forget(self) -> None:
        """Frees the parameters; only their shapes stay. Other layers keep shared
        parameters, and buffers stay.
        """
        self.is_here = False
        for one in self.module.modules():
            for name, p in one._parameters.items():
                if p is not None:
                    one._parameters[name] = nn.Parameter(
                        torch.empty_like(p, device="meta"),
                        requires_grad=p.requires_grad,
                    )


class Part(nn.Module):
    """Some layers of a model, under their names in it. `execute` determines what a call
    does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["execute"] = None

    def forward(self, *received: torch.Tensor) -> Any:
        return self.__dict__["execute"](*received)


def _below(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _is_list(module: nn.Module) -> bool:
    """Whether the module is a list whose children are layers."""
    return isinstance(module, (nn.ModuleList, nn.ModuleDict, nn.Sequential))


def _parts(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The children by name; none if parametrized (as by weight_norm): what makes a
    weight stays with it.
    """
    return [] if is_parametrized(module) else list(module.named_children())


def _opened_for_lists(module: nn.Module, name: str, opened: set[str]) -> bool:
    """Opens the outermost lists of modules, and what leads to them."""
    is_list = _is_list(module)
    found = is_list
    for child_name, child in _parts(module):
        if not is_list or _is_list(child):
            found = _opened_for_lists(child, _below(name, child_name), opened) or found
    if found:
        opened.add(name)
    return found


def _opened_for_names(model: nn.Module, names: Iterable[str]) -> set[str]:
    modules = dict(model.named_modules(remove_duplicate=False))
    opened = {""}
    for name in names:
        if name not in modules:
            raise ValueError(f"the model has no module '{name}'")
        if _is_list(modules[name]):
            opened.add(name)
        while name:
            name = name.rpartition(".")[0]
            opened.add(name)
    return opened


def _layers(model: nn.Module, opened: set[str]) -> dict[str, nn.Module]:
    """The layers by name, in the order of the tree; a module with several names has one
    entry each.
    """
    found: dict[str, nn.Module] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if name not in opened and name.rpartition(".")[0] in opened:
            found[name] = module
    return found


def _size(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def find_layers(
    model: nn.Module, at_least: int, names: Iterable[str] | None = None
) -> tuple[set[str], dict[str, nn.Module]]:
    """Finds the modules to open, by name, and the layers by name.

    names: those of layers, or of lists of them. Without them, the outermost lists of
    modules (ModuleList, ModuleDict, Sequential) are opened; then the largest layer with
    children, while fewer than `at_least` layers have parameters.
    """
    opened = {""}
    if names is not None:
        opened = _opened_for_names(model, names)
    else:
        _opened_for_lists(model, "", opened)
        opened.add("")
    while True:
        layers = _layers(model, opened)
        if (
            names is not None
            or sum(1 for one in layers.values() if _size(one) > 0) >= at_least
        ):
            return opened, layers
        able = [name for name, one in layers.items() if _size(one) > 0 and _parts(one)]
        if not able:
            return opened, layers
        opened.add(max(able, key=lambda name: _size(layers[name])))


def whole_name(device: torch.device) -> torch.device:
    """The device with its index, as tensors report it."""
    return torch.empty(0, device=device).device


def _home(module: nn.Module, device: torch.device) -> torch.device:
    """The module's device; `device` if it has no tensors."""
    return next((t.device for t in (*module.parameters(), *module.buffers())), device)


@contextlib.contextmanager
def visiting(module: nn.Module, device: torch.device) -> Iterator[None]:
    """Moves the module to the device inside, and back at the end."""
    home = _home(module, device)
    if home == device:
        yield
        return
    with _disable_current_modes():  # moving is no operation of the model
        module.to(device)
    try:
        yield
    finally:
        with _disable_current_modes():
            module.to(home)


@contextlib.contextmanager
def all_visiting(
    model: nn.Module,
    opened: set[str],
    layers: dict[str, nn.Module],
    device: torch.device,
) -> Iterator[None]:
    """Inside, moves each layer to the device for its calls. Tensors of opened modules
    themselves stay there.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    for name in opened:
        modules[name]._apply(lambda t: t.to(device), recurse=False)
    calls: list[
        contextlib.AbstractContextManager[None]
    ] = []  # running calls, the innermost last

    def comes(module: nn.Module, *_: Any) -> None:
        calls.append(visiting(module, device))
        calls[-1].__enter__()

    def goes(*_: Any) -> None:
        calls.pop().__exit__(None, None, None)

    with contextlib.ExitStack() as hooks:
        for module in {
            id(one): one for one in layers.values() if _home(one, device) != device
        }.values():
            hooks.callback(module.register_forward_pre_hook(comes, prepend=True).remove)
            hooks.callback(module.register_forward_hook(goes, always_call=True).remove)
        yield


Run = Callable[[Layer, tuple[Any, ...], dict[str, Any]], Any]


def _itself(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return layer.compute(args, kwargs)


class Skeleton:
    """The model with its layers replaced. A call runs the model's own forward, and
    `run` for each call of a layer.
    """

    def __init__(
        self,
        model: nn.Module,
        opened: set[str],
        layers: dict[str, nn.Module],
        device: torch.device,
    ) -> None:
        self.model, self.opened, self.device = model, opened, device
        self.run: Run = _itself
        modules = dict(model.named_modules(remove_duplicate=False))
        made: dict[int, Layer] = {}
        self.places: dict[str, Layer] = {}
        """Layers by every name that they have."""
        for name, module in layers.items():
            if id(module) not in made:
                made[id(module)] = Layer(name, module, self)
            parent, _, child = name.rpartition(".")
            modules[parent]._modules[child] = made[id(module)]
            self.places[name] = made[id(module)]
        self.layers = list(made.values())
        self.containers = {name: modules[name] for name in sorted(opened)}

    def calling(
        self, run: Run, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Calls a function, in which a call of a layer is a call of `run`."""
        self.run = run
        try:
            return function(*args, **kwargs)
        finally:
            self.run = _itself

    def __call__(self, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.calling(run, self.model, *args, **kwargs)

    def buffers(self) -> list[torch.Tensor]:
        return list(
            {
                id(b): b
                for of in (self.model, *(one.module for one in self.layers))
                for b in of.buffers()
            }.values()
        )

    def part(self, layers: Iterable[Layer]) -> Part:
        """Makes a module with these layers under their names in the model, and with the
        skeleton's own parameters and buffers.
        """
        wanted = {id(layer) for layer in layers}
        root = Part()
        nodes: dict[str, nn.Module] = {"": root}

        def node(name: str) -> nn.Module:
            if name not in nodes:
                parent, _, child = name.rpartition(".")
                nodes[name] = nn.Module()
                node(parent)._modules[child] = nodes[name]
            return nodes[name]

        for name, one in self.containers.items():
            if any(p is not None for p in one._parameters.values()) or one._buffers:
                node(name)._parameters.update(one._parameters)
                node(name)._buffers.update(one._buffers)
                node(
                    name
                )._non_persistent_buffers_set |= one._non_persistent_buffers_set
        for name, layer in self.places.items():
            if id(layer) in wanted:
                parent, _, child = name.rpartition(".")
                node(parent)._modules[child] = layer.module
        return root
