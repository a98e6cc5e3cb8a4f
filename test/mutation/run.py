#!/usr/bin/env python3
"""Changes lines of a room, one at a time, and asks whether a test of the room notices.

`changes.py` says which changes there are; --sample of them are drawn at random. A room is compiled once, with all of these behind
switches, before the real files in the include path, so nothing in the checkout changes. Its tests then run once for each change. A test
notices by a verdict, a crash, or by not ending in time. With --sanitized, what survives is run once more under the address and
undefined-behaviour sanitizers, as the gate does it. With --alone, it is compiled once more, alone, so that constant evaluation sees it
too. Changes that do not compile are drawn anew.

A room is a folder of include/ashlar that has unit tests, or `cost`, the library in tools/cost. Its tests are those in test/unit/ROOM,
and those of its laws and readers in other folders of test/; --also adds further files of test/, and --only takes no others.

Those that no test can tell from the original are named in equivalent.txt, each with the reason; blocks are separated by blank lines:

    schedule/squeeze.hpp
    - what the line is
    + what it is in the mutant
    ? why nobody can tell

`+ ...` stands for each change of the line that no test notices.

Exit status 1 if fewer than --bar percent of the others are noticed.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from changes import changes_of, tidy, with_switches

ROOT = Path(__file__).resolve().parents[2]
TEST = ROOT / "test"
HEADERS = ROOT / "include/ashlar"
FLAGS = ["clang++", "-std=c++20", "-w", "-fconstexpr-steps=33554432", "-ftemplate-backtrace-limit=0", f'-DASHLAR_TEST_DATA="{TEST / "data"}"',
         "-Wno-invalid-constexpr"]
FOLDERS = [f"-I{folder}" for folder in (ROOT / "include", ROOT / "tools/cost/include", ROOT / "tools/plan/include",
                                        ROOT / "backends/host/include", ROOT / "examples", TEST, ROOT / "tools")]
SANITIZE = ["-O1", "-g1", "-D_GLIBCXX_ASSERTIONS", "-DASHLAR_SANITIZED", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ELSEWHERE = {"lower": ["property/programs", "property/offload"], "simulate": ["property/simulations", "property/part_timelines"],
             "search": ["property/requests", "property/offload_searches"], "cost": ["property/predicted_steps", "interop/json_machine"]}
IN_CONSTANTS_ONLY = {"core/refuse.hpp"}  # what it says to compilers; test/fail reads it
ANY = "..."
FIRST_LINE = "#include <switch.hpp>\n"


def files_of(room):
    """The files of a room, by the name under which its lines are reported."""
    if room == "cost":
        return {p.relative_to(ROOT).as_posix(): p for p in sorted((ROOT / "tools/cost").rglob("*.[ch]pp"))}
    found = {p.relative_to(HEADERS).as_posix(): p for p in sorted((HEADERS / room).rglob("*.[hi]pp"))}
    return {name: path for name, path in found.items() if name not in IN_CONSTANTS_ONLY}


def equivalent():
    """The entries of equivalent.txt: (file, old, new)."""
    named = set()
    for block in re.split(r"\n\s*\n", Path(__file__).with_name("equivalent.txt").read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            named.add((lines[0], tidy(lines[1][2:]), tidy(lines[2][2:])))  # or ANY
    return named


class Room:
    """A room's tests and files, compiled with changes."""

    def __init__(self, name, only, also, work):
        self.name, self.work, self.files = name, work, files_of(name)
        self.tests = sorted((TEST / "unit" / name).rglob("*.cpp")) + [TEST / f"{file}.cpp" for file in ELSEWHERE.get(name, [])]
        self.tests = [TEST / file for file in [*only, *also]] if only else self.tests + [TEST / file for file in also]

    def write(self, folder, texts):
        """Writes changed files and a program of the tests; returns its sources, and where each file of `texts` lies."""
        places = {}
        for name, text in texts.items():
            source = self.files[name]
            place = folder / source.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            places[name] = place
        sources = {folder / "tests.cpp": self.tests, folder / "main.cpp": [TEST / "main.cpp"]}
        if self.name == "cost":
            sources[folder / "library.cpp"] = [places.get(n, p) for n, p in self.files.items() if n.endswith(".cpp")]
        if self.name in ("cost", "search"):
            sources[folder / "plan.cpp"] = sorted((ROOT / "tools/plan").rglob("*.cpp"))
        for source, parts in sources.items():
            source.write_text("".join(f'#include "{part}"\n' for part in parts))
        return list(sources), places

    def line(self, folder, flags):
        return [*FLAGS, *flags, f"-I{folder / 'include'}", f"-I{folder / 'tools/cost/include'}", f"-I{Path(__file__).parent}", *FOLDERS]

    def build(self, folder, sources, flags, jobs, program="program"):
        """None, or what the compiler says."""
        def compiled(source):
            return subprocess.run([*self.line(folder, flags), "-c", source, "-o", source.with_suffix(".o")], capture_output=True, text=True)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for ran in pool.map(compiled, sources):
                if ran.returncode:
                    return ran.stderr
        ran = subprocess.run([*FLAGS[:1], *flags, *[s.with_suffix(".o") for s in sources], "-o", folder / program, "-pthread"],
                             capture_output=True, text=True)
        return ran.stderr if ran.returncode else None

    def broken(self, folder, sources, owners, jobs):
        """The numbers of changes that do not compile."""
        def checked(source):
            line = [*self.line(folder, ["-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics"]), source]
            return subprocess.run(line, capture_output=True, text=True).stderr
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            said = "\n".join(pool.map(checked, sources))
        found, unknown = set(), []
        for group in re.split(r"^(?=\S+:\d+:\d+: (?:fatal )?error: )", said, flags=re.MULTILINE)[1:]:
            for file, line in re.findall(r"^(\S+?):(\d+):\d+: ", group, flags=re.MULTILINE):
                if numbers := owners.get(file, {}).get(int(line)):
                    found.update(numbers)
                    break
            else:
                unknown.append(group)
        if unknown and not found:
            raise SystemExit(f"mutation: the tests of {self.name} do not compile:\n{unknown[0]}")
        return found

    def compile_together(self, chosen, jobs, sanitized):
        """A program with all of {number: (file, change)} that compile, and one with sanitizers if asked for; and their numbers."""
        left = dict(chosen)
        while True:
            folder = self.work / "together"
            texts, owners = {}, {}
            for name in sorted({file for file, _ in left.values()}):
                text, lines = with_switches(self.files[name].read_text(), {n: c for n, (f, c) in left.items() if f == name})
                texts[name] = FIRST_LINE + text
                owners[name] = {line + 1: numbers for line, numbers in lines.items()}
            subprocess.run(["rm", "-rf", folder], check=True)
            folder.mkdir()
            sources, places = self.write(folder, texts)
            bad = self.broken(folder, sources, {str(places[n]): o for n, o in owners.items()}, jobs)
            if not bad:
                break
            for n in bad:
                left.pop(n, None)
        for program, flags in [("program", ["-O1"]), ("sanitized", SANITIZE)][:1 + sanitized]:
            if said := self.build(folder, sources, flags, jobs, program):
                raise SystemExit(f"mutation: {self.name}: {said}")
        return folder / "program", sanitized and folder / "sanitized", set(left)

    def alone(self, number, file, change, seconds):
        """How the tests notice a change that is compiled alone, with sanitizers; None if they do not."""
        folder = self.work / f"alone_{number}"
        folder.mkdir()
        source = self.files[file].read_text()
        sources, _ = self.write(folder, {file: source[:change.begin] + change.by + source[change.end:]})
        said = self.build(folder, sources, SANITIZE, 1)
        how = None
        if said:
            how = "static assertion" if "static_assert failed" in said or "static assertion failed" in said else "does not compile"
        return how or noticed(folder / "program", 0, seconds, 0)


