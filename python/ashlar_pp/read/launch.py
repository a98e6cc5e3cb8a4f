"""python -m ashlar_pp.read launch -- bash run.sh"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import shlex
import sys

from .frameworks.of_megatron import Lacking
from .names import why_nothing_trains
from .programs import of_program
from .run_file import Run, Unreadable, add_set, write
from .scripts import recorder
from .scripts.launchers import Training, trainings_of
from .scripts.recording import HARMLESS, Recording, no_network, record
from .scripts.script_lines import arguments_wanted, folder_with, line_of, origin_of
from .trainings import run_of

_ABOUT = """\
Runs a launch script in bash, with everything that trains replaced by recorders, and
writes the run that it starts for `ashlar predict --run`. Nothing is trained."""

_ADVICE = (
    "Set what the script needs before the command (TP=2 python -m ashlar_pp.read ...), "
    "give its arguments behind its name, or start in the folder that it expects."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds this noun's arguments."""
    parser.description = _ABOUT
    parser.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="the run; - is the output"
    )
    parser.add_argument(
        "--only-print", action="store_true", help="say what would run, and run nothing"
    )
    parser.add_argument(
        "--device", default="", metavar="KIND", help="of the cluster, as H100"
    )
    parser.add_argument(
        "--nodes", type=int, default=1, help="what the script is told (default: 1)"
    )
    parser.add_argument(
        "--devices", type=int, default=8, help="of a node, likewise (default: 8)"
    )
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="(default: 60)"
    )
    parser.add_argument(
        "--choose", type=int, metavar="N", help="of several trainings, the N-th"
    )
    add_set(parser)
    parser.add_argument(
        "--run-program",
        action="store_true",
        help="run the program, too, up to its training, and read the objects that it "
        "makes: for programs with words of their own over the Trainer of transformers, "
        "accelerate or DeepSpeed, and for loops of their own in PyTorch",
    )
    parser.add_argument(
        "--model",
        default="",
        help="as ashlar predict takes it, for the script's own; with --run-program a "
        "config.json, or a folder with it and the model's own code",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help="an argument of the program that changes nothing here",
    )
    parser.add_argument("command", nargs="+", help="behind --: bash run.sh")


def run(asked: argparse.Namespace) -> int:
    """Runs the script and writes the run; returns the exit code."""
    said = said_before(asked.command, asked.timeout, asked.run_program)
    print(said, file=sys.stderr)
    if asked.only_print:
        return 0
    training = None
    try:
        recording = record(
            asked.command,
            nodes=asked.nodes,
            devices=asked.devices,
            seconds=asked.timeout,
        )
        training = with_words(
            chosen(recording, asked.choose, asked.command, asked.run_program), asked.set
        )
        training = without_words(training, asked.ignore)
        training = dataclasses.replace(training, model=asked.model)
        if asked.run_program:
            made = of_program.read(training, asked.nodes, asked.devices, asked.timeout)
        else:
            made = run_of(training)
        if asked.model and not asked.run_program:
            made.model = asked.model
        _finish(made, recording, training, asked.device)
    except Lacking as error:
        origin = origin_of(error.flag, asked.command)
        print(f"error: {error}{': ' if origin else ''}{origin}", file=sys.stderr)
        print(
            f"Give it, or say it by --set {error.flag}=VALUE.",
            file=sys.stderr,
        )
        return 1
    except (Unreadable, OSError, ValueError) as error:
        flag = error.flag if isinstance(error, Unreadable) else ""
        line = line_of(flag, asked.command)
        print(f"error: {f'line {line}: ' if line else ''}{error}", file=sys.stderr)
        file = error.file if isinstance(error, Unreadable) else ""
        if place := folder_with(file, asked.command):
            print(f"From {place} on it is there: start in it.", file=sys.stderr)
        if training and not asked.run_program and of_program.is_here(training):
            print(
                f"--run-program runs {training.name} up to its training, and reads the "
                "objects that it makes.",
                file=sys.stderr,
            )
        return 1
    write(made, asked.output)
    return 0


def said_before(command: list[str], seconds: float, runs_program: bool = False) -> str:
    """What will run, and how."""
    network = "without a network" if no_network() else "with this machine's network"
    lines = [
        f"bash runs: {shlex.join(command)}",
        f"  for {seconds:g} s at most, {network}; its redirections write files",
        "  recorded, not run: torchrun, python, srun, ray, deepspeed, accelerate, ...",
        "  run: " + " ".join(HARMLESS) + ", sums of `python -c` without packages",
        "  not run: everything else",
    ]
    if runs_program:
        lines.append(
            "  then run, likewise: the program that it starts, up to its training, "
            "without weights"
        )
    for word in command:
        if word.endswith((".sh", ".slurm", ".sbatch")) and pathlib.Path(word).is_file():
            found = _named_commands(pathlib.Path(word))
            if found:
                lines.append(f"  of these, {word} names: {' '.join(found)}")
    return "\n".join(lines)


# These programs print no size of a run.
_OF_NO_SIZE = frozenset("git pip pip3 curl wget ip ifconfig ssh module which".split())

_WORDS = re.compile(r"^(?:\s*(?:then|else|do|if|sudo)\s+)*\s*([a-z][\w.-]*)(?=\s|;|$)")
_OF_BASH = frozenset(
    "if then else elif fi for while until do done case esac function local export set "
    "source eval exec exit return shift read declare unset cd trap wait select in time "
    "ulimit shopt readonly let break continue alias".split()
)


