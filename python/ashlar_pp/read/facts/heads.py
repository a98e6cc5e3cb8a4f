"""Heads in place of logits: of reward models, classifiers, and models of embeddings, as
`ashlar predict --head` takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values

# ms-swift's tasks (swift/model/model_meta.py).
_TASKS = ("seq_cls", "reranker", "embedding")
_OFF = (None, "", False, "false", "False")


def head_of(given: Mapping[str, Any]) -> str:
    """reward_model where Axolotl's reward_model, or ms-swift's task_type, says that the
    model has another head; else empty."""
    if given.get("reward_model") is True or given.get("task_type") in _TASKS:
        return "reward_model"
    return ""


def head_of_program(name: str) -> dict[str, Any]:
    """What TRL's examples say of a head by their names alone: reward_modeling.py, of
    pairs, and prm.py, of two classes of each step."""
    if re.search(r"(?:^|[_/-])reward_model(?:l?ing)?\.py$", name):
        return {"reward_model": True}
    if re.search(r"(?:^|[_/-])prm\.py$", name):
        return {"task_type": "seq_cls", "num_labels": 2}
    return {}


def read_head(v: Values, run: Run) -> bool:
    """Adds the head's outputs; whether a sample is two answers, as RewardTrainer of TRL
    has it. Raises Unreadable for heads that are not known."""
    if v.get("process_reward_model") not in _OFF:
        raise Unreadable("process_reward_model: rewards of steps are not predicted")
    task = v.word("task_type", default="causal_lm").lower()
    is_of_pairs = v.get("reward_model") is True
    if is_of_pairs:
        run.program["head"] = "1"
        v.asked.update(("num_labels", "center_rewards_coefficient"))
    elif task in ("seq_cls", "reranker"):
        run.program["head"] = str(v.number("num_labels", default=1))
    elif task == "embedding":
        run.program["head"] = "0"
    elif task not in ("causal_lm", "none", "", "sft", "pt", "pretrain"):
        raise Unreadable(f"task_type {task}: its head, or its loss, is not known")
    if task in ("reranker", "embedding"):
        run.unknown.append(f"task_type {task}: a sample is several sequences")
    return is_of_pairs
