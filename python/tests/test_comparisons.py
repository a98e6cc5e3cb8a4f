"""The script of docs/comparisons.md runs, and PyTorch's schedules equal the catalog's
of the same name.
"""

import pathlib
import subprocess
import sys

SCRIPT = (
    pathlib.Path(__file__).resolve().parent.parent.parent
    / "bench"
    / "comparisons"
    / "compare.py"
)


def rows(what, *options):
    line = [
        sys.executable,
        "-B",
        str(SCRIPT),
        what,
        "--sizes",
        "4,8",
        "--systems",
        "Ashlar",
        "PyTorch",
        *options,
    ]
    said = subprocess.run(
        line, capture_output=True, text=True, timeout=600, check=True
    ).stdout
    table = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in said.splitlines()
        if row.startswith("|")
    ]
    return table[2:]


def test_every_step_takes_time():
    found = rows("time", "--repeat", "1")
    assert {row[0].split()[0] for row in found} == {"Ashlar", "PyTorch"}
    assert all(float(cell) > 0 for row in found for cell in row[3:])


def test_schedules_of_one_name_are_the_same():
    found = {row[2]: row[3:5] for row in rows("quality")}
    pairs = {
        "interleaved 1F1B": "depth-first",
        "looped BFS": "breadth-first",
        "interleaved zero bubble": "interleaved-zb",
        "ZBV": "zbv",
    }
    for theirs, ours in pairs.items():
        assert found[f"PyTorch: {theirs}"] == found[f"Ashlar: {ours}"]
