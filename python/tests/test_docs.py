"""The code of docs/pytorch.md, and the PyTorch script of docs/start.md, run as the
pages say.
"""

import pathlib
import re
import subprocess
import sys

import pytest

PYTHON = pathlib.Path(__file__).resolve().parent.parent
# not the package's folder, which would be imported instead of the installed package
HERE = PYTHON / "examples"
PAGE = (PYTHON.parent / "docs" / "pytorch.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_blocks_of_the_page_run_in_their_order(capsys, monkeypatch):
    monkeypatch.chdir(PYTHON.parent)
    names = {}
    for block in BLOCKS[1:]:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "passes of one device must not overlap in time 3 10" in printed
    assert "must not wait for each other in a cycle" in printed
    assert len(names["frame"]) > 20


def test_the_page_begins_with_a_script_that_trains():
    pytest.importorskip("transformers")
    assert BLOCKS[0] == (HERE / "piped.py").read_text()
    losses = [float(line.split()[-1]) for line in losses_of("piped.py")]
    assert len(losses) == 3 and losses[0] > losses[1] > losses[2]


def test_the_script_of_the_first_page_trains(tmp_path):
    page = (PYTHON.parent / "docs" / "start.md").read_text()
    script = tmp_path / "train.py"
    script.write_text(
        re.search(r"as `train.py`.*?```python\n(.*?)```", page, re.DOTALL)[1]
    )
    losses = [float(line.split()[-1]) for line in losses_of(script)]
    assert len(losses) == 3 and losses[0] > losses[1] > losses[2]


def test_the_function_of_the_page_is_that_of_the_script():
    shown = next(block for block in BLOCKS if block.startswith("def searched"))
    assert shown in (HERE / "searched.py").read_text()


def losses_of(script):
    line = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(HERE / script),
    ]
    run = subprocess.run(line, capture_output=True, text=True, timeout=600, check=True)
    return [line for line in run.stdout.splitlines() if line.startswith("step")]


def test_the_scripts_before_and_after_print_the_same_losses():
    before = losses_of("existing.py")
    assert len(before) == 3
    assert losses_of("searched.py") == before
