"""Configurations of VeOmni, a YAML: a model of transformers under PyTorch's FSDP 2."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.local_models import add_local_model
from ..facts.preferences import adds_reference, double_batch
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out

READS = "VeOmni"

_QUIET = """
    data.train_ data.eval_ data.data_ data.chat_ data.text_ data.dyn_bsz data.num_
    data.drop_ data.source_ data.dataloader. data.dataset data.pin_ data.prefetch
    data.shuffle data.enable_mult data.tokenizer_ data.multisource train.optimizer.
    train.num_train_epochs train.init_device train.checkpoint.
    train.wandb. train.profile. train.empty_cache train.gc_steps train.seed
    train.max_steps train.bsz_warmup train.enable_full_determinism train.eval_
    train.dyn_bsz_buffer train.lr train.max_grad_norm train.output_dir train.save_
    train.weight_decay train.use_wandb train.wandb_ train.ckpt_manager train.load_
    train.rmpad train.enable_profiling train.profile_ train.sync train.broadcast
    train.ep_sharded_stream train.moe_load_balance train.channel_loss.
    train.accelerator.fsdp_config.max_load model.ops_implementation. train.freeze_vit
    model.attn_implementation model.moe_implementation model.tokenizer_path model.basic_
    train.gradient_checkpointing.debug train.gradient_checkpointing.enable_reentrant
    train.accelerator.fsdp_config.mixed_precision. dpo_config.
