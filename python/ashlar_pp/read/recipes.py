"""Configuration files of frameworks, told apart by what stands in them."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from .frameworks import (
    of_areal,
    of_automodel,
    of_bridge,
    of_deepspeed,
    of_factory,
    of_flagscale,
    of_foundry,
    of_lingua,
    of_litgpt,
    of_maxtext,
    of_megatron,
    of_nanotron,
    of_nemo1,
    of_nemo_rl,
    of_neox,
    of_olmo,
    of_oumi,
    of_primus,
    of_roll,
    of_torchtitan,
    of_torchtune,
    of_trainer,
    of_veomni,
    of_verl,
    of_xtuner,
    of_xtuner_v1,
    oumi_run,
)
from .readers import RecipeReader, in_words, names_of
from .run_file import Run, Unreadable

# In the order in which they are asked.
READERS: tuple[RecipeReader, ...] = (
    of_nanotron,
    of_verl,
    of_roll,
    of_areal,
    of_primus,
    of_torchtune,
    of_neox,
    of_olmo,
    of_foundry,
    of_litgpt,
    of_veomni,
    of_lingua,
    of_maxtext,
    of_factory,
    of_oumi,
    of_nemo_rl,
    of_flagscale,
    of_xtuner,
    of_xtuner_v1,
    of_automodel,
    oumi_run,
    of_bridge,
    of_nemo1,
    of_torchtitan,
    of_deepspeed,
    of_megatron,
    of_trainer,
)


def reader_of(tree: Any, path: pathlib.Path) -> RecipeReader:
    """The reader of a configuration. Raises Unreadable where there is none."""
    if not isinstance(tree, Mapping):
        raise Unreadable(f"{path} is no configuration with names and values")
    for reader in READERS:
        if reader.is_recipe(tree):
            return reader
    if "distributed_type" in tree:
        raise Unreadable(
            f"{path} is accelerate's: how ranks share the state, without a model and a "
            "batch; read the script that starts the training with it"
        )
    raise Unreadable(
        f"{path} is of no kind that is read here. Read are configurations of "
        f"{in_words(names_of(READERS))}."
    )


def run_of_recipe(tree: Any, path: pathlib.Path) -> Run:
    """The run of a configuration. Raises Unreadable."""
    return reader_of(tree, path).of_recipe(tree, path)
