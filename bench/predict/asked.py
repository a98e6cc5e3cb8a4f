"""Asks `ashlar predict` for rows of measured runs, by constants that `python -m ashlar_pp.measure` wrote."""

import json
import pathlib
import subprocess

NO_OPTIONS = ("step_seconds", "least_seconds", "peak_gib")


def predicted_seconds(ashlar, folder, row, measured):
    """Seconds of a row: options of `ashlar predict`, with models' files in `folder`; `measured` has constants.json and machine.json."""
    measured = pathlib.Path(measured)
    options = {**row, "model": pathlib.Path(folder) / row["model"], "constants": measured / "constants.json"}
    if (measured / "machine.json").exists():
        options["cluster"] = measured / "machine.json"
    words = [ashlar, "predict", "--as", "json"]
    for name, value in options.items():
        if name not in NO_OPTIONS and value != "":
            words += ["--" + name.replace("_", "-"), str(value)]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip())
    return json.loads(ran.stdout)["step_seconds"]


def table(rows, seconds, shown):
    """Lines of a page: columns of each row, measured and predicted milliseconds, and the error."""
    lines = ["| " + " | ".join(shown) + " | measured, ms | predicted, ms | error |", "|---" * (len(shown) + 3) + "|"]
    errors = []
    for row, predicted in zip(rows, seconds):
        measured = row["step_seconds"]
        errors.append(predicted / measured - 1)
        cells = [str(row[name]).removesuffix(".json") for name in shown]
        lines.append("| " + " | ".join(cells) + f" | {1e3 * measured:.0f} | {1e3 * predicted:.0f} | {100 * errors[-1]:+.0f} % |")
    mean = sum(map(abs, errors)) / len(errors)
    return "\n".join(lines) + f"\n\nMean error {100 * mean:.1f} %, worst {100 * max(map(abs, errors)):.0f} %."
