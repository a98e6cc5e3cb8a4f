#!/usr/bin/env python3
"""Ashlar compiles with each compiler that is found here, in each standard, and runs; prints a row of a table for each.

usage: compilers.py ROOT [--only COMPILER ...] [--standards c++20 c++23] [--rooms core model ...]

Of each: all public headers in one file with warnings as errors; test/static at the compiler's default limits on constant evaluation,
in the first standard; the program of test/consumer/project, built and run; the unit tests of some rooms, built without optimisation
and run. What is compiled for aarch64 runs under qemu-user. It takes some minutes for each, so no test runs it: docs/stability.md says what
it printed. A compiler that is not here is not tested.
"""
import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = [*(f"g++-{version}" for version in range(12, 16)), *(f"clang++-{version}" for version in range(14, 22)), "aarch64-linux-gnu-g++"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
OF_EARLY_GXX = ["-Wno-restrict"]  # warnings about its own std::string (GCC bug 105651)


def version_of(compiler):
    return subprocess.run([compiler, "-dumpversion" if "clang" in compiler else "-dumpfullversion"],
                          capture_output=True, text=True, check=True).stdout.strip()


def emulator(compiler):
    """The command that runs the compiler's programs: empty, or qemu; None where it is not here."""
    if not compiler.startswith("aarch64-") or platform.machine() == "aarch64":
        return []
    found = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    return [found, "-L", "/usr/aarch64-linux-gnu"] if found else None


class trial:
    def __init__(self, root, compiler, folder):
        self.root, self.compiler, self.folder = root, compiler, Path(folder)
        self.failures = []

    def runs(self, what, line):
        ran = subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ran.returncode:
            self.failures.append(what)
            print(f"---- {self.compiler}: {what}\n{' '.join(map(str, line))}\n{ran.stdout[-3000:]}", file=sys.stderr)
        return ran.returncode == 0

    def headers(self, standard):
        line = [sys.executable, "-B", self.root / "test/structure/headers.py", "--root", self.root, "--kind", "together",
                "--compiler", self.compiler, "--standard", standard]
        return self.runs(f"headers, {standard}", line)

    def static(self, standard):
        source = self.folder / "static.cpp"
        source.write_text("".join(f'#include "{path}"\n' for path in sorted((self.root / "test/static").glob("*.cpp"))))
        search = [f"-I{self.root}/include", f"-I{self.root}/test"]
        return self.runs(f"static, {standard}", [self.compiler, f"-std={standard}", "-fsyntax-only", *search, source])

    def program(self, what, standard, sources):
        """Built and run."""
        doctest = self.folder / "doctest"
        if not doctest.exists():  # alone, without the other headers of this machine, which may be of another kind
            doctest.mkdir()
            for place in ("/usr/include/doctest", "/usr/local/include/doctest"):
                if Path(place).is_dir():
                    (doctest / "doctest").symlink_to(place)
                    break
        source, program = self.folder / "program.cpp", self.folder / "program"
        source.write_text("".join(f'#include "{path}"\n' for path in sources))
        search = [f"-I{self.root}/include", f"-I{self.root}/test", f"-isystem{doctest}"]
        flags = [f"-std={standard}", "-O0", *WARNINGS, *(OF_EARLY_GXX if "clang" not in self.compiler else [])]
        run = emulator(self.compiler)
        return self.runs(f"{what}, {standard}", [self.compiler, *flags, *search, source, "-o", program, "-pthread"]) and \
            self.runs(f"{what} runs, {standard}", [*run, program])


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("root", type=Path)
    ask.add_argument("--only", nargs="*", default=COMPILERS)
    ask.add_argument("--standards", nargs="*", default=["c++20", "c++23"])
    ask.add_argument("--rooms", nargs="*", default=["core", "model", "block", "schedule"])
    options = ask.parse_args()
    root = options.root.resolve()
    broken = tried = 0
    for compiler in options.only:
        if not shutil.which(compiler) or emulator(compiler) is None:
            continue
        for number, standard in enumerate(options.standards):
            with tempfile.TemporaryDirectory() as folder:
                one = trial(root, compiler, folder)
                one.headers(standard)
                if number == 0:
                    one.static(standard)
                one.program("consumer", standard, [root / "test/consumer/project/main.cpp"])
                for room in options.rooms:
                    one.program(room, standard, [root / "test/main.cpp", *sorted((root / "test/unit" / room).glob("*.cpp"))])
                tried += 1
                broken += bool(one.failures)
                verdict = f"fails: {'; '.join(one.failures)}" if one.failures else "passes"
                print(f"| {compiler} {version_of(compiler)} | {standard} | {verdict} |", flush=True)
    return broken or not tried


if __name__ == "__main__":
    sys.exit(main())
