#!/usr/bin/env python3
"""Every header compiles alone, and twice in a row, without a warning.

usage: headers.py --root ROOT --compiler PATH --kind host|together|no-exceptions|nvcc [--also views.hpp …] [--mpi FOLDER …] [--jobs N]
                  [--standard c++20]

--mpi: the folders of MPI's headers, without which those of its backend are left out. Those of the CUDA backend are compiled against the
substitute of the tests.

Together: all at once, for a second compiler: whether a header stands alone is for the first to see.

No-exceptions: the core headers, all at once, with -fno-exceptions.

With nvcc, the core headers (those that need neither strings nor streams) are compiled as .cu, through both of its front ends, all as one:
nvcc puts headers of its own before a file, and whether one of ours stands alone is for the host compilers to see.
"""
import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from floors import TEXT, TOOLS, core_headers, third_party

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]


def command(kind, compiler, standard, root, mpi, source):
    search = [f"-I{root}/include", f"-I{root}/backends/host/include", f"-I{root}/backends/mpi/include"]
    search += [f"-I{root}/tools/{name}/include" for name in TOOLS]
    if kind == "nvcc":
        return [compiler, "-std=c++20", "-Werror=all-warnings", *search, "-c", source, "-o", source.with_suffix(".o")]
    search += [f"-I{root}/backends/cuda/include", f"-I{root}/test/cuda/substitute"]
    without = ["-fno-exceptions"] * (kind == "no-exceptions")
    return [compiler, f"-std={standard}", "-fsyntax-only", *WARNINGS, *without, *search, "-DOMPI_SKIP_MPICXX",
            *(f"-isystem{folder}" for folder in mpi), source]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--kind", choices=["host", "together", "no-exceptions", "nvcc"], required=True)
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--mpi", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--standard", default="c++20")
    options = parser.parse_args()

    include = options.root / "include" / "ashlar"
    backends = [options.root / "backends" / name / "include" / "ashlar" for name in ["host", "cuda", *["mpi"] * bool(options.mpi)]]
    if options.kind == "no-exceptions":
        groups = [core_headers(options.root)]
    elif options.kind == "nvcc":
        groups = [[name for name in core_headers(options.root) if name not in TEXT]]
    else:
        names = [header.relative_to(include).as_posix() for header in include.rglob("*.hpp")]
        names = [name for name in names if not third_party(name) or name.startswith(tuple(options.also))]
        beside = [*backends, *(options.root / "tools" / name / "include" / "ashlar" for name in TOOLS)]
        beside = [header.relative_to(folder).as_posix() for folder in beside for header in folder.rglob("*.hpp")]
        names += [name for name in beside if "/json_" not in name or "interop/json" in options.also]
        groups = [sorted(names)] if options.kind == "together" else [[name] for name in sorted(names)]

    with tempfile.TemporaryDirectory() as folder:
        def compile_group(numbered):
            number, names = numbered
            source = Path(folder, f"{number}.cu" if options.kind == "nvcc" else f"{number}.cpp")
            source.write_text("".join(2 * f"#include <ashlar/{name}>\n" for name in names))
            line = command(options.kind, options.compiler, options.standard, options.root, options.mpi, source)
            result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return names, result.returncode, result.stdout

        with ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(compile_group, enumerate(groups)))

    broken = [(names, output) for names, status, output in results if status]
    for names, output in broken:
        print(f"---- {', '.join(names)}\n{output}")
    print(f"{sum(len(names) for names in groups)} headers, {len(broken)} of {len(groups)} files do not compile")
    return bool(broken) or not all(groups) or not groups


if __name__ == "__main__":
    sys.exit(main())
