"""Runs the checks that need packages which no other test installs, in an environment
of their own.

usage: with_packages.py ASHLAR [FOLDER]

ASHLAR is the tool. FOLDER keeps the environment for the next run; default: none does.
The interpreter that runs this needs torch, transformers, nanobind and
scikit-build-core; without them the exit code is 77 (skipped). It uses them in place,
and installs this package and the frameworks beside them, without what those would
bring along. A framework that cannot be installed is named, and what needs it is
skipped.
"""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import venv

SKIPPED = 77
NEEDED = ("torch", "transformers", "nanobind", "scikit_build_core")
HERE = pathlib.Path(__file__).resolve().parent
# Versions that docs/reading.md names; each line is installed or left out as a whole.
FRAMEWORKS = {
    "bridge": "megatron-bridge==0.3.1 megatron-core==0.16.1",
    "torchtitan": "torchtitan==0.3.0",
    "verl": "verl==0.9.1 hydra-core==1.3.2 omegaconf==2.3.0 "
    "antlr4-python3-runtime==4.9.3",
}


def pip(python: pathlib.Path, *words: str) -> bool:
    line = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    told = [*line, "--python", str(python), "install", "--no-deps", *words]
    return subprocess.run(told, timeout=1800).returncode == 0


def environment(folder: pathlib.Path) -> pathlib.Path:
    """The Python of an environment that has the interpreter's own packages, too."""
    home = folder / "environment"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=False, symlinks=True)
    places = {sysconfig.get_path(which) for which in ("purelib", "platlib")}
    (site,) = home.glob("lib/python*/site-packages")
    (site / "of_the_interpreter.pth").write_text("\n".join(sorted(places)) + "\n")
    return python


def run(python: pathlib.Path, name: str, *words: str) -> bool:
    print(f"==== {name} {' '.join(words)}", flush=True)
    line = [str(python), "-B", str(HERE / name), *words]
    return subprocess.run(line, cwd=python.parent).returncode == 0


def main(words: list[str]) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: this Python has no {', '.join(missing)}")
        return SKIPPED
    ashlar = str(pathlib.Path(words[0]).resolve())
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(words[1] if len(words) > 1 else made).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        python = environment(folder)
        here = str(HERE.parent.parent)
        if not pip(python, "--no-build-isolation", "--force-reinstall", here):
            return 1
        passed = [
            run(python, "model_two_ways.py", ashlar),
            run(python, "model_types.py"),
        ]
        installed = []
        for name, packages in FRAMEWORKS.items():
            if pip(python, *packages.split()):
                installed.append(name)
            else:
                print(f"skipped: {packages} cannot be installed here")
        if installed:
            passed.append(run(python, "recipes_of_packages.py", ashlar, *installed))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
