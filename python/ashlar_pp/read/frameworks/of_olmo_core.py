"""Supervised training of open-instruct by OLMo-core (olmo_core_finetune.py): FSDP
inside a node, copies between nodes."""

from __future__ import annotations

import pathlib

from ..facts.local_models import add_local_model
from ..flags import words_by_name
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, sorted_out

READS = "open-instruct"

_PROGRAM = "olmo_core_finetune.py"
_QUIET = """
    num_epochs learning_rate warmup_ratio weight_decay max_grad_norm lr_scheduler_type
    max_train_steps mixer_list transform_fn target_columns cache_ local_cache skip_cache
    config_hash hf_entity logging_steps with_tracking wandb_ report_to output_dir
    checkpointing_steps ephemeral_save keep_last resume_from exp_name run_name seed
    data_loader_seed dist_timeout save_async chat_template add_bos tokenizer_
    model_revision low_cpu rope_scaling attn_implementation use_slow fused_optimizer
    activation_checkpointing_modules cp_strategy push_ config_name
""".split()


def is_for(training: Training) -> bool:
    return "olmo_core" in training.program


def read(training: Training) -> Run:
    """Raises Unreadable."""
    if training.name != _PROGRAM:
        raise Unreadable(
            f"{training.program}: of what OLMo-core trains, open-instruct's {_PROGRAM} "
            "alone is read; describe the step that trains to ashlar predict by its "
            "options"
        )
    v = Values(words_by_name(training.arguments), training.program)
    if v.flag("cache_dataset_only"):
        raise Unreadable("--cache_dataset_only: it prepares data, and nothing trains")
    run = Run()
    name = v.word("model_name_or_path")
    add_local_model(run, name, pathlib.Path(training.command.folder))
    run.batch = {
        "sequence": v.number("max_seq_length", default=4096),
        "micro_batch": v.number("per_device_train_batch_size", default=8),
        "micro_batches": v.number("gradient_accumulation_steps", default=1),
    }
    context = v.number("cp_degree", default=1)
    run.layout = {"sharding": "full", "context": context}
    run.program = {"precision": "bf16"}
    if not training.devices:
        raise Unreadable(f"{training.program}: its launcher says no devices of a node")
    if (training.nodes or 1) > 1:
        # Gradients are summed over copies after the last micro-batch alone.
        run.layout["shard_ranks"] = max(1, training.devices // context)
        run.program["sum_copies_once"] = True
    _read_recomputation(v, run)
    if not v.flag("compile_model", default=True):
        run.unknown.append("compile_model false: blocks are taken to be compiled")
    if v.word("loss_implementation", default="default") != "default":
        run.unknown.append("loss_implementation: logits are taken to be kept whole")
    run.notes.append("all sequences are taken to be of full length")
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _read_recomputation(v: Values, run: Run) -> None:
    """Raises Unreadable where something runs again."""
    mode = v.word("activation_checkpointing_mode", default="budget")
    budget = float(v.word("activation_memory_budget", default="1"))
    if mode == "budget" and budget < 1:
        raise Unreadable(
            "activation_memory_budget: PyTorch's partitioner decides what runs again; "
            "--set activation_memory_budget=1 predicts without",
            flag="activation_memory_budget",
        )
    if mode != "budget":
        raise Unreadable(
            f"activation_checkpointing_mode {mode}: modules run again one by one, "
            "which no part of --recompute does; --set "
            "activation_checkpointing_mode=budget predicts without",
            flag="activation_checkpointing_mode",
        )
