"""Ranks of Megatron-Core in a section of another framework's configuration."""

from __future__ import annotations

from .values import Values

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
