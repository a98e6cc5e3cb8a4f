#!/usr/bin/env python3
"""What readers make of every argument that a framework has: which are passed over without a word.

usage: silent_arguments.py ROOT [again | TABLE PACKAGE]

Each table of test/data/arguments has the arguments of a framework by what the reader does where a run has one of them beside others,
with a value: it is silent, listed as one that may change the result, refused; it changes the run; or the run is the same without a word,
where the argument is read and says what holds anyway. The test asks the reader again. It fails where a pattern swallows an argument that
nobody has looked at.

`again` writes what readers make of the arguments into the tables. With a TABLE and the folder of the framework's PACKAGE, it writes that
table anew, from the fields of the classes, or the keys of the files, that the table names. Look at the differences: each new silent
argument must be one that changes no step.
"""
import ast
import dataclasses
import json
import shlex
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "python" / "ashlar_pp"))

from read.trainings import run_of  # noqa: E402
from read.scripts.launchers import trainings_of  # noqa: E402
from read.recipes import run_of_recipe  # noqa: E402
from read.scripts.recording import Command  # noqa: E402
from read.run_file import Unreadable  # noqa: E402

TABLES = ROOT / "test" / "data" / "arguments"
STOPS = (Unreadable, OSError, ValueError)  # as in launch.py
KINDS = ("silent", "listed", "refused", "changes", "same")


def nested(tree, name, value):
    """The tree with this value at a dotted key."""
    first, dot, rest = name.partition(".")
    below = tree.get(first)
    return {**tree, first: nested(below if isinstance(below, dict) else {}, rest, value) if dot else value}


def without(tree, name):
    first, dot, rest = name.partition(".")
    if first not in tree or (dot and not isinstance(tree[first], dict)):
        return tree
    kept = {key: value for key, value in tree.items() if key != first}
    return {**kept, first: without(tree[first], rest)} if dot else kept


def read(table, tree):
    """The run, the keys that it passes over, and those that may change it."""
    if "words" in table:
        given = [word for key, value in tree.items() for word in (f"--{key}", value if isinstance(value, str) else json.dumps(value))]
        command = Command((*shlex.split(table["words"]), *given), "/", {}, ())
        run = dataclasses.asdict(run_of(trainings_of([command])[0]))
    else:
        with tempfile.NamedTemporaryFile(suffix=".yaml") as file:  # whose remarks readers look at
            run = dataclasses.asdict(run_of_recipe(tree, Path(file.name)))
            run = json.loads(json.dumps(run).replace(file.name, "recipe.yaml"))
    return run, run.pop("not_read"), run.pop("unknown")


def kind_of(table, name, value):
    base = table["base"]
    try:
        before, _, unknown_before = read(table, without(base, name))
    except STOPS:
        before, unknown_before = None, []
    try:
        run, passed, unknown = read(table, nested(base, name, value))
    except STOPS:
        return "refused"
    if any(key.lstrip("-") == name or key.startswith(name + ".") for key in passed):
        return "silent"
    if any(key not in unknown_before for key in unknown):
        return "listed"
    return "same" if run == before else "changes"


def classes_of(folder):
    made = {}
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                made.setdefault(node.name, []).append(node)
    return made


def fields_of(classes, name, seen):
    """The fields of a class and of its bases: their types and defaults, as text."""
    made = {}
    for node in classes.get(name, []) if name not in seen else []:
        seen.add(name)
        for base in node.bases:
            made.update(fields_of(classes, ast.unparse(base).rpartition(".")[2], seen))
        for each in node.body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.isupper():
                made[each.target.id] = (ast.unparse(each.annotation), ast.unparse(each.value) if each.value else "")
    return made


def sample_of(kind, default):
    """A value of this type that is not the default."""
    kind = kind.replace(" ", "")
    if "bool" in kind and "str" not in kind:
        return not (default == "True" or "default=True" in default or default.startswith("Field(True"))
    if "int" in kind and "str" not in kind:
        return 3
    if "float" in kind:
        return 0.3
    return {"x": 1} if kind.startswith("dict") else ["zz"] if kind.startswith(("list", "List")) else "zz"


def leaves_of(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaves_of(value, f"{prefix}{key}.")
        else:
            yield prefix + str(key), value


def another(value):
    """A value of the same type that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return 3 if value != 3 else 4
    return ["zz"] if isinstance(value, list) else {"x": 1} if isinstance(value, dict) else "zz"


def samples_of(table, package):
    made = {}
    classes = classes_of(package) if "classes" in table else {}
    for name, prefix in table.get("classes", {}).items():
        for field, (kind, default) in fields_of(classes, name, set()).items():
            made.setdefault(prefix + field, sample_of(kind, default))
    for name in table.get("files", []):
        import yaml

        tree = yaml.load((package / name).read_text(encoding="utf-8"), type("Loader", (yaml.SafeLoader,), {}))
        for key, value in leaves_of(tree):
            if not key.startswith(tuple(table.get("leaves_out", ()))):
                made.setdefault(key, another(value))
    assert made, "no fields"
    return made


def write(path, package=None):
    table = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: value for key, value in table.items() if key not in KINDS}
    samples = samples_of(table, package) if package else {k: v for kind in KINDS for k, v in table[kind].items()}
    for kind in KINDS:
        table[kind] = {}
    for name, value in samples.items():
        table[kind_of(table, name, value)][name] = value
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items()]
    for kind in KINDS:
        inner = ",\n".join(f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(table[kind].items()))
        lines.append(f'  "{kind}": {{\n{inner}\n  }}' if inner else f'  "{kind}": {{}}')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main():
    if len(sys.argv) > 3:
        write(TABLES / f"{sys.argv[2]}.json", Path(sys.argv[3]))
        return
    if sys.argv[2:] == ["again"]:
        for path in TABLES.glob("*.json"):
            write(path)
        return
    count, wrong = 0, []
    for path in sorted(TABLES.glob("*.json")):
        table = json.loads(path.read_text(encoding="utf-8"))
        assert table["silent"] and table["listed"] and table["changes"], path
        for kind in KINDS:
            for name, value in table[kind].items():
                count += 1
                found = kind_of(table, name, value)
                if found != kind:
                    wrong.append(f"{path.stem}: {name} {value!r} was {kind}, and is {found}")
    assert not wrong, "\n".join([*wrong, "where this is meant: silent_arguments.py ROOT again"])
    print(f"{count} arguments")


if __name__ == "__main__":
    main()
