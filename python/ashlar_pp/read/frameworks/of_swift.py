"""ms-swift: `swift sft` over the Trainer of transformers, `megatron sft` over
Megatron-Core."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from ..facts.heads import read_head
from ..facts.local_models import add_local_model
from ..facts.preferences import (
    OF_GENERATION,
    add_preference,
    double_batch,
    is_of_rewards,
    preference_of,
)
from ..flags import megatron_flags, words_by_name
from ..run_file import Run, Unreadable, add_frozen_towers
from ..scripts.launchers import Training
from ..values import Values, alternatives, found, read_file
from .of_trainer import of_arguments
from .swift_tuners import adapters, refuse_others
from .trainer_adapters import read_saved
from .trainer_quiet import is_silent
from .trainer_run import accelerate_of

READS = "ms-swift"

_COMMANDS = ("sft", "pt", "rlhf")

# Configurations of DeepSpeed that it has names for (swift/config).
_STAGES = {
    f"zero{stage}{away}": stage for stage in range(4) for away in ("", "_offload")
}

# Where models are while answers are generated, and which answers count.
_BETWEEN_UPDATES = """
    sleep_level offload_model offload_optimizer offload_bridge move_model_batches
    overlong_filter dynamic_sample importance_sampling_level enable_thinking
""".split()

# Unless it is off, each means another step than that of a decoder or of adapters.
_OTHER_TRAINING = """
    freeze_parameters freeze_parameters_regex trainable_parameters
    trainable_parameters_regex
    freeze_llm lisa_activated_layers teacher_model
