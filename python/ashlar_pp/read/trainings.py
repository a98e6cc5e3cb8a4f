"""The framework that a training is of, and its run."""

from __future__ import annotations

import pathlib

from .frameworks import (
    automodel_run,
    of_colossalai,
    of_ds_chat,
    of_maxtext,
    of_megatron,
    of_nanotron,
    of_olmo_core,
    of_open_instruct,
    of_openrlhf,
    of_skyrl,
    of_swift,
    of_torchtitan,
    of_verl,
    oumi_run,
    trainer_run,
    tune_run,
    xtuner_run,
)
from .readers import LaunchReader, in_words, names_of
from .run_file import Run, Unreadable
from .scripts.launchers import Training

# In the order in which they are asked.
READERS: tuple[LaunchReader, ...] = (
    of_colossalai,
    of_maxtext,
    of_torchtitan,
    of_olmo_core,
    tune_run,
    oumi_run,
    xtuner_run,
    automodel_run,
    of_verl,
    of_skyrl,
    of_nanotron,
    of_swift,
    of_openrlhf,
    of_open_instruct,
    of_megatron,
    of_ds_chat,
    trainer_run,
)


def run_of(training: Training) -> Run:
    """The run that a training starts. Raises Unreadable."""
    for reader in READERS:
        if reader.is_for(training):
            return reader.read(training)
    is_here = pathlib.Path(training.command.folder, training.program).is_file()
    raise Unreadable(
        f"{training.program}: its arguments are of no program that is read here. Read "
        f"are those of {in_words(names_of(READERS))}. Other programs: describe the run "
        "to ashlar predict by its options.",
        file="" if is_here else training.program,
    )
