#!/usr/bin/env python3
"""The picture of docs/architecture.md: the folders of include/ashlar, the libraries of tools/, the backends, and who includes whom.

usage: architecture.py ROOT [--check]      with --check nothing is written, and a picture that is out of date is a failure

An arrow means that headers of one include headers of the other. It is left out where a chain of other arrows says the same.
"""
import html
import sys
from pathlib import Path

from floors import includes, read_floors

PICTURE = Path("docs/pictures/architecture.svg")
BESIDE = {"cost": "tools/cost", "plan": "tools/plan", "host": "backends/host", "mpi": "backends/mpi", "cuda": "backends/cuda"}
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 104, 34, 22, 34, 16
COLORS = {"plain": "#dbe9f6", "text": "#e7f2df", "tools": "#ece2f3", "backends": "#fbe7cf"}


def graph(root):
    """Who includes headers of whom, directly, and the kind of each; in the order of docs/design.md."""
    order, plain = read_floors(root)
    kinds = {room: "plain" if room in plain else "text" for room in order} | {name: folder.split("/")[0] for name, folder in BESIDE.items()}
    uses = {}
    for name in kinds:
        folder = root / BESIDE[name] if name in BESIDE else root / "include/ashlar" / name
        used = set()
        for header in [file for kind in ("hpp", "ipp", "cpp") for file in folder.rglob(f"*.{kind}")]:
            targets = [target.removeprefix("ashlar/") for _, target in includes(header) if target.startswith("ashlar/")]
            used |= {target.split("/")[0].removesuffix(".hpp") for target in targets}
        uses[name] = used & set(kinds) - {name}
    return kinds, uses


def reduced(uses):
    """Without what chains of others say, too."""
    below = {}

    def all_below(name):
        if name not in below:
            below[name] = set().union(*({one} | all_below(one) for one in uses[name]))
        return below[name]

    for name in uses:
        all_below(name)
    return {name: {one for one in used if not any(one in below[other] for other in used)} for name, used in uses.items()}


def laid_out(uses):
    """Rows from the top, where core is; each folder in the first row below all that it includes, near to what it includes."""
    row = {}

    def row_of(name):
        if name not in row:
            row[name] = 1 + max((row_of(one) for one in uses[name]), default=-1)
        return row[name]

    for name in uses:
        row_of(name)
    rows = [[name for name in uses if row[name] == number] for number in range(max(row.values()) + 1)]
    users = {name: [other for other in uses if name in uses[other]] for name in uses}
    place = {name: index - len(names) / 2 for names in rows for index, name in enumerate(names)}
    for sweep in range(8):
        for names in rows if sweep % 2 == 0 else reversed(rows):
            near = {name: uses[name] if sweep % 2 == 0 else users[name] for name in names}
            mean = {name: sum(place[one] for one in near[name]) / len(near[name]) if near[name] else place[name] for name in names}
            names.sort(key=lambda name: (round(mean[name], 6), name))
            for index, name in enumerate(names):
                place[name] = index - (len(names) - 1) / 2
    return rows


def drawn(kinds, uses):
    rows = laid_out(uses)
    wide = max(map(len, rows)) * (WIDTH + ACROSS) - ACROSS + 2 * MARGIN
    high = len(rows) * (HEIGHT + DOWN) - DOWN + 2 * MARGIN
    at = {}
    for number, names in enumerate(rows):
        left = (wide - len(names) * (WIDTH + ACROSS) + ACROSS) / 2
        for index, name in enumerate(names):
            at[name] = (left + index * (WIDTH + ACROSS), MARGIN + number * (HEIGHT + DOWN))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" height="{high:g}"'
             ' font-family="sans-serif" font-size="14">',
             f'<title>The folders of include/ashlar, the libraries of tools/ and the backends</title><rect width="{wide:g}" height="{high:g}" fill="white"/>']
    for name, used in uses.items():
        for one in sorted(used):
            x, y = at[name][0] + WIDTH / 2, at[name][1]
            to, bottom = at[one][0] + WIDTH / 2, at[one][1] + HEIGHT
            lines.append(f'<path d="M{x:g} {y:g}C{x:g} {y - DOWN:g} {to:g} {bottom + DOWN:g} {to:g} {bottom:g}" fill="none" stroke="#8a94a0">'
                         f"<title>{name} includes {one}</title></path>")
    for name, (x, y) in at.items():
        lines.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{COLORS[kinds[name]]}" stroke="#5b6670"/>'
                     f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 5:g}" text-anchor="middle">{html.escape(name)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def main():
    root = Path(sys.argv[1]).resolve()
    kinds, uses = graph(root)
    text, picture = drawn(kinds, reduced(uses)), root / PICTURE
    if "--check" not in sys.argv[2:]:
        picture.write_text(text)
    elif not picture.is_file() or picture.read_text() != text:
        print(f"{PICTURE} is out of date: run test/structure/architecture.py .")
        return 1
    print(f"{len(kinds)} boxes, {sum(map(len, uses.values()))} who include others")
    return 0


if __name__ == "__main__":
    sys.exit(main())
