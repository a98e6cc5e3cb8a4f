"""Type checkers know the package."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import ashlar_pp

CONFIGURATION = pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml"
STUBS = pathlib.Path(ashlar_pp.__file__).with_name("_core.pyi")


@pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None or not STUBS.exists(),
    reason="mypy is not installed, or the package only linked",
)
def test_mypy_tells_right_calls_from_wrong_ones(tmp_path):
    right = tmp_path / "right.py"
    right.write_text(
        "from ashlar_pp import Costs, linear, search\n"
        "found = search(linear(2), 4, Costs(1, 1, 1), budget=1)\n"
        "makespan: int = found.schedule.makespan\n"
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from ashlar_pp import linear\nlinear('two')\n")
    told = [
        subprocess.run(
            [sys.executable, "-m", "mypy", "--no-incremental", str(one)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        for one in (right, wrong)
    ]
    assert told[0].returncode == 0, told[0].stdout
    assert told[1].returncode == 1 and "[arg-type]" in told[1].stdout, told[1].stdout


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("mypy", "torch"))
    or not STUBS.exists(),
    reason="mypy or torch is not installed, or the package only linked",
)
def test_mypy_has_no_remarks_on_the_package(tmp_path):
    line = [sys.executable, "-m", "mypy", "--no-incremental"]
    line += [
        "--config-file",
        str(CONFIGURATION),
        "-p",
        "ashlar_pp",
        "-p",
        "ashlar_verify",
    ]
    told = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 0, told.stdout
