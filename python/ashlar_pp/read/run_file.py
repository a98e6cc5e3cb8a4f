"""A run as `ashlar predict --run` reads it."""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT, VERSION = "ashlar-run", 1


class Unreadable(Exception):
    """A run that is not read; the text says what is wrong, and what to do. `flag` is
    the argument that it is about, without hyphens in front, where it is about one, and
    `file` one that is not there."""

    def __init__(self, text: str, flag: str = "", file: str = "") -> None:
        super().__init__(text)
        self.flag, self.file = flag, file


@dataclass
class Run:
    """What a launch file says of a run.

    `model` is a name, a configuration of Hugging Face, or None where the file says
    none. `batch`, `layout` and `program` have the options of `ashlar predict`, with
    underscores. `arguments` are those of the framework `framework`, which the tool
    reads with its rules: megatron, torchtitan or deepspeed; `towers` stand before the
    decoder that these make. `counted` has the `parameters` and those `trained` of the
    module itself, to which the prediction must come. `unknown` may change the
    result, `not_read` changes nothing. `is_in_node`: data ranks share within a node,
    and `copies`: so many groups of them share; `share_in_node` has still to say how
    many ranks that is.
    """

    model: str | Mapping[str, Any] | None = None
    cluster: str = ""
    batch: dict[str, Any] = field(default_factory=dict)
    layout: dict[str, Any] = field(default_factory=dict)
    program: dict[str, Any] = field(default_factory=dict)
    framework: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    towers: list[dict[str, Any]] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)
    is_in_node: bool = False
    copies: int = 0

    def share_in_node(self, nodes: int, devices: int) -> None:
        """Says how many ranks share, where it is those of a node or of a copy
        (HYBRID_SHARD of PyTorch); 0: not known. Raises Unreadable where that is
        needed."""
        if self.copies:
            if not nodes or not devices or nodes * devices % self.copies:
                raise Unreadable(
                    f"{self.copies} copies of the state, and nothing says how many "
                    "ranks they divide: give --cluster to python -m ashlar_pp.read "
                    "recipe, or start the script by a launcher that says them"
                )
            self.layout["shard_ranks"] = nodes * devices // self.copies
            self.copies = 0
        if not self.is_in_node:
            return
        if not nodes or (nodes > 1 and not devices):
            raise Unreadable(
                "ranks share within a node (HYBRID_SHARD), and nothing says its "
                "devices: give --cluster to python -m ashlar_pp.read recipe, as "
                "4x8xH100, or start the script by a launcher that says them"
            )
        if nodes > 1:
            self.layout["shard_ranks"] = devices
        self.is_in_node = False

    def set(self, pairs: list[str]) -> None:
        """Puts NAME=VALUE in the place of arguments of the framework.

        Raises Unreadable for other text, and for a run without such arguments.
        """
        made = dict(self.arguments)
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals or not name or not self.framework:
                raise Unreadable(f"--set {pair}: NAME=VALUE of a framework's argument")
            alike = [
                key for key in made if key.replace("-", "_") == name.replace("-", "_")
            ]
            made[alike[0] if alike else name] = value
        self.arguments = made

    def text(self) -> str:
        """The file, as JSON. Raises Unreadable where share_in_node would."""
        self.share_in_node(0, 0)
        made: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        if self.model is not None:
            made["model"] = self.model
        if self.cluster:
            made["cluster"] = self.cluster
        for name in ("batch", "layout", "program"):
            if getattr(self, name):
                made[name] = getattr(self, name)
        if self.framework:
            made[self.framework] = self.arguments
        for name in ("towers", "counted", "notes", "unknown", "not_read"):
            if getattr(self, name):
                made[name] = getattr(self, name)
        return json.dumps(made, indent=1) + "\n"


def size_of(cluster: str) -> tuple[int, int]:
    """Nodes, and devices of one, of a cluster such as 4x8xH100; 0: not said."""
    match = re.match(r"(?:(\d+)x)?(\d+)x[A-Za-z]", cluster)
    return (int(match[1] or 1), int(match[2])) if match else (0, 0)


def write(run: Run, output: str) -> None:
    """Writes the file, and says what was taken for something."""
    for note in (*run.notes, *(f"may change the result: {one}" for one in run.unknown)):
        print(note, file=sys.stderr)
    if output == "-":
        print(run.text(), end="")
    else:
        pathlib.Path(output).write_text(run.text(), encoding="utf-8")


def add_set(parser: argparse.ArgumentParser) -> None:
    """Adds --set, whose values Run.set takes."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a framework's argument in place of what the file says",
    )


def add_frozen_towers(
    run: Run, encoders: bool, aligners: bool, decoder: bool = False
) -> None:
    """Which parts a trainer freezes: those that read an input, those that lead from
    them to the decoder, and the decoder."""
    named = ["encoders"] * encoders + ["aligners"] * aligners
    named = ["towers"] if len(named) == 2 else named
    if decoder:
        named += ["embedding", "head", "layers"]
    if named:
        run.program["freeze"] = ",".join(named)
