"""Builds the package's wheel, installs it into a fresh virtual environment, and runs
the tests there.

usage: fresh_environment.py

The interpreter that runs this needs torch, pytest, nanobind and scikit-build-core;
without them the exit code is 77 (skipped). It uses them in place, and downloads
nothing.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import venv

SKIPPED = 77
NEEDED = ("torch", "pytest", "nanobind", "scikit_build_core")


def main():
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: this Python has no {', '.join(missing)}")
        return SKIPPED
    tests = pathlib.Path(__file__).resolve().parent
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        build = [
            sys.executable,
            *pip,
            "wheel",
            "--no-build-isolation",
            "--no-deps",
            "--wheel-dir",
            folder,
        ]
        subprocess.run([*build, str(tests.parent.parent)], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size // 1024} KiB", flush=True)
        home = pathlib.Path(folder, "environment")
        venv.create(home, with_pip=False, symlinks=True)
        python = home / "bin" / "python"
        places = {sysconfig.get_path(which) for which in ("purelib", "platlib")}
        (site,) = home.glob("lib/python*/site-packages")
        subprocess.run(
            [
                sys.executable,
                *pip,
                "--python",
                str(python),
                "install",
                "--no-deps",
                str(wheel),
            ],
            check=True,
        )
        (site / "of_the_interpreter.pth").write_text("\n".join(sorted(places)) + "\n")
        run = subprocess.run(
            [
                str(python),
                "-B",
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                str(tests),
            ],
            cwd=folder,
            env={
                name: value
                for name, value in os.environ.items()
                if name != "PYTHONPATH"
            },
        )
        return run.returncode


if __name__ == "__main__":
    sys.exit(main())
