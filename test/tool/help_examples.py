#!/usr/bin/env python3
"""Every example in the help of every command works, in the order of the help, in a folder with the files that they name.

usage: help_examples.py ASHLAR

Examples that need other programs or GPUs are checked for their options alone: they are given --help. Searches get a small budget, and
trainings few steps.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ASHLAR = str(Path(sys.argv[1]).resolve())


def lay(folder):
    """The files that examples read and none of them writes."""
    for name in ("model.json", "cluster.json"):
        (folder / name).write_text((ROOT / "test/data/tradeoff" / name).read_text())
    (folder / "towers.json").write_text((ROOT / "docs/pictures/two-towers.json").read_text())
    (folder / "lengths.txt").write_text("".join(f"{200 + 137 * i % 1900}\n" for i in range(96)))
    (folder / "layers.csv").write_text("2,3,1\n" * 12)
    (folder / "costs.csv").write_text("2,3,1\n" * 8)
    (folder / "config.json").write_text(json.dumps({
        "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256, "max_position_embeddings": 8192, "hidden_act": "silu", "model_type": "llama"}))
    operators = [{"name": str(i), "forward": 4, "backward_input": 4, "backward_weight": 4, "weights": 4096, "kept": 64, "output": 8}
                 for i in range(6)]
    (folder / "operators.json").write_text(json.dumps({"operators": operators}))


def help_of(*words):
    return subprocess.run([ASHLAR, *words, "--help"], capture_output=True, text=True, check=True).stdout


def examples(text):
    shown = text.split("Examples:\n")[1].split("Exit codes:\n")
    assert len(shown) == 2 and re.search(r"^  2 +\S", shown[1], re.M), text
    return [line.strip() for line in shown[0].splitlines()]


def tried(example):
    """What is run for an example."""
    words = shlex.split(example)
    if words[0] in ("mpirun", "torchrun") or "cuda" in words:
        return [ASHLAR, words[words.index("ashlar") + 1], "--help"]
    for commands, option, value in ((("search", "frontier"), "--budget", "40"), (("train",), "--steps", "2")):
        if words[1] in commands:
            for at in reversed([i for i, word in enumerate(words) if word in (option, "--seconds")]):
                del words[at:at + 2]
            words += [option, value]
    return [ASHLAR, *words[1:]]


def main():
    commands = re.findall(r"^  ([a-z][a-z-]+) {2,}\S", help_of().split("Subcommands:")[1].split("Examples:")[0], re.M)
    order = sorted(commands, key=lambda name: (name != "emit", name != "deal"))  # these write files that others read
    tally, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder))
        for command in order:
            mine = examples(help_of(command))
            if not any(f"ashlar {command}" in example for example in mine):
                wrong.append(f"{command}: no example of its own")
            for example in mine:
                ran = subprocess.run(tried(example), cwd=folder, capture_output=True, text=True, timeout=900)
                tally += 1
                if ran.returncode:
                    wrong.append(f"{example}\n  ended with {ran.returncode}: {ran.stderr.strip() or ran.stdout[-300:]}")
    print("\n".join(wrong + [f"{tally} examples of {len(commands)} commands, {len(wrong)} complaints"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
