"""Configurations of XTuner's version 1: a Python file whose `trainer` is a
TrainerConfig, with PyTorch's FSDP2."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.local_models import add_local_model
from ..facts.optimizers import add_fact
from ..run_file import Run, Unreadable
from ..scripts.python_values import CALL, Code
from ..values import Values, sorted_out

READS = "XTuner"
# Fields of TrainerConfig, FSDPConfig and of models that change no step.
_QUIET = """
    load_from tokenizer_path dataset_cfg lr_cfg. loss_cfg. work_dir log_dir total_
    resume_cfg. auto_resume load_checkpoint_cfg. strict_load checkpoint_ async_
    skip_checkpoint patch_for snapshot_ check_health hf_ exp_tracker profile_ seed
    dist_backend debug prober_list do_clip grad_norm_dtype hooks_config.
    internal_metrics_cfg. dataloader_cfg. optim_cfg. model_cfg.compile_cfg
    model_cfg.hf_ model_cfg.dcp_ model_cfg.balancing_loss_cfg model_cfg.z_loss_cfg
    model_cfg.lm_loss_cfg model_cfg.dispatcher model_cfg.text_config.dispatcher
    model_cfg.router_
    model_cfg.generate_config model_cfg.model_type model_cfg.freeze_routers
    model_cfg.return_router model_cfg.rope_ model_cfg.max_position
    fsdp_cfg.checkpoint_preserve fsdp_cfg.mtp_checkpoint fsdp_cfg.mesh_prefix
    fsdp_cfg.torch_compile fsdp_cfg.param_dtype fsdp_cfg.reduce_dtype
    fsdp_cfg.vision_recompute
""".split()
_SIZES = """
    vocab_size num_hidden_layers hidden_size intermediate_size moe_intermediate_size
    attention n_routed_experts n_shared_experts num_experts_per_tok hidden_act
    first_k_dense_replace tie_word_embeddings linear_attention
""".split()


def is_recipe(tree: Mapping[str, Any]) -> bool:
    trainer = tree.get("trainer")
    return isinstance(trainer, Mapping) and str(trainer.get(CALL, "")).startswith(
        "xtuner.v1."
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path, ranks: int = 0) -> Run:
    """By the defaults of xtuner/v1/train/trainer.py and config/fsdp.py; `ranks` are
    known unless 0. Raises Unreadable."""
    kind = tree["trainer"][CALL].rpartition(".")[2]
    if kind != "TrainerConfig":
        raise Unreadable(
            f"{path}: {kind} generates answers and rewards them; describe the step "
            "that trains to ashlar predict by its options"
        )
    v = Values(_without_calls(tree["trainer"]), str(path))
    model = tree["trainer"].get("model_cfg")
    if not isinstance(model, Mapping) or CALL not in model:
        raise Unreadable(f"{path}: model_cfg is not known without running the file")
    name = str(model[CALL]).rpartition(".")[2]
    run = Run(program={"precision": "bf16", "stack": "torchtitan"})
    _add_model(v, run, name, path)
    _add_batch(v, run, path)
    _add_ranks(v, run, path, ranks)
    _add_step(v, run, path)
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _without_calls(tree: Any) -> Any:
    """Without the names of calls."""
    if isinstance(tree, Mapping):
        return {k: _without_calls(each) for k, each in tree.items() if k != CALL}
    return tree


def _add_model(v: Values, run: Run, name: str, path: pathlib.Path) -> None:
    for key in (*_SIZES, *(f"text_config.{each}" for each in _SIZES)):
        if v.get(f"model_cfg.{key}") is not None or v.section(f"model_cfg.{key}"):
            raise Unreadable(
                f"{path}: model_cfg.{key}: another size than {name} has; give --model "
                "a file with it, and --set trainer.model_cfg." + key + "=null"
            )
    add_local_model(run, v.word("load_from", default=name), path.parent)
    parts = {
        "freeze_vision": "vision_tower",
        "freeze_projector": "multi_modal_projector",
        "freeze_language": "embedding,head,layers",
    }
    frozen = [part for key, part in parts.items() if v.flag(f"model_cfg.{key}")]
    if frozen:
        run.program["freeze"] = ",".join(frozen)
    if ("VL" in name or name.startswith("InternS")) and "Text" not in name:
        run.unknown.append("how many images a pack has: the model has a tower")
    if v.section("model_cfg.mtp_config") or v.section(
        "model_cfg.text_config.mtp_config"
    ):
        run.unknown.append(
            "mtp_config: losses of further tokens, which --model may say"
        )
        v.asked.update(key for key in v.all if "mtp_config" in key)


def _add_batch(v: Values, run: Run, path: pathlib.Path) -> None:
    """A batch is of packs, of which a pass takes intra_layer_micro_batch."""
    packs = v.number("intra_layer_micro_batch", default=1)
    run.batch = {
        "sequence": v.number("dataloader_cfg.pack_max_length", default=32768),
        "micro_batch": packs,
    }
    if v.get("global_batch_size") is None:
        run.batch["micro_batches"] = 1
    else:
        run.batch["sequences"] = v.number("global_batch_size")
    if packs > 1:
        run.unknown.append(
            f"intra_layer_micro_batch: {packs} packs alternate in each layer, so that "
            "exchanges of experts hide behind products"
        )
    if v.get("dataloader_cfg.pack_level") == "none":
        run.notes.append("samples are not packed: taken to be of full length")
    run.notes.append(
        "samples of a pack attend to themselves alone; scores of the whole pack are "
        "counted"
    )


def _size(v: Values, key: str) -> int:
    """A number, or the model's own, which is 1 where the file leaves it."""
    for name in (key, key.replace("fsdp_cfg", "model_cfg")):
        value = v.get(name)
        if value is not None and not isinstance(value, Code):
            return v.number(name)
    return 1


