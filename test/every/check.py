#!/usr/bin/env python3
"""Calls every public function with hostile values, and looks for functions that nobody calls.

usage: check.py ROOT PROGRAM [--cases N] [--only PART] [--open]

PROGRAM is test_every, with sanitizers. Each function is called N times (150) by a process of its own, which must end in words within
20 s and 2 GB. Functions that PROGRAM cannot call must be called by name in the tests written by hand: test/doors,
test/property/hostile_*.cpp and extreme_*.cpp, test/fuzz. open.txt names those for which neither holds, each with its reason:

    header.hpp: namespace::function
    ? reason

With --open these are called, too.
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BY_HAND = ["test/doors/*.hpp", "test/extreme*.hpp", "test/property/hostile_*.cpp", "test/property/extreme*.cpp", "test/fuzz/*.cpp"]
SECONDS = 20
SANITIZERS = {"ASAN_OPTIONS": "max_allocation_size_mb=2000:hard_rss_limit_mb=2500:detect_leaks=0:allocator_may_return_null=0"}


def known_open(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) % 2 == 0 and all(line.startswith("? ") for line in lines[1::2]), "an entry is a name and what happens"
    return set(lines[::2])


def fault(program, number, cases):
    """What goes wrong when a function is called, in a line; None if nothing does."""
    try:
        ran = subprocess.run([program, number, str(cases)], capture_output=True, text=True, errors="replace", timeout=SECONDS,
                             env={**os.environ, **SANITIZERS})
    except subprocess.TimeoutExpired:
        return f"does not end within {SECONDS} s"
    if ran.returncode == 0:
        return None
    if ran.returncode == 3:
        return "it takes none of the values"
    said = re.search(r"runtime error: .*|ERROR: AddressSanitizer: \S+.*|what\(\): .*|Assertion .*|hard rss limit.*", ran.stderr)
    place = re.search(r"#\d+ \S+ in (?:\S.*? )?(\S*(?:include/ashlar|tools/(?:cost|plan))/\S+:\d+)", ran.stderr)
    return f"exit {ran.returncode}: {said.group(0)[:120] if said else ran.stderr[-120:]!r} {place.group(1) if place else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--only", default="", help="functions with this in their place")
    parser.add_argument("--open", action="store_true", help="also those of open.txt")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    left = set() if args.open else known_open(args.root / "test/every/open.txt")
    by_hand = set(re.findall(r"\w+", "\n".join(path.read_text() for glob in BY_HAND for path in args.root.glob(glob))))
    listed = [line.split(" ", 2) for line in subprocess.run([args.program], capture_output=True, text=True, check=True).stdout.splitlines()]
    listed = [one for one in listed if args.only in one[2]]
    called, wrong, passed_over = [], [], 0
    for number, is_called, place in listed:
        if place in left:
            passed_over += 1
        elif is_called == "1":
            called.append((number, place))
        elif place.rsplit("::", 1)[1] not in by_hand:
            wrong.append(f"{place}: nobody calls it with hostile values")
    with ThreadPoolExecutor(args.jobs) as pool:
        for (_, place), said in zip(called, pool.map(lambda one: fault(args.program, one[0], args.cases), called)):
            if said:
                wrong.append(f"{place}: {said}")
    print("\n".join(wrong))
    print(f"{len(listed)} public functions: {len(called)} called with hostile values by a generator, {passed_over} open, "
          f"{len(listed) - len(called) - passed_over} by hand or by nobody; {len(wrong)} complaints")
    return len(wrong) != 0


if __name__ == "__main__":
    sys.exit(main())
