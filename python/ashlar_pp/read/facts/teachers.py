"""The teacher of a distillation, as `ashlar predict --teacher` takes it: a frozen model
whose forward runs beside each, and whose weights and logits are held."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values
from .local_models import local_model

# They say which samples are answers of the model, and how the losses mix.
_QUIET = """
    lmbda seq_kd sft_alpha gkd_logits_topk teacher_model teacher_model_name_or_path
    teacher_model_type teacher_model_revision teacher_model_init_kwargs disable_dropout
    max_new_tokens max_completion_length teacher_adapters
""".split()


def add_teacher(
    run: Run,
    name: str,
    folder: pathlib.Path,
    model: Mapping[str, Any] | None = None,
) -> None:
    """By its configuration where that is here; else the tool asks for it."""
    found = model or local_model(name, folder)
    run.program["teacher"] = name if found is None else dict(found)
    if found is None:
        run.notes.append(
            f"the teacher is {name}, which is not on this machine: give --teacher to "
            "ashlar predict"
        )


def read_teacher(v: Values, run: Run, model: str, folder: pathlib.Path) -> None:
    """By arguments of GKD (TRL's gkd_trainer.py, ms-swift's rlhf_args.py), where some
    samples are answers that the model has generated before. Raises Unreadable."""
    name = v.word("teacher_model_name_or_path", "teacher_model")
    if v.flag("offload_teacher_model"):
        raise Unreadable(
            "offload_teacher_model: its weights move to the device and back for each "
            "forward; --set offload_teacher_model=false predicts that they stay",
            flag="offload_teacher_model",
        )
    if v.get("teacher_adapters"):
        run.unknown.append("teacher_adapters: adapters of the teacher")
    if v.get("teacher_model_server"):
        run.notes.append("gkd: a server has the teacher, which is not in the run")
    elif not name or name == model:
        # Its own teacher: as it is, or as it began.
        run.program["frozen_forwards"] = 1
        if name:
            run.program["frozen_copy"] = True
    else:
        add_teacher(run, name, folder)
        _read_sharing(v, run)
    answer = v.number("max_completion_length", "max_new_tokens", default=0)
    share = v.get("lmbda")
    generates = share is None or float(share) > 0  # half of the samples by default
    if generates and answer and "sequence" in run.batch:
        run.batch["sequence"] += answer
    run.notes.append("gkd: one update, with samples of full length; no generation")
    v.asked.update(_QUIET)


def _read_sharing(v: Values, run: Run) -> None:
    """The teacher's own file of DeepSpeed, which has to be of stage 3."""
    said = v.word("teacher_deepspeed")
    if not said:
        return
    stage = (run.arguments.get("zero_optimization") or {}).get("stage")
    if "offload" in said:
        run.unknown.append("teacher_deepspeed: the teacher's weights are on the host")
    elif stage != 3:
        run.unknown.append(
            "teacher_deepspeed: ranks share the teacher's weights, counted whole"
        )
