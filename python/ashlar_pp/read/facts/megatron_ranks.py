"""Ranks and stages of Megatron-Core in a section of another framework's
configuration."""

from __future__ import annotations

from collections.abc import Mapping

from ..run_file import Run, Unreadable
from ..values import Values

_NAMES = {
    "tensor": "tensor_model_parallel_size",
    "pipeline": "pipeline_model_parallel_size",
    "context": "context_parallel_size",
    "expert": "expert_model_parallel_size",
}


def megatron_ranks(v: Values, section: str) -> dict[str, int]:
    """By the names of `ashlar predict`; `section` ends with a dot."""
    made = {key: v.number(section + name, default=1) for key, name in _NAMES.items()}
    within = v.get(section + "expert_tensor_parallel_size")
    if isinstance(within, int):
        made["expert_tensor"] = within
    return made


def read_stages(v: Values, run: Run, section: str) -> None:
    """The first and the last stage may have layers of their own number.

    Raises Unreadable.
    """
    parts = ("first", "last")
    keys = [f"{section}num_layers_in_{part}_pipeline_stage" for part in parts]
    first, last = (v.number(key, default=0) for key in keys)
    if not first and not last:
        return
    depth = run.model.get("num_hidden_layers") if isinstance(run.model, Mapping) else 0
    if not isinstance(depth, int) or not depth:
        told = " and ".join(
            f"{n} of the {part}" for n, part in zip((first, last), parts) if n
        )
        run.unknown.append(
            f"stages have layers of their own number ({told}): --layout says them"
        )
        return
    inner = int(run.layout["pipeline"]) - bool(first) - bool(last)
    rest = depth - first - last
    if inner < 1 or rest % inner:
        raise Unreadable(f"{keys[0]}: {rest} layers do not divide into {inner} stages")
    counts = [first] * bool(first) + [rest // inner] * inner + [last] * bool(last)
    run.layout["layout"] = ",".join(map(str, counts))