""".split()

# These say that a model has a head of its own.
_OF_HEADS = ("task_type", "num_labels", "reward_model", "process_reward_model")

# Words of its own that change no step, beside those of the Trainer: files, how texts
# become tokens, generation for evaluation, checkpoints.
_SILENT = alternatives(
    r"""
    acc_strategy add_version agent_template bridge_backend (cached_)?(val_)?dataset\w*
    check_model columns create_checkpoint_symlink custom_(dataset_info|register_path)
    download_mode finetune ignore_args_error interleave_prob lazy_tokenize load_args
    load_data_args load_safetensors local_repo_path loss_scale max_epochs max_shard_size
    mcore_\w+ model_(author|name|type) no_(save|load)_\w+ no_initialization num_workers
    padding_free padding_side packing_num_proc response_prefix safe_serialization
    stop_words stopping_strategy stream template_backend tensorboard_\w+
    train_dataloader_shuffle train_dataset_\w+ truncation_strategy use_chat_template
    use_hf add_non_thinking_prefix
    """
)
# Megatron-LM's own names of what changes no step either.
_SILENT_MEGATRON = alternatives(
    r"adam_\w+ clip_grad log_\w+ lr min_lr lr_\w+ manual_gc\w* train_iters"
    r" weight_decay\w* eval_\w+"
)


def is_for(training: Training) -> bool:
    is_own = training.launcher in ("swift", "megatron")
    names = tuple(
        f"swift/cli/{folder}{command}.py"
        for folder in ("", "_megatron/")
        for command in _COMMANDS
    )
    return is_own or training.program.endswith(names)


def read(training: Training) -> Run:
    """Raises Unreadable."""
    words = list(training.arguments)
    is_own = training.launcher in ("swift", "megatron")
    command = words.pop(0) if is_own and words else "sft"
    if command not in _COMMANDS:
        raise Unreadable(
            f"{training.program} {command}: sft, pt and rlhf are read; others generate"
        )
    given = words_by_name(tuple(words))
    _refuse_parts(given)
    is_megatron = training.launcher == "megatron" or "_megatron" in training.program
    if command == "rlhf" or training.program.endswith("rlhf.py"):
        _read_preference(given)
    if is_megatron:
        return _of_megatron(given, training)
    return _of_trainer(given, training)


def _read_preference(given: dict[str, Any]) -> None:
    """Puts its defaults (swift/arguments/rlhf_args.py)."""
    kind = given.setdefault("rlhf_type", "dpo")
    if kind == "rm":
        given.pop("rlhf_type")
        given["reward_model"] = True
        return
    if not preference_of(given, ""):
        raise Unreadable(
            f"rlhf_type {kind}: a second model runs, or it generates beside the step"
        )
    generates = is_of_rewards(kind) or kind == "gkd"
    if generates:
        given.setdefault("max_completion_length", "512")
    if kind == "grpo":
        given.setdefault("beta", "0.04")
    for name in _BETWEEN_UPDATES if generates else ():
        given.pop(name, None)


def _refuse_parts(given: dict[str, Any]) -> None:
    refuse_others(given)
    teaches = ("teacher_model",) if given.get("rlhf_type") == "gkd" else ()
    for name in (each for each in _OTHER_TRAINING if each not in teaches):
        if given.pop(name, None) not in (None, "none", "0", "false", "causal_lm"):
            if name == "lisa_activated_layers":
                raise Unreadable(
                    f"--{name}: other layers train after some steps, and state of all "
                    "that have trained stays; --train-only of ashlar predict says one "
                    "choice of them"
                )
            raise Unreadable(f"--{name}: another part trains, or another head")


def _frozen_towers(given: dict[str, Any]) -> tuple[bool, bool]:
    """What of towers is frozen (swift/arguments): by default, all of them."""
    names = ("freeze_vit", "freeze_aligner")
    tower, aligner = (str(given.pop(name, "true")) != "false" for name in names)
    return tower, aligner


def _add_frozen(run: Run, lora: str, frozen: tuple[bool, bool], model: str) -> None:
    add_frozen_towers(run, *frozen)
    is_deep = re.search(r"qwen3.*(vl|omni)", model.lower())
    if frozen[0] != frozen[1] and is_deep:  # model/model_arch.py
        run.unknown.append(
            "freeze_vit and freeze_aligner, which differ: mergers of single layers "
            "train as the tower does here, and as the aligner there"
        )
    if lora and not frozen[1]:
        run.unknown.append(
            "--freeze_aligner: adapters of what leads from a tower to the decoder are "
            "not counted"
        )


def _of_trainer(given: dict[str, Any], training: Training) -> Run:
    lora = adapters(given, "lora")
    frozen = _frozen_towers(given)
    if lora:
        given["lora_r"], _, named = lora.partition(",")
        given["lora_target_modules"] = named or "all"
    bits, method = given.pop("quant_bits", None), given.pop("quant_method", None)
    if method:
        given["quantization_bit"], given["quantization_method"] = bits, method
    file = given.get("deepspeed")
    if file in _STAGES:
        zero: dict[str, Any] = {"stage": _STAGES[file]}
        if str(file).endswith("_offload"):
            zero["offload_optimizer"] = {"device": "cpu"}
            if _STAGES[file] == 3:
                zero["offload_param"] = {"device": "cpu"}
        given["deepspeed"] = json.dumps({"zero_optimization": zero})
    _read_fsdp(given, pathlib.Path(training.command.folder))
    # Its defaults (swift/arguments).
    given.setdefault("gradient_checkpointing", "true")
    given.setdefault("per_device_train_batch_size", "1")
    dtype = given.setdefault("torch_dtype", "bfloat16")
    given.setdefault("bf16", "true" if dtype == "bfloat16" else "false")
    # Weights in 32 bits make it fp16, too (arguments/base_args/model_args.py).
    is_half = dtype in ("float16", "float32")
    given.setdefault("fp16", "true" if is_half else "false")
    if dtype == "float16" and not lora:  # what trains in fp16 is held in 32 bits
        given["torch_dtype"] = "float32"
    ranks = max(1, training.nodes) * max(1, training.devices or _devices(training))
    each = int(given["per_device_train_batch_size"])
    given.setdefault(
        "gradient_accumulation_steps", str(max(1, -(-16 // (each * ranks))))
    )
    name = given["model_name_or_path"] = str(given.pop("model", ""))
    passed = [key for key in given if _SILENT.fullmatch(key)]
    for key in passed:
        del given[key]
    _read_packed_length(given)
    if "attn_impl" in given:
        given["attn_implementation"] = {"flash_attn": "flash_attention_2"}.get(
            given["attn_impl"], given.pop("attn_impl")
        )
    share = str(given.pop("freeze_parameters_ratio", "0"))
    run = of_arguments(
        given, pathlib.Path(training.command.folder), accelerate_of(training)
    )
    run.not_read.extend(passed)
    _add_frozen(run, lora, frozen, name)
    if float(share) > 0 and not run.program.get("lora"):
        run.program["freeze"] = f"ratio={share}"
        run.notes.append(
            "freeze_parameters_ratio: whole layers in that share are frozen; a part of "
            "the next one is, too, which is not counted"
        )
    _note_ranks(run, training)
    return run


def _read_packed_length(given: dict[str, Any]) -> None:
    """Packed sequences may be longer than their samples (arguments/base_args)."""
    longer = given.pop("packing_length", None)
    if longer and given.get("packing") == "true":
        given["max_length"] = longer


def _read_fsdp(given: dict[str, Any], folder: pathlib.Path) -> None:
    """`--fsdp` is a file, or fsdp2, for which it has one (swift/config/fsdp2.json)."""
    said = str(given.get("fsdp", ""))
    if said == "fsdp2":
        given["fsdp"] = "full_shard auto_wrap"
        given["fsdp_config"] = {"activation_checkpointing": True}
    elif said.endswith(".json"):
        tree = read_file(found(said, folder))
        if not isinstance(tree, dict):
            raise Unreadable(f"--fsdp {said}: no configuration of FSDP")
        given["fsdp"] = tree.get("fsdp", "full_shard")
        given["fsdp_config"] = tree.get("fsdp_config", {})


def _of_megatron(given: dict[str, Any], training: Training) -> Run:
    run = Run(framework="megatron")
    # mcore-bridge makes towers of transformers on the first stage, whole on each rank.
    run.program["tower_ranks"] = "none"
    if given.get("quant_method"):
        raise Unreadable("--quant_method: Megatron-Core has no packed weights")
    lora = adapters(given, "full")
    _add_frozen(run, lora, _frozen_towers(given), str(given.get("model", "")))
    if kind := given.get("peft_kind"):
        raise Unreadable(f"tuner_type {kind}: Megatron-Core has LoRA alone")
    for name in ("use_dora", "freeze_parameters_ratio"):
        if given.pop(name, "false") not in ("false", "0"):
            raise Unreadable(f"--{name}: Megatron-Core has it in a way of its own")
    if lora:
        run.program["lora"] = lora
        saved = {"modules_to_save": given.pop("modules_to_save", None)}
        read_saved(Values(saved, "--modules_to_save"), run)
    name = str(given.pop("model", ""))
    add_local_model(run, name, pathlib.Path(training.command.folder))
    dtype = given.pop("torch_dtype", "bfloat16")
    values: dict[str, Any] = {
        "micro-batch-size": "1",
        "global-batch-size": "16",
        "recompute-granularity": "selective",
        "use-distributed-optimizer": True,
    }
    if "bf16" not in given and "fp16" not in given:
        values["bf16" if dtype == "bfloat16" else "fp16"] = True
    kind = preference_of(given, "")
    if kind == "gkd":
        raise Unreadable(
            "rlhf_type gkd under Megatron-Core: nothing here says what its ranks hold "
            "of the teacher; describe the step to ashlar predict by --teacher"
        )
    heads = {k: given.pop(k) for k in _OF_HEADS if k in given}
    is_of_pairs = read_head(Values(heads, "--task_type"), run)
    if is_of_rewards(kind):
        if "max_length" not in given:
            raise Unreadable("--max_length, of prompts, is not said")
        answer = int(given.pop("max_completion_length"))
        given["max_length"] = str(int(given["max_length"]) + answer)
        # Both sizes of a batch are of answers.
        for name in [key for key in given if key.startswith(tuple(OF_GENERATION))]:
            run.not_read.append("--" + name)
            del given[name]
    _read_packed_length(given)
    if "max_length" in given:
        values["seq-length"] = given.pop("max_length")
    beta = given.get("beta")
    for name in ("beta", "loss_type", "rpo_alpha", "rlhf_type", "ref_model"):
        given.pop(name, None)
    for key, value in given.items():
        is_own = _SILENT.fullmatch(key) or _SILENT_MEGATRON.fullmatch(key)
        if is_own or is_silent(key):
            run.not_read.append("--" + key)
            continue
        hyphened = "--" + key.replace("_", "-")
        if hyphened in megatron_flags():
            values[hyphened[2:]] = {"true": True, "false": False}.get(value, value)
        else:
            run.unknown.append("--" + key)
    if kind or is_of_pairs:
        run.batch = {
            "micro_batch": int(values.pop("micro-batch-size")),
            "sequences": int(values.pop("global-batch-size")),
        }
    if values.get("attention-backend") is None:
        values["attention-backend"] = "flash"
    if values["recompute-granularity"] == "none":
        del values["recompute-granularity"]
    run.arguments = {"program": "megatron sft", **values}
    if is_of_pairs:
        double_batch(run)
    if kind:
        add_preference(run, kind, beta)
        if given.get("packing") == "true":
            run.unknown.append("packing: sequences of full length are taken as pairs")
    _note_ranks(run, training)
    return run


def _devices(training: Training) -> int:
    """It starts one process where NPROC_PER_NODE is not set (swift/cli/main.py)."""
    said = training.command.environment.get("NPROC_PER_NODE", "")
    return int(said) if said.isdigit() else 1


def _note_ranks(run: Run, training: Training) -> None:
    if not training.devices:
        nodes = training.command.environment.get("NNODES", "1")
        count = int(nodes) if nodes.isdigit() else 1
        run.notes.append(f"launched on {count} x {_devices(training)} devices")
