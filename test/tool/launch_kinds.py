#!/usr/bin/env python3
"""Kinds of launch files that people have: what `python -m ashlar_pp.read` makes of each, or why it stops.

usage: launch_kinds.py ASHLAR ROOT

It needs no package. Each file of launches/ has the cases of a program in some of these tables, and may have a `check(folder)`:

* RECORDED: a script, and the commands that it starts;
* WRITTEN: a script, and parts of the run that is written, by dotted keys;
* REFUSED: a script, and a part of the error;
* RECIPES: the values of a configuration, and parts of the run, or of the error.

Each case is a reduction written for this test: a script, or the values of a configuration, with the sizes that the framework itself takes
from it, counted by hand.
"""
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from launch_reading import ROOT, check_run, of_script, read  # noqa: E402
from read import recipes, trainings  # noqa: E402
from read.scripts.launchers import trainings_of  # noqa: E402
from read.readers import names_of  # noqa: E402
from read.scripts.recording import record  # noqa: E402


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"launches_{path.stem}", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def check_recording(folder, script, expected):
    path = Path(folder, "run.sh")
    path.write_text(script + "\n")
    here = os.getcwd()
    os.chdir(folder)
    try:
        made = record(["bash", "run.sh"], seconds=30)
    finally:
        os.chdir(here)
    found = [" ".join([one.program, *one.arguments]) for one in trainings_of(made.commands)]
    assert found == expected, (script, found, made.output)


def check_recipe(folder, tree, expected):
    path = Path(folder, "recipe.json")
    path.write_text(json.dumps(tree))
    check_run(tree, *read("recipe", folder, [str(path)]), expected)


def check_page(section, readers):
    """The page names all that is read."""
    text = (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
    _, begin, text = text.partition(f"\n### {section}\n")
    text = " ".join(text.partition("\n### ")[0].split())
    missing = [name for name in names_of(readers) if name not in text]
    assert begin and not missing, f"docs/predict.md, {section}: {missing}"


def check_tables(folder, cases):
    """Returns the numbers of scripts and of configurations."""
    scripts = {**getattr(cases, "WRITTEN", {}), **getattr(cases, "REFUSED", {})}
    recorded, trees = getattr(cases, "RECORDED", {}), getattr(cases, "RECIPES", [])
    for script, expected in recorded.items():
        check_recording(folder, script, expected)
    for script, expected in scripts.items():
        check_run(script, *of_script(folder, script), expected)
    for tree, expected in trees:
        check_recipe(folder, tree, expected)
    if hasattr(cases, "check"):
        cases.check(folder)
    return len(recorded) + len(scripts), len(trees)


def main():
    check_page("Scripts as bash runs them", trainings.READERS)
    check_page("Recipes", recipes.READERS)
    counts = []
    for path in sorted((Path(__file__).parent / "launches").glob("*.py")):
        with tempfile.TemporaryDirectory() as folder:
            counts.append(check_tables(folder, loaded(path)))
            assert sum(counts[-1]) or hasattr(loaded(path), "check"), path
    print("{} scripts, {} configurations".format(*map(sum, zip(*counts))))


if __name__ == "__main__":
    main()
