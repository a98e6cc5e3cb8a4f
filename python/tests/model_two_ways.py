"""Predicts runs of a model read from its config.json and from its module, and compares.

usage: python python/tests/model_two_ways.py ASHLAR [CONFIG.json | TYPE ...]

ASHLAR is the tool. Default: each type that the tool knows, with transformers' default
configuration. Parameters must be equal to 0.1 %, steps and peaks of memory to 1 %.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ashlar_pp.read.model import describe
from ashlar_pp.read.modules.sources import read_source
from ashlar_pp.read.modules.walked import Unreadable

RUN = ["--cluster", "64x8xH100", "--sequence", "4096", "--batch", "1024"]
RUN += ["--sharding", "full", "--data", "512", "--as", "json"]
FIGURES = {
    "parameters": 0.001,
    "active_parameters": 0.001,
    "step_seconds": 0.01,
    "peak_bytes": 0.01,
}


def predicted(tool, path):
    """What the tool says of a model; a text if it refuses it."""
    told = subprocess.run(
        [tool, "predict", "--model", str(path), *RUN], capture_output=True, text=True
    )
    return json.loads(told.stdout) if told.stdout.startswith("{") else told.stderr


def known_types(tool):
    """The types that the tool reads from a config.json."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write('{"model_type": "?"}')
        file.flush()
        told = predicted(tool, file.name)
    return told.split("there are: ")[1].split(";")[0].split()


def compare(tool, name, folder):
    """A line about one model, and whether both ways agree; None: only one reads it."""
    path = pathlib.Path(name)
    if not path.exists():
        path = folder / "config.json"
        try:
            path.write_text(json.dumps(CONFIG_MAPPING[name]().to_dict(), default=str))
        except Exception as error:
            return f"{name}: has no default: {str(error)[:80]}", None
    try:
        made = describe(read_source(str(path), 176))
    except Unreadable as error:
        return f"{name}: not read: {str(error)[:120]}", None
    if "architecture" not in made:
        return f"{name}: {made['no_architecture']}", None
    module = folder / "module.json"
    module.write_text(json.dumps(made))
    by_keys, by_module = predicted(tool, path), predicted(tool, module)
    for told in (by_keys, by_module):
        if isinstance(told, str):
            return f"{name}: {told.strip()[:160]}", None
    off = {
        figure: by_module[figure] / by_keys[figure] - 1
        for figure in FIGURES
        if by_keys.get(figure)
    }
    agree = all(abs(value) <= FIGURES[figure] for figure, value in off.items())
    words = ", ".join(f"{figure} {100 * value:+.3f} %" for figure, value in off.items())
    return f"{name}: {words}", agree


def main():
    """Prints a line for each model, and how many agree."""
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    tool = sys.argv[1]
    agree = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or known_types(tool):
            line, same = compare(tool, name, pathlib.Path(folder))
            print(line, flush=True)
            agree += same is True
            differ += same is False
    print(f"{agree} agree, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
