#!/usr/bin/env python3
"""Every header compiles alone, and twice in a row, without a warning.

usage: headers.py --root ROOT --compiler PATH --kind host|nvcc [--also views.hpp …] [--jobs N]

With nvcc, the core headers (floors 0 to 5) are compiled as .cu, through both of its front ends.
"""
import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from floors import CORE, THIRD_PARTY, read_floors

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def command(kind, compiler, root, folder, number):
    search = [f"-I{root}/include", f"-I{root}/backends/host/include"]
    if kind == "nvcc":
        source = f"{folder}/{number}.cu"
        return source, [compiler, "-std=c++20", "-Werror=all-warnings", *search, "-c", source, "-o", f"{folder}/{number}.o"]
    source = f"{folder}/{number}.cpp"
    return source, [compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, *search, source]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--kind", choices=["host", "nvcc"], required=True)
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    include = options.root / "include" / "ashlar"
    backend = options.root / "backends" / "host" / "include" / "ashlar"
    if options.kind == "nvcc":
        floors, _ = read_floors(options.root)
        names = [name for name, floor in floors.items() if floor <= CORE]
    else:
        names = [header.relative_to(include).as_posix() for header in include.rglob("*.hpp")]
        names = [name for name in names if name not in THIRD_PARTY or name in options.also]
        names += [header.relative_to(backend).as_posix() for header in backend.rglob("*.hpp")]

    with tempfile.TemporaryDirectory() as folder:
        def compile_alone(numbered):
            number, name = numbered
            source, line = command(options.kind, options.compiler, options.root, folder, number)
            Path(source).write_text(f"#include <ashlar/{name}>\n#include <ashlar/{name}>\n")
            result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return name, result.returncode, result.stdout

        with ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(compile_alone, enumerate(sorted(names))))

    broken = [(name, output) for name, status, output in results if status]
    for name, output in broken:
        print(f"---- {name}\n{output}")
    print(f"{len(results)} headers, {len(broken)} do not compile alone" + "".join(f"\n  {name}" for name, _ in broken))
    return bool(broken) or not results


if __name__ == "__main__":
    sys.exit(main())
