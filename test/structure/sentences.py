#!/usr/bin/env python3
"""Comments begin as plain English does: with a subject, a verb, or the name of a thing.

usage: sentences.py ROOT

The first sentence of a comment in C++, CUDA and Python does not begin with "Of", "What", "Whatever" or "As far as", nor with "The same of".
"""
import re
import sys
from pathlib import Path

FOLDERS = ["include", "tools", "examples", "backends", "bench", "test", "python", "docs", "cmake"]
SLASHES, HASH = re.compile(r"^(.*?)(?<![:\"'\w])//+ (.*)$"), re.compile(r"^(.*?)(?<![\"'\w&])# (.*)$")
COMMENTS = {".hpp": SLASHES, ".ipp": SLASHES, ".cpp": SLASHES, ".cu": SLASHES, ".cuh": SLASHES, ".py": HASH}
STRANGE = re.compile(r"(Of|What|Whatever|As far as|The same (of|as|for))\b")


def strange_in(text, comment):
    """(line, comment), for the first lines of the comments that the pattern finds."""
    is_inside = False
    for number, line in enumerate(text.splitlines(), 1):
        found = comment.match(line)
        alone = found is not None and not found[1].strip()
        if found and not (alone and is_inside) and found[1].count('"') % 2 == 0 and STRANGE.match(found[2]):
            yield number, found[2]
        is_inside = alone


def main():
    root = Path(sys.argv[1])
    wrong = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in COMMENTS and not path.name.startswith("html_"):  # the page is JavaScript
                for line, words in strange_in(path.read_text(), COMMENTS[path.suffix]):
                    print(f"{path.relative_to(root)}:{line}: begin with a subject or a verb: {words[:100]}")
                    wrong += 1
    print(f"{wrong} comments begin strangely")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