""".split()

# Parts around a model of diffusion, which nothing else has.
_OF_DIFFUSION = ("model.condition_model_path", "model.pretrained_vae_path")
# Forks train language models of diffusion, whose sequences stand twice, once noisy.
_OF_NOISE = re.compile(r"[._](noise|diffusion)_|_diffusion(_|$)")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model, train = tree.get("model"), tree.get("train")
    if not isinstance(model, Mapping) or not isinstance(train, Mapping):
        return False
    return bool({"model_path", "config_path"} & set(model)) and "data" in tree


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    for key in _OF_DIFFUSION:
        if v.get(key):
            raise Unreadable(f"{path}: {key}: a model of diffusion, and no decoder")
    noisy = next((key for key in v.all if _OF_NOISE.search(key)), "")
    if noisy:
        raise Unreadable(
            f"{path}: {noisy}: a model of diffusion; describe the step to ashlar "
            "predict by its options"
        )
    if v.word("data.data_type") == "diffusion":
        raise Unreadable(f"{path}: data.data_type diffusion: no decoder trains")
    for key in ("train.lora", "model.lora", "model.lora_rank"):
        if v.get(key) or v.section(key):
            raise Unreadable(f"{path}: {key}: say its adapters by --lora")
    for key in ("model.encoders", "model.decoders", "model.foundation", "model.freeze"):
        if v.get(key) or v.section(key):
            raise Unreadable(f"{path}: {key}: a model of several parts")
    run = Run()
    name = v.word("model.config_path", "model.model_path")
    v.get("model.model_path")
    add_local_model(run, name, path.parent)
    _read_adapters(v, run)
    _read_batch(v, run)
    if v.word("data.data_type", default="") == "dpo" or v.section("dpo_config"):
        _read_preferences(v, run)
    _read_layout(v, run, path)
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _read_adapters(v: Values, run: Run) -> None:
    """Its own, by names of peft or older ones (veomni/lora/config.py). In mixtures,
    names of a feed-forward part mean the routed experts, too (target_mapping.py)."""
    c = "model.lora_config."
    if not v.section("model.lora_config"):
        return
    for key in ("target_parameters", "exclude_modules", "rank_pattern", "lora_adapter"):
        if v.get(c + key) or v.section(c + key):
            raise Unreadable(
                f"{c}{key}: adapters of routed experts, of some layers or from a "
                "folder are not counted; --set model.lora_config=null and --lora of "
                "ashlar predict say others",
                flag=key,
            )
    if v.word(c + "bias", default="none") != "none":
        raise Unreadable(f"{c}bias: biases that train beside adapters are not counted")
    named = v.get(c + "lora_modules", c + "target_modules")
    run.program["lora"] = lora_words(v.number(c + "rank", c + "r", default=8), named)
    if set(run.program["lora"].split(",")) & {"gate_proj", "up_proj", "down_proj"}:
        run.unknown.append(
            "adapters of routed experts, if the model has any, which are not counted"
        )
    v.asked.update(
        c + key
        for key in (
            "alpha",
            "lora_alpha",
            "use_rslora",
            "lora_dropout",
            "init_lora_weights",
            "alpha_pattern",
            "task_type",
            "share_expert_lora",
        )
    )


def _read_batch(v: Values, run: Run) -> None:
    if v.get("data.max_seq_len") is not None:
        run.batch["sequence"] = v.number("data.max_seq_len")
    run.batch["micro_batch"] = v.number("train.micro_batch_size", default=1)
    if v.get("train.global_batch_size") is not None:
        run.batch["sequences"] = v.number("train.global_batch_size")
    # Its micro-batches are packed to as many tokens as full samples have.
    v.get("train.dyn_bsz", "train.rmpad_with_pos_ids")
    v.asked.update(("train.dyn_bsz", "train.rmpad_with_pos_ids"))


def _read_preferences(v: Values, run: Run) -> None:
    """The reference is built and runs even where its answer is not used."""
    if v.flag("train.dyn_bsz", default=True):
        run.notes.append("dpo: the two answers are packed as any sequences are")
    else:
        double_batch(run)
        run.notes.append("dpo: a sample is two sequences, of the two answers")
    adds_reference(run, 1)
    if v.word("dpo_config.refer_model_precision", default="bfloat16") != "bfloat16":
        run.unknown.append("dpo_config.refer_model_precision")


def _read_layout(v: Values, run: Run, path: pathlib.Path) -> None:
    a = "train.accelerator."

    def size(new: str, old: str) -> int:
        return v.number(a + new, "train." + old, default=1)

    # fsdp1 is of versions before 0.2.
    mode = v.word(a + "fsdp_config.fsdp_mode", "train.data_parallel_mode", default="")
    kinds = {"fsdp2": "full", "fsdp1": "full", "ddp": "none", "": "none"}
    if mode not in kinds:
        raise Unreadable(f"{path}: fsdp_mode {mode!r} is not known here")
    run.layout["sharding"] = kinds[mode]
    if not mode:
        run.unknown.append("fsdp_mode is not said: taken to share nothing")
    context = size("ulysses_size", "ulysses_parallel_size") * size(
        "cp_size", "context_parallel_size"
    )
    run.layout.update(
        tensor=size("tp_size", "tensor_parallel_size"),
        pipeline=size("pp_size", "pipeline_parallel_size"),
        expert=size("ep_size", "expert_parallel_size"),
        context=context,
    )
    if context > 1:  # its collator slices patches, too (data/data_collator.py)
        run.program["tower_ranks"] = "context"
    replicas = size("dp_replicate_size", "data_parallel_replicate_size")
    if replicas > 1:
        shard = v.number(a + "dp_shard_size", "train.data_parallel_shard_size")
        run.layout["shard_ranks"] = shard * context
    for key in (a + "offload.enable_activation", "train.enable_activation_offload"):
        if v.flag(key):
            run.layout["offload_activations"] = "full"
    is_full = v.flag(
        a + "fsdp_config.full_shard", "train.enable_full_shard", default=True
    )
    if mode and not is_full:
        run.layout["sharding"] = "gradients"
    if v.flag(a + "fsdp_config.offload", "train.enable_fsdp_offload"):
        if run.layout["sharding"] != "full":
            raise Unreadable(
                f"{path}: weights that are not shared move to the host, and nothing "
                "here says what that takes"
            )
        run.layout["offload_weights"] = "own"
    if v.flag(
        "train.gradient_checkpointing.enable",
        "train.enable_gradient_checkpointing",
        default=True,
    ):
        run.layout["recompute"] = "full"
    name = v.word("train.optimizer.type", "train.optimizer", default="adamw")
    if name == "muon":  # of matrices, also of experts (veomni/optim/muon.py)
        run.program["optimizer"] = "muon,experts"
    elif name not in ("adamw", "adam", "anyprecision_adamw", "fused_adamw"):
        raise Unreadable(f"{path}: optimizer {name}: its state is not counted here")
    is_mixed = v.flag(
        a + "fsdp_config.mixed_precision.enable",
        "train.enable_mixed_precision",
        default=True,
    )
    run.program["precision"] = "bf16" if is_mixed else "fp32"
