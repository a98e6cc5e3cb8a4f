"""Runs a launch script with everything that trains replaced by recorders."""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import recorder
from .stand_in_programs import HARMLESS as HARMLESS
from .stand_in_programs import prepare

MOST_OUTPUT = 20_000  # characters of the script's own output that are kept


@dataclass(frozen=True)
class Command:
    """A command that a recorder stood for."""

    words: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]  # that the script has set
    within: tuple[tuple[str, ...], ...]  # words of srun, docker and the like around it


@dataclass(frozen=True)
class Skipped:
    """A command that was not run; `is_captured`: the script took its output."""

    words: tuple[str, ...]
    is_captured: bool


@dataclass
class Recording:
    commands: list[Command] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    status: int = 0
    timed_out: bool = False
    output: str = ""
    has_network: bool = False
    # Names whose values are to be filled in, as NAME=<path>: these were taken as text.
    placeholders: list[str] = field(default_factory=list)


def no_network() -> list[str]:
    """The words before a command that take its network away; none where they do not
    work."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    line = [unshare, "--user", "--map-root-user", "--net"]
    try:
        ran = subprocess.run([*line, "true"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return line if ran.returncode == 0 else []


def record(
    words: Sequence[str],
    *,
    nodes: int = 1,
    devices: int = 8,
    seconds: float = 60,
    environment: Mapping[str, str] | None = None,
) -> Recording:
    """Runs the command with recorders in the place of all programs that train.

    `nodes` and `devices` of a node are what the script is told if it asks. After
    `seconds` the script is ended. Raises `OSError` if bash is missing, `ValueError`
    for no command.
    """
    if not words:
        raise ValueError("no command to read; say it behind --: -- bash run.sh")
    base = dict(os.environ if environment is None else environment)
    with tempfile.TemporaryDirectory(prefix="ashlar-read-") as name:
        folder = pathlib.Path(name)
        prepare(folder)
        words, filled = _with_placeholders(words, folder)
        variables = {**base, **_variables(folder, base, nodes, devices)}
        variables.update(_batch_options(words, base))
        start = _as_bash(list(words), folder / "bin")
        result = Recording(placeholders=filled)
        isolated = no_network()
        result.has_network = not isolated
        _run(result, [*isolated, *start], variables, folder, base, seconds)
        _collect(result, folder)
        return result


# Without quotes, or with a blank, which parts the words where the name stands.
_PLACEHOLDER = re.compile(
    r"^(\s*(?:export\s+)?(\w+)=)"
    r"(?:(<[^<>'\"|&;()]*>)|\"(<[^<>'\"|&;()]* [^<>'\"|&;()]*>)\")\s*$",
    re.M,
)


def _with_placeholders(
    words: Sequence[str], folder: pathlib.Path
) -> tuple[list[str], list[str]]:
    """A script with NAME=<what to fill in> is no script of bash. A copy has quotes
    around these, and no blanks, if the script does not ask for its own place."""
    made = list(words)
    for at, word in enumerate(words[:2]):
        try:
            text = pathlib.Path(word).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        names = [match[2] for match in _PLACEHOLDER.finditer(text)]
        if not names or re.search(r"\$\{?0|BASH_SOURCE", text):
            break
        copy = folder / pathlib.Path(word).name
        text = _PLACEHOLDER.sub(
            lambda m: f"{m[1]}'{(m[3] or m[4]).replace(' ', '_')}'", text
        )
        copy.write_text(text, encoding="utf-8")
        made[at] = str(copy)
        return made, names
    return made, []


def _variables(
    folder: pathlib.Path, base: Mapping[str, str], nodes: int, devices: int
) -> dict[str, str]:
    made = {
        "PATH": str(folder / "bin"),
        "BASH_ENV": str(folder / "startup.sh"),
        "ASHLAR_READ_FOLDER": str(folder),
        "ASHLAR_READ_NODES": str(nodes),
        "ASHLAR_READ_DEVICES": str(devices),
    }
    # Variables that Slurm sets for a job; the caller's own values stay.
    told = {
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_JOB_ID": 1,
        "SLURM_PROCID": 0,
        "SLURM_NODEID": 0,
        "SLURM_LOCALID": 0,
        "SLURM_NTASKS": nodes,
        "SLURM_GPUS_ON_NODE": devices,
        "SLURM_GPUS_PER_NODE": devices,
        "SLURM_JOB_NODELIST": ",".join(f"node{i}" for i in range(nodes)),
        "SLURM_SUBMIT_DIR": os.getcwd(),
    }
    return {**made, **{k: str(v) for k, v in told.items() if k not in base}}


def _batch_options(words: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
    for word in words[:2]:
        try:
            text = pathlib.Path(word).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            continue
        told = recorder.batch_options(text)
        return {name: value for name, value in told.items() if name not in base}
    return {}


def _as_bash(words: list[str], programs: pathlib.Path) -> list[str]:
    """The command as bash runs it: a script by itself, anything else by a line."""
    name = os.path.basename(words[0])
    if name in recorder.SHELLS:
        return [str(programs / "bash"), *words[1:]]
    if os.path.isfile(words[0]) and name not in recorder.known():
        return [str(programs / "bash"), *words]
    return [str(programs / "bash"), "-c", '"$@"', "bash", *words]


def _run(
    result: Recording,
    line: list[str],
    variables: dict[str, str],
    folder: pathlib.Path,
    base: Mapping[str, str],
    seconds: float,
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))

    told = json.dumps({"environment": {**base, **variables}})
    (folder / "start.json").write_text(told, encoding="utf-8")
    with open(folder / "output", "w+b") as output:
        process = subprocess.Popen(
            line,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit,
        )
        try:
            result.status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            result.timed_out = True
        finally:
            _end(process)
        output.seek(0, os.SEEK_END)
        output.seek(max(0, output.tell() - MOST_OUTPUT))
        result.output = output.read().decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends all that the script has started and that still runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _collect(result: Recording, folder: pathlib.Path) -> None:
    for path in sorted((folder / "records").iterdir()):
        try:
            one = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue  # its writer was ended
        words = tuple(one["words"])
        if one["kind"] == "other":
            result.skipped.append(Skipped(words, one["is_captured"]))
            continue
        within = tuple(tuple(outer) for outer in one["within"])
        result.commands.append(
            Command(words, one["folder"], one["environment"], within)
        )
