"""Compares the layouts that recipes have typed with those that `ashlar layout` finds.

    bench/layouts/recipes.py build/test/ashlar [docs/layouts.md]

prints a table in Markdown, or ends with 1 if the page has another one. It ends with 1, too, if
a typed layout is faster. The search knows nothing of what was typed, unless nothing fits (a
star): then it may hold as much memory as the typed layout.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile


def answer(tool: str, command: str, options: list[str]) -> dict[str, object]:
    run = subprocess.run(
        [tool, command, *options, "--as", "json"], capture_output=True, text=True
    )
    if run.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(options)}: {run.stderr}")
    return json.loads(run.stdout) if run.stdout else {"fits": False}


def compare(tool: str, run: dict[str, str], files: dict[str, str]) -> tuple[float, str]:
    """The percent that the typed layout takes longer, and a row of the table."""
    options = [files.get(each, each) for each in run["options"].split()]
    typed = answer(tool, "predict", [*options, "--layout", run["layout"]])
    found = answer(tool, "layout", options)
    star = "" if found["fits"] else "*"
    if star:
        found = answer(tool, "layout", [*options, "--against", run["layout"]])
    percent = 100 * (typed["step_seconds"] / found["step_seconds"] - 1)
    said = dict(re.findall(r"--(pipeline|chunks) (\d+)", run["options"]))
    layouts = [text.replace("|", "\\|") for text in (run["layout"], found["layout"])]
    return percent, (
        f"| {run['recipe']} | {said['pipeline']} x {said.get('chunks', 1)} "
        f"| `{layouts[0]}` | `{layouts[1]}`{star} | {percent:+.1f} % |"
    )


def main(tool: str, page: str = "") -> int:
    known = json.loads((pathlib.Path(__file__).parent / "recipes.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.json" for name in known["models"]}
        for name, config in known["models"].items():
            pathlib.Path(files[name]).write_text(json.dumps(config))
        rows = [compare(tool, run, files) for run in known["runs"]]
    head = "| recipe | ranks x virtual | typed | found | typed takes |\n|---|---|---|---|---|"
    table = "\n".join([head, *(row for _, row in rows)])
    if not page:
        print(table)
    elif table not in pathlib.Path(page).read_text():
        print(f"{page} has another table than\n{table}")
        return 1
    return int(any(percent < -1e-6 for percent, _ in rows))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
