"""The framework that a training is of, and its run."""

from __future__ import annotations

from collections.abc import Callable

from . import (
    of_ds_chat,
    of_megatron,
    of_nanotron,
    of_olmo_core,
    of_openrlhf,
    of_swift,
    of_torchtitan,
    of_trainer,
    of_verl,
    oumi_run,
    tune_run,
)
from .launchers import Training
from .run_file import Run, Unreadable

_ADVICE = (
    "Read are Megatron-LM's arguments (also slime's), torchtitan's, torchtune's, "
    "oumi's, nanotron's, verl's, ms-swift's, OpenRLHF's, open-instruct's, "
    "DeepSpeed-Chat's, and those of the Trainer of transformers with DeepSpeed or "
    "FSDP. Other programs: describe the run to ashlar predict by its options."
)


# In the order in which they are asked.
_READERS: list[tuple[Callable[[Training], bool], Callable[[Training], Run]]] = [
    (of_torchtitan.is_for, of_torchtitan.read),
    (of_olmo_core.is_for, of_olmo_core.read),
    (tune_run.is_for, tune_run.read),
    (oumi_run.is_for, oumi_run.read),
    (of_verl.is_for, of_verl.read),
    (of_nanotron.is_for, of_nanotron.read),
    (of_swift.is_for, of_swift.read),
    (of_openrlhf.is_for, of_openrlhf.read),
    (of_megatron.is_for, of_megatron.read),
    (of_ds_chat.is_for, of_ds_chat.read),
    (of_trainer.is_for, of_trainer.read),
]


def run_of(training: Training) -> Run:
    """The run that a training starts. Raises Unreadable."""
    for is_for, read in _READERS:
        if is_for(training):
            return read(training)
    raise Unreadable(
        f"{training.program}: its arguments are of no program that is read here. "
        + _ADVICE
    )
