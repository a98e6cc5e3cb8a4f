#!/usr/bin/env python3
"""The floors of docs/design.md hold: a folder includes only folders above it on the list, headers of a folder do not
include each other in a cycle, every folder is on the list and has an umbrella, and umbrellas hold nothing but includes.
The rooms of the libraries in tools/ have a list of their own, and the sources beside the headers keep to it, too. So do the
folders of the readers in python/ashlar_pp.

usage: floors.py ROOT
"""
import re
import sys
from pathlib import Path

STREAMS = {"string", "iostream", "istream", "ostream", "sstream", "fstream", "iosfwd", "iomanip", "regex", "locale"}
TEXT = {"program/names.hpp"}  # text for those who print; nothing without strings includes it
LANGUAGE = "core/language.hpp"  # a missing file in it ends a compilation without C++20, before any other header
TOOLS = ("cost", "plan")  # libraries of tools/, from the top down
THIRD_PARTY = {"views.hpp": "range/v3/", "interop/json": "nlohmann/"}  # by how names begin


def third_party(name):
    """The library that a header may include beside the standard one, or None."""
    return next((library for begin, library in THIRD_PARTY.items() if name.startswith(begin)), None)


def read_floors(root):
    """The folders in order, and those that need neither strings nor streams."""
    design = (root / "docs" / "design.md").read_text()
    for block in re.findall(r"^```text\n(.*?)^```", design, re.M | re.S):
        if not re.search(r"^ *core/ ", block, re.M):
            continue
        order, plain, above = [], set(), True
        for line in block.splitlines():
            above = above and not line.startswith("--")
            for room in re.findall(r"^ *(\w+)/ ", line):
                order.append(room)
                if above:
                    plain.add(room)
        return order, plain
    sys.exit("docs/design.md has no ```text block with a line `core/ …`")


def includes(path):
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', path.read_text(), re.M)


def partner(name):
    """A header and its .ipp include each other: the header comes first."""
    return name[:-4] + (".ipp" if name.endswith(".hpp") else ".hpp")


def core_headers(root):
    """The headers that need neither strings nor streams, and so compile in a .cu file."""
    include = root / "include" / "ashlar"
    _, plain = read_floors(root)
    return sorted(header.relative_to(include).as_posix() for room in plain for header in (include / room).rglob("*.hpp"))


def read_tool_rooms(root):
    """The rooms of the libraries in tools/ in order, as cost/model."""
    return re.findall(rf"^((?:{'|'.join(TOOLS)})/\w+)/ ", (root / "docs" / "design.md").read_text(), re.M)


def check_tools(root, uses):
    """Complaints about the libraries in tools/. Adds to `uses` which of their headers include which."""
    order = read_tool_rooms(root)
    rank = {room: number for number, room in enumerate(order)}
    wrong = []
    found = set()
    for library in TOOLS:
        folder = root / "tools" / library
        for file in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
            name = file.relative_to(folder / "include/ashlar" if file.suffix == ".hpp" else folder.parent).as_posix()
            if name == f"{library}.hpp":
                continue  # the umbrella
            room = "/".join(name.split("/")[:2])
            found.add(room)
            if room not in rank:
                wrong.append(f"{name}: docs/design.md does not list {room}/")
                continue
            used = [target.removeprefix("ashlar/") for _, target in includes(file) if target.startswith(tuple(f"ashlar/{one}/" for one in TOOLS))]
            if file.suffix == ".hpp":
                uses[name] = used
            for target in used:
                other = "/".join(target.split("/")[:2])
                if other != room and rank.get(other, len(rank)) >= rank[room]:
                    wrong.append(f"{name} includes <ashlar/{target}>: {other}/ is not above {room}/")
    return wrong + [f"docs/design.md lists {room}/, which does not exist" for room in order if room not in found]


