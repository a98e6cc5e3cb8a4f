"""The release of transformers that a program runs with, where something says it."""

from __future__ import annotations

import pathlib
import re

from ..values import Values

# Arguments of the Trainer until release 4, which 5 does not take.
_UNTIL_4 = (
    "evaluation_strategy",
    "fp16_backend",
    "fp16_opt_level",
    "fsdp_transformer_layer_cls_to_wrap",
    "group_by_length",
    "half_precision_backend",
    "no_cuda",
    "overwrite_output_dir",
    "per_gpu_train_batch_size",
    "save_safetensors",
)
_FILES = ("*requirements*.txt", "pyproject.toml", "setup.py", "environment.y*ml")
# The least of `>=4.40` says nothing: later ones may be installed.
_PIN = re.compile(
    r"""(?<![\w-])transformers(?:\[[^]]*\])?\s*(?:==|~=|=|<=?|[^"',\n]*,\s*<=?)\s*v?(\d+)(?:\.(\d+))?"""
)


def transformers_of(v: Values, folder: pathlib.Path) -> int:
    """4 or 5; 0 where the words and the files around the program leave it open."""
    if any(v.get(name) is not None for name in _UNTIL_4):
        return 4
    for place in (folder, *folder.absolute().parents[:3]):
        said = _said_in(place)
        if said or (place / ".git").exists():
            return said
    return 0


def _said_in(place: pathlib.Path) -> int:
    for pattern in _FILES:
        for file in sorted(place.glob(pattern)):
            if found := _PIN.search(file.read_text(errors="replace")):
                return _major(found[0], int(found[1]), int(found[2] or 0))
    return 0


def _major(pin: str, major: int, minor: int) -> int:
    """Below 5.0 is 4."""
    is_below = "<" in pin and "<=" not in pin
    return 4 if major < 5 or (is_below and (major, minor) == (5, 0)) else 5
