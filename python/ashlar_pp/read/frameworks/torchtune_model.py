"""Sizes of torchtune's models, by the source of their builders: nothing is imported."""

from __future__ import annotations

import ast
import importlib.util
import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable

# The type of transformers with the same layers, by the builder of components. Phi 3 has
# its matrices apart, as Llama.
_TYPES = {
    "llama2": "llama",
    "llama3": "llama",
    "llama3_1": "llama",
    "llama3_2": "llama",
    "phi3": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma": "gemma",
    "gemma2": "gemma2",
}
# Arguments of components that are read.
READ = (
    "vocab_size num_layers num_heads num_kv_heads embed_dim intermediate_dim head_dim "
    "sliding_window_size tie_word_embeddings q_norm k_norm q_proj_bias k_proj_bias "
    "v_proj_bias"
).split()
_TIED = ("llama3_2", "gemma", "gemma2")  # unless they say otherwise
_NAMES = {
    "vocab_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "embed_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "head_dim": "head_dim",
    "sliding_window_size": "sliding_window",
}


def root_of(folder: pathlib.Path) -> pathlib.Path | None:
    """The folder with torchtune and its recipes: one above, or that of the package."""
    for place in (folder, *folder.resolve().parents):
        if (place / "torchtune" / "_recipe_registry.py").is_file():
            return place
    try:
        spec = importlib.util.find_spec("torchtune")
    except (ImportError, ValueError):
        return None
    return pathlib.Path(spec.origin).parents[1] if spec and spec.origin else None


def model_of(
    builder: str, said: Mapping[str, Any], folder: pathlib.Path
) -> dict[str, Any] | None:
    """As transformers would say it; None where the builder is not read. `said` are the
    arguments that the file gives. Raises Unreadable."""
    package, _, name = builder.rpartition(".")
    name = name.removeprefix("q") if name.startswith("qlora_") else name
    if not package.startswith("torchtune.models."):
        return None
    kind, sizes = name.removeprefix("lora_"), dict(said)
    if kind not in _TYPES:
        found = _call_of(name, package, folder)
        if found is None:
            return None
        kind, sizes = found[0].removeprefix("lora_"), {**found[1], **said}
    return _as_transformers(kind, sizes) if kind in _TYPES else None


def _call_of(
    name: str, package: str, folder: pathlib.Path
) -> tuple[str, dict[str, Any]] | None:
    """What the function of this name calls to return it, and the constants that it
    gives by name."""
    root = root_of(folder)
    path = root and root.joinpath(*package.split("."), "_model_builders.py")
    if not path or not path.is_file():
        return None
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from None
    for one in tree.body:
        if isinstance(one, ast.FunctionDef) and one.name == name:
            return _returned(one)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name):
            if [each.id for each in one.targets if isinstance(each, ast.Name)] == [
                name
            ]:
                return _call_of(one.value.id, package, folder)
        if isinstance(one, ast.ImportFrom) and one.module and one.module != package:
            if name in [each.name for each in one.names]:
                package = one.module.removesuffix("._model_builders")
                return _call_of(name, package, folder)
    return None


def _returned(function: ast.FunctionDef) -> tuple[str, dict[str, Any]] | None:
    last = function.body[-1]
    call = last.value if isinstance(last, ast.Return) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    given = {
        each.arg: each.value.value
        for each in call.keywords
        if each.arg and isinstance(each.value, ast.Constant)
    }
    return None if call.args else (call.func.id, given)


def _has_parts_of(kind: str, sizes: Mapping[str, Any]) -> bool:
    """Whether biases and norms of queries and keys are those of the type."""
    norms = [sizes.get(name, False) for name in ("q_norm", "k_norm")]
    biases = [sizes.get(f"{name}_proj_bias", True) for name in "qkv"]
    if kind == "qwen3":
        return all(norms) and not any(biases)
    return not any(norms) and (kind != "qwen2" or all(biases))


def _as_transformers(kind: str, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
    made = {
        new: sizes[old] for old, new in _NAMES.items() if sizes.get(old) is not None
    }
    if "intermediate_size" not in made and "hidden_size" in made:
        # scale_hidden_dim_for_mlp of torchtune/models/llama3/_model_utils.py.
        width = 4 * (2 * made["hidden_size"] // 3)
        made["intermediate_size"] = -(-width // 256) * 256
    needed = set(_NAMES.values()) - {"head_dim", "sliding_window"}
    if not needed <= set(made) or not _has_parts_of(kind, sizes):
        return None
    made["model_type"] = _TYPES[kind]
    made["tie_word_embeddings"] = bool(sizes.get("tie_word_embeddings", kind in _TIED))
    return made
