#!/usr/bin/env python3
"""The floors of docs/design.md hold: no header includes one of a higher floor, every header is on the list, and the
umbrella reaches all but what stands apart or needs more than the standard library.

usage: floors.py ROOT
"""
import re
import sys
from pathlib import Path

CORE = 5  # floors up to this one need the standard library only
STREAMS = {"string", "iostream", "istream", "ostream", "sstream", "fstream", "iosfwd", "iomanip", "regex", "locale"}
THIRD_PARTY = {"views.hpp": "range/v3/", "interop/json.hpp": "nlohmann/"}


def without_remarks(line):
    """The line without its (possibly nested) parentheses."""
    while (shorter := re.sub(r"\([^()]*\)", " ", line)) != line:
        line = shorter
    return line


def headers_named(line):
    """The .hpp patterns of a line, with render/{text,svg}.hpp spelt out."""
    def spell(match):
        return " ".join(match[1] + word.strip() + match[3] for word in match[2].split(","))

    line = re.sub(r"([\w*./]*)\{([^{}]*)\}([\w*./]*)", spell, line)
    return re.findall(r"[\w*./]*\w*\*?\.hpp", line)


def floor_table(design):
    """From pattern to floor.  The umbrella is above all floors, and what stands apart above the umbrella."""
    for block in re.findall(r"^```text\n(.*?)^```", design, re.M | re.S):
        if not re.search(r"^\s*floor 0\b", block, re.M):
            continue
        rows = [re.match(r"\s*(?:floor (\d+)|(apart)|(ashlar\.hpp))\s", line) for line in block.splitlines()]
        lines = block.splitlines()
        floors = {}
        highest = max(int(row[1]) for row in rows if row and row[1])
        for row, line in zip(rows, lines):
            if not row:
                continue
            floor = int(row[1]) if row[1] else highest + (2 if row[2] else 1)
            names = ["ashlar.hpp"] if row[3] else headers_named(without_remarks(line))
            floors.update((name, floor) for name in names)
        return floors
    sys.exit("docs/design.md has no ```text block with a line `floor 0 …`")


def read_floors(root):
    """From header (relative to include/ashlar) to floor, and what is wrong with the list itself."""
    include = root / "include" / "ashlar"
    design = root / "docs" / "design.md"
    if not design.is_file():
        sys.exit("docs/design.md, which holds the list of floors, does not exist")
    table = floor_table(design.read_text())
    wrong = []
    floors = {}
    for pattern, floor in table.items():
        if "*" not in pattern:
            if (include / pattern).is_file():
                floors[pattern] = floor
            else:
                wrong.append(f"docs/design.md lists {pattern}, which does not exist")
    for header in sorted(include.rglob("*.hpp")):
        name = header.relative_to(include).as_posix()
        if name in floors:
            continue
        found = [floor for pattern, floor in table.items() if "*" in pattern and header.match("ashlar/" + pattern)]
        if found:
            floors[name] = found[0]
        else:
            wrong.append(f"{name} stands on no floor of docs/design.md")
    return floors, wrong


def includes(path):
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.M)


def main():
    root = Path(sys.argv[1])
    include = root / "include" / "ashlar"
    floors, wrong = read_floors(root)
    uses = {name: [] for name in floors}
    for name, floor in floors.items():
        for bracket, target in includes(include / name):
            if bracket == '"' and (include / name).parent.joinpath(target).is_file():
                target = "ashlar/" + (include / name).parent.joinpath(target).resolve().relative_to(include).as_posix()
            if target.startswith("ashlar/"):
                used = target.removeprefix("ashlar/")
                if used not in floors:
                    if not (include / used).is_file():
                        wrong.append(f"{name} includes <{target}>, which is no header of include/")
                elif floors[used] > floor:
                    wrong.append(f"{name} (floor {floor}) includes {used} (floor {floors[used]})")
                else:
                    uses[name].append(used)
            elif "/" in target or target.endswith((".h", ".hpp")):
                if not (allowed := THIRD_PARTY.get(name)) or not target.startswith(allowed):
                    wrong.append(f"{name} includes <{target}>: the standard library is all that it may need")
            elif floor <= CORE and target in STREAMS:
                wrong.append(f"{name} (floor {floor}) includes <{target}>: no strings and streams below floor {CORE + 1}")

    # On one floor a header may use its neighbour, but not in a circle.
    done, path = set(), []

    def walk(name):
        if name in path:
            wrong.append("a circle: " + " -> ".join([*path[path.index(name):], name]))
        elif name not in done:
            path.append(name)
            for used in uses[name]:
                walk(used)
            path.pop()
            done.add(name)

    for name in uses:
        walk(name)

    done.clear()
    walk("ashlar.hpp")
    wrong += [f"ashlar.hpp does not reach {name}" for name in floors if name not in done and name not in THIRD_PARTY]

    for line in sorted(set(wrong)):
        print(line)
    print(f"{len(floors)} headers on {len(set(floors.values()))} floors, {len(set(wrong))} complaints")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
