#!/usr/bin/env python3
"""Draw the pictures of docs/pictures.md, docs/search.md and docs/graphs.md, and the list of them at its end: every schedule of the catalog.

usage: draw.py TOOL [--check]      with --check nothing is written; what is out of date is named, exit code 1
"""
import re
import subprocess
import sys
from pathlib import Path

TOOL = sys.argv[1]
CHECK = "--check" in sys.argv[2:]
FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parent / "pictures.md"
STUDY = FOLDER.parent.parent / "test" / "data" / "tradeoff"
MARK = "<!-- drawn by docs/pictures/draw.py -->\n"
# Costs of a p-th of the model.
UNEVEN = ["--forward", "20", "--backward-input", "26", "--backward-weight", "14", "--transfer", "1"]
FRONTIERS = {"frontier.svg": ["-p", "8", "-m", "32", "--budget", "500", "--forward", "2", "--backward-input", "2",
                              "--backward-weight", "2"],
             "frontier-uneven.svg": ["-p", "8", "-m", "32", "--budget", "500", *UNEVEN],
             "frontier-variants.svg": ["-p", "4", "-m", "8", "--budget", "60", *UNEVEN, "--checkpoint", "6%",
                                       "--sequence-chunks", "4", "--from", "10%", "--steps", "10"]}
# Pictures of docs/graphs.md.
GRAPHS = {"two-towers.svg": [str(FOLDER / "two-towers.json"), "-m", "8", "--memory"],
          "two-towers-chain.svg": ["1f1b", "-p", "5", "-m", "8", "--memory"],
          "two-towers-stages.svg": [str(FOLDER / "two-towers.json"), "--stages"]}
# Pictures made elsewhere: those of docs/values.md as that page says, of docs/scale.md by bench/scale/study.py (measured, so nobody
# draws them anew), and of docs/architecture.md by test/structure/architecture.py.
OTHERS = {"architecture.svg", *(f"loads-{counts}.svg" for counts in ["micro", "synchronised", "running", "global"]), "scale-time.svg",
            "scale-52B-fast.svg", "scale-52B-slow.svg"}
# The first shape that a schedule takes.
SHAPES = [["-p", "4", "-m", "8"], ["-p", "2", "-m", "8"], ["-p", "1", "-m", "8"]]
# With enough micro-batches for what its authors give.
OWN_SHAPES = {"stp": [["-p", "4", "-m", "12"]]}
stale = []


def ashlar(*arguments):
    return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True).stdout


def put(path, text):
    if path.is_file() and path.read_text() == text:
        return
    stale.append(path.name)
    if not CHECK:
        path.write_text(text)


def emit(file, name, *options):
    """The shape that the picture was drawn for; None where there is no such picture."""
    for shape in OWN_SHAPES.get(name, SHAPES):
        try:
            put(FOLDER / file, ashlar("emit", name, *shape, "--as", "svg", *options))
            return shape
        except subprocess.CalledProcessError as refused:
            if refused.returncode != 2:
                raise
    return None


def entries():
    return [line.split()[0] for line in ashlar("list").splitlines()[1:] if line.strip()]


def main():
    drawn = {"reading-transfers.svg", "tradeoff.svg", *FRONTIERS, *GRAPHS, *OTHERS}
    emit("reading-transfers.svg", "1f1b", "--transfers", "--forward", "2", "--backward-input", "2",
         "--backward-weight", "2", "--transfer", "1")
    put(FOLDER / "tradeoff.svg", ashlar("tradeoff", "--model", str(STUDY / "model.json"),
                                        "--cluster", str(STUDY / "cluster.json"), "--as", "svg"))
    for file, options in FRONTIERS.items():
        put(FOLDER / file, ashlar("frontier", *options, "--as", "svg"))
    for file, arguments in GRAPHS.items():
        put(FOLDER / file, ashlar("emit", *arguments, "--as", "svg"))
    sections = []
    for name in entries():
        shape = emit(f"{name}.svg", name, "--memory")
        if shape is None:
            sys.exit(f"{name} can be drawn for none of {SHAPES}")
        block = f"![building block of {name}](pictures/{name}-block.svg)\n\n"
        if emit(f"{name}-block.svg", name, "--block") is None:
            block = ""
        drawn |= {f"{name}.svg", f"{name}-block.svg"} if block else {f"{name}.svg"}
        about = ashlar("show", name, *shape, "--width", "0").splitlines()[0].removeprefix(name + ": ")
        numbers = f"{shape[1]} devices, {shape[3]} micro-batches"
        sections.append(f"## {name}\n\n{about}; {numbers}.\n\n"
                        f"{block}![{name}, {numbers}](pictures/{name}.svg)\n")
    head = PAGE.read_text().split(MARK)[0]
    put(PAGE, head + MARK + "\n" + "\n".join(sections))
    for file in sorted(FOLDER.glob("*.svg")):
        if file.name not in drawn:
            stale.append(file.name)
            if not CHECK:
                file.unlink()
    print(f"{len(drawn)} pictures, {len(stale)} of the files {'out of date' if CHECK else 'written anew'}"
          + "".join(f"\n  {name}" for name in stale))
    return CHECK and bool(stale)


if __name__ == "__main__":
    sys.exit(main())
