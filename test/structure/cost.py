#!/usr/bin/env python3
"""Headers stay cheap to compile: a budget for the preprocessed text of the public headers, and for each folder the standard
headers that it may include.

usage: cost.py ROOT [COMPILER…]

Sizes, not times: they are the same on every machine with the same standard library.
"""
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Kilobytes after -E -P with libstdc++ 12, rounded up from the larger of two compilers and 5 % more.
BUDGETS = {
    "ashlar.hpp": 951,  # no text; with copies to the host, and stp
    "block.hpp": 690,  # lists by device, changes of devices, stages that move
    "bounds.hpp": 1240,  # stages that move; one_machine.hpp keeps heaps; links to hosts; requests
    "catalog.hpp": 890,  # searched entries end at closed-form bounds, slots of time; links with a period; names of other programs; Seq1F1B interleaved
    "check.hpp": 800,  # placements and graphs keep the library's own lists; with parameter groups, for gradients that work takes, kinds of jobs, and copies to the host; what sums take is of the machine
    "conformance.hpp": 3250,  # a test kit: threads, random numbers; counts are checked before
    "core.hpp": 623,  # refusals name their place, how late links may be; times of pairs
    "fill.hpp": 760,
    "interop.hpp": 1715,  # stages that move; what may be wrong with a program that is written; slots of time
    "lower.hpp": 1118,  # with a timeline without passes that take no time, and times of late receives
    "model.hpp": 650,  # memory by micro-batch, changes of devices
    "optimize.hpp": 865,  # stages that move; with tabu search and beam search, and a schedule behind another
    "program.hpp": 909,  # with copies to the host; whether there is work is asked once
    "prove.hpp": 1083,  # devices in the order of their streams, before lanes; with the comparison of two programs; copies to the host; views are checked before they are read; ends of passes for lowering; what sums take is of the machine
    "record.hpp": 1531,
    "render.hpp": 1925,  # pictures of schedules, graphs, curves and studies
    "run.hpp": 1085,  # refusals name their rule and table, views are checked before they are read, workers are referred to, <variant>
    "schedule.hpp": 760,  # fewer devices; costs by micro-batch, links with a period; with reorder; what is moved or looked up is checked before
    "search.hpp": 1980,  # plans of residency; the order of a braid; orders of micro-batches; what leaves for hosts; begins with kFkB where stages are a graph, with modulo blocks where they are long; tabu search
    "simulate.hpp": 1575,  # parts on two resources; timelines are checked against their programs; slots of time
    "study.hpp": 1490,  # with bounds; the order of a braid
    "values.hpp": 691,  # clipping and balancing job by job, each in a function of its own; pointers to neighbours
}
EACH_OF_THE_CATALOG = 785  # every header of catalog/
WITH_SEARCH = {"catalog/searched.hpp": 822, "catalog/searched_entries.hpp": 899}  # the optimizer
LIBRARY = 12  # the budgets are for this version of libstdc++

EVERYWHERE = {"cstddef", "cstdint", "initializer_list", "limits", "utility", "vector"}
ALSO = {  # cstdio: to end without exceptions
    "core": {"cstdio", "exception", "optional", "type_traits"},
    "model": {"array"},
    "bounds": {"algorithm", "optional"},
    "optimize": {"array", "bit", "compare"},
    "lower": {"algorithm"},
    "program": {"algorithm", "span", "string"},
    "prove": {"array"},
    "simulate": {"optional"},
    "catalog": {"array"},
    "study": {"numeric", "optional"},
    "search": {"algorithm"},
    "run": {"algorithm", "array", "cmath", "concepts", "cstring", "map", "memory", "new", "optional", "random", "span", "stdexcept",
            "string", "tuple", "type_traits", "variant"},
    "record": {"algorithm", "array", "compare", "map", "optional", "string", "string_view", "tuple"},
    "render": {"algorithm", "array", "cmath", "optional", "string", "string_view"},
    "conformance": {"algorithm", "array", "chrono", "cmath", "cstring", "exception", "functional", "memory", "mutex", "numeric",
                    "random", "span", "stdexcept", "string", "thread", "type_traits"},
    "interop": {"algorithm", "array", "bit", "charconv", "cmath", "functional", "iterator", "map", "memory", "numeric", "optional", "set",
                "stdexcept", "string", "string_view", "system_error", "type_traits"},
}


def forbidden(include):
    for header in sorted([*include.glob("*/**/*.hpp"), *include.glob("*/**/*.ipp")]):
        room = header.relative_to(include).parts[0]
        allowed = EVERYWHERE | ALSO.get(room, set())
        for name in re.findall(r"^\s*#\s*include\s*<(\w+)>", header.read_text(), re.M):
            if name not in allowed:
                yield (f"{header.relative_to(include)} includes <{name}>, which {room}/ may not: write the little "
                       "that it needs (core/algorithm.hpp, core/sort.hpp), or add it to the list in test/structure/cost.py")


def library_of(compiler):
    text = subprocess.run([compiler, "-std=c++20", "-E", "-dM", "-xc++", "-"], input="#include <cstddef>\n", text=True,
                          capture_output=True, check=True).stdout
    found = re.search(r"#define _GLIBCXX_RELEASE (\d+)", text)
    return int(found[1]) if found else None


def size_of(compiler, root, name):
    done = subprocess.run([compiler, "-std=c++20", "-E", "-P", f"-I{root}/include", "-xc++", "-"],
                          input=f"#include <ashlar/{name}>\n".encode(), capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return len(done.stdout) / 1000


def main():
    root, compilers = Path(sys.argv[1]), sys.argv[2:]
    include = root / "include" / "ashlar"
    wrong = list(forbidden(include))
    budgets = dict(BUDGETS)
    for header in (include / "catalog").glob("*.hpp"):
        budgets[f"catalog/{header.name}"] = EACH_OF_THE_CATALOG
    budgets.update(WITH_SEARCH)
    # views.hpp is for others' headers; it has no budget.
    wrong += [f"{header.name} has no budget: add it to test/structure/cost.py"
              for header in sorted(include.glob("*.hpp")) if header.name not in budgets and header.name != "views.hpp"]
    wrong += [f"{name} has a budget, but does not exist" for name in budgets if not (include / name).is_file()]
    measured = 0
    for compiler in compilers:
        if library_of(compiler) != LIBRARY:
            print(f"{compiler}: not libstdc++ {LIBRARY}, not measured")
            continue
        with ThreadPoolExecutor(2) as pool:
            sizes = dict(zip(budgets, pool.map(lambda name: size_of(compiler, root, name), budgets)))
        measured += len(sizes)
        for name, size in sizes.items():
            if size > budgets[name]:
                wrong.append(f"{name} is {size:.0f} kB with {Path(compiler).name}, its budget {budgets[name]}: see with -H what it "
                             "includes, take out what it does not need, or raise the budget in test/structure/cost.py and say why")
    for line in wrong:
        print(line)
    print(f"{measured} sizes, {len(wrong)} complaints")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
