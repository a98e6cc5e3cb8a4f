"""Configurations of oumi, a YAML: trainings by the Trainer of transformers, by TRL, or
by oumi's own loop, of which each has the same arguments."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import add_held_in_16, add_optimizer, other_optimizer
from ..facts.packed import add_packed
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from .of_trainer import of_arguments
from .oumi_sharing import deepspeed_of, fsdp_of

READS = "oumi"

_QUIET = """
    data. model.tokenizer model.processor_kwargs model.load_pretrained_weights
    model.trust_remote_code model.chat_template model.device_map model.model_revision
    model.shard_for_eval model.tool_call_parser model.model_kwargs.rope_scaling.
    model.model_kwargs.max_position_embeddings model.model_kwargs.disable_dropout
    training.gradient_checkpointing_kwargs. training.output_dir
    training.per_device_eval training.max_steps training.num_train_epochs training.save_
    training.seed training.data_seed training.run_name training.metrics_function
    training.reward_function training.log training.dep_log_level training.enable_
    training.eval_ training.learning_rate training.lr_ training.warmup_
    training.weight_decay training.adam_ training.sgd_ training.include_
    training.resume_from training.try_resume training.dataloader_ training.max_grad_norm
    training.profiler. training.telemetry. training.empty_device training.nccl_
    training.label_ignore training.ddp_ training.full_determinism
    peft.lora_alpha peft.lora_dropout peft.lora_init peft.lora_task peft.peft_save_mode
    fsdp.backward_prefetch fsdp.forward_prefetch
    fsdp.use_orig_params fsdp.state_dict_type fsdp.sync_module_states
    fsdp.transformer_layer_cls fsdp.min_num_params deepspeed.
