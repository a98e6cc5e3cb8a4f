"""Counts how often a cause is named right. Usage: judge.py FOLDER TOOL fr|hook, where
FOLDER has what record.py left, in folders of its runs, and TOOL is `ashlar`. PyTorch's
analyser sees the same dumps.
"""

import collections
import contextlib
import io
import json
import logging
import pathlib
import re
import subprocess
import sys

from torch.distributed.flight_recorder.components import builder
from torch.distributed.flight_recorder.components.config_manager import JobConfig
from torch.distributed.flight_recorder.components.loader import read_dir

KINDS = {
    "in different operations": "kind",
    "different sizes": "size",
    "different element types": "dtype",
    "in a circle": "circle",
    "no record here": "no record",
    "not issued what others": "never issued",
    "the next one has not issued": "in turn",
}
CROSSING = {
    "communicators": {"in turn"},
    "kinds": {"kind"},
    "sends": {"circle"},
    "blocking": {"in turn"},
    "ring": {"in turn"},
    "lazy": {"in turn"},
    "batches": {"circle", "in turn"},
}


def told(tool, folder, running):
    line = [tool, "check", "--for", "nccl-flight-recorder", str(folder)]
    done = subprocess.run(
        line + ["--running"] * running, capture_output=True, text=True, check=False
    )
    kind = next((kind for words, kind in KINDS.items() if words in done.stdout), "")
    ranks = {int(rank) for rank in re.findall(r"ranks? (\d+)", done.stdout)}
    return done.returncode, kind, ranks, done.stdout + done.stderr


def told_by_pytorch(folder):
    """Whether PyTorch's analyser complains, and the ranks that it names."""
    words = io.StringIO()
    handler = logging.StreamHandler(words)
    loggers = [
        logging.getLogger(name)
        for name in list(logging.root.manager.loggerDict)
        if "flight" in name.lower() or name == "fr"
    ] + [logging.getLogger()]
    for logger in loggers:
        logger.addHandler(handler)
    arguments = JobConfig().parse_args(
        [str(folder), "--prefix", "rank_", "--allow-incomplete-ranks"]
    )
    with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
        try:
            details, version = read_dir(arguments)
            builder.build_db(details, arguments, version)
        except BaseException as error:
            words.write(f"failed {type(error).__name__}: {error}")
    for logger in loggers:
        logger.removeHandler(handler)
    text = words.getvalue()
    ranks = {int(rank) for rank in re.findall(r"Culprit rank (\d+)", text)}
    for missing in re.findall(r"(?:missing ranks|from ranks)[:( ]*\{([\d, ]+)\}", text):
        ranks |= {int(rank) for rank in missing.split(",")}
    complains = re.search(
        r"Culprit|missing ranks|error|MISMATCH|failed|cannot decide", text
    )
    return bool(complains), ranks, text


def right(case, hit, dead, kind, ranks):
    what = case["fault"]["what"]
    if what == "self":
        return kind in CROSSING[case["schedule"]]
    if dead:
        return kind == "no record" and set(dead) <= ranks
    at_barrier = hit["operation"] == "barrier"
    expected = {
        "stop": {"never issued"},
        "size": {"kind"} if at_barrier else {"size", "dtype"},
        "dtype": {"kind"} if at_barrier else {"size", "dtype"},
        "kind": {"kind"} if hit["peer"] is None else set(KINDS.values()),
        "drop": set(KINDS.values()),
    }
    return kind in expected[what] and hit["rank"] in ranks


def main():
    root, tool, form = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    counts, pytorch = collections.Counter(), collections.Counter()
    for folder in sorted(root.glob("*/*/")):
        truths = [json.loads(p.read_text()) for p in sorted(folder.glob("truth_*"))]
        if not truths:
            continue
        case, hung = truths[0]["case"], any(truth["hung"] for truth in truths)
        failed = any(truth["failure"] for truth in truths)
        dumps = folder / form
        ranks_there = {int(p.name.split("_")[1]) for p in dumps.iterdir()}
        dead = [rank for rank in range(len(truths)) if rank not in ranks_there]
        if not case.get("fault"):
            if hung or failed:
                continue
            name = "snapshot" if case.get("snapshot") else "healthy"
            code, _, _, text = told(tool, dumps, name == "snapshot")
            complains = told_by_pytorch(dumps)[0]
            counts[name, "right" if code == 0 else "FALSE"] += 1
            pytorch[name, "FALSE" if complains else "right"] += 1
            if code != 0:
                print(folder, text)
            continue
        if not hung:
            continue
        hit = next((truth["hit"] for truth in truths if truth["hit"]), None)
        code, kind, ranks, text = told(tool, dumps, False)
        good = code == 1 and right(case, hit, dead, kind, ranks)
        what = case["schedule"] if hit is None else case["fault"]["what"]
        counts[f"fault {what}", "right" if good else "WRONG"] += 1
        counts["fault", "right" if good else "WRONG"] += 1
        complains, named, _ = told_by_pytorch(dumps)
        culprits = set(dead) or ({hit["rank"]} if hit else set(range(len(truths))))
        state = "right" if named & culprits else "silent" if not complains else "WRONG"
        pytorch["fault", state] += 1
        if not good:
            print(folder, hit, dead, text)
    for title, table in (("ashlar", counts), ("PyTorch's analyser", pytorch)):
        print(title)
        for (name, state), count in sorted(table.items()):
            print(f"  {name}: {state} {count}")


if __name__ == "__main__":
    main()
