"""The division of a model's layers into pipeline stages, by the tool `ashlar`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StageFigures:
    """A stage of a layout.

    Args:
        device (int): Its pipeline rank.
        has (str): Its parts in Megatron-LM's letters: E the embedding, t a layer, m a
            layer that predicts a further token, L the loss.
        first_layer (int): The number of its first layer, from 0.
        layers (int): How many it has.
        forward_seconds (float): Of one micro-batch.
        backward_seconds (float): Likewise.
        state_bytes (float): Parameters, gradients and optimizer.
        kept_bytes (float): Activations of the micro-batches that it holds at once.
        logit_bytes (float): While the loss is taken.
    """

    device: int
    has: str
    first_layer: int
    layers: int
    forward_seconds: float
    backward_seconds: float
    state_bytes: float
    kept_bytes: float
    logit_bytes: float


@dataclass(frozen=True)
class Layout:
    """A division of layers, its predicted step, and the one that it is compared with.

    Args:
        letters (str): As Megatron-LM writes it.
        step_seconds (float): The predicted step.
        bound_seconds (float): No division that fits takes less; 0: none is known.
        peak_bytes (float): Of the fullest device.
        fits (bool): False if no division fits; then this one holds no more than the
            one that it is compared with.
        stages (tuple of StageFigures): In the order of the layers.
        modules (tuple of tuples of str): Those of each stage, as torchtitan names them.
        against (str): The layout that it is compared with; empty: the even division.
        against_seconds (float): The predicted step of that.
        notes (tuple of str): What was left out, or taken for something else.
    """

    letters: str
    step_seconds: float
    bound_seconds: float
    peak_bytes: float
    fits: bool
    stages: tuple[StageFigures, ...]
    modules: tuple[tuple[str, ...], ...]
    against: str
    against_seconds: float
    notes: tuple[str, ...]

    @property
    def percent_slower(self) -> float:
        """How much longer the other division takes, in percent."""
        return 100 * (self.against_seconds / self.step_seconds - 1)

    def megatron(self) -> str:
        """The value of Megatron-LM's `--pipeline-model-parallel-layout`."""
        return self.letters

    def bridge(self, chunks: int = 1) -> dict[str, object]:
        """Fields of the model in Megatron-Bridge's `ConfigContainer`.

        Args:
            chunks (int): Virtual stages of a rank. Default: 1.
        """
        return {
            "pipeline_model_parallel_layout": self.letters,
            "virtual_pipeline_model_parallel_size": chunks if chunks > 1 else None,
        }

    def torchtitan(self) -> list[list[str]]:
        """torchtitan's `module_fqns_per_model_part`."""
        return [list(each) for each in self.modules]


def layout(
    model: str | os.PathLike[str] | Mapping[str, object],
    pipeline: int,
    chunks: int = 1,
    *,
    cluster: str,
    sequence: int,
    batch: int,
    against: str | None = None,
    spread_losses: bool = False,
    tool: str = "ashlar",
    **options: object,
) -> Layout:
    """Divides a model's layers into stages so that its predicted step is shortest.

    Args:
        model (str, path or mapping): A name as ``llama3-70b``, a file, or the keys of a
            Hugging Face `config.json`.
        pipeline (int): Pipeline ranks.
        chunks (int): Virtual stages of each. Default: 1.
        cluster (str): As ``16x8xH100``.
        sequence (int): Tokens of a sequence.
        batch (int): Sequences of a step.
        against (str, optional): A layout to compare with. Default: the even division.
        spread_losses (bool): Losses may be on several stages. Default: False.
        tool (str): The command-line tool. Default: ``ashlar``, on the path.
        **options (object): Others of ``ashlar layout``: ``tensor=8``,
            ``sharding="optimizer"``, ``schedule="v-zb"``; a flag is True.

    Returns:
        Layout: The division, with its figures.

    Raises:
        FileNotFoundError: The tool is not there.
        ValueError: The tool refuses the run; it says why.
    """
    program = shutil.which(tool)
    if program is None:
        raise FileNotFoundError(f"the tool '{tool}' is not on the path: build it first")
    said: dict[str, object] = {
        "cluster": cluster,
        "sequence": sequence,
        "batch": batch,
        "pipeline": pipeline,
        "chunks": chunks,
        "against": against,
        "spread_losses": spread_losses,
        **options,
    }
    words = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
        for name, value in said.items()
        if value is not None and value is not False
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        if isinstance(model, Mapping):
            json.dump(dict(model), file)
            file.flush()
            model = file.name
        run = subprocess.run(
            [program, "layout", f"--model={os.fspath(model)}", *words, "--as=json"],
            capture_output=True,
            text=True,
            check=False,
        )
    if not run.stdout:
        raise ValueError(run.stderr.strip().removeprefix("ashlar: "))
    found = json.loads(run.stdout)
    other = found["against"]
    return Layout(
        letters=found["layout"],
        step_seconds=found["step_seconds"],
        bound_seconds=found["bound_seconds"],
        peak_bytes=found["peak_bytes"],
        fits=found["fits"],
        stages=tuple(StageFigures(**each) for each in found["stages"]),
        modules=tuple(tuple(each) for each in found["torchtitan"]),
        against=other["layout"],
        against_seconds=other["step_seconds"],
        notes=tuple(found["notes"]),
    )
