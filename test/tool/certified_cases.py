#!/usr/bin/env python3
"""What commands claim is certified, or they say that it has no certificate.

usage: certified_cases.py ASHLAR PYTHON_FOLDER

The cases are all command lines of those that take --certificate in the documentation, in the help and in the tests of the tool, with a
small budget for searches. Exit code 4 goes with lines `no certificate for …`, and the verifier shows every claim that has a certificate.
Each row of a table of compare, search and frontier must have a certificate whose figures are those of the row, or such a line. The help
of commands whose claims have none says why.
"""
import collections
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from help_examples import ASHLAR, ROOT, examples, help_of, lay

sys.path.insert(0, sys.argv[2])

from ashlar_verify import claims_of  # noqa: E402

COMMANDS = ("check", "search", "compare", "frontier", "show", "simulate", "tradeoff", "plan", "layout", "partition", "deal")
WITHOUT = ("emit", "predict", "profile", "train")
SECONDS = 20
"""A case that takes longer is left out: its search has another budget than evaluations."""


def lines():
    """The command lines, without the program's name."""
    found = [example.removeprefix("ashlar ") for command in COMMANDS for example in examples(help_of(command))]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found += re.findall(r"^(?:\$ )?ashlar ((?:%s) [^|<>\n]*)$" % "|".join(COMMANDS), page.read_text(), re.M)
    for test in sorted((ROOT / "test/tool").glob("*.cpp")):
        found += re.findall(r'"((?:%s) [^"\\]*)"' % "|".join(COMMANDS), test.read_text())
    return sorted({line.strip() for line in found if line.startswith(COMMANDS) and "--help" not in line})


def tried(line):
    """The words of a case: text for people, a small budget, and no file but the certificates'."""
    words = shlex.split(line)
    for option in ("--as", "-o", "--output", "--budget", "--seconds", "--certificate"):
        while option in words:
            at = words.index(option)
            del words[at:at + 2]
    return [ASHLAR, *words, *(["--budget", "20"] if words[0] in ("search", "frontier") else []), "--certificate", "claims.json"]


def rows_of(text):
    """The first table: a dictionary for each line below the headings."""
    heads, rows = None, []
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if heads is None:
            if len(cells) > 3:
                heads = cells
        elif len(cells) != len(heads):
            break
        else:
            rows.append(dict(zip(heads, cells)))
    return rows


def gaps(certificate):
    """By kind of time: by how much of its bound the schedule takes more, in percent."""
    return {one["of"]: 100 * (certificate[one["of"]] / one["least"] - 1) for one in certificate["bounds"] if one["least"]}


def is_near(text, value, least=0.006):
    digits = len(text.rstrip("%").partition(".")[2])
    return abs(float(text.rstrip("%")) - value) <= max(least, 0.51 * 10.0 ** -digits)


def least_overhead(certificate):
    work = (1 - certificate["overhead_span"]) * certificate["span"]  # of the busiest device, without what it runs again
    return 100 * (1 - work / next(one["least"] for one in certificate["bounds"] if one["of"] == "span"))


def has_row(command, row, certificates):
    """Whether certificates have the figures of a row."""
    if command == "compare":
        own = [gaps(one) for one in certificates if one["schedule"] == row["schedule"]]
        return any(is_near(row["gap %"], found["span"], 0.06) for found in own if "span" in found) or bool(own and row["gap %"] == "-")
    if command == "search":
        return any(is_near(row["gap %"], gap) for one in certificates for gap in gaps(one).values())
    # A schedule within a smaller limit is one within a larger limit: another certificate may have the bound.
    spans = [one for one in certificates if "span" in gaps(one)]
    return any(is_near(row["overhead %"], 100 * one["overhead_span"]) for one in spans) and any(
        is_near(row["no less than %"], least_overhead(one)) for one in spans)


def judged(words, folder, tally):
    """What is wrong with a case, in words."""
    claims = folder / "claims.json"
    claims.unlink(missing_ok=True)
    try:
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        tally["longer"] += 1
        return None
    command, missing = words[1], re.findall(r"no certificate for (.*?): ", ran.stderr)
    if ran.returncode not in (0, 4):
        tally["refused"] += 1
        return None
    if (ran.returncode == 4) != bool(missing):
        return f"exit code {ran.returncode}, and {len(missing)} claims have no certificate"
    if not claims.exists():
        return "it writes no certificates"
    certificates = json.loads(claims.read_text())["certificates"]
    states = collections.Counter(claim.state for one in certificates for claim in claims_of({"ashlar_certificates": 1, "certificates": [one]}))
    if set(states) - {"shown"}:
        return f"claims are {dict(states)}"
    tally["shown"] += states["shown"]
    tally["said to have none"] += len(missing)
    schedules = [one for one in certificates if one["certificate"] == "schedule"]
    if command not in ("check", "search", "compare", "frontier"):
        tally["cases of others"] += 1
        return None if certificates or missing or "--block" in words else "there is neither a certificate nor a reason"
    if command == "check":
        said = ran.stdout.count(": valid") + ran.stdout.count("deadlock-free")
        return None if said <= len(certificates) + len(missing) else f"{said} claims, {len(certificates)} certificates, {missing}"
    for row in rows_of(ran.stdout):
        names = [re.escape(row[key]) for key in ("schedule", "placement") if key in row]
        is_missing = any(re.search(rf"(^| of )({'|'.join(names)})($|, )", one) for one in missing)
        if not is_missing and not has_row(command, row, schedules):
            return f"nothing certifies {row}"
        tally["rows"] += 1
    return None


def main():
    tally, wrong = collections.Counter(), []
    for command in WITHOUT:
        assert "No certificate: " in help_of(command) and "--certificate" not in help_of(command), command
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay(folder)
        for line in lines():
            try:
                words = tried(line)
            except ValueError:  # a piece of a line
                continue
            tally["cases"] += 1
            if problem := judged(words, folder, tally):
                wrong.append(f"ashlar {line}: {problem}")
    print(", ".join(f"{count} {what}" for what, count in tally.items()))
    print("\n".join(wrong))
    assert tally["rows"] > 200 and tally["shown"] > 1000, tally
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
