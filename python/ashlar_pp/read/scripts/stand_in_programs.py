"""Programs that bash finds while it reads a script: recorders, and text tools."""

from __future__ import annotations

import pathlib
import shlex
import shutil
import sys

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
    source\ *|.\ *|cd\ [!-]*|pushd\ [!+-]*) __ashlar_missing "$__word" "${1#* }" ;;
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
  if [[ $1 == cd || $1 == pushd ]]; then [[ -n $__place && ! -d $__place ]] || return 0
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
popd() { builtin popd "$@" || true; }
tee() { cat; }
trap '__ashlar_before "$BASH_COMMAND"' DEBUG
"""


def prepare(folder: pathlib.Path) -> None:
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
