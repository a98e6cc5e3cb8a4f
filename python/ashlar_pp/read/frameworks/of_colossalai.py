"""Programs of ColossalAI over its plugins: Colossal-LLaMA, ColossalChat, and the
benchmarks of its examples, by their arguments."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.local_models import add_local_model
from ..facts.preferences import add_preference, double_batch, preference_of
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..scripts.program_defaults import arguments_of, given_of, syntax_of, table_of
from ..scripts.python_values import CALL
from ..values import Values, found, read_file, sorted_out
from .of_colossalai_plugins import add_plugin
from .trainer_adapters import usual_places

READS = "ColossalAI"

_QUIET = """
    dataset eval_dataset save_ log_dir tensorboard_dir config_file config num_epochs
    max_epochs lr weight_decay warmup_ grad_clip pad_token padding_mode skip_save
    num_samples benchmark tokenizer_dir use_wandb model_type beta gamma lam lmbd
    length_normalization disable_loss_mask use_neft num_steps ignore_steps profile nsys
    no_cache load_checkpoint checkpoint_path memory_limit warmup_ratio auto_weight
    desirable_weight undesirable_weight max_prompt_length max_completion_length
    target_kl loss_type sp_mode enable_sequence_parallelism overlap_p2p loss_fn
    disable_reference_model
""".split()
# transformers' own sizes of Llama, where a table leaves them.
_LLAMA = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
_OTHERS = {
    "ppo": "it generates, and trains a critic beside the actor",
    "grpo": "it generates answers in its step",
    "rl_example": "it generates answers in its step",
    "infer": "nothing trains",
    "inference": "nothing trains",
}


def is_for(training: Training) -> bool:
    words = {word.partition("=")[0] for word in training.arguments}
    plugins = {"--plugin", "-p"} & words
    return training.launcher == "colossalai" or bool(plugins and _imports(training))


def _imports(training: Training) -> bool:
    path = pathlib.Path(training.command.folder, training.program)
    return path.is_file() and b"colossalai" in path.read_bytes()


def read(training: Training) -> Run:
    """Raises Unreadable."""
    folder = pathlib.Path(training.command.folder)
    name = pathlib.Path(training.program).stem
    for part, why in _OTHERS.items():
        if name.endswith(part):
            raise Unreadable(
                f"{training.program}: {why}; describe the step that trains to ashlar "
                "predict by its options"
            )
    path = folder / training.program
    tree = syntax_of(path)
    known = arguments_of(tree) if tree is not None else {}
    given = given_of(training.arguments, known)
    unknown = [key for key in given if known and key not in dict(known.values())]
    if unknown:
        raise Unreadable(
            f"--{unknown[0]}: no argument of {training.program}, which stops at it",
            flag=unknown[0],
        )
    v = Values(given, f"{training.program}{'' if known else ', which is not here,'}")
    run = Run()
    kind = preference_of({}, name)
    table = None if tree is None else table_of(tree, "MODEL_CONFIGS", path)
    _add_model(v, run, folder, table)
    _add_batch(v, run)
    add_plugin(v, run, training.nodes * training.devices)
    _add_adapters(v, run, folder)
    if v.flag("use_grad_checkpoint", "grad_checkpoint"):
        run.layout["recompute"] = "full"
    if v.get("use_flash_attn", "xformers") not in (None, False):
        run.program["attention"] = "flash_attention_2"
    if kind == "dpo" and "simpo" in v.word("loss_type"):
        kind = "simpo"
    if name.endswith("rm"):
        run.program["head"] = "1"
        double_batch(run)
    elif kind:
        add_preference(run, kind)
        if v.number("ref_tp", default=1) > 1:
            run.unknown.append("ref_tp: tensor ranks that hold the reference")
    v.get("ref_tp")
    run.not_read, others = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(others)
    return run


def _add_model(v: Values, run: Run, folder: pathlib.Path, table: Any) -> None:
    if v.flag("freeze_non_embeds_params"):
        raise Unreadable(
            "freeze_non_embeds_params: say to ashlar predict, by --train-only, what "
            "trains",
            flag="freeze_non_embeds_params",
        )
    size = v.get("config")
    entry = table.get(size) if isinstance(table, Mapping) else None
    if isinstance(entry, Mapping) and str(entry.get(CALL)).endswith("LlamaConfig"):
        own = {k: value for k, value in entry.items() if k != CALL}
        run.model = {"model_type": "llama", **_LLAMA, **own}
        return
    name = v.word("pretrained", "pretrain", default=str(size or ""))
    add_local_model(run, name, folder)


def _add_batch(v: Values, run: Run) -> None:
    """In a pipeline, a batch of a data rank is its micro-batches."""
    batch = v.number("batch_size")
    steps = v.number("accumulation_steps", default=1)
    run.batch["sequence"] = v.number("max_length", "max_len")
    if v.word("plugin").startswith("3d") and v.number("pp", default=1) > 1:
        micro = v.number("microbatch_size", "mbs", default=1)
        if not micro or batch % micro:
            raise Unreadable(f"batch_size {batch} is no multiple of {micro}")
        run.batch.update(micro_batch=micro, micro_batches=batch // micro)
    else:
        v.get("microbatch_size", "mbs")
        run.batch.update(micro_batch=batch, micro_batches=steps)
    run.notes.append("all sequences are taken to be of full length")


def _add_adapters(v: Values, run: Run, folder: pathlib.Path) -> None:
    """By a rank, with peft's own places, or by a file of peft's configuration."""
    rank = v.number("lora_rank", default=0)
    targets: Any = None
    if file := v.word("lora_config"):
        tree = read_file(found(file, folder))
        if not isinstance(tree, Mapping) or tree.get("use_dora"):
            raise Unreadable(f"{file}: no configuration of LoRA that is read here")
        rank, targets = int(tree.get("r", 8)), tree.get("target_modules")
        if tree.get("embedding_lora_dropout") is not None:
            run.unknown.append(f"{file}: adapters of the embedding, in its own LoRA")
    if rank:
        places = targets or usual_places(run)
        run.program["lora"] = ",".join([str(rank), *places])
