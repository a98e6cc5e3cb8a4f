"""Objects that a program would train with, as plain values: the model's parameters and
their formats, adapters, arguments."""

from __future__ import annotations

import dataclasses
import enum
import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from ..frameworks.trainer_quiet import is_silent
from .absent import Absent

# Packages whose classes' steps are known; others may take another step.
_PUBLISHED = ("transformers", "trl", "peft", "accelerate")
# How a model is that nothing was loaded for.
BUILT = {"kernel": "", "packed": {}, "has_format": True, "asks_rows": False}
_METHODS = ("compute_loss", "training_step", "create_optimizer")


def model_of(model: Any, loaded: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """`loaded` says how models were loaded, by their identity."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    named = dict(model.named_parameters())
    trained = {name: each for name, each in named.items() if each.requires_grad}
    adapters = getattr(model, "peft_config", None) or {}
    return {
        "config": base.config.to_dict()
        if hasattr(getattr(base, "config", None), "to_dict")
        else None,
        "class": type(base).__name__,
        "sizes": {name: each.numel() for name, each in named.items()},
        "formats": {name: format_of(each) for name, each in named.items()},
        "trains": list(trained),
        "adapters": {
            name: {key: plain(value) for key, value in each.to_dict().items()}
            for name, each in adapters.items()
        },
        **loaded.get(id(base), BUILT),
        "recomputes": any(
            getattr(each, "gradient_checkpointing", False) for each in model.modules()
        ),
    }


def format_of(parameter: Any) -> str:
    """As float32."""
    return str(parameter.dtype).removeprefix("torch.")


def plain(value: Any) -> Any:
    """A value of a configuration, as JSON has it."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, set):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


def is_plain(value: Any) -> bool:
    """Whether JSON has it."""
    return isinstance(value, str | int | float | bool | list | Mapping)


def arguments_of(args: Any) -> dict[str, Any]:
    """What published classes of arguments have, where it differs from the Trainer's own
    values, and from theirs where the Trainer has none."""
    trainers = _usual(importlib.import_module("transformers").TrainingArguments)
    made = {}
    for kind in reversed([each for each in type(args).__mro__ if _is_published(each)]):
        if not dataclasses.is_dataclass(kind):
            continue
        for name, usual in {**_usual(kind), **trainers}.items():
            value = plain(getattr(args, name, None))
            if issubclass(type(value), Absent) and not is_silent(name):
                raise ValueError(f"{name} is of something that is not on this machine")
            if name[0] != "_" and is_plain(value) and value != usual:
                made[name] = value
    return made


def _usual(kind: type) -> dict[str, Any]:
    """The values of a class of arguments that says none."""
    return {
        each.name: plain(
            each.default_factory()
            if each.default_factory is not dataclasses.MISSING
            else each.default
        )
        for each in dataclasses.fields(kind)
    }


def own_values(objects: Iterable[Any]) -> dict[str, Any]:
    """Numbers and words that these objects of a program have."""
    return {
        name: value
        for each in objects
        for name, value in getattr(each, "__dict__", {}).items()
        if is_plain(value) and not isinstance(value, list | Mapping)
    }


def own_methods(trainer: type) -> list[str]:
    """Methods of a step that classes outside of the published packages replace."""
    return [
        f"{each.__name__}.{name}"
        for each in trainer.__mro__[:-1]
        if not _is_published(each)
        for name in _METHODS
        if name in vars(each)
    ]


def _is_published(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _PUBLISHED