def check_readers(root):
    """Complaints about the folders of python/ashlar_pp/read."""
    order = re.findall(r"^read/(\w+)/ ", (root / "docs" / "design.md").read_text(), re.M)
    rank = {folder: number for number, folder in enumerate(order)}
    read = root / "python" / "ashlar_pp" / "read"
    wrong = [f"docs/design.md lists read/{folder}/, which does not exist" for folder in order if not (read / folder).is_dir()]
    for file in sorted(read.glob("*/*.py")):
        name, folder = file.relative_to(read.parent).as_posix(), file.parent.name
        if folder not in rank:
            wrong.append(f"{name}: docs/design.md does not list read/{folder}/")
            continue
        for other in re.findall(r"^ *from \.\.(\w+)[. ]", file.read_text(), re.M):
            if (read / other).is_dir() and rank.get(other, len(rank)) >= rank[folder]:
                wrong.append(f"{name} imports from read/{other}/, which is not above read/{folder}/")
    return wrong


def main():
    root = Path(sys.argv[1])
    include = root / "include" / "ashlar"
    order, plain = read_floors(root)
    rank = {room: number for number, room in enumerate(order)}
    wrong = [f"docs/design.md lists {room}/, which does not exist" for room in order if not (include / room).is_dir()]
    uses = {}
    for header in sorted([*include.rglob("*.hpp"), *include.rglob("*.ipp")]):
        name = header.relative_to(include).as_posix()
        room, is_top = name.split("/")[0], header.parent == include
        if is_top and not third_party(name):
            if header.stem != "ashlar" and header.stem not in rank:
                wrong.append(f"{name} is the umbrella of no folder")
            rest = re.sub(r"^(//.*|#pragma once|#include .*|)$", "", header.read_text(), flags=re.M).strip()
            if rest:
                wrong.append(f"{name} holds more than includes")
        elif not is_top and room not in rank:
            wrong.append(f"{name}: docs/design.md does not list {room}/")
            continue
        uses[name] = []
        first = next((target for _, target in includes(header)), "")
        if header.suffix == ".hpp" and name != LANGUAGE and first and (not first.startswith("ashlar/") or first.endswith(".ipp")):
            wrong.append(f"{name} includes <{first}> first: let it be <ashlar/{LANGUAGE}>, which asks for C++20")
        for bracket, target in includes(header):
            if bracket == '"' and name != LANGUAGE:
                wrong.append(f"{name} includes \"{target}\": headers are named from the top, in angle brackets")
            elif target.startswith("ashlar/"):
                used = target.removeprefix("ashlar/")
                if used != partner(name):
                    uses[name].append(used)
                if not (include / used).is_file():
                    wrong.append(f"{name} includes <{target}>, which does not exist")
                elif is_top:
                    continue
                elif "/" not in used:
                    wrong.append(f"{name} includes the umbrella <{target}>")
                elif (other := used.split("/")[0]) != room and rank.get(other, len(rank)) >= rank[room]:
                    wrong.append(f"{name} includes <{target}>: {other}/ is not above {room}/")
                elif used in TEXT and room in plain:
                    wrong.append(f"{name} includes <{target}>, which needs strings")
            elif "/" in target or target.endswith((".h", ".hpp")):
                if not (allowed := third_party(name)) or not target.startswith(allowed):
                    wrong.append(f"{name} includes <{target}>: the standard library is all that it may need")
            elif room in plain and target in STREAMS and name not in TEXT:
                wrong.append(f"{name} includes <{target}>: no strings and streams in {room}/")
    wrong += check_tools(root, uses) + check_readers(root)
    wrong += [f"{room}/ has no umbrella {room}.hpp" for room in order if not (include / f"{room}.hpp").is_file()]

    done, path = set(), []

    def walk(name):
        if name in path:
            wrong.append("a cycle: " + " -> ".join([*path[path.index(name):], name]))
        elif name not in done:
            path.append(name)
            for used in uses.get(name, []):
                walk(used)
            path.pop()
            done.add(name)

    for name in uses:
        walk(name)

    for line in sorted(set(wrong)):
        print(line)
    print(f"{len(uses)} headers in {len(order)} folders, {len(set(wrong))} complaints")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
