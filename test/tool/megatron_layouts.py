#!/usr/bin/env python3
"""Megatron-Core and `--layout` take the same layouts, and Megatron-Core those of `ashlar layout`.

usage: megatron_layouts.py ASHLAR

Random strings of letters go to the parser of megatron-core and to `ashlar predict`. Skipped (77)
without megatron-core.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
CONFIG = {"model_type": "deepseek_v3", "first_k_dense_replace": 1}
RUN = "--cluster 8x8xH100 --sequence 4096 --batch 512 --expert 8 --sharding optimizer".split()


def takes(letters: str, ranks: int, layers: int, predictions: int) -> bool:
    try:
        PipelineParallelLayerLayout(letters, ranks).validate_layer_layout(layers, predictions)
    except AssertionError:
        return False
    return True


def asked(command: str, model: Path, ranks: int, chunks: int, *more: str):
    line = [ASHLAR, command, "--model", str(model), *RUN, "--pipeline", str(ranks), "--chunks", str(chunks), *more, "--as", "json"]
    return subprocess.run(line, capture_output=True, text=True)


def random_letters(roll: random.Random, stages: int, layers: int, predictions: int) -> str:
    """A right layout in half of the cases; else one with a letter more, less or elsewhere."""
    letters = ["E", *"t" * layers, *"m" * predictions, "L"]
    for _ in range(roll.choice([0, 0, 1, 1, 2])):
        at = roll.randrange(len(letters))
        change = roll.randrange(3)
        if change == 0:
            letters.insert(at, roll.choice("EtmL"))
        elif change == 1 and len(letters) > 1:
            letters.pop(at)
        else:
            letters.insert(roll.randrange(len(letters)), letters.pop(at))
    for _ in range(stages - 1):
        letters.insert(roll.randrange(len(letters) + 1), "|")
    return "".join(letters)


def main() -> None:
    roll = random.Random(56)
    taken = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(400):
            ranks, chunks, predictions = roll.choice([2, 4]), roll.choice([1, 2]), roll.choice([0, 1, 2])
            layers = roll.randrange(3, 9)
            model = Path(folder) / "model.json"
            model.write_text(json.dumps(CONFIG | {"num_hidden_layers": layers, "num_nextn_predict_layers": predictions}))
            letters = random_letters(roll, ranks * chunks, layers, predictions)
            ran = asked("predict", model, ranks, chunks, "--layout", letters)
            assert ran.returncode in (0, 2), (letters, ran.stderr)
            # No release of Megatron-Core runs spread losses, and a note says so.
            here = ran.returncode == 0 and "on several stages" not in ran.stdout
            assert takes(letters, ranks, layers, predictions) == here, (letters, ranks, layers, predictions, ran.stderr)
            taken += here
            if not here or ranks * chunks > layers + 2:
                continue
            ran = asked("layout", model, ranks, chunks, "--against", letters)
            assert ran.returncode in (0, 1), ran.stderr
            if ran.stdout:
                found = json.loads(ran.stdout)["layout"]
                assert takes(found, ranks, layers, predictions), found
    assert 100 < taken < 300, taken


main()
