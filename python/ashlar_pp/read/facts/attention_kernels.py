"""Attention's kernels by their names in transformers, as `ashlar predict --attention`
has them."""

from __future__ import annotations

from ..run_file import Run

_KERNELS = {
    "flash_attention_2": "flash_attention_2",
    "flash_attention_3": "flash_attention_3",
    "fa2": "flash_attention_2",
    "sdpa": "sdpa",
    "eager": "unfused",
    "cudnn": "cudnn",
}
# The default, which is the framework's choice.
_CHOSEN = ("", "auto", "None", "te")


def add_attention(run: Run, key: str, kernel: str) -> None:
    """One that is not known is listed as what may change the result."""
    if kernel in _KERNELS:
        run.program["attention"] = _KERNELS[kernel]
    elif kernel not in _CHOSEN:
        run.unknown.append(f"{key} {kernel}")
