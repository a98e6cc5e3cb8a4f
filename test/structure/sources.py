#!/usr/bin/env python3
"""Every source of the tool, the backends, the tests and the benches compiles by itself, without MPI: presets compile many as one.

usage: sources.py --root ROOT --build FOLDER --compiler PATH [--jobs N] [--only PART]

What `bench/gpu.sh` builds on a machine with a GPU is among them.
"""
import argparse
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDERS = ["examples", "tools", "backends", "bench", "test/cuda", "test/host", "test/gpt", "test/unit", "test/property"]


def commands(root, build, compiler):
    """By file, from a configuration that compiles each by itself."""
    options = ["CMAKE_BUILD_TYPE=Debug", f"CMAKE_CXX_COMPILER={compiler}", "CMAKE_EXPORT_COMPILE_COMMANDS=ON", "CMAKE_UNITY_BUILD=OFF",
               "ASHLAR_MPI=OFF"]
    options += ["ASHLAR_GPU_TESTS=ON", "ASHLAR_BENCH=ON", "ASHLAR_DOCS=OFF"]
    line = ["cmake", "-S", root, "-B", build, "-G", "Ninja", *(f"-D{one}" for one in options)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    found = {}
    for one in json.loads((build / "compile_commands.json").read_text()):
        path = Path(one["file"])
        if path.suffix == ".cpp" and any(path.is_relative_to(root / folder) for folder in FOLDERS):
            found.setdefault(path, (shlex.split(one["command"]), one["directory"]))
    return found


def complaint(line, folder):
    at = line.index("-o")
    without_output = line[:at] + line[at + 2 :]
    run = subprocess.run([*without_output, "-fsyntax-only", "-w"], cwd=folder, capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="files with this in their path")
    options = parser.parse_args()
    wanted = {f: c for f, c in commands(options.root.resolve(), options.build, options.compiler).items() if options.only in str(f)}
    with ThreadPoolExecutor(options.jobs) as pool:
        all_of_them = list(pool.map(lambda one: complaint(*one), wanted.values()))
    bad = [said for said in all_of_them if said]
    print("\n".join(bad))
    print(f"{len(wanted)} sources, {len(bad)} do not compile by themselves")
    return 1 if bad or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
