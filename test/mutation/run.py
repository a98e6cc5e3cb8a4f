#!/usr/bin/env python3
"""Changes one line of a header at a time, and asks whether a test notices.

A mutant is a place in a header and what stands there instead.  It is compiled into the tests that are named for it, one
test file after the other, until one of them fails: by its verdict, by a crash, by a static_assert, or by not ending in time.
Mutants that no test can tell from the original are listed as equivalent, with the reason; they must survive.

The lists are mutants/ROOM.txt.  Blocks are separated by blank lines:

    header schedule/squeeze.hpp         all that follow are changes of this header
    tests unit/schedule/squeeze.cpp     the tests that have to notice, in order; by default the test that mirrors the header

    - started > pending                 what stands there, once (`1- `: the first of several places); more lines may follow
    + started >= pending                what stands there in the mutant
    ? why                               only for equivalent ones

Exit status 1 if fewer mutants are killed than `--bar` percent, if an equivalent one is killed, or if a list is out of date.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
SEARCHED = [ROOT / "include" / "ashlar", ROOT / "backends" / "host" / "include" / "ashlar"]


@dataclass
class Mutant:
    room: str
    header: str
    tests: list
    old: str = ""
    new: str = ""
    occurrence: int = 0  # 0: the only one
    equivalent: str = ""
    verdict: str = ""
    by: str = ""
    line: int = 0
    log: str = field(default="", repr=False)


def read_list(path):
    """The mutants of one list."""
    header, tests, found = None, [], []
    for block in re.split(r"\n\s*\n", path.read_text()):
        current = None
        for line in block.splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("header "):
                header = line.split()[1]
                mirrored = f"unit/{header.removesuffix('.hpp')}.cpp"
                tests = [mirrored] if (TEST / mirrored).exists() else []
            elif line.startswith("tests "):
                tests = line.split()[1:]
            elif mark := re.match(r"(\d*)- ?(.*)", line):
                if current is None:
                    current = Mutant(path.stem, header, tests, occurrence=int(mark[1] or 0))
                current.old += ("\n" if current.old else "") + mark[2]
            elif line.startswith("+"):
                text = line[2:]
                current.new += ("\n" if current.new else "") + text
            elif line.startswith("? "):
                current.equivalent = line[2:]
            else:
                sys.exit(f"{path}: cannot read '{line}'")
        if current:
            found.append(current)
    return found


def source_of(header):
    for folder in SEARCHED:
        if (folder / header).exists():
            return folder, folder / header
    return None, None


def apply(mutant, text):
    """The text with the mutant in it; None if its place is not there."""
    # Lines of a mutant stand without their indentation.
    pattern = r"\s*\n\s*".join(re.escape(line.strip()) for line in mutant.old.split("\n"))
    places = list(re.finditer(pattern, text))
    if len(places) < mutant.occurrence or (mutant.occurrence == 0 and len(places) != 1):
        return None
    place = places[max(mutant.occurrence, 1) - 1]
    mutant.line = text.count("\n", 0, place.start()) + 1
    return text[: place.start()] + mutant.new + text[place.end() :]


class Runner:
    def __init__(self, options):
        self.options = options
        self.work = Path(tempfile.mkdtemp(prefix="mutants-"))
        self.flags = ["-std=c++20", "-O0", "-g0", "-w", "-DASHLAR_MUTATION", f'-DASHLAR_TEST_DATA="{TEST}/data"']
        self.includes = [f"-I{ROOT}/include", f"-I{ROOT}/backends/host/include", f"-I{TEST}", f"-I{ROOT}/examples"]
        self.main = self.work / "main.o"
        self.compile(["-c", str(TEST / "main.cpp"), "-o", str(self.main)], check=True)

    def compile(self, arguments, first=(), check=False):
        return subprocess.run([self.options.compiler, *self.flags, *first, *self.includes, *arguments], capture_output=True, text=True,
                              check=check, timeout=self.options.compile_timeout)

    def one_test(self, mutant, overlay, test):
        """Whether the test fails."""
        program = overlay / (test.replace("/", "_") + ".out")
        # Static tests judge without any code made, which takes a third of the time.
        made = self.compile(["-fsyntax-only", str(TEST / test)], first=[f"-I{overlay}"])
        if made.returncode == 0:
            made = self.compile([str(TEST / test), str(self.main), "-pthread", "-o", str(program)], first=[f"-I{overlay}"])
        if made.returncode != 0:
            text = made.stderr
            mutant.log = text
            # Constant expressions that throw or overflow are verdicts of static tests, too.
            said = ("static assertion failed", "not a constant expression", "in 'constexpr'", "is not a constant", "constexpr")
            if any(word in text for word in said):
                return True
            errors = [line for line in text.splitlines() if "error" in line]
            raise ValueError((errors or ["does not compile"])[0])
        try:
            ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=self.options.timeout, cwd=overlay)
        except subprocess.TimeoutExpired:
            return True
        return ran.returncode != 0

    def judge(self, mutant):
        folder, source = source_of(mutant.header)
        if source is None:
            mutant.verdict = "out of date: no such header"
            return mutant
        text = apply(mutant, source.read_text())
        if text is None:
            mutant.verdict = "out of date: its place is not there, or there more than once"
            return mutant
        if not mutant.tests:
            mutant.verdict = "out of date: no tests are named"
            return mutant
        overlay = Path(tempfile.mkdtemp(dir=self.work))
        try:
            place = overlay / "ashlar" / mutant.header
            place.parent.mkdir(parents=True)
            place.write_text(text)
            mutant.verdict = "survived"
            for test in mutant.tests:
                if self.one_test(mutant, overlay, test):
                    mutant.verdict, mutant.by = "killed", test
                    break
        except ValueError as problem:
            mutant.verdict = f"out of date: {problem}"
        except subprocess.TimeoutExpired:
            mutant.verdict, mutant.by = "killed", "the compiler, which did not end"
        finally:
            shutil.rmtree(overlay, ignore_errors=True)
        return mutant

    def sound(self, tests):
        """The tests pass without any mutant; else no verdict means anything."""
        good = True
        for test in sorted(tests):
            nothing = Mutant("", "", [])
            overlay = Path(tempfile.mkdtemp(dir=self.work))
            try:
                failed = self.one_test(nothing, overlay, test)
            except (ValueError, subprocess.TimeoutExpired) as problem:
                failed, nothing.log = True, str(problem)
            if failed:
                print(f"{test} fails without a mutant\n{nothing.log}")
                good = False
        return good


def report(mutants, bar):
    rooms = sorted({m.room for m in mutants})
    print(f"\n{'room':14}{'mutants':>8}{'killed':>8}{'survived':>10}{'equivalent':>12}")
    for room in rooms + ["all"]:
        mine = [m for m in mutants if room in ("all", m.room)]
        real = [m for m in mine if not m.equivalent]
        killed = sum(m.verdict == "killed" for m in real)
        print(f"{room:14}{len(mine):8}{killed:8}{len(real) - killed:10}{len(mine) - len(real):12}")
    good = True
    for m in mutants:
        place = f"{m.header}:{m.line}: '{m.old.splitlines()[0]}' -> '{(m.new.splitlines() or [''])[0]}'"
        if m.verdict.startswith("out of date"):
            good = False
            print(f"{place}\n    {m.verdict}")
        elif m.equivalent:
            if m.verdict == "killed":
                good = False
                print(f"{place}\n    is said to be equivalent, yet {m.by} fails")
        elif m.verdict == "survived":
            print(f"{place}\n    survived {' '.join(m.tests)}")
    real = [m for m in mutants if not m.equivalent]
    killed = sum(m.verdict == "killed" for m in real)
    share = 100 * killed / len(real) if real else 100
    print(f"\n{killed} of {len(real)} killed ({share:.1f} %), {len(mutants) - len(real)} equivalent")
    return good and share >= bar


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="lists to run; by default all")
    parser.add_argument("--header", help="only mutants of this header")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=120, help="seconds that a test may run")
    parser.add_argument("--compile-timeout", type=int, default=300)
    parser.add_argument("--bar", type=float, default=95, help="percent that have to be killed")
    parser.add_argument("--no-baseline", action="store_true", help="do not first run the tests without a mutant")
    options = parser.parse_args()

    lists = sorted((Path(__file__).parent / "mutants").glob("*.txt"))
    mutants = [m for path in lists if not options.rooms or path.stem in options.rooms for m in read_list(path)]
    if options.header:
        mutants = [m for m in mutants if m.header == options.header]
    if not mutants:
        sys.exit("no such mutants")
    runner = Runner(options)
    try:
        if not options.no_baseline and not runner.sound({test for m in mutants for test in m.tests}):
            sys.exit(1)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for done, m in enumerate(pool.map(runner.judge, mutants), 1):
                print(f"[{done}/{len(mutants)}] {m.verdict:9} {m.header}:{m.line} {m.by}", flush=True)
    finally:
        shutil.rmtree(runner.work, ignore_errors=True)
    sys.exit(0 if report(mutants, options.bar) else 1)


if __name__ == "__main__":
    main()
