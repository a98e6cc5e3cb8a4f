"""DeepSpeed under XTuner: the file of its command, with sizes of the configuration."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..run_file import Unreadable
from ..values import Values, found, read_file

# Those of xtuner/configs/deepspeed, by what their names say.
_DEEPSPEED = re.compile(r"deepspeed_zero([123])(_offload)?")


def engine_of(
    tree: Mapping[str, Any], v: Values, path: pathlib.Path
) -> dict[str, Any] | None:
    """The file of --deepspeed, whose sizes are the configuration's own
    (xtuner/tools/train.py)."""
    kind = v.word("optim_wrapper.type").rpartition(".")[2]
    said = v.get("deepspeed")
    if kind == "DeepSpeedOptimWrapper":
        strategy = tree.get("strategy") or {}
        if not str(strategy.get("type", "")).endswith("DeepSpeedStrategy"):
            raise Unreadable(
                f"{path}: strategy: not DeepSpeed's, whose optimizer it has"
            )
        v.asked.update(key for key in v.all if key.startswith("strategy."))
        inner = strategy.get("config") or {
            key: strategy[key]
            for key in ("zero_optimization", "fp16", "bf16")
            if key in strategy
        }
        if isinstance(inner, str):
            inner = read_file(found(inner, path.parent))
        return _with_sizes(inner)
    if tree.get("strategy") is not None:
        raise Unreadable(f"{path}: strategy: only DeepSpeed's is read")
    if said is None:
        return None
    match = _DEEPSPEED.fullmatch(str(said))
    if not match:
        return _with_sizes(read_file(found(str(said), path.parent)))
    zero: dict[str, Any] = {"stage": int(match[1]), "overlap_comm": True}
    for part in ("offload_optimizer", "offload_param") if match[2] else ():
        zero[part] = {"device": "cpu"}
    if match[1] != "3":
        zero.pop("offload_param", None)
    return _with_sizes({"zero_optimization": zero})


def _with_sizes(inner: Any) -> dict[str, Any]:
    """In bf16, where the device has it and nothing says another format."""
    if not isinstance(inner, Mapping):
        raise Unreadable("the configuration of DeepSpeed is no object")
    made = {
        key: value
        for key, value in inner.items()
        if key not in ("train_batch_size", "optimizer", "scheduler")
    }
    made["gradient_accumulation_steps"] = "auto"
    made["train_micro_batch_size_per_gpu"] = "auto"
    formats = {key: dict(made.get(key) or {}) for key in ("bf16", "fp16")}
    is_bf16 = formats["bf16"].get("enabled", "auto") in ("auto", True)
    for key, part in formats.items():
        if part.get("enabled", "auto") == "auto":
            part["enabled"] = is_bf16 == (key == "bf16")
        if part["enabled"] or key in made:
            made[key] = part
    if is_bf16:
        made["fp16"] = {"enabled": False}
    return made