def _named_commands(path: pathlib.Path) -> list[str]:
    """The commands that lines of a script begin with, and that would not run."""
    found: list[str] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _WORDS.match(line)
        name = match[1] if match else ""
        if name and name not in (*HARMLESS, *_OF_BASH, *recorder.known(), *found):
            found.append(name)
    return found


def _cut_words(recording: Recording) -> str:
    """A command that begins as an argument does: a line's end came before it."""
    return next(
        (one.words[0] for one in recording.skipped if one.words[0][:1] == "-"), ""
    )


def chosen(
    recording: Recording,
    number: int | None,
    command: list[str],
    runs_program: bool = False,
) -> Training:
    """The training that the command started, or the one with this number, from 1. A
    program that runs needs no words.

    Raises Unreadable where there is none, or where several differ.
    """
    if cut := _cut_words(recording):
        raise Unreadable(
            f"the script runs {cut} as a command: the end of a line, or a remark, cuts "
            "the command before it"
        )
    started = [
        one
        for one in trainings_of(recording.commands)
        if one.arguments or (runs_program and of_program.is_here(one))
    ]
    idle = {one.program: why_nothing_trains(one.name) for one in started}
    trainings = [one for one in started if not idle[one.program]]
    if not trainings and started:
        program, why = next(iter(idle.items()))
        raise Unreadable(f"{program}: {why}")
    if not trainings:
        raise Unreadable(_why_none(recording, command))
    if number is not None:
        if not 1 <= number <= len(trainings):
            raise Unreadable(f"--choose {number}: there are {len(trainings)} trainings")
        return trainings[number - 1]
    if len(trainings) > 1:
        lines = [
            f"  {i}: {shlex.join([one.program, *one.arguments])[:160]}"
            for i, one in enumerate(trainings, 1)
        ]
        raise Unreadable(
            "the script starts several trainings; take one by --choose N:\n"
            + "\n".join(lines)
        )
    return trainings[0]


def with_words(training: Training, pairs: list[str]) -> Training:
    """With NAME=VALUE behind the program's own words, of which the last counts.

    Raises Unreadable for other text.
    """
    words: list[str] = []
    is_hydra = (
        training.launcher == "tune"
        or training.program == "oumi"
        or not any(word.startswith("--") for word in training.arguments)
    )
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Unreadable(f"--set {pair}: NAME=VALUE of an argument of the program")
        words.extend([pair] if is_hydra else ["--" + name.lstrip("-"), value])
    return dataclasses.replace(training, arguments=(*training.arguments, *words))


def without_words(training: Training, names: list[str]) -> Training:
    """Without these arguments and what stands behind them."""
    words: list[str] = []
    left_out = [name.lstrip("-").replace("_", "-") for name in names]
    skips = False
    for word in training.arguments:
        if word.startswith("--"):
            skips = word.partition("=")[0].lstrip("-").replace("_", "-") in left_out
        if not skips:
            words.append(word)
    return dataclasses.replace(training, arguments=tuple(words))


def _why_none(recording: Recording, command: list[str]) -> str:
    said = recording.output.strip().splitlines()[-3:]
    if recording.timed_out:
        how = "did not end in time, and had started no training; --timeout gives more"
    elif recording.status != 0:
        how = f"ended with status {recording.status} before it started a training"
    else:
        how = "started no training that a recorder stands for"
    skipped = sorted({one.words[0] for one in recording.skipped if one.words})
    lines = [f"the script {how}", *(f"  it said: {line}" for line in said)]
    if skipped:
        lines.append(f"  not run: {' '.join(skipped)[:500]}")
    lines.extend(f"  {line}" for line in arguments_wanted(command))
    return "\n".join([*lines, _ADVICE])


def _finish(run: Run, recording: Recording, training: Training, device: str) -> None:
    nodes, devices = training.nodes, training.devices
    run.share_in_node(nodes, devices)
    if device:
        if not devices:
            raise Unreadable(
                "--device: the script does not say how many devices there are; give "
                "--cluster to ashlar predict"
            )
        run.cluster = f"{nodes or 1}x{devices}x{device}"
    elif devices:
        run.notes.append(f"launched on {nodes or 1} x {devices} devices")
    if recording.placeholders:
        run.notes.append(
            f"to be filled in, and taken as text: {' '.join(recording.placeholders)}"
        )
    for one in recording.skipped:
        if one.words and one.words[0] in ("source", ".", "cd", "pushd"):
            _note_missing(run, one.words)
        elif one.is_captured and one.words and one.words[0] not in _OF_NO_SIZE:
            run.unknown.append(f"the output of `{shlex.join(one.words)[:80]}`")


# Files that scripts source for their programs' paths: they set no size of a run.
_OF_PATHS = re.compile(r"activate|conda|bashrc|profile|modules|setvars|start-")


def _note_missing(run: Run, words: tuple[str, ...]) -> None:
    """A file that the script sources, or a folder that it goes to."""
    place = " ".join(words[1:])
    if words[0] in ("cd", "pushd") or _OF_PATHS.search(place):
        run.notes.append(f"{place} is not here")
    else:
        run.unknown.append(f"what {place} sets, which is not here")
