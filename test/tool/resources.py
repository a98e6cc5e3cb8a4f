#!/usr/bin/env python3
"""Files under 64 kB take no command long, and no command much memory.

usage: resources.py ASHLAR [--cases N] [--seed N] [--seconds S] [--bytes B] [--keep FOLDER]

Each case is a file that a command reads, changed at random: numbers at the ends of their range, lists and lines repeated until the file
is almost as large as it may be, parts that are missing or nested. A command answers or refuses within S seconds of processor time (2)
and B bytes (200 MB), and does not crash. Searches get a small budget: what they dispatch is theirs to say.
"""
import argparse
import copy
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from help_examples import lay

LARGEST = 64_000
NUMBERS = [0, -1, 1, 2, 3, 7, 63, 64, 100, 1000, 4096, 65536, 10**6, 2**31 - 1, 2**31, -(2**31), 2**53, 2**62, 2**63 - 1, 10**18, 1e300, 0.5, 1e-300]
COMMANDS = {
    "schedule.json": ["check {}", "show {}", "compare {} 1f1b", "simulate {}", "emit {} --as json", "emit {} --as pytorch-comms", "emit {} --as svg",
                      "search --start {} --budget 3", "check {} --certificate {out}", "show {} --improve 1000"],
    "chimera.json": ["check {}", "compare {}", "simulate {} --latency 1", "check {} --certificate {out}"],
    "shards.json": ["check {}", "show {}", "compare {}", "simulate {}"],
    "schedule.csv": ["check {}", "check --for pytorch {}", "show {}", "emit {} --as json"],
    "comms.csv": ["check {}", "check {} --certificate {out}"],
    "costs.json": ["compare 1f1b zb-h1 -p 2 -m 2 --costs {}", "show 1f1b -p 2 -m 2 --costs {}", "search -p 2 -m 2 --budget 3 --costs {}",
                   "simulate 1f1b -p 2 -m 2 --costs {}"],
    "parts.json": ["compare 1f1b dualpipev -p 2 -m 4 --costs {}", "show dualpipev -p 2 -m 4 --costs {}", "search -p 2 -m 2 --budget 3 --braid --costs {}",
                   "simulate combined-1f1b -p 2 -m 4 --costs {} --as part-trace"],
    "costs.csv": ["compare 1f1b zb-h1 -p 2 -m 4 --per-stage {}", "show 1f1b -p 4 -m 4 --per-micro-batch {}",
                  "search -p 4 -m 4 --per-layer {} --limit-bytes 1GiB --budget 3"],
    "operators.json": ["partition {} -p 2", "partition {} -p 4 --memory 1MiB", "partition {} -p 3 --rated",
                       "partition {} -p 3 --certificate {out}"],
    "towers.json": ["show {}", "check {}"],
    "lengths.txt": ["deal {} -m 16 --tokens 4096 --forward 20ms --backward-input 26ms --backward-weight 14ms --causal 30,46"],
    "model.json": ["tradeoff --model {} --cluster cluster.json"],
    "cluster.json": ["tradeoff --model model.json --cluster {}"],
    "config.json": ["predict --model {} --cluster 4x8xH100 --sequence 4096 --batch 64 --tensor 8 --pipeline 2"],
    "run.json": ["predict --run {}"],
    "trace.json": ["trace-diff {} trace.json"],
    "rank_0.json": ["check --for nccl-flight-recorder {}"],
}


def emitted(ashlar, folder):
    """Writes the files that commands write for others."""
    for name, line in {"schedule.json": "emit v-half -p 2 -m 4 --as json", "chimera.json": "emit chimera -p 4 -m 8 --as json",
                       "shards.json": "emit vocab-1 -p 4 -m 4 --as json", "schedule.csv": "emit 1f1b -p 4 -m 8 --as pytorch",
                       "comms.csv": "emit zb-h1 -p 4 -m 8 --as pytorch-comms", "trace.json": "emit 1f1b -p 4 -m 8 --as trace",
                       "run.json": "predict --model llama3-8b --cluster 2x8xH100 --sequence 8192 --batch 32 --pipeline 2 --as run"}.items():
        ran = subprocess.run([ashlar, *line.split()], cwd=folder, capture_output=True, check=True)
        (folder / name).write_bytes(ran.stdout)
    parts = {"forward": [{"compute": 400}, {"exchange": 200}, {"compute": 400}, {"exchange": 200}],
             "backward": [{"exchange": 200}, {"compute": 400}, {"compute": 400, "of": "weights"}, {"exchange": 200}, {"compute": 100}]}
    for name, stage in {"parts.json": {"layers": 4, "parts": parts}, "costs.json": {"layers": 2, "forward": 2, "backward_input": 3, "backward_weight": 1}}.items():
        (folder / name).write_text(json.dumps({"costs": {"unit": "us", "stages": [stage, stage]}}))
    record = {"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
              "entries": [{"record_id": i, "collective_seq_id": i, "p2p_seq_id": 0, "op_id": i, "process_group": ["0", "default_pg"],
                           "profiling_name": "nccl:all_reduce", "state": "completed", "input_sizes": [[4]], "is_p2p": False} for i in range(4)]}
    (folder / "rank_0.json").write_text(json.dumps(record))


