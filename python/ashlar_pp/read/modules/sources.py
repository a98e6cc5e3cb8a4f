"""Builds the model that a name, a configuration or Python code stands for, on the
`meta` device."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pathlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .inputs import example_inputs
from .walked import Unreadable

# Auto classes of transformers, first those with a head that trains.
HEADS: tuple[str, ...] = (
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
    "AutoModelForMaskedLM",
    "AutoModelForImageTextToText",
    "AutoModelForSpeechSeq2Seq",
    "AutoModelForCTC",
    "AutoModelForImageClassification",
    "AutoModelForAudioClassification",
    "AutoModel",
)
OF_BOTH = ("AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq")


@dataclass
class Source:
    """A model without memory, and what its forward is called with."""

    name: str
    model: nn.Module
    inputs: Mapping[str, Any] | tuple[Any, ...]
    config: Any = None  # of transformers
    package: str = ""  # that built it, with its version


def read_source(
    name: str, tokens: int, head: str = "", trusts_code: bool = False
) -> Source:
    """Builds a model.

    `name` is the path of a config.json, a type of transformers with its default
    configuration, `timm:NAME`, or `module:callable` or `file.py:callable`, which
    returns a module, or a module and its example inputs. `tokens` is the length of
    text. `head` is an auto class of transformers; default: by the configuration.
    `trusts_code` runs Python files beside a config.json of a type that nobody knows.
    Raises `Unreadable`.
    """
    path = pathlib.Path(name)
    if path.is_dir() and (path / "config.json").exists():
        path = path / "config.json"
    if path.suffix == ".json":
        config = _config_of(path, trusts_code)
        return _from_config(name, config, tokens, head, path.parent)
    scheme, colon, rest = name.rpartition(":")
    if colon and scheme == "timm":
        return _from_timm(rest)
    if colon:
        return _from_python(scheme, rest)
    return _from_config(name, _default_config(name), tokens, head)


# Packages that add types to those of transformers as they are imported:
# flash-linear-attention.
ADD_TYPES = ("fla",)


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise Unreadable("needs the package transformers") from error


def _class_of_type(kind: Any) -> Any:
    """The class of a type's configurations; None: no package here has the type."""
    known = _transformers().models.auto.configuration_auto.CONFIG_MAPPING
    for package in ADD_TYPES:
        if kind not in known and importlib.util.find_spec(package) is not None:
            importlib.import_module(package)
    return known[kind] if kind in known else None


def _of_own_code(keys: Mapping[str, Any], folder: pathlib.Path, name: str) -> Any:
    """The class of this name among those that a configuration's own code has; None: its
    code is not in its folder."""
    reference = (keys.get("auto_map") or {}).get(name, "")
    module = str(reference).rpartition(".")[0]
    if not module or not (folder / f"{module}.py").is_file():
        return None
    _transformers()
    dynamic = importlib.import_module("transformers.dynamic_module_utils")
    return dynamic.get_class_from_dynamic_module(reference, str(folder))


def _class_of_architecture(keys: Mapping[str, Any]) -> Any:
    """The class of configurations of the model's class, where a file of an unknown type
    names one of transformers and has no code of its own; else None."""
    if "auto_map" in keys:
        return None
    for name in keys.get("architectures") or ():
        found = getattr(_transformers(), str(name), None)
        if made := getattr(found, "config_class", None):
            return made
    return None


def _config_of(path: pathlib.Path, trusts_code: bool) -> Any:
    transformers = _transformers()
    try:
        keys = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from error
    if not isinstance(keys, dict):
        raise Unreadable(f"{path}: is not a JSON object")
    kind = keys.pop("model_type", None)
    made = _class_of_type(kind)
    if made is None and "auto_map" in keys and not trusts_code:
        raise Unreadable(
            f"{path}: model_type {kind!r} has code of its own; with it in the same "
            "folder, --trust-code runs it"
        )
    made = made or _of_own_code(keys, path.parent, "AutoConfig")
    made = made or _class_of_architecture(keys)
    if made is None:
        raise Unreadable(
            f"{path}: model_type {kind!r} is not one of transformers "
            f"{transformers.__version__}; ashlar predict --model may know it"
        )
    keys.pop("quantization_config", None)  # weights are those of training
    try:
        return made.from_dict(keys)
    except Exception as error:  # of any check of a configuration's class
        reason = str(error).strip().split("\n")[0]
        raise Unreadable(f"{path}: {type(error).__name__}: {reason}") from error


