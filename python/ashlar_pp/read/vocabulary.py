"""The number of words of a tokenizer, by its files or its name."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from .run_file import Unreadable
from .values import read_file

FILE = pathlib.Path(__file__).parent / "vocabularies.json"


def vocabulary_of(kind: str, name: str, folder: pathlib.Path) -> tuple[int, str]:
    """The size, and what says it; 0 where nothing does.

    `kind` is Megatron-LM's name of the tokenizer, `name` its path, or its model of
    Hugging Face; `folder` is that of paths. Files on this machine come first.
    """
    for path in _places(name, folder):
        size = _in_file(path)
        if size:
            return size, f"by {path}"
    table = json.loads(FILE.read_text(encoding="utf-8"))
    best = ("", 0)
    for part in pathlib.PurePath(name.lower()).parts:
        for begin, size in table["names"].items():
            if part.startswith(begin) and len(begin) > len(best[0]):
                best = (begin, size)
    if best[1]:
        return best[1], "by the name of its tokenizer"
    size = table["types"].get(kind, 0)
    return size, f"as {kind} usually has" if size else ""


def _places(name: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """Files that may say the size; nothing is fetched."""
    if not name:
        return []
    own = pathlib.Path(folder, name)
    folders = [own if own.is_dir() else own.parent] if own.exists() else []
    hub = pathlib.Path.home() / ".cache" / "huggingface" / "hub"
    if name.count("/") == 1:
        kept = hub / ("models--" + name.replace("/", "--")) / "snapshots"
        folders.extend(sorted(kept.glob("*")))
    return [
        each / file for each in folders for file in ("config.json", "tokenizer.json")
    ]


def _in_file(path: pathlib.Path) -> int:
    if not path.is_file():
        return 0
    try:
        tree: Any = read_file(path)
    except Unreadable:
        return 0
    if not isinstance(tree, dict):
        return 0
    if path.name == "config.json":
        inner = tree.get("text_config")
        size = tree.get("vocab_size") or (inner or {}).get("vocab_size")
        return int(size) if isinstance(size, int) else 0
    words = (tree.get("model") or {}).get("vocab") or []
    added = [one.get("id", 0) for one in tree.get("added_tokens") or []]
    return max([len(words), *(int(each) + 1 for each in added)])
