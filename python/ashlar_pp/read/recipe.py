"""python -m ashlar_pp.read recipe FILE"""

from __future__ import annotations

import argparse
import pathlib
import sys

from .frameworks.of_bridge import of_function
from .recipes import run_of_recipe
from .run_file import Unreadable, add_set, size_of, write
from .values import read_file, replaced


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds this noun's arguments."""
    parser.description = "Writes the run of a configuration for ashlar predict --run."
    parser.add_argument(
        "file",
        help="YAML, TOML or JSON of a framework; or module:function, which gives a "
        "configuration of Megatron-Bridge, NeMo 2 or torchtitan",
    )
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="the run; - is the output"
    )
    add_set(parser)
    parser.add_argument("--cluster", default="", help="as ashlar predict takes it")


def run(asked: argparse.Namespace) -> int:
    """Reads the file and writes the run; returns the exit code."""
    try:
        path = pathlib.Path(asked.file)
        if ":" in asked.file and not path.exists():
            made = of_function(asked.file)
            made.set(asked.set)
        else:
            made = run_of_recipe(replaced(read_file(path), asked.set), path)
        made.share_in_node(*size_of(asked.cluster))
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    made.cluster = asked.cluster
    write(made, asked.output)
    return 0
