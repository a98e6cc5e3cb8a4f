#!/usr/bin/env python3
"""Changes headers of a room, one small change at a time, and asks whether a test notices.

The changes are made by universalmutator (`pip install universalmutator`); with --sample, as many of them as that are drawn at random.
A changed header stands before the real one in the include path, so that nothing in the checkout changes. It is compiled, with clang++
and without optimisation, into the unit tests that mirror it, then into all unit tests of its room, then into the folders of --also,
until one of them notices: by a verdict, a crash, a static assertion, or by not ending in time. What survives all of them is tried once
more under the address and undefined-behaviour sanitizers, as the gate does it. Changes that do not compile are no mutants and are not
counted; the same tests must compile with the header as it is.

Those that no test can tell from the original are named in equivalent.txt, each with the reason; blocks are separated by blank lines:

    schedule/squeeze.hpp
    - what the line is
    + what it is in the mutant
    ? why nobody can tell

Exit status 1 if fewer than --bar percent of the others are noticed.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
COMPILE = ["clang++", "-std=c++20", "-O0", "-w", "-fconstexpr-steps=33554432", f'-DASHLAR_TEST_DATA="{TEST / "data"}"']
FOLDERS = [f"-I{folder}" for folder in (ROOT / "include", ROOT / "backends/host/include", ROOT / "examples", TEST)]
SANITIZE = ["-D_GLIBCXX_ASSERTIONS", "-DASHLAR_SANITIZED", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ASSERTION = re.compile(r"static_assert failed|static assertion failed")


@dataclass
class Mutant:
    header: str  # room/name.hpp
    line: int
    old: str
    new: str
    text: str
    verdict: str = ""


def tidy(line):
    """A line as a compiler sees it."""
    return " ".join(re.sub(r"//.*|/\*.*?\*/", "", line).split())


def mutants_of(header, folder):
    """All changes of a header that a compiler could see."""
    source = ROOT / "include/ashlar" / header
    copy = folder / "source.hpp"
    shutil.copy(source, copy)
    made = folder / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    subprocess.run(["mutate", str(copy), "cpp", "--noCheck", "--mutantDir", str(made)], check=True, stdout=subprocess.DEVNULL)
    before = source.read_text().splitlines()
    found, seen = [], set()
    for path in sorted(made.iterdir()):
        after = path.read_text().splitlines()
        if len(after) != len(before):
            continue
        changed = [i for i, (a, b) in enumerate(zip(before, after)) if tidy(a) != tidy(b)]
        if len(changed) != 1 or before[changed[0]].lstrip().startswith("#"):
            continue
        i = changed[0]
        if (i, tidy(after[i])) in seen:
            continue
        seen.add((i, tidy(after[i])))
        found.append(Mutant(header, i + 1, tidy(before[i]), tidy(after[i]), "\n".join(after) + "\n"))
    return found


def equivalent():
    """The entries of equivalent.txt: (header, old, new)."""
    named = set()
    path = Path(__file__).with_name("equivalent.txt")
    for block in re.split(r"\n\s*\n", path.read_text()) if path.exists() else []:
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            named.add((lines[0], tidy(lines[1][2:]), tidy(lines[2][2:])))
    return named


class Tests:
    """Programs of tests, compiled with a folder of headers before the real ones."""

    def __init__(self, work):
        self.work = work
        self.main = work / "main.o"
        self.compile_unchanged = {}  # whether a source compiles with the header as it is
        self.asking = threading.Lock()
        subprocess.run([*COMPILE, "-c", TEST / "main.cpp", "-o", self.main], check=True)

    def stages(self, header, also):
        """The groups of files to try, cheapest first."""
        mirror = (TEST / "unit" / header).with_suffix(".cpp")
        rest = sorted(p for p in (TEST / "unit" / header.split("/")[0]).rglob("*.cpp") if p != mirror)
        groups = [[mirror]] if mirror.exists() else []
        groups += [rest] if rest else []
        return groups + [sorted((TEST / folder).glob("*.cpp")) for folder in also]

    def noticed(self, overlay, header, files, seconds, flags=()):
        """None if these tests pass; how they notice otherwise; "does not compile" for what is no mutant."""
        source, program = overlay / "all.cpp", overlay / "program"
        source.write_text(f"#include <ashlar/{header}>\n" + "".join(f'#include "{f}"\n' for f in files))
        line = [*COMPILE, *flags, f"-I{overlay / 'include'}", *FOLDERS, source]
        try:
            built = subprocess.run([*line, self.main, "-o", program, "-pthread"], capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return "takes too long to compile"
        if built.returncode != 0:
            if ASSERTION.search(built.stderr):
                return "static assertion"
            self.must_compile(header, source)
            return "does not compile"
        limit = f"{'' if flags else 'ulimit -v 4000000; '}timeout {seconds} {program} --minimal"  # a shadow takes terabytes
        ran = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, errors="replace", cwd=overlay)
        if ran.returncode == 0:
            return None
        case = re.search(r"TEST CASE:\s+(.*)", ran.stdout)
        how = {124: "does not end"}.get(ran.returncode, "crash" if ran.returncode > 128 else "verdict")
        return f"{how}: {case.group(1)}" if case else how

    def must_compile(self, header, source):
        """Ends the run if these tests do not compile with the header as it is."""
        text = source.read_text()
        with self.asking:
            if text not in self.compile_unchanged:
                line = [*COMPILE, "-fsyntax-only", *FOLDERS, source]
                self.compile_unchanged[text] = subprocess.run(line, capture_output=True).returncode == 0
        if not self.compile_unchanged[text]:
            raise SystemExit(f"mutation: with {header} as it is, these do not compile:\n{text}")


def judge(tests, mutant, also, seconds):
    with tempfile.TemporaryDirectory(dir=tests.work) as folder:
        overlay = Path(folder)
        target = overlay / "include/ashlar" / mutant.header
        target.parent.mkdir(parents=True)
        target.write_text(mutant.text)
        stages = tests.stages(mutant.header, also)
        for files, flags in [(files, ()) for files in stages] + [(files, SANITIZE) for files in stages[:2]]:
            how = tests.noticed(overlay, mutant.header, files, seconds, flags)
            if how:
                return how
    return "survived"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", help="folders of include/ashlar; all that have unit tests by default")
    parser.add_argument("--header", help="only this one: schedule/squeeze.hpp")
    parser.add_argument("--sample", type=int, default=0, help="how many changes of a room are drawn; all by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--also", nargs="*", default=[], help="further folders of tests: property, oracle, gold")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=120, help="after which a test does not end")
    parser.add_argument("--bar", type=float, default=0, help="percent that must be noticed")
    args = parser.parse_args()
    if not shutil.which("mutate"):
        sys.exit("mutation: universalmutator is not installed: pip install universalmutator")

    rooms = args.rooms or ([args.header.split("/")[0]] if args.header else sorted(p.name for p in (TEST / "unit").iterdir() if (ROOT / "include/ashlar" / p.name).is_dir()))
    named, below = equivalent(), False
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tests = Tests(work)
        for room in rooms:
            include = ROOT / "include/ashlar"
            headers = [p.relative_to(include).as_posix() for p in sorted((include / room).rglob("*.[hi]pp"))]
            headers = [h for h in headers if args.header in (None, h)]
            mutants = [m for h in headers for m in mutants_of(h, work)]
            random.Random(args.seed).shuffle(mutants)
            counts = {"noticed": 0, "survived": 0, "equivalent": 0}
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                # Those that do not compile are replaced by others, until the sample is full.
                waiting = iter(mutants)
                running = {}
                while True:
                    while len(running) < args.jobs and (not args.sample or sum(counts.values()) + len(running) < args.sample):
                        mutant = next(waiting, None)
                        if mutant is None:
                            break
                        running[pool.submit(judge, tests, mutant, args.also, args.seconds)] = mutant
                    if not running:
                        break
                    for done in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED).done:
                        mutant = running.pop(done)
                        mutant.verdict = done.result()
                        if mutant.verdict == "does not compile":
                            continue
                        kind = "survived" if mutant.verdict == "survived" else "noticed"
                        if kind == "survived" and (mutant.header, mutant.old, mutant.new) in named:
                            kind = "equivalent"
                        counts[kind] += 1
                        if kind == "survived":
                            print(f"{mutant.header}:{mutant.line}\n- {mutant.old}\n+ {mutant.new}\n", flush=True)
            judged = counts["noticed"] + counts["survived"]
            share = 100 * counts["noticed"] / judged if judged else 100
            print(f"{room}: {share:.0f} % of {judged} mutants are noticed, {counts['equivalent']} more are equivalent", flush=True)
            below |= share < args.bar
    sys.exit(below)


if __name__ == "__main__":
    main()