""".split()
_KINDS = {"TRL_DPO": "dpo", "TRL_KTO": "kto", "TRL_GRPO": "grpo", "TRL_GKD": "gkd"}
_TRAINERS = ("TRL_SFT", "HF", "OUMI", *_KINDS)
_TRAINER_NAMES = {
    "per_device_train_batch_size": "per_device_train_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "enable_gradient_checkpointing": "gradient_checkpointing",
    "optimizer": "optim",
    "compile": "torch_compile",
}
_TYPES = {
    "float32": "fp32",
    "f32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "fp16",
    "f16": "fp16",
    "half": "fp16",
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model = tree.get("model")
    return isinstance(model, Mapping) and "model_name" in model


def of_recipe(
    tree: Mapping[str, Any], path: pathlib.Path, nodes: int = 0, devices: int = 0
) -> Run:
    """With the number of nodes and of a node's devices where they are known.

    Raises Unreadable.
    """
    v = Values(tree, str(path))
    v.follow()
    trainer = _trainer(v, path)
    given: dict[str, Any] = {
        new: v.get(f"training.{name}") for name, new in _TRAINER_NAMES.items()
    }
    if given["gradient_checkpointing"] is None or v.flag("training.use_deterministic"):
        given["gradient_checkpointing"] = False
    if not add_optimizer(v.word("training.optimizer", default="adamw_torch"), Run()):
        name = str(given["optim"])
        raise other_optimizer(path, "training.optimizer", name, "adamw_torch")
    given.update(_lengths(v, trainer))
    given["model_name_or_path"] = v.word("model.model_name")
    given["attn_implementation"] = _attention(v)
    if v.flag("model.enable_liger_kernel"):
        given["use_liger_kernel"] = True
    if trainer in _KINDS:
        given["rl"] = _KINDS[trainer]
    held, products = _formats(v, path)
    given["bf16"], given["fp16"] = products == "bf16", products == "fp16"
    given.update(_adapters(v, path))
    gathered: list[str] = []
    accelerate = fsdp_of(v, path, gathered)
    given.update(deepspeed_of(v))
    kept = {key: value for key, value in given.items() if value is not None}
    run = of_arguments(kept, path.parent, accelerate, says_weights=False)
    run.unknown.extend(gathered)
    if devices:
        run.share_in_node(nodes, devices)
    if nodes * devices == 1:
        run.layout["data"] = 1
    if trainer == "OUMI":  # it has no no_sync for FSDP (core/trainers/oumi_trainer.py)
        run.program.pop("scatter_once", None)
    _add_held(v, run, held, given)
    _add_packed(v, run)
    _add_frozen(v, run)
    if "sequence" not in run.batch:
        run.notes.append("nothing says how long sequences are: give --sequence")
    quiet, unknown = sorted_out(v.rest(), _QUIET)
    run.not_read.extend(quiet)
    run.unknown.extend(unknown)
    return run


def _trainer(v: Values, path: pathlib.Path) -> str:
    if v.section("tuning"):
        raise Unreadable(f"{path}: tuning: it starts many trainings; give one of them")
    if not v.section("training"):
        raise Unreadable(f"{path} is oumi's, and has no training: nothing trains")
    name = v.word("training.trainer_type", default="HF").upper()
    if name == "TRL_GOLD":
        raise Unreadable(
            f"{path}: trainer_type {name}: a teacher runs beside the model, and the "
            "model generates; describe the step that trains to ashlar predict"
        )
    if name == "VERL_GRPO":
        raise Unreadable(
            f"{path}: trainer_type {name}: verl trains, by a configuration that oumi "
            "makes; give verl's own to python -m ashlar_pp.read recipe"
        )
    if name not in _TRAINERS:
        raise Unreadable(f"{path}: trainer_type {name} is not known here")
    unread = ("grpo", "gkd") if name not in ("TRL_GRPO", "TRL_GKD") else ()
    for part in ("gold", *unread):
        v.asked.update(
            f"training.{part}.{key}" for key in v.section(f"training.{part}")
        )
    return name


def _lengths(v: Values, trainer: str) -> dict[str, Any]:
    """TRL cuts samples at model_max_length, but for KTO and GRPO (training_config.py);
    others have data of that length (train.py)."""
    made = v.section("training.trainer_kwargs")
    v.asked.update(f"training.trainer_kwargs.{key}" for key in made)
    longest = v.get("model.model_max_length")
    if trainer == "TRL_GRPO":
        grpo = v.section("training.grpo")
        v.asked.update(f"training.grpo.{key}" for key in grpo)
        made.update(grpo)
        if v.get("training.reward_functions"):
            made["reward_funcs"] = v.get("training.reward_functions")
    elif trainer == "TRL_GKD":
        made.update(v.section("training.gkd"))
        made["max_length"] = longest
        v.asked.update(f"training.gkd.{key}" for key in v.section("training.gkd"))
    elif trainer != "TRL_KTO" and longest is not None:
        made.pop("max_seq_length", None)
        made["max_length"] = v.number("model.model_max_length")
    return made


def _attention(v: Values) -> str | None:
    said = v.word("model.attn_implementation")
    return "flash_attention_3" if "flash-attn3" in said else said or None


def _formats(v: Values, path: pathlib.Path) -> tuple[str, str]:
    """Those of weights and their state, and of products."""
    name = v.word("model.torch_dtype_str", default="auto")
    mixed = v.word("training.mixed_precision_dtype", default="none").lower()
    by_fsdp = v.word("fsdp.mixed_precision").lower() or "none"
    if name != "auto" and name not in _TYPES:
        raise Unreadable(f"{path}: model.torch_dtype_str {name} is not predicted")
    own = _TYPES.get(name, "bf16")
    if not v.flag("fsdp.enable_fsdp"):
        by_fsdp = "none"
    for each in (mixed, by_fsdp):
        if each not in ("none", "bf16", "fp16"):
            raise Unreadable(f"{path}: mixed precision {each} is not known here")
    if mixed != "none":
        return "fp32", mixed
    # accelerate holds FSDP's weights in 32 bits beside mixed precision.
    return ("fp32", by_fsdp) if by_fsdp != "none" else (own, own)


def _adapters(v: Values, path: pathlib.Path) -> dict[str, Any]:
    if not v.flag("training.use_peft"):
        v.asked.update(f"peft.{key}" for key in v.section("peft"))
        return {}
    if v.get("peft.lora_target_parameters"):
        raise Unreadable(
            f"{path}: peft.lora_target_parameters: adapters of experts are not counted"
        )
    if v.word("peft.lora_bias", default="none") != "none":
        raise Unreadable(f"{path}: peft.lora_bias: biases that train are not counted")
    targets = v.get("peft.lora_target_modules")
    return {
        "use_peft": True,
        "lora_r": v.number("peft.lora_r", default=8),
        "lora_target_modules": "all-linear" if targets == ["all-linear"] else targets,
        "lora_modules_to_save": v.get("peft.lora_modules_to_save"),
    }


def _add_held(v: Values, run: Run, held: str, given: Mapping[str, Any]) -> None:
    if v.word("model.torch_dtype_str", default="auto") == "auto" and held != "fp32":
        run.unknown.append("model.torch_dtype_str auto: taken to be bfloat16")
    # Adapters train in 32 bits (peft's autocast_adapter_dtype).
    if held == "fp32" or run.program.get("lora"):
        return
    if run.framework == "deepspeed":
        if v.get("deepspeed.precision"):
            run.unknown.append(
                "deepspeed.precision without training.mixed_precision_dtype: taken to "
                "be on, with weights and state of 32 bits"
            )
        return
    add_held_in_16(run, str(given["optim"]))


def _add_packed(v: Values, run: Run) -> None:
    """prepare_model_for_kbit_training holds the rest in 32 bits (builders/models.py),
    and with FSDP it is made of the model's type again (train.py)."""
    if not v.flag("training.use_peft") or not v.flag("peft.q_lora"):
        v.asked.update(f"peft.{key}" for key in v.section("peft") if "bnb" in key)
        v.asked.update(("peft.q_lora", "peft.q_lora_bits"))
        return
    bits = v.number("peft.q_lora_bits", default=4)
    if bits not in (4, 8):
        raise Unreadable(f"peft.q_lora_bits {bits}: bitsandbytes packs 4 and 8")
    doubles = v.flag("peft.use_bnb_nested_quant")
    said = {f"load_in_{bits}bit": True, "use_bnb_nested_quant": doubles}
    add_packed(Values(said, v.where), run, packs_scales=False, keeps_rest=True)
    if not v.flag("fsdp.enable_fsdp"):
        run.program["frozen_weights"] += ",rest=32-bit"
    for key in ("quant_type", "quant_storage", "compute_dtype"):
        v.get(f"peft.bnb_4bit_{key}")


# Modules of transformers: towers with what leads from them to the decoder, as those of
# Qwen and Phi, or without.
_TOWERS = {
    "visual": "towers",
    "vision_embed_tokens": "towers",
    "vision_tower": "encoders",
    "vision_model": "encoders",
    "multi_modal_projector": "aligners",
}


def _add_frozen(v: Values, run: Run) -> None:
    """Towers of models of images."""
    names = v.get("model.freeze_layers") or []
    parts = [_TOWERS.get(name.removeprefix("model."), "") for name in names]
    if parts and all(parts):
        run.program["freeze"] = ",".join(dict.fromkeys(parts))
    elif names:
        run.unknown.append(f"model.freeze_layers {' '.join(names)}")
    sees = "vision" in v.word("data.train.collator_name")
    if sees and run.program.get("lora") and not v.get("peft.lora_exclude_modules"):
        run.unknown.append("adapters in the tower of images, where names are the same")
