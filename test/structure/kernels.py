#!/usr/bin/env python3
"""Lists what every kernel takes of a multiprocessor, and refuses spills.

usage: kernels.py --root ROOT --nvcc PATH [--most REGISTERS] [--jobs N] FOLDER ...

Compiles all `.cu` files of the folders for the GPUs in use. A kernel may take so many registers at most, and nothing of the stack: what
lies there, or was spilled, is in the GPU's main memory.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGETS = ["sm_80", "sm_90"]
ENTRY = re.compile(
    r"Compiling entry function '(\w+)' for '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers", re.S)


def names_of(mangled):
    words = subprocess.run(["c++filt"], input="\n".join(mangled), stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [word.replace("(anonymous namespace)::", "").split("(")[0].removeprefix("void ") for word in words]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    sources = sorted(source for folder in options.folders for source in (options.root / folder).glob("*.cu"))

    def compile_one(source):
        with tempfile.TemporaryDirectory() as folder:
            line = [options.nvcc, "-std=c++20", "-O3", "-Xptxas=-v", *(f"-gencode=arch=compute_{t[3:]},code={t}" for t in TARGETS),
                    *(f"-I{options.root}/{place}" for place in ["include", "backends/cuda/include", "examples"]),
                    "-c", str(source), "-o", f"{folder}/kernels.o"]
            result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            sys.exit(f"{source}\n{result.stdout}")
        return [(source.stem, *found) for found in ENTRY.findall(result.stdout)]

    with ThreadPoolExecutor(options.jobs) as pool:
        kernels = [kernel for some in pool.map(compile_one, sources) for kernel in some]
    names = names_of([kernel[1] for kernel in kernels])
    complaints = 0
    print(f"{'registers':>9} {'stack':>6} {'spilled':>8}  for    kernel")
    for (file, _, target, stack, stored, loaded, registers), name in sorted(zip(kernels, names), key=lambda k: (k[0][0], k[1], k[0][2])):
        bad = int(stack) or int(stored) or int(loaded) or int(registers) > options.most
        complaints += bool(bad)
        print(f"{registers:>9} {stack:>6} {int(stored) + int(loaded):>8}  {target}  {file}: {name}{'   too much' if bad else ''}")
    print(f"{len(kernels)} kernels of {len(sources)} files, {complaints} complaints")
    return bool(complaints) or len(kernels) < 2 * len(sources)


if __name__ == "__main__":
    sys.exit(main())
