#!/usr/bin/env python3
"""Shells complete what is typed: each one that is installed runs in a terminal, Tab is pressed, and the arguments that arrive are compared.

usage: completion.py ASHLAR
"""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ASHLAR = str(Path(sys.argv[1]).resolve())
PATIENCE = 30  # seconds for a shell to start or to answer

# In place of the tool stands a function that writes its arguments, a line each, into the file $GOT.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             'ashlar() { printf "%s\\n" "$@" >"$GOT.part" && mv "$GOT.part" "$GOT"; }; source "$SCRIPT"'),
    "zsh": (["zsh", "-f", "-i"],
            'ashlar() { printf "%s\\n" "$@" >"$GOT.part" && mv "$GOT.part" "$GOT"; }; '
            'fpath=("${SCRIPT:h}" $fpath); autoload -Uz compinit; compinit -u -D'),
    "fish": (["fish", "--no-config", "-i"],
             'function ashlar; printf "%s\\n" $argv >"$GOT.part"; and mv "$GOT.part" "$GOT"; end; source "$SCRIPT"'),
}
SCRIPT_NAMES = {"bash": "ashlar", "zsh": "_ashlar", "fish": "ashlar.fish"}

# Each line is typed with Tab at its end; beside it are the arguments that then arrive.
TYPED = {
    "simul": "simulate",
    "front": "frontier",
    "show v-h": "show v-half",
    "show --block v-h": "show --block v-half",
    "simulate 1f1b --optimizer-t": "simulate 1f1b --optimizer-ticks",
    "emit 1f1b --as pytorch-": "emit 1f1b --as pytorch-comms",
    "search --placement any --objective makes": "search --placement any --objective makespan",
    "show nothing-has-this-na": "show nothing-has-this-na",
}


class Terminal:
    """A shell in a terminal of its own; what it prints is read so that it never waits."""

    def __init__(self, command, environment):
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.execvpe(command[0], command, environment)
        self.shown = b""

    def read(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if not select.select([self.end], [], [], left)[0]:
                return
            try:
                self.shown += os.read(self.end, 65536)
            except OSError:
                return

    def type(self, text, path):
        """Types a line and waits for the file that its command writes; returns that file's text."""
        os.write(self.end, text.encode())
        until = time.monotonic() + PATIENCE
        while not path.exists():
            if time.monotonic() > until:
                raise TimeoutError(f"nothing came of {text!r}; the terminal shows\n{self.shown.decode(errors='replace')}")
            self.read(0.05)
        found = path.read_text()
        path.unlink()
        return found

    def close(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.end)


def check(shell, folder):
    script, got = folder / SCRIPT_NAMES[shell], folder / "got"
    script.write_text(subprocess.run([ASHLAR, "--generate", shell], capture_output=True, text=True, check=True).stdout)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "SCRIPT": str(script), "GOT": str(got)}
    command, begin = SHELLS[shell]
    terminal = Terminal(command, environment)
    wrong = []
    try:
        terminal.read(2)
        terminal.type(f"{begin}; ashlar ready\r", got)
        for typed, expected in TYPED.items():
            arrived = " ".join(terminal.type(f"ashlar {typed}\t\r", got).split())
            if arrived != expected:
                wrong.append(f"{shell}: {typed!r} becomes {arrived!r}, not {expected!r}")
    finally:
        terminal.close()
    return wrong


def main():
    wrong, tried = [], []
    for shell in SHELLS:
        if not shutil.which(shell):
            print(f"without {shell}, which is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong += check(shell, Path(folder))
        tried.append(shell)
    print("\n".join(wrong) or f"{', '.join(tried)}: {len(TYPED)} lines each are completed")
    return 1 if wrong else 0 if tried else 77


sys.exit(main())
