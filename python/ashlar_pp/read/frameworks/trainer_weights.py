"""The format that a program over the Trainer loads a model in.

The Trainer casts products only. Where the model is loaded in 16 bits, its weights,
gradients and state are in 16 bits too, unless DeepSpeed or FSDP holds them in 32
(accelerate: Accelerator.prepare_model and fsdp2_prepare_model).
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from ..facts.optimizers import add_held_in_16
from ..facts.releases import transformers_of
from ..run_file import Run
from ..values import Values

_NAMES = ("torch_dtype", "dtype", "model_dtype")
_IN_16 = ("bfloat16", "bf16", "float16", "fp16", "half")
_IN_32 = ("float32", "fp32", "float")


def read_weights(v: Values, run: Run, folder: pathlib.Path) -> None:
    said, is_told = _said(v, run)
    if run.program.get("lora"):
        _add_frozen(v, run, said, is_told)
        return
    if said and not is_told:
        run.unknown.append(
            f"torch_dtype {said}: weights and state are taken in 32 bits"
        )
    holds_32 = run.framework == "deepspeed" or run.layout.get("sharding") != "none"
    if not said and not holds_32 and transformers_of(v, folder) != 4:
        run.unknown.append(
            "torch_dtype is not said: weights and state are taken in 32 bits, as "
            "transformers 4 loads them; 5 loads them as the model's file has them"
        )
    if said in _IN_16 and not holds_32:
        add_held_in_16(run, v.word("optim", "optimizer", default="adamw_torch"))


def _said(v: Values, run: Run) -> tuple[str, bool]:
    """The format, and whether it is one."""
    said = v.word(*_NAMES).rpartition(".")[2]
    if said == "auto" and isinstance(run.model, Mapping):
        said = str(run.model.get("dtype") or run.model.get("torch_dtype") or said)
    if v.flag("pure_bf16"):
        said = "bfloat16"
    elif v.get("finetuning_type", "cutoff_len") is not None:
        said = "float32"  # LLaMA-Factory holds what trains so (model/adapter.py)
    elif v.get("base_model") is not None:
        # Axolotl loads it as it computes (utils/config/__init__.py).
        said = str(run.program.get("precision"))
    return said, said in (*_IN_16, *_IN_32)


def _add_frozen(v: Values, run: Run, said: str, is_told: bool) -> None:
    """Beside adapters, which train in 32 bits (peft's autocast_adapter_dtype).
    DeepSpeed casts frozen weights as it computes, and LLaMA-Factory loads them so."""
    is_cast = run.framework == "deepspeed" or v.get("finetuning_type", "cutoff_len")
    is_packed = run.program.get("frozen_weights")
    if is_cast or is_packed or run.program.get("precision") == "fp32":
        return
    if not is_told:
        run.unknown.append(
            "torch_dtype, which says the format of frozen weights: taken to be 16 bits"
        )
    elif said in _IN_32:
        run.unknown.append(
            "torch_dtype float32: frozen weights in 32 bits take more than said"
        )
