"""The sources of the package alone cannot be imported, and say what to do."""

import pathlib
import shutil
import subprocess
import sys

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