def grown(file, text, dice):
    """A file of the same kind that is right, and almost as large as it may be."""
    if file == "operators.json":
        count = dice.choice([100, 500, 1500, 4000])
        links = dice.choice([0, count - 1, count // 2, 2 * count])
        edges = sorted({tuple(sorted(dice.sample(range(count), 2))) if links != count - 1 else (i, i + 1) for i in range(links)})
        while len(made := json.dumps({"operators": [{"forward": 1 + i % 7, "backward_input": 1} for i in range(count)], "edges": edges}, separators=(",", ":"))) > LARGEST:
            count = count * 3 // 4
            edges = [edge for edge in edges if max(edge) < count]
        return made
    if file == "parts.json":
        value = json.loads(text)
        for stage in value["costs"]["stages"]:
            for parts in stage["parts"].values():
                parts *= dice.choice([10, 100, 400])
        return json.dumps(value, separators=(",", ":"))
    if file.endswith((".csv", ".txt")):
        lines = text.splitlines()
        return "\n".join(lines * dice.choice([10, 100, 1000]))[:LARGEST] + "\n"
    return text


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from places(one, (*path, key))


def changed_json(value, dice):
    value = copy.deepcopy(value)
    for _ in range(dice.choice([1, 1, 2, 4])):
        path = dice.choice(list(places(value)))
        if not path:
            continue
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        how = dice.randrange(6)
        if how == 0 or (isinstance(old, (int, float)) and how < 4):
            holder[path[-1]] = dice.choice(NUMBERS)
        elif isinstance(holder, list) and how < 3:
            more = dice.choice([2, 10, 100, 1000, 10_000])
            holder.extend([copy.deepcopy(old)] * min(more, LARGEST // (len(json.dumps(old)) + 1)))
        elif isinstance(old, list) and old and how == 3:
            holder[path[-1]] = old * dice.choice([2, 16, 256])
        elif how == 4:
            del holder[path[-1]]
        else:
            holder[path[-1]] = [old] if dice.random() < 0.5 else str(old) * dice.choice([1, 100])
    return json.dumps(value)


def changed_text(text, dice):
    lines = text.splitlines()
    for _ in range(dice.choice([1, 1, 2, 4])):
        if not lines:
            break
        at = dice.randrange(len(lines))
        how = dice.randrange(4)
        if how == 0:
            lines[at:at] = [lines[at]] * dice.choice([1, 100, 10_000])
        elif how == 1:
            lines[at] = ",".join([lines[at]] * dice.choice([2, 100, 5_000]))
        elif how == 2:
            digits = [i for i, c in enumerate(lines[at]) if c.isdigit()]
            if digits:
                i = dice.choice(digits)
                lines[at] = lines[at][:i] + str(dice.choice(NUMBERS)) + lines[at][i + 1:]
        else:
            lines = lines * dice.choice([2, 50, 1000])
        lines = "\n".join(line[:LARGEST] for line in lines[:LARGEST])[:LARGEST].split("\n")
    return "\n".join(lines) + "\n"


def run(command, folder, seconds, most):
    """The exit code, seconds of processor time and most bytes of a command."""
    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (10 * int(seconds), 10 * int(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_AS, (16 * most, 16 * most))
    with open(os.devnull, "wb") as nothing, tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=folder, stdout=nothing, stderr=said, preexec_fn=limited)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, said.read(300).decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ashlar")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--bytes", type=int, default=200_000_000)
    parser.add_argument("--keep", type=Path, help="a folder for the files that took too much")
    args = parser.parse_args()
    ashlar = str(Path(args.ashlar).resolve())
    dice = random.Random(args.seed)
    most, longest, wrong = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay(folder)
        emitted(ashlar, folder)
        texts = {file: (folder / file).read_text() for file in COMMANDS}
        for case in range(args.cases):
            file = dice.choice(list(COMMANDS))
            command = dice.choice(COMMANDS[file])
            if dice.random() < 0.3:
                text = grown(file, texts[file], dice)
            else:
                text = changed_json(json.loads(texts[file]), dice) if file.endswith(".json") else changed_text(texts[file], dice)
            if len(text) > LARGEST:
                continue
            odd = folder / f"odd_{file}"
            odd.write_text(text)
            words = [odd.name if word == "{}" else "out.json" if word == "{out}" else word for word in command.split()]
            code, seconds, size, said = run([ashlar, *words], folder, args.seconds, args.bytes)
            most, longest = max(most, size), max(longest, seconds)
            if code not in (0, 1, 2, 3, 4) or seconds > args.seconds or size > args.bytes:
                wrong += 1
                print(f"case {case}: {len(text)} bytes: ashlar {command}: exit {code}, {seconds:.1f} s, {size / 1e6:.0f} MB {said.strip()[:150]}", flush=True)
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    (args.keep / f"{args.seed}_{case}_{file}").write_text(text)
    print(f"{args.cases} cases: the longest took {longest:.2f} s of processor time, the largest {most / 1e6:.0f} MB; {wrong} took too much")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