def _add_ranks(v: Values, run: Run, path: pathlib.Path, ranks: int) -> None:
    context, experts = v.number("sp_size", default=1), _size(v, "fsdp_cfg.ep_size")
    for key in ("fsdp_cfg.tp_size", "model_cfg.expert_tp_size"):
        if _size(v, key) > 1:
            raise Unreadable(f"{path}: {key}: tensor ranks of experts alone")
    v.asked.update(("model_cfg.text_config.ep_size", "model_cfg.ep_size"))
    inner = v.get("model_cfg.text_config.ep_size")
    if isinstance(inner, int):
        experts = max(experts, inner)
    if context > 1:
        run.layout["context"] = context
    run.layout["sharding"] = "full"
    if experts > 1:
        run.layout["expert"] = experts
        # Other weights are whole on the ranks of experts, and shared by the rest.
        if ranks:
            run.layout["shard_ranks"] = ranks // experts
        else:
            run.unknown.append(
                f"weights beside the experts: {experts} ranks of experts hold them "
                "each, and only the other ranks share them: memory is more than said"
            )
    shards = v.get("fsdp_cfg.hsdp_sharding_size")
    if shards is not None:
        run.layout["shard_ranks"] = v.number("fsdp_cfg.hsdp_sharding_size")
    if not v.flag("fsdp_cfg.reshard_after_forward", default=True):
        run.layout["sharding"] = "gradients"
    if v.flag("fsdp_cfg.cpu_offload"):
        run.layout["offload_weights"] = "own"
    ratio = v.get("fsdp_cfg.recompute_ratio")
    if ratio not in (None, 0, 1):
        raise Unreadable(
            f"{path}: fsdp_cfg.recompute_ratio {ratio}: a share of the layers is "
            "computed again; --set trainer.fsdp_cfg.recompute_ratio=1 predicts all"
        )
    if ratio != 0:
        run.layout["recompute"] = "full"


def _add_step(v: Values, run: Run, path: pathlib.Path) -> None:
    optimizer = v.section("optim_cfg")
    if "momentum" in optimizer or "adjust_lr" in optimizer:
        raise Unreadable(f"{path}: optim_cfg: only the state of Adam is counted here")
    if v.flag("optim_cfg.swap_optimizer"):
        raise Unreadable(
            f"{path}: optim_cfg.swap_optimizer: states move through the host in each "
            "step; --set trainer.optim_cfg.swap_optimizer=false predicts without"
        )
    for key in ("param_dtype", "reduce_dtype"):
        said = v.word(f"fsdp_cfg.{key}", default="bfloat16")
        if "bfloat16" not in said:
            raise Unreadable(f"{path}: fsdp_cfg.{key} {said} is not predicted")
    if v.flag("fsdp_cfg.fp32_lm_head"):
        run.unknown.append("fsdp_cfg.fp32_lm_head: the head's products are in 32 bits")
    is_compiled = v.flag("fsdp_cfg.torch_compile", default=True)
    if v.get("model_cfg.compile_cfg") is not False and is_compiled:
        add_fact(run, "fused-activation=on,fused-rotation=on")
    mode = v.word("loss_cfg.mode", default="eager")
    if mode in ("chunk", "liger"):
        add_fact(run, "loss=chunks")
    scales = v.section("model_cfg.float8_cfg")
    v.asked.update(f"model_cfg.float8_cfg.{key}" for key in scales)
    if scales:
        dense = str(scales.get("scaling_granularity_gemm") or "")
        grouped = str(scales.get("scaling_granularity_grouped_gemm") or "")
        if not dense:
            raise Unreadable(
                f"{path}: float8_cfg: only products of experts in fp8 are not predicted"
            )
        run.program["precision"] = "fp8"
        add_fact(run, f"scales={'blocks' if 'TILE' in dense else 'current'}")
        if not grouped:
            run.unknown.append("float8_cfg: products of experts stay in bf16")
