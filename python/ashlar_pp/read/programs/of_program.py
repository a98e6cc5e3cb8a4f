"""A program of one's own over the Trainer of transformers, accelerate or DeepSpeed, by
the objects that it makes: it runs up to its training."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from ..flags import words_by_name
from ..frameworks.of_trainer import LENGTHS, of_arguments
from ..frameworks.trainer_run import accelerate_of
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..scripts.recording import no_network
from .loop_words import finish, words_of
from .made_parts import Parts

# Losses that TRL's trainers take, by the names of their classes.
_LOSSES = {
    f"{name}Trainer": name.lower()
    for name in ("DPO", "CPO", "ORPO", "KTO", "GRPO", "RLOO")
}
_ADVICE = (
    "; --model is the config.json of a model that is not here, or a folder with it and "
    "the model's code"
)
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "WANDB_MODE": "disabled",
}


_LAUNCHERS = ("", "torchrun", "deepspeed", "accelerate")


def is_here(training: Training) -> bool:
    """Whether it is a Python program in the folder that it is started in."""
    name = training.program
    if training.is_module:
        name = name.replace(".", "/") + ".py"
    at = pathlib.Path(training.command.folder, name)
    return training.launcher in _LAUNCHERS and at.suffix == ".py" and at.is_file()


def read(training: Training, nodes: int, devices: int, seconds: float) -> Run:
    """The run that the program starts on `nodes` of `devices` where its launcher does
    not say how many. Raises Unreadable."""
    if not (training.is_module or is_here(training)):
        raise Unreadable(
            f"{training.program} is no Python program in {training.command.folder}: "
            "it cannot be run up to its training",
            file=training.program,
        )
    if training.model and not _config(training).is_file():
        raise Unreadable(
            f"--model {training.model}: with --run-program it is a config.json, or a "
            "folder that has one, with the model's code and tokenizer"
        )
    ranks = (training.nodes or nodes) * (training.devices or devices)
    record = _record(training, ranks, training.devices or devices, seconds)
    is_own = "loop" in record or "error" in record
    if is_own and not training.devices and training.launcher == "":
        # A loop of a program's own that plain Python starts finds no ranks.
        alone = _record(training, 0, devices, seconds)
        record = alone if "loop" in {**record, **alone} else record
    if "error" in record:
        advice = _ADVICE if record.get("missing") and not training.model else ""
        raise Unreadable(
            f"{training.program} did not come to its training: {record['error']}"
            f"{_missing(record)}{advice}"
        )
    return _run(training, record, ranks)


def _config(training: Training) -> pathlib.Path:
    path = pathlib.Path(training.model)
    return path / "config.json" if path.is_dir() else path


def _record(
    training: Training, ranks: int, devices: int, seconds: float
) -> dict[str, Any]:
    package = pathlib.Path(__file__).parents[3]
    rank = {
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": devices,
        "RANK": 0,
        "LOCAL_RANK": 0,
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29500,
    }
    told = {name: str(value) for name, value in rank.items()} if ranks else {}
    environment = {
        **{name: value for name, value in os.environ.items() if name not in rank},
        "CUDA_VISIBLE_DEVICES": "",  # programs count what a script sets
        **training.command.environment,
        **_OFFLINE,
        **told,
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": os.pathsep.join(
            [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }
    with tempfile.TemporaryDirectory(prefix="ashlar-program-") as name:
        path = pathlib.Path(name, "record.json")
        environment["HF_MODULES_CACHE"] = name  # copies of a model's own code
        line = [*no_network(), sys.executable, "-m", "ashlar_pp.read.programs.program"]
        line += [str(path), "--ranks", str(ranks), "--devices", str(devices)]
        if training.model:
            line += ["--model", str(_config(training).resolve())]
        line += ["-m"] if training.is_module else []
        words = [training.program, *training.arguments]
        try:
            ran = subprocess.run(
                [*line, *words],
                cwd=training.command.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            raise Unreadable(
                f"{training.program} did not come to its training in {seconds:g} s; "
                "--timeout gives more"
            ) from None
        if path.is_file():
            made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return made
        said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
        return {"error": f"it ended; {said[-1] if said else ''}"}


def _missing(record: Mapping[str, Any]) -> str:
    names = [*record.get("missing", ()), *record.get("packages", ())]
    return f" (not on this machine: {', '.join(names)})" if names else ""


def _run(training: Training, record: Mapping[str, Any], ranks: int) -> Run:
    model, by = record["model"], record["by"]
    words = words_by_name(training.arguments)
    own = {**words, **record["own"]}
    given: dict[str, Any] = dict(record["given"])
    loop = record.get("loop")
    if loop:
        given.update(words_of(loop))
    said = {name: own[name] for name in LENGTHS if own.get(name) is not None}
    length = next(iter(said), "")
    if any(name in given for name in LENGTHS):
        said = {}
    differ = len({str(each) for each in said.values()}) > 1
    if said and not differ:
        given[length] = own[length]
        given["max_target_length"] = own.get("max_target_length")
    if model["recomputes"]:
        given["gradient_checkpointing"] = True
    if model["kernel"]:
        given["attn_implementation"] = model["kernel"]
    loss = next((_LOSSES[each] for each in by if each in _LOSSES), "")
    if loss:
        given["rl"] = loss
        for name in ("max_prompt_length", "max_completion_length"):
            if own.get(name) is not None:
                given.setdefault(name, own[name])
    elif record["has_second"]:
        raise Unreadable(f"{by[0]} runs a second model beside the first")
    parts = Parts(model, given, "architecture" in record)
    run = of_arguments(
        given, pathlib.Path(training.command.folder), accelerate_of(training)
    )
    run.model = record.get("architecture") or model["config"]
    parts.finish(run)
    if loop:
        finish(run, loop, set(model["formats"].values()), given["optim"])
    run.not_read.extend(key for key in words if key not in given)
    run.notes.append(
        f"{training.program} was run up to its first training, by {by[0]}; "
        "what trains, and how, is that of its objects"
    )
    if not model["has_format"]:
        run.unknown.append("the format of weights, which only their files say: 32 bits")
    if model["asks_rows"]:
        run.unknown.append(
            "rows of the vocabulary, of which the program makes as many as its "
            "tokenizer has: --model DIR with the tokenizer's files says them"
        )
    if differ:  # that of an answer that is generated may be among them
        named = ", ".join(f"{name} {each}" for name, each in said.items())
        run.notes.append(f"the program has several lengths, {named}: give --sequence")
    elif length and length in given:
        run.notes.append(f"the length of a sequence is {length} of the program")
    if loop and not training.devices:
        run.notes.append(f"{training.program} trains on {loop['ranks']} ranks")
    elif not training.devices:
        run.notes.append(
            f"{training.program} was told of {ranks} ranks, which nothing says: "
            "--nodes and --devices do"
        )
    run.unknown.extend(f"{each}, of the program's own" for each in record["replaces"])
    if missing := _missing(record):
        run.notes.append(f"empty or left out{missing}")
    return run
