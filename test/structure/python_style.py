#!/usr/bin/env python3
"""The Python packages are formatted and typed as pyproject.toml says.

usage: python_style.py ROOT

Runs ruff on python/, and mypy on ashlar_verify. Whoever has neither skips this (exit code 77): Debian 12 has no ruff. The types of
ashlar_pp are checked by its own tests, because they are those of its extension and of PyTorch.
"""
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def command(name):
    """Words that start the program, from the path or as a module of this Python; empty if there is none."""
    if found := shutil.which(name):
        return [found]
    return [sys.executable, "-m", name] if importlib.util.find_spec(name) else []


def main():
    root = Path(sys.argv[1]).resolve()
    checks = []
    if ruff := command("ruff"):
        checks += [[*ruff, "check", "--no-cache", "python"], [*ruff, "format", "--no-cache", "--check", "python"]]
    else:
        print("skipped: no ruff is installed")
    if mypy := command("mypy"):
        checks += [[*mypy, "--no-incremental", "--cache-dir", "/dev/null", "python/ashlar_verify"]]
    else:
        print("skipped: no mypy is installed")
    if not checks:
        return SKIPPED
    return max(subprocess.run(check, cwd=root).returncode for check in checks)


if __name__ == "__main__":
    sys.exit(main())
