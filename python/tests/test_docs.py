"""docs/pytorch.md says what is so."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
PAGE = (HERE.parent / "docs" / "pytorch.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_blocks_of_the_page_run_in_their_order(capsys, monkeypatch):
    monkeypatch.chdir(HERE.parent)
    names = {}
    for block in BLOCKS:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "passes of one device must not overlap in time 3 10" in printed
    assert "must not wait for each other in a cycle" in printed
    assert len(names["frame"]) > 20


def test_the_function_of_the_page_is_that_of_the_script():
    shown = next(block for block in BLOCKS if block.startswith("def searched"))
    assert shown in (HERE / "searched.py").read_text()


def losses_of(script):
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(HERE / script)]
    run = subprocess.run(line, capture_output=True, text=True, timeout=600, check=True)
    return [line for line in run.stdout.splitlines() if line.startswith("step")]


def test_the_scripts_before_and_after_print_the_same_losses():
    before = losses_of("existing.py")
    assert len(before) == 3
    assert losses_of("searched.py") == before
