"""`python -m ashlar_pp.read model`: a model, as PyTorch runs it, as a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from .modules.architecture import architecture_of, left_out_of
from .modules.events import Attention
from .modules.inputs import run_all_layers
from .modules.layers import Counts, Layers, Part, layers_of
from .modules.parts import Inexpressible
from .modules.sources import Source, read_source
from .modules.towers import front_of
from .modules.walk import walk
from .modules.walked import Unreadable

VERSION = 1


def describe(source: Source) -> dict[str, Any]:
    """What a model's file has; docs/formats.md says what each key means.

    A model whose forward cannot be walked has its parameters alone, and the reason.
    """
    model = source.model
    unique = list(model.parameters())
    made: dict[str, Any] = {
        "ashlar_model": VERSION,
        "name": source.name,
        "class": type(model).__name__,
        "package": source.package or f"torch {torch.__version__}",
        "parameters": {
            "all": sum(one.numel() for one in unique),
            "frozen": sum(one.numel() for one in unique if not one.requires_grad),
            "shared": _shared(model),
        },
        "inputs": _shapes(source.inputs),
    }
    assumed = run_all_layers(model)
    try:
        walked = walk(model, source.inputs)
    except Unreadable as error:
        made["not_walked"] = str(error)
        made["no_architecture"] = "its forward was not walked"
        return made
    layers = layers_of(model, walked)
    tokens = _tokens(source)
    made["parameters"]["active"] = layers.counts.active
    made["parameters"]["adapters"] = layers.counts.adapters
    made["tokens"] = tokens
    made["operations"] = walked.operations
    made["kept_bytes"] = sum(walked.kept.values())
    made["assumed"] = assumed + walked.assumed
    made["not_run"] = layers.not_run
    made["kinds"] = [_part(kind) for kind in layers.kinds]
    made["layers"] = [
        {"name": layer.name, "kind": kind}
        for layer, kind in zip(layers.layers, layers.kind_of)
    ]
    made["beside"] = _part(layers.beside)
    try:
        left_out = left_out_of(model, layers)
        architecture = architecture_of(model, walked, layers, tokens, left_out)
        try:
            fronts = front_of(model, left_out)
            if fronts:
                architecture = architecture_of(
                    model, walked, layers, tokens, left_out, fronts
                )
                for name in (name for front in fronts for name in front.names):
                    del left_out[name]
        except (Inexpressible, Unreadable) as error:
            made["no_towers"] = str(error)
        _must_agree(architecture, layers)
    except Inexpressible as error:
        made["no_architecture"] = str(error)
        return made
    made["left_out"] = left_out
    made["architecture"] = architecture
    return made


def _must_agree(architecture: dict[str, Any], layers: Layers) -> None:
    """Parameters that a token meets by the form are those of the walk."""
    saved = 0
    for kind in architecture["layers"]:
        feed = architecture["kinds"][kind].get("feed", {})
        if feed.get("kind") != "experts":
            continue
        inside = feed.get("latent") or architecture["hidden"]
        matrices = (3 if feed["is_gated"] else 2) * inside * feed["expert_width"]
        one = matrices + feed.get("beside_expert", 0)
        saved += (feed["experts"] - feed["chosen"]) * one
    if layers.counts.all - saved != layers.counts.active:
        raise Inexpressible("experts have parameters that no form of experts has")


def _tokens(source: Source) -> int:
    inputs = source.inputs
    given = inputs.values() if hasattr(inputs, "values") else inputs
    for one in given:
        if isinstance(one, torch.Tensor) and not one.dtype.is_floating_point:
            return int(one.numel())
    return 0


def _shapes(inputs: Any) -> Any:
    def shape(value: Any) -> Any:
        return list(value.shape) if isinstance(value, torch.Tensor) else value

    if hasattr(inputs, "items"):
        return {name: shape(value) for name, value in inputs.items()}
    return [shape(value) for value in inputs]


def _shared(model: torch.nn.Module) -> list[list[str]]:
    """Names of each parameter that has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return [list(dict.fromkeys(one)) for one in names.values() if len(one) > 1]


def _attention(one: Attention) -> dict[str, Any]:
    made = asdict(one)
    seen = made.pop("seen")
    told = {key: value for key, value in seen.items() if value or key == "causal"}
    return {**made, **told}


def _part(part: Part) -> dict[str, Any]:
    counts: Counts = part.counts
    return {
        "type": part.type,
        "calls": part.calls,
        "parameters": asdict(counts),
        "products": [asdict(one) for one in part.weights],
        "attention": [_attention(one) for one in part.attention],
        "scans": [
            {"module": module, "operations": operations}
            for module, operations in part.scans.items()
        ],
        "convolutions": [asdict(one) for one in part.convolutions],
        "operations": part.operations,
        "kept_bytes": part.kept,
    }


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds this noun's arguments."""
    parser.add_argument(
        "model",
        help="a config.json, a model type of transformers, timm:NAME, or "
        "module:callable",
    )
    parser.add_argument(
        "--tokens", type=int, default=176, help="length of the example text"
    )
    parser.add_argument("--head", default="", help="an auto class of transformers")
    parser.add_argument(
        "--trust-code",
        action="store_true",
        help="run Python files beside a config.json whose type nobody knows",
    )
    parser.add_argument("-o", "--output", default="-", help="the file; default: stdout")


def run(given: argparse.Namespace) -> int:
    """Reads a model and writes its file; returns the exit code."""
    try:
        made = describe(
            read_source(given.model, given.tokens, given.head, given.trust_code)
        )
    except Unreadable as error:
        print(f"ashlar_pp.read: {error}", file=sys.stderr)
        return 2
    text = json.dumps(made, indent=1) + "\n"
    if given.output == "-":
        sys.stdout.write(text)
    else:
        with open(given.output, "w") as file:
            file.write(text)
    for key in ("not_walked", "no_architecture"):
        if key in made:
            print(f"ashlar_pp.read: {key}: {made[key]}", file=sys.stderr)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser("python -m ashlar_pp.read model")
    arguments(parser)
    return run(parser.parse_args(words))
