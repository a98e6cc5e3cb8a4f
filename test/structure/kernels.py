#!/usr/bin/env python3
"""Lists what every kernel takes of a multiprocessor, and refuses spills.

usage: kernels.py [--most REGISTERS] [--file NAME=REGISTERS ...] OBJECT ...

Reads what the build kept of the assembler's words beside each object (cmake/keep_listing.sh). A kernel may take so many registers at most,
those of a file that is named as many as said there, and nothing of the stack: what lies there, or was spilled, is in the GPU's main memory.
"""
import argparse
import re
import subprocess
import sys
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
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()
    most = {name: int(registers) for name, registers in (one.split("=") for one in options.file)}

    kernels = []
    for name in options.objects:
        found = ENTRY.findall(Path(name + ".listing").read_text())
        if {target for _, target, *_ in found} != set(TARGETS):
            sys.exit(f"{name}: no kernels for {' and '.join(TARGETS)} in its listing")
        kernels += [(Path(name).name.split(".")[0], *one) for one in found]
    names = names_of([kernel[1] for kernel in kernels])
    complaints = 0
    print(f"{'registers':>9} {'stack':>6} {'spilled':>8}  for    kernel")
    for (file, _, target, stack, stored, loaded, registers), name in sorted(zip(kernels, names), key=lambda k: (k[0][0], k[1], k[0][2])):
        bad = int(stack) or int(stored) or int(loaded) or int(registers) > most.get(file, options.most)
        complaints += bool(bad)
        print(f"{registers:>9} {stack:>6} {int(stored) + int(loaded):>8}  {target}  {file}: {name}{'   too much' if bad else ''}")
    print(f"{len(kernels)} kernels of {len(options.objects)} files, {complaints} complaints")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
