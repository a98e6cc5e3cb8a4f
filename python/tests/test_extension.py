"""The sources of the package alone cannot be imported, and say what to do."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import ashlar_pp


def test_sources_without_the_extension_say_so(tmp_path):
    package = pathlib.Path(ashlar_pp.__file__).parent
    shutil.copytree(
        package,
        tmp_path / "ashlar_pp",
        ignore=shutil.ignore_patterns("_core*", "__pycache__"),
    )
    done = subprocess.run(
        [sys.executable, "-c", "import ashlar_pp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"{tmp_path / 'ashlar_pp'} has the sources of ashlar_pp" in done.stderr
    assert "pip install ." in done.stderr


def test_the_sdist_has_the_folders_that_it_is_built_from():
    root = pathlib.Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("this is no checkout")
    part = (root / "CMakeLists.txt").read_text()
    part = part[part.index("if(ASHLAR_COMPILED_LIBRARY)\n  include(compiled)") :]
    folders = re.findall(r"add_subdirectory\((.*?)\)", part[: part.index("endif()")])
    assert folders
    text = (root / "pyproject.toml").read_text()
    for folder in map(pathlib.PurePosixPath, folders):
        assert any(f'"/{each}/"' in text for each in (folder, *folder.parents))
