#!/usr/bin/env python3
"""Sentences begin as plain English does: with a subject, a verb, or the name of a thing.

usage: sentences.py ROOT

The first sentence of a comment in C++, CUDA and Python, and every sentence of a page but its questions, does not begin with "Of", "What",
"Whatever" or "As far as", nor with "The same of".
"""
import re
import sys
from pathlib import Path

FOLDERS = ["include", "tools", "examples", "backends", "bench", "test", "python", "docs", "cmake"]
SLASHES, HASH = re.compile(r"^(.*?)(?<![:\"'\w])//+ (.*)$"), re.compile(r"^(.*?)(?<![\"'\w&])# (.*)$")
COMMENTS = {".hpp": SLASHES, ".ipp": SLASHES, ".cpp": SLASHES, ".cu": SLASHES, ".cuh": SLASHES, ".py": HASH}
STRANGE = re.compile(r"(Of|What|Whatever|As far as|The same (of|as|for))\b")
NO_PROSE = re.compile(r"\s*(#|\||\$|<!--|!\[)|\s*$")  # headings, tables, formulas, marks, pictures, and what ends a paragraph
ITEM = re.compile(r"\s*(\*|-|\d+\.) (\*\*?[^*]+\*\*?)?")


def strange_in(text, comment):
    """(line, comment), for the first lines of the comments that the pattern finds."""
    is_inside = False
    for number, line in enumerate(text.splitlines(), 1):
        found = comment.match(line)
        alone = found is not None and not found[1].strip()
        if found and not (alone and is_inside) and found[1].count('"') % 2 == 0 and STRANGE.match(found[2]):
            yield number, found[2]
        is_inside = alone


def paragraphs(text):
    """(line, words), for the prose of a page."""
    first, words, in_code = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        item = ITEM.match(line)
        if fence or in_code or item or NO_PROSE.match(line):
            if words:
                yield first, " ".join(words)
            words = []
        in_code ^= fence
        if fence or in_code or NO_PROSE.match(line):
            continue
        first = first if words else number
        words.append(line[item.end() :].strip() if item else line.strip())


def strange_on(page):
    """(line of the paragraph, sentence), for sentences that begin strangely and ask nothing."""
    for line, words in paragraphs(page):
        for sentence in re.split(r"(?<=[.!?:]) +(?=[A-Z])", words):
            if STRANGE.match(sentence) and not sentence.endswith("?"):
                yield line, sentence


def main():
    root = Path(sys.argv[1])
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in COMMENTS and not path.name.startswith("html_"):  # the page is JavaScript
                found += [(path, *each) for each in strange_in(path.read_text(), COMMENTS[path.suffix])]
    pages = [*root.glob("*.md"), *(page for folder in FOLDERS for page in (root / folder).rglob("*.md"))]
    for path in sorted(pages):
        found += [(path, *each) for each in strange_on(path.read_text())]
    for path, line, words in found:
        print(f"{path.relative_to(root)}:{line}: begin with a subject or a verb: {words[:100]}")
    print(f"{len(found)} sentences begin strangely")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