def noticed(program, number, seconds, memory=4_000_000):
    """None if the tests pass with this change; how they notice otherwise."""
    limit = f"{f'ulimit -v {memory}; ' if memory else ''}timeout {seconds} {program} --minimal --abort-after=1"
    ran = subprocess.run(["bash", "-c", limit], capture_output=True, text=True, errors="replace", cwd=program.parent,
                         env={**os.environ, "ASHLAR_MUTANT": str(number)})
    if ran.returncode == 0:
        return None
    case = re.search(r"TEST CASE:\s+(.*)", ran.stdout)
    how = {124: "does not end"}.get(ran.returncode, "crash" if ran.returncode > 128 else "verdict")
    return f"{how}: {case.group(1)}" if case else how


def drawn_from(room, named):
    """All changes of a room. Stops where an entry of equivalent.txt names none of them."""
    changes = [(file, change) for file, path in room.files.items() for change in changes_of(path.read_text())]
    there = {(file, change.old, new) for file, change in changes for new in (change.new, ANY)}
    if gone := sorted(entry for entry in named if entry[0] in room.files and entry not in there):
        raise SystemExit(f"mutation: equivalent.txt names what is no change: {gone}")
    return changes


def judge_room(room, sample, seed, seconds, jobs, named, sanitized, alone):
    """Prints what survives in a room; returns how many changes are noticed, survive and are equivalent."""
    changes = drawn_from(room, named)
    random.Random(seed).shuffle(changes)
    count = len(changes) if sample == 0 else min(len(changes), 2 * sample)  # about half of them compile
    program, checked, numbers = room.compile_together({n: c for n, c in enumerate(changes[:count], 1)}, jobs, sanitized)
    numbers = sorted(numbers)[:sample or None]
    if how := noticed(program, 0, seconds):
        raise SystemExit(f"mutation: the tests of {room.name} fail without a change: {how}")
    found = {"noticed": 0, "survived": 0, "equivalent": 0}

    def judge(number):
        file, change = changes[number - 1]
        if (file, change.old, change.new) in named:
            return number, "equivalent"
        how = noticed(program, number, seconds)
        how = how or (checked and noticed(checked, number, 4 * seconds, 0)) or (alone and room.alone(number, file, change, 4 * seconds))
        return number, how or ("equivalent" if (file, change.old, ANY) in named else "survived")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, how in pool.map(judge, numbers):
            file, change = changes[number - 1]
            verdict = how if how in found else "noticed"
            if how == "does not compile":
                continue
            found[verdict] += 1
            print(f"{verdict:10} {file}:{change.line} ({how})\n    - {change.old}\n    + {change.new}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=["simulate", "lower", "search", "core", "cost"])
    parser.add_argument("--file", help="only this one: schedule/squeeze.hpp")
    parser.add_argument("--sample", type=int, default=60, help="how many changes of a room are drawn; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="these files of tests alone: unit/core/sort.cpp")
    parser.add_argument("--also", nargs="*", default=[], help="further files of tests: property/offload.cpp")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=120, help="after which a test does not end")
    parser.add_argument("--sanitized", action="store_true", help="what survives is run once more with the gate's sanitizers")
    parser.add_argument("--alone", action="store_true", help="what survives is compiled once more, alone and with sanitizers")
    parser.add_argument("--bar", type=float, default=0, help="percent that must be noticed")
    parser.add_argument("--entries", action="store_true", help="only asks whether equivalent.txt names changes that there are")
    args = parser.parse_args()
    if args.entries:
        named = equivalent()
        for name in {"cost" if file.startswith("tools/") else file.partition("/")[0] for file, _, _ in named}:
            drawn_from(Room(name, [], [], None), named)
        print(f"{len(named)} entries of changes that there are")
        return 0
    below = False
    for name in args.rooms:
        with tempfile.TemporaryDirectory() as folder:
            room = Room(name, args.only, args.also, Path(folder))
            if args.file:
                room.files = {args.file: room.files[args.file]}
            found = judge_room(room, args.sample, args.seed, args.seconds, args.jobs, equivalent(), args.sanitized,
                               args.alone)
        judged = found["noticed"] + found["survived"]
        share = 100 * found["noticed"] / judged if judged else 100
        print(f"{name}: {found['noticed']} of {judged} noticed ({share:.1f} %), {found['equivalent']} that no test can tell", flush=True)
        below = below or share < args.bar
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
