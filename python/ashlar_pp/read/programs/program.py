"""Runs a program up to its training, and records the objects that would train:
python -m ashlar_pp.read.programs.program RECORD [OPTIONS] PROGRAM [ARGUMENTS].
of_program.py starts it, without a network."""

from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import sys
import traceback

from .absent import Packages
from .absent_data import load_no_data, open_absent_data
from .absent_weights import Weights
from .held_fabric import Fabric
from .held_training import Held
from .told_devices import tell


def _where(error: BaseException, folder: pathlib.Path) -> str:
    """The program's own line, and the error."""
    if isinstance(error, SystemExit) and isinstance(error.__context__, Exception):
        error = error.__context__  # that the program caught, and ended by
    at = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = pathlib.Path(frame.filename).resolve()
        if folder in path.parents and "site-packages" not in path.parts:
            at = f"{path.name}:{frame.lineno}: "
    said = str(error).strip().splitlines()
    return f"{at}{type(error).__name__}: {said[0] if said else ''}"


def main() -> None:
    """Runs the program; its record says how far it came."""
    parser = argparse.ArgumentParser("python -m ashlar_pp.read.programs.program")
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("-m", dest="is_module", action="store_true")
    parser.add_argument("program")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    folder = pathlib.Path.cwd()
    if not given.is_module:
        folder = pathlib.Path(given.program).resolve().parent
    sys.argv = [given.program, *given.words]
    sys.path[0] = str(folder)
    held = Held(given.record)
    tell(given.devices, given.ranks)
    held.hold()
    Fabric(held.loops.wrappers, given.devices, held.loops.refuse).hold()
    Weights(given.model, held.missing, held.loaded).leave_out()
    load_no_data(held.missing)
    open_absent_data(given.words, held.missing)
    held.arrays.leave_out()
    sys.meta_path.append(
        Packages(
            folder,
            pathlib.Path(os.environ["HF_MODULES_CACHE"]),
            held.packages,
            {"deepspeed": {"initialize": held.initialize}},
        )
    )
    try:
        if given.is_module:
            runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(given.program, run_name="__main__")
        held.loops.finish()
    except BaseException as error:  # anything, also what ends a program
        if isinstance(error, SystemExit):
            held.loops.finish()
        held.loops.finish_where_alike()
        held.end({"error": _where(error, folder)})
    held.end({"error": "it ended, and had started no training"})


if __name__ == "__main__":
    main()
