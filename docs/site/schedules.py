"""A page per schedule of the catalog, made from its entry: what `ashlar` says of it."""

import json
import re
import subprocess

DEVICES = (4, 8)


def run(tool, *words):
    return subprocess.run([tool, *words], capture_output=True, text=True)


def numbers(tool, name):
    """Rows of a table: sizes that the schedule allows, and what they give."""
    rows = []
    for p in DEVICES:
        for m in (p, 2 * p, 4 * p):
            made = run(tool, "compare", name, "-p", str(p), "-m", str(m), "--as", "json")
            if made.returncode:
                continue
            (one,) = json.loads(made.stdout)
            if "makespan" not in one:  # sizes that it does not allow
                continue
            above = f"{100 * one['makespan_gap']:.1f} %" if "makespan_gap" in one else "no bound is known"
            rows.append(
                f"| {p} | {m} | {one['makespan']:g} | {100 * one['bubble_rate']:.1f} % | {max(one['peak_activations']):g} "
                f"| {one['transfers']} | {above} |"
            )
    return rows


def lay(tool, pages):
    """Writes the pages; their names and places, in the catalog's order."""
    listed = []
    table, _, _ = run(tool, "list").stdout.partition("\n\n")  # other names come behind it
    for line in table.splitlines()[1:]:
        name, placement, summary, source = re.split(r" {2,}", line.strip())
        lines = [f"# {name}", "", f"{summary[0].upper()}{summary[1:]}.", "", f"* Source: {source}", f"* Placement: {placement}", ""]
        (pages / "schedules").mkdir(exist_ok=True)
        picture = pages / "schedules" / f"{name}.svg"
        drawn = run(tool, "emit", name, "-p", "4", "-m", "8", "--as", "svg", "--memory", "-o", str(picture))
        if drawn.returncode == 0:
            lines += [f"![{name} on four devices, eight micro-batches]({name}.svg)", ""]
        if rows := numbers(tool, name):
            lines += [
                "With passes of one tick and transfers of none:",
                "",
                "| devices | micro-batches | makespan | bubble | peak activations | transfers | above the bound |",
                "|---|---|---|---|---|---|---|",
                *rows,
                "",
                "The makespan is in passes of a device's share of the model. Peak activations count those of a whole micro-batch in the "
                "whole model as 1. The bound is below every schedule with the same stages, devices and memory.",
                "",
            ]
        lines += ["```sh", f"ashlar show {name} -p 4 -m 8", f"ashlar emit {name} -p 4 -m 8 --as html -o {name}.html", "```", ""]
        lines += ["Formulas for its bubble and its memory are in [the catalog](../catalog.md).", ""]
        (pages / "schedules" / f"{name}.md").write_text("\n".join(lines))
        listed.append((name, f"schedules/{name}.md"))
    return listed