def _default_config(kind: str) -> Any:
    made = _class_of_type(kind)
    if made is None:
        raise Unreadable(
            f"'{kind}' is no file, no module:callable and no type of transformers "
            f"{_transformers().__version__}"
        )
    return made()


def _class_of(transformers: Any, config: Any, head: str, folder: pathlib.Path) -> Any:
    """The class that trains such a configuration, which may stand in its folder."""
    if head:
        if not hasattr(transformers, head):
            raise Unreadable(f"transformers has no class {head}")
        return getattr(transformers, head)
    for name in getattr(config, "architectures", None) or ():
        if hasattr(transformers, name):
            return getattr(transformers, name)
    heads = HEADS
    if getattr(config, "is_encoder_decoder", False):
        heads = (*OF_BOTH, *(name for name in HEADS if name not in OF_BOTH))
    built = [
        auto
        for auto in (getattr(transformers, name) for name in heads)
        if type(config) in auto._model_mapping
    ]
    # A class of the text alone has a configuration of its own, as Llama 3.2's has.
    whole = [auto for auto in built if _takes(auto, config)]
    for auto in whole or built:
        return auto
    for name in HEADS if getattr(config, "auto_map", None) else ():
        if made := _of_own_code({"auto_map": config.auto_map}, folder, name):
            return made
    raise Unreadable(f"no class of transformers builds a {type(config).__name__}")


def _takes(auto: Any, config: Any) -> bool:
    found = auto._model_mapping[type(config)]
    first = found[0] if isinstance(found, tuple | list) else found
    return getattr(first, "config_class", None) in (None, type(config))


def _from_config(
    name: str,
    config: Any,
    tokens: int,
    head: str,
    folder: pathlib.Path = pathlib.Path(),
) -> Source:
    transformers = _transformers()
    kind = _class_of(transformers, config, head, folder)
    build = kind
    if kind.__name__.startswith("AutoModel"):
        if type(config) not in kind._model_mapping:
            raise Unreadable(f"{name}: {kind.__name__} has no {type(config).__name__}")
        found = kind._model_mapping[type(config)]
        # `from_config` needs to be told which of several classes it makes.
        build = found[0] if isinstance(found, tuple | list) else kind.from_config
    try:
        with torch.device("meta"):
            model = build(config)
    except Exception as error:  # of anything that a model's own code raises
        reason = str(error).strip().split("\n")[0]
        raise Unreadable(
            f"{name}: {type(error).__name__} in its constructor: {reason}"
        ) from error
    model.to(torch.bfloat16)
    return Source(
        name,
        model,
        example_inputs(model, tokens),
        model.config,
        f"transformers {transformers.__version__}",
    )


def _from_timm(name: str) -> Source:
    try:
        timm = importlib.import_module("timm")
    except ImportError as error:
        raise Unreadable("needs the package timm") from error
    with torch.device("meta"):
        model = timm.create_model(name)
    size = (1, *model.default_cfg["input_size"])
    model.to(torch.bfloat16)
    image = torch.empty(size, dtype=torch.bfloat16, device="meta")
    return Source(name, model, (image,), None, f"timm {timm.__version__}")


def _from_python(scheme: str, function: str) -> Source:
    path = pathlib.Path(scheme)
    if path.suffix == ".py":
        sys.path.insert(0, str(path.resolve().parent))
        scheme = path.stem
    try:
        factory = getattr(importlib.import_module(scheme), function)
    except (ImportError, AttributeError) as error:
        raise Unreadable(str(error)) from error
    with torch.device("meta"):
        made = factory()
    model, inputs = made if isinstance(made, tuple) else (made, ())
    if not isinstance(model, nn.Module):
        raise Unreadable(f"{function} returns no torch.nn.Module")
    model.to("meta")
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, Mapping):
        inputs = tuple(inputs)
    config = getattr(model, "config", None)
    if not inputs and hasattr(model, "main_input_name"):
        inputs = example_inputs(model, 176)
    return Source(f"{scheme}:{function}", model, inputs, config)
