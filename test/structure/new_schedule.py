#!/usr/bin/env python3
"""docs/new_schedule.md, followed in a copy of the tree: a schedule that is written as it says is in the catalog and passes its tests.

usage: new_schedule.py ROOT COMPILER DOCTEST_FOLDER

A block after `<!-- new: PATH -->` becomes that file. One after `<!-- into: PATH -->` begins with a line that the file has once; the
others are put behind it. What is built is header-only and without optimisation: the unit tests of the catalog, and the new facts.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path("docs/new_schedule.md")
BLOCK = re.compile(r"^<!-- (new|into): (\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)


def follow(root):
    """The new files; None if a block cannot be followed."""
    made = []
    for what, name, body in BLOCK.findall((root / PAGE).read_text()):
        path = root / name
        if what == "new":
            if path.exists():
                print(f"{PAGE}: {name} is there already")
                return None
            path.write_text(body)
            made.append(name)
            continue
        first, rest = body.split("\n", 1)
        text = path.read_text()
        if text.count(first + "\n") != 1 or not rest:
            print(f"{PAGE}: {name} has this line {text.count(first)} times: {first}")
            return None
        path.write_text(text.replace(first + "\n", body))
    return made


def main():
    root, compiler, doctest = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("include", "test", "docs", "tools", "python/ashlar_pp/read"):
            shutil.copytree(root / part, copy / part, symlinks=True)
        shutil.copy(root / "README.md", copy)
        readme = copy / "README.md"
        readme.write_text(re.sub(r"(\| published schedules, [^|]*\| )(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}", readme.read_text()))
        made = follow(copy)
        if not made:
            return 1
        for line in (["floors.py", copy], ["comments.py", copy], ["docs.py", "catalog", copy]):
            if subprocess.run([sys.executable, "-B", copy / "test/structure" / line[0], *line[1:]]).returncode:
                return 1
        sources = [copy / "test/main.cpp", copy / "test/unit/catalog/entries.cpp", *(copy / name for name in made if name.startswith("test/"))]
        built = subprocess.run([compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{copy}/include", f"-I{copy}/test",
                                *(f"-I{one}" for one in doctest), *sources, "-o", copy / "tests"])
        if built.returncode:
            return 1
        facts = re.search(r'TEST_CASE\("([^:"]*)', (copy / made[-1]).read_text())[1]
        for case in ("*", f"{facts}*"):
            ran = subprocess.run([copy / "tests", f"--test-case={case}", "--no-intro"], capture_output=True, text=True)
            print(ran.stdout)
            if ran.returncode or re.search(r"test cases: +0 ", ran.stdout):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
