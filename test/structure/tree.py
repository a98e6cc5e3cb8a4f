#!/usr/bin/env python3
"""The tree is tidy: nothing unexpected at the top, no leftovers in the text.

usage: tree.py top|words|format ROOT [CLANG_FORMAT]
"""
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = {"CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "CMakePresets.json", "CODE_OF_CONDUCT.md", "LICENSE", "README.md", "SECURITY.md", "pyproject.toml",
       "backends", "bench", "cmake", "docs", "examples", "include", "python", "test", "tools"}
DOTFILES = {".ci", ".clang-format", ".clang-tidy", ".dockerignore", ".editorconfig", ".github", ".gitignore", ".gitattributes"}
# These are spelt in two halves, so that this file does not find itself.
WORDS = ["TO" "DO", "FIX" "ME", "XX" "X:", "#if" " 0", "../" "shared", "/work" "/", "<<<" "<<<<", ">>>" ">>>>"]
SOURCES = {".hpp", ".ipp", ".cpp", ".cu", ".cuh", ".h"}


def files(root):
    """The files of the checkout: by git where there is one, else all but what .gitignore names at the top."""
    try:
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.split("\0")
        return [root / name for name in listed if name and (root / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if not re.fullmatch(r"\.git|build.*|out|\.cache|__pycache__", name)]
            found += [Path(folder) / name for name in names]
        return found


def top(root):
    names = {path.relative_to(root).parts[0] for path in files(root)}
    unexpected = names - TOP - DOTFILES
    missing = TOP - names
    for name in sorted(unexpected):
        print(f"unexpected at the top: {name}")
    for name in sorted(missing):
        print(f"missing at the top: {name}")
    return bool(unexpected or missing)


def words(root):
    found = 0
    for path in files(root):
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            for word in WORDS:
                if word in line:
                    print(f"{path.relative_to(root)}:{number}: {word}: {line.strip()}")
                    found += 1
    return found != 0


def clang_format(root, program):
    sources = sorted(str(path) for path in files(root) if path.suffix in SOURCES)
    result = subprocess.run([program, "--dry-run", "-Werror", *sources], capture_output=True, text=True)
    print(result.stderr)
    bad = sorted({line.split(":")[0] for line in result.stderr.splitlines() if ": error:" in line})
    print(f"{len(sources)} sources, {len(bad)} not formatted" + "".join(f"\n  {name}" for name in bad))
    return result.returncode != 0


def main():
    what, root = sys.argv[1], Path(sys.argv[2]).resolve()
    if what == "format":
        return clang_format(root, sys.argv[3])
    return {"top": top, "words": words}[what](root)


if __name__ == "__main__":
    sys.exit(main())
