#!/usr/bin/env python3
"""Measures the cost of the headers to a compiler. Prints Markdown tables.

usage: table.py [--only headers|asserts] [--headers NAME ...] [--repeat N] [--sizes P,M ...]

headers  including a header: processor time of -fsyntax-only, the smallest of N runs, and how many times that of <vector>;
         umbrellas first. All headers, or those named (ashlar/lower.hpp ...),
         and then no asserts.
asserts  static_assert(valid<...>()) of a schedule and of a program: processor time beyond the include, and the
         smallest limit on constant evaluation that suffices (-fconstexpr-ops-limit of g++, -fconstexpr-steps of
         clang++), found by bisection to 3 %.

Stops with the compiler's words and exit status 1 if something does not compile that should.
"""
import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
HIGH = 1 << 31
COMPILERS = {
    "g++": (["g++"], lambda limit: [f"-fconstexpr-ops-limit={limit}", "-fconstexpr-loop-limit=16777216"], 33554432),
    "clang++": (["clang++", "clang++-14"], lambda limit: [f"-fconstexpr-steps={limit}"], 1048576),
}


class Compiler:
    def __init__(self, program, limit_flags, default):
        self.program, self.limit_flags, self.default = program, limit_flags, default

    def run(self, text, flags=()):
        """Compiles a text. Returns the compiler's error, or an empty one, and the processor time in milliseconds."""
        with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
            source.write(text)
            source.flush()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([self.program, "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", *flags, source.name],
                                  capture_output=True, text=True, errors="replace")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        words = (done.stderr or f"exit status {done.returncode}") if done.returncode else ""
        return words, 1000 * spent

    def fastest(self, text, repeat, flags=()):
        """The smallest time of `repeat` runs; None if the text includes a header that is not installed."""
        times = []
        for _ in range(repeat):
            words, time = self.run(text, flags)
            if any(sign in words for sign in ("No such file", "file not found")):
                return None
            if words:
                sys.exit(f"{words}\n{self.program} does not compile this:\n{text}")
            times.append(time)
        return min(times)

    def needs(self, text):
        """The smallest limit on constant evaluation, to 3 %, of a text that compiles under the highest."""
        low, high = 1, 1024
        while high < HIGH and self.run(text, self.limit_flags(high))[0]:
            low, high = high, 2 * high
        while high - low > 0.03 * high:
            middle = (low + high) // 2
            if self.run(text, self.limit_flags(middle))[0]:
                low = middle
            else:
                high = middle
        return high


def compilers():
    found = {}
    for name, (programs, flags, default) in COMPILERS.items():
        for program in programs:
            if shutil.which(program):
                found.setdefault(name, Compiler(program, flags, default))
    return found


def number(value, form="{:,.0f}"):
    return "-" if value is None else form.format(value)


def headers(found, names, repeat):
    """Prints the costs of headers. Rows take turns, so that a busy machine slows all of them: read the ratios."""
    print(f"| header | {' | '.join(f'{name}, ms | of `<vector>`' for name in found)} |")
    print("|---|" + "---:|" * (2 * len(found)))
    rows = {"`<vector>`": "#include <vector>\n"}
    paths = sorted(INCLUDE.rglob("*.hpp"), key=lambda path: (path.parent.name != "ashlar", path))
    for name in names or [path.relative_to(INCLUDE).as_posix() for path in paths]:
        rows[f"`<{name}>`"] = f"#include <{name}>\n"
    least = {}
    for run in range(repeat):
        for k, (row, text) in enumerate(rows.items()):
            if sys.stderr.isatty():
                print(f"\rrun {run + 1} of {repeat}, header {k + 1} of {len(rows)} ", end="", file=sys.stderr, flush=True)
            for name, compiler in found.items():
                time = compiler.fastest(text, 1)
                before = least.setdefault((row, name), time)
                least[row, name] = None if time is None or before is None else min(time, before)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    for row in rows:
        cells = []
        for name in found:
            time, vector = least[row, name], least["`<vector>`", name]
            cells += [number(time), number(time and time / vector, "{:.1f}")]
        print(f"| {row} | {' | '.join(cells)} |", flush=True)


def text_of(name, p, m, what):
    tail = " | lower()" if what == "program" else ""
    return f"""#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/check/valid.hpp>
using namespace ashlar;
constexpr auto make = [] {{
  return catalog::find("{name}")->make({{devices{{{p}}}, micro_batches{{{m}}}}}){tail};
}};
"""


def asserts(found, repeat, sizes):
    columns = [f"{name}, ms | {name}, limit needed | of its default" for name in found]
    print(f"| value | p | m | passes | {' | '.join(columns)} |")
    print("|---|" + "---:|" * (3 + 3 * len(found)))
    for what in ("schedule", "program"):
        for p, m in sizes:
            name = "zb-h1"
            text = text_of(name, p, m, what)
            cells = []
            for compiler in found.values():
                plain = compiler.fastest(text, repeat)
                checked = text + "static_assert(valid<make>());\n"
                time = compiler.fastest(checked, repeat, compiler.limit_flags(HIGH - 1))
                limit = compiler.needs(checked)
                cells += [number(max(time - plain, 0)), number(limit), number(limit / compiler.default, "{:.2f}")]
            print(f"| {what}, {name} | {p} | {m} | {3 * p * m} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("headers", "asserts"))
    parser.add_argument("--headers", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", default=["4,8", "4,16", "8,16", "8,32", "8,64"])
    options = parser.parse_args()
    for name in options.headers:
        if not (INCLUDE / name).is_file():
            parser.error(f"there is no header {name} in {INCLUDE}")
    if options.headers and options.only == "asserts":
        parser.error("--headers goes with the table of headers, not with --only asserts")
    only = "headers" if options.headers else options.only
    found = compilers()
    if not found:
        parser.error("neither g++ nor clang++ found")
    if only != "asserts":
        headers(found, options.headers, options.repeat)
    if only is None:
        print()
    if only != "headers":
        asserts(found, options.repeat, [tuple(map(int, size.split(","))) for size in options.sizes])


if __name__ == "__main__":
    main()
