"""Runs a launch script with everything that trains replaced by recorders."""

from __future__ import annotations

import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import recorder

# Programs that read and write text, and those that make and name folders; they run.
HARMLESS = (
    "awk basename bc cat cut date dirname echo egrep expr false fgrep find gawk getopt "
    "grep head id jq ls mkdir mktemp paste pwd printf readlink realpath rev sed seq "
    "shuf sort tac tail test tr true uname uniq wc whoami"
).split()

# The words with which some of these change files; with one of them they do not run.
GUARDED = {"sed": ("-i*", "--in-place*"), "find": ("-delete", "-exec*", "-ok*")}

# Bash reads this before a script. A script may set PATH, or name a program by its
# path; so PATH is set back before each command, and a function of that name stands
# before the program.
_STARTUP = r"""
set -o functrace
exec {BASH_XTRACEFD}>/dev/null
__ashlar_path=$PATH
__ashlar_before() {
  PATH=$__ashlar_path
  local __word=${1%%[[:space:]]*}
  case $1 in
    source\ *|.\ *|cd\ [!-]*) __ashlar_missing "$__word" "${1#* }" ;;
  esac
  case $__word in
    */*|*'$'*)
      if [[ $__word =~ ^[A-Za-z0-9_./\$\{\}\"-]+$ ]]; then
        eval "__word=$__word" 2>/dev/null || return 0
        if [[ $__word == */* && $__word != *[!A-Za-z0-9_./-]* ]]; then
          if ! declare -F -- "$__word" >/dev/null; then
            eval "function $__word { __ashlar_by_path $__word \"\$@\"; }"
          fi
        fi
      fi ;;
  esac
  return 0
}
# A file that the script sources, or a folder that it goes to, may be another machine's:
# the builtin is replaced once, so that `set -e` does not end the script.
__ashlar_missing() {
  local __place=${2%%[[:space:];\&|]*}
  [[ $__place =~ ^[A-Za-z0-9_./\$\{\}:~\"-]+$ ]] || return 0
  eval "__place=$__place" 2>/dev/null || return 0
  if [[ $1 == cd ]]; then [[ -n $__place && ! -d $__place ]] || return 0
  else [[ -n $__place && ! -e $__place && $__place == */* ]] || return 0; fi
  eval "function $1 { unset -f $1; __ashlar_other $1 \"\$1\"; return 0; }"
}
__ashlar_by_path() {
  local __name=${1##*/}
  if [[ -x $__ashlar_path/$__name ]]; then shift; command "$__name" "$@"
  elif [[ -f $1 && $(head -c 2 -- "$1" 2>/dev/null) == '#!' ]] &&
       head -n 1 -- "$1" | grep -q 'sh'; then bash "$@"
  elif [[ -f $1 && $1 == *.sh ]]; then bash "$@"
  else __ashlar_other "$@"
  fi
}
__ashlar_other() { command ashlar_other "$@"; }
command_not_found_handle() { __ashlar_other "$@"; }
tee() { cat; }
trap '__ashlar_before "$BASH_COMMAND"' DEBUG
"""

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
        _prepare(folder)
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


def _prepare(folder: pathlib.Path) -> None:
    programs = folder / "bin"
    programs.mkdir()
    (folder / "records").mkdir()
    own = shlex.quote(str(pathlib.Path(recorder.__file__).resolve()))
    line = f"{shlex.quote(sys.executable)} -I -S {own}"
    for name in recorder.known():
        _write(programs / name, f'#!/bin/sh\nexec {line} {name} "$@"\n')
    bash = shutil.which("bash")
    if bash is None:
        raise FileNotFoundError("bash is not installed, and reads the script")
    for name in ("bash", "sh"):
        (programs / name).unlink()
        (programs / name).symlink_to(bash)
    for name in HARMLESS:
        found = shutil.which(name)
        if found is None:
            continue
        if name == "cat":  # what another machine's file says is not known
            missing = f'[ -e "$word" ] || exec {line} cat "$@"'
            each = f"for word; do case $word in -*) ;; *) {missing} ;; esac; done"
            run = f'exec {shlex.quote(found)} "$@"'
            _write(
                programs / name,
                f"#!/bin/sh\nif [ -p /dev/stdout ]; then {each}; fi\n{run}\n",
            )
            continue
        if name not in GUARDED:
            (programs / name).symlink_to(found)
            continue
        words = "|".join(GUARDED[name])
        stop = f'case $word in {words}) exec {line} {name} "$@" ;; esac'
        run = f'exec {shlex.quote(found)} "$@"'
        _write(programs / name, f"#!/bin/sh\nfor word; do {stop}; done\n{run}\n")
    _write(programs / "ashlar_other", f'#!/bin/sh\nexec {line} "$@"\n')
    (folder / "startup.sh").write_text(_STARTUP, encoding="utf-8")


def _write(path: pathlib.Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


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
