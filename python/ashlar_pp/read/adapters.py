"""Low-rank adapters of a run, as `ashlar predict --lora` takes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .run_file import Unreadable

_ALL = ("all", "all-linear", "all_linear")


def lora_words(rank: int, targets: Any) -> str:
    """RANK[,targets]. `targets` is "all", a name, names with commas, or a list.

    Raises Unreadable for a pattern: it says no names.
    """
    if isinstance(targets, str):
        if targets in _ALL:
            return str(rank)
        if not re.fullmatch(r"[\w, ]+", targets):
            raise Unreadable(f"{targets}: a pattern says where adapters are")
        targets = targets.replace(",", " ").split()
    if not isinstance(targets, Sequence) or not targets:
        raise Unreadable(
            "nothing says which matrices the adapters are beside; --set "
            "lora_target_modules=NAMES does"
        )
    return ",".join([str(rank), *(str(each) for each in targets)])
