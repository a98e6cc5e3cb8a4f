"""How the Trainer's step is computed: ranks, recomputation, formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts.attention_kernels import add_attention
from ..run_file import Run, Unreadable
from ..values import Values
from .trainer_adapters import NO


def read_ranks(v: Values, run: Run) -> None:
    context = v.number(
        "context_parallel_size",
        "sequence_parallel_degree",
        "sequence_parallel_size",
        default=1,
    )
    tensor = v.number("tensor_parallel_size", "tensor_parallel_degree", default=1)
    if context > 1:
        run.layout["context"] = context
    if tensor > 1:
        run.layout["tensor"] = tensor
    # The second name is that of later releases of transformers (5.24).
    checkpoints = v.get(
        "gradient_checkpointing",
        "activation_checkpointing",
        "use_gradient_checkpointing",
    )
    is_on = checkpoints not in (*NO, "no", "0", 0)
    # LLaMA-Factory has its own name, and it is on unless that is said.
    is_factory = v.get("finetuning_type", "cutoff_len") is not None
    is_off = v.flag("disable_gradient_checkpointing")
    if is_on or (checkpoints is None and is_factory and not is_off):
        run.layout["recompute"] = "full"
    elif (
        checkpoints is None
        and not is_factory
        and v.get("reward_funcs", "num_generations", "use_peft")
    ):
        run.unknown.append("gradient_checkpointing: newer releases of TRL turn it on")
    kernel = v.word("attn_implementation", "flash_attn", default="")
    if v.flag("flash_attention", "use_flash_attn", "use_flash_attention"):
        kernel = "flash_attention_2"
    add_attention(run, "attn_implementation", kernel)


def read_precision(v: Values, accelerate: Mapping[str, Any], run: Run) -> None:
    said = str(v.get("mixed_precision") or accelerate.get("mixed_precision") or "no")
    is_bf16 = v.get("bf16", "bfloat16") in (True, "true", "True", "auto", "full", "1")
    is_fp16 = v.get("fp16", "float16") in (True, "true", "True")
    if v.flag("pure_bf16"):
        is_bf16 = True
    if is_bf16 and is_fp16:
        raise Unreadable("bf16 and fp16 at once: the Trainer stops")
    run.program["precision"] = (
        "bf16" if is_bf16 else "fp16" if is_fp16 else said if said != "no" else "fp32"
    )
