"""The release of transformers, by words and by pins."""

import pytest

from ashlar_pp.read.facts.releases import transformers_of
from ashlar_pp.read.values import Values


@pytest.mark.parametrize(
    ("file", "text", "release"),
    [
        ("requirements.txt", "torch\ntransformers==4.44.2\n", 4),
        ("requirements.txt", "transformers>=4.40\n", 0),
        ("requirements.txt", "transformers[torch]>=4.40,<5\n", 4),
        ("requirements.txt", "transformers>=4.40,<6\n", 5),
        ("requirements.txt", "transformers<=5.1\n", 5),
        ("requirements_train.txt", "transformers ~= 5.2\n", 5),
        ("requirements.txt", "sentence-transformers==5.1\n", 0),
        ("pyproject.toml", 'dependencies = ["transformers==4.37.2", "x"]\n', 4),
        ("environment.yml", "dependencies:\n  - transformers=4.31.0\n", 4),
        ("setup.py", 'install_requires=["transformers >= 5.0.0, < 6"]\n', 5),
    ],
)
def test_a_pin_says_the_release(tmp_path, file, text, release):
    (tmp_path / ".git").mkdir()
    (tmp_path / file).write_text(text)
    (tmp_path / "scripts").mkdir()
    for folder in (tmp_path, tmp_path / "scripts"):
        assert transformers_of(Values({}, ""), folder) == release


def test_words_of_an_old_release_say_it(tmp_path):
    (tmp_path / ".git").mkdir()
    given = {"evaluation_strategy": "no"}
    assert transformers_of(Values(given, ""), tmp_path) == 4
    assert transformers_of(Values({"eval_strategy": "no"}, ""), tmp_path) == 0
