"""Configurations of torchtune, a YAML."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.local_models import local_model
from ..facts.optimizers import add_fact, add_optimizer, name_of_class, other_optimizer
from ..facts.preferences import add_preference
from ..facts.teachers import add_teacher
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from .torchtune_model import READ, model_of

READS = "torchtune"

_QUIET = """
    output_dir checkpoint_dir tokenizer. checkpointer. ref_checkpointer. save_
    resume_from_checkpoint
    dataset. dataset_val. dataset seed shuffle run_val_every_n_steps batch_size_val
    optimizer. lr_scheduler. loss. epochs max_steps_per_epoch clip_grad_norm
    metric_logger. log_ profiler. device custom_sharded_layers low_cpu_ram
    cudnn_deterministic_mode enable_async_checkpointing collate_fn
    activation_offloading_use_streams model.lora_alpha model.lora_dropout
    model.attn_dropout model.norm_eps
    model.max_seq_len model.rope_base model.scale_factor tensor_parallel_plan.
    kd_loss. kd_ratio teacher_checkpointer. use_distributed_state_dict
    context_parallel_rotate_method fp8_recipe_name name num_output_chunks compile.
    keep_last_n_checkpoints
""".split()
RECIPE = re.compile(
    r"(?:\w+/)*(?:qat_)?(?:full|lora|qat|ppo|knowledge_distillation)"
    r"(?:_\w+)?_(?:single_device|distributed)"
)
_TARGETS = {"output_proj": "o_proj"}
# Other kinds of training, by keys of theirs.
_OTHERS = (
    (
        ("policy_model", "reward_and_value_model"),
        "PPO generates, and a value model trains beside the policy",
    ),
    (
        ("grpo_samples", "orchestration", "inference"),
        "GRPO generates answers in its step",
    ),
)


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return any(
        isinstance(part, Mapping)
        and str(part.get("_component_", "")).startswith("torchtune.")
        for part in tree.values()
    )


def of_recipe(
    tree: Mapping[str, Any], path: pathlib.Path, recipe: str = "", ranks: int = 0
) -> Run:
    """With `recipe` and `ranks` where they are known. Raises Unreadable."""
    v = Values(tree, str(path))
    v.follow()
    _refuse_others(v, path)
    run = Run()
    builder = v.word("model._component_")
    name = builder.rpartition(".")[2]
    if "vision" in builder or v.get("model.encoder_trainable") is not None:
        raise Unreadable(
            f"{path}: {name}: encoder, decoder and what joins them train in part; say "
            "the step to ashlar predict by --model, --freeze and --lora"
        )
    if "reward" in name or "classifier" in name:
        raise Unreadable(f"{path}: {name} has another head: say --head to predict")
    _add_model(v, run, builder, path)
    if v.section("teacher_model"):
        _add_teacher(v, run, path)
    _add_adapters(v, run, name, path)
    _add_batch(v, run)
    _add_ranks(v, run, path, recipe, ranks)
    _add_recomputation(v, run, path)
    _add_program(v, run, path)
    if "rlhf.loss" in v.word("loss._component_"):
        if v.word("loss._component_").rpartition(".")[2] not in ("DPOLoss", "RSOLoss"):
            raise Unreadable(f"{path}: {v.word('loss._component_')} is not predicted")
        add_preference(run, "dpo")
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _refuse_others(v: Values, path: pathlib.Path) -> None:
    for keys, why in _OTHERS:
        for key in keys:
            if v.get(key) is not None or v.section(key):
                raise Unreadable(
                    f"{path}: {key}: {why}; describe the step that trains to ashlar "
                    "predict by its options"
                )
    if "QAT" in v.word("quantizer._component_"):
        raise Unreadable(
            f"{path}: quantizer: products of values that are rounded before, which are "
            "not predicted; `tune run` of the recipe without qat_ is"
        )
    if not v.section("optimizer"):
        raise Unreadable(f"{path} has no optimizer: nothing trains")


def _add_model(v: Values, run: Run, builder: str, path: pathlib.Path) -> None:
    run.model = model_of(builder, v.section("model"), path.parent) or local_model(
        v.word("checkpointer.checkpoint_dir"), path.parent
    )
    v.asked.update(f"model.{key}" for key in READ if run.model)
    if run.model is None:
        run.notes.append(
            f"the model is {builder}, whose sizes are not read here (those of text are "
            "read where torchtune is installed): give --model to ashlar predict"
        )
    if "llama4" in builder:
        run.unknown.append("the encoder of images, which is held beside the decoder")


def _add_teacher(v: Values, run: Run, path: pathlib.Path) -> None:
    """recipes/knowledge_distillation_distributed.py: ranks share it as the model."""
    builder = v.word("teacher_model._component_")
    sizes = v.section("teacher_model")
    place = v.word("teacher_checkpointer.checkpoint_dir")
    made = model_of(builder, sizes, path.parent) or local_model(place, path.parent)
    add_teacher(run, builder, path.parent, made)
    v.asked.update(f"teacher_model.{key}" for key in sizes)


def _add_adapters(v: Values, run: Run, name: str, path: pathlib.Path) -> None:
    attention = v.get("model.lora_attn_modules")
    if attention is None:
        if name.startswith(("lora_", "qlora_")):
            raise Unreadable(f"{path}: {name} lacks model.lora_attn_modules")
        return
    if v.flag("model.use_dora"):
        raise Unreadable(f"{path}: model.use_dora: nothing here counts what it takes")
    targets = [_TARGETS.get(str(each), str(each)) for each in attention]
    if v.flag("model.apply_lora_to_mlp"):
        if "llama4" in name:
            raise Unreadable(f"{path}: {name}: adapters of experts are not counted")
        targets.append("mlp")
    if v.flag("model.apply_lora_to_output"):
        targets.append("lm_head")
    run.program["lora"] = lora_words(v.number("model.lora_rank", default=8), targets)
    # NF4 of torchao packs the linear layers of all layers, and scales in 8 bits
    # (torchtune/modules/peft/lora.py, low_precision/nf4_linear.py).
    if v.flag("model.quantize_base") or name.startswith("qlora_"):
        run.program["frozen_weights"] = "4-bit,double"


def _add_batch(v: Values, run: Run) -> None:
    run.batch = {
        "micro_batch": v.number("batch_size"),
        "micro_batches": v.number("gradient_accumulation_steps", default=1),
    }
    length = ("tokenizer.max_seq_len", "dataset.max_seq_len", "max_seq_len")
    if v.get(*length) is None:
        run.notes.append("nothing says how long sequences are: give --sequence")
        return
    run.batch["sequence"] = v.number(*length)
    run.notes.append("all sequences are taken to be of full length")


def _recipe_of(path: pathlib.Path) -> str:
    """The recipe that the file's remarks start."""
    text = path.read_text(encoding="utf-8", errors="replace")
    remarks = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    named = [RECIPE.search(line) for line in remarks if "tune run" in line]
    said = {match[0] for match in named if match}
    return said.pop() if len(said) == 1 else ""


def _add_ranks(
    v: Values, run: Run, path: pathlib.Path, recipe: str, ranks: int
) -> None:
    recipe = recipe or _recipe_of(path)
    shards = v.get("data_parallel_shard_dim")
    copies = v.number("data_parallel_replicate_dim", default=1)
    tensor = v.number("tensor_parallel_dim", default=1)
    context = v.number("context_parallel_dim", default=1)
    # Shards are the weights themselves, in their format; of one rank, the whole.
    run.layout["sharding"] = "full"
    if "single_device" in recipe:
        run.layout["data"] = 1
        run.notes.append(f"{recipe}: it runs on one device")
        return
    if not RECIPE.search(recipe):
        run.unknown.append(
            f"how ranks share the state, which {recipe or 'the recipe'} says: taken to "
            "be as in torchtune's own recipes for several devices"
        )
    if tensor > 1:
        run.layout["tensor"] = tensor
    if context > 1:
        run.layout["context"] = context
    if copies > 1:
        run.layout["shard_ranks"] = context * _shards(
            shards, copies, path, ranks, tensor * context
        )
    elif shards not in (None, -1):
        run.layout["data"] = v.number("data_parallel_shard_dim")
    if v.get("fsdp_reshard_after_forward") is False:
        run.layout["sharding"] = "gradients"
    if v.flag("fsdp_cpu_offload"):
        if run.layout["sharding"] != "full":
            raise Unreadable(
                f"{path}: fsdp_cpu_offload without fsdp_reshard_after_forward: nothing "
                "here says what that takes"
            )
        run.layout["offload_weights"] = "own"


def _shards(said: Any, copies: int, path: pathlib.Path, ranks: int, others: int) -> int:
    if isinstance(said, int) and said > 0:
        return said
    if not ranks or ranks % (copies * others):
        raise Unreadable(
            f"{path}: data_parallel_replicate_dim {copies}: nothing says how many "
            "ranks share; --set data_parallel_shard_dim=N does"
        )
    return ranks // (copies * others)


def _add_recomputation(v: Values, run: Run, path: pathlib.Path) -> None:
    """recipes/full_finetune_distributed.py: each of two ways only without the other."""
    is_full, mode = v.flag("enable_activation_checkpointing"), v.get("ac_mode")
    option = v.get("ac_option")
    if is_full and mode is None or not is_full and mode == "full":
        run.layout["recompute"] = "full"
    elif not is_full and mode == "selective":
        if option not in ("op", 1, "1"):
            raise Unreadable(
                f"{path}: ac_option {option}: every layer of so many is run again; say "
                "them to ashlar predict by --recompute"
            )
        run.layout["recompute"] = "op" if option == "op" else "full"
    if v.flag("enable_activation_offloading"):
        run.layout["offload_activations"] = "full"


def _add_program(v: Values, run: Run, path: pathlib.Path) -> None:
    dtype = v.word("dtype", default="bf16")
    if dtype not in ("bf16", "fp32"):
        raise Unreadable(f"{path}: dtype {dtype}: torchtune's recipes stop")
    is_fp8 = v.flag("enable_fp8_training")
    run.program["precision"] = "fp8" if is_fp8 else dtype
    run.program["stack"] = "torchtitan"  # the same operators of PyTorch
    is_compiled = v.flag("compile", "compile.model", default=bool(v.section("compile")))
    # Norms are written out (torchtune/modules/rms_norm.py).
    add_fact(
        run,
        "fused-activation=on,fused-rotation=on" if is_compiled else "fused-norm=off",
    )
    loss = v.word("loss._component_").rpartition(".")[2]
    # One of 8 chunks is at work, and all keep a softmax in 32 bits; or, compiled,
    # logits in 16 bits.
    if loss == "LinearCrossEntropyLoss" or loss.endswith("ChunkedOutputLoss"):
        add_fact(run, "loss=fused")
    if loss.endswith("ChunkedOutputLoss") and not is_compiled:
        run.unknown.append(f"loss {loss}: logits in 16 bits beside their softmax")
    _add_optimizer(v, run, dtype, path)
    if v.flag("optimizer_in_bwd"):
        run.unknown.append(
            "optimizer_in_bwd: gradients leave one by one, and memory is less than said"
        )


def _add_optimizer(v: Values, run: Run, dtype: str, path: pathlib.Path) -> None:
    component = v.word("optimizer._component_")
    name = name_of_class(component)
    if not name or v.flag("optimizer.amsgrad"):
        key = "optimizer._component_"
        raise other_optimizer(path, key, component, "torch.optim.AdamW")
    # States have the format of the weights, but those of bitsandbytes have 32 bits.
    if dtype == "bf16":
        add_fact(run, "main-weights=16-bit")
        if component.startswith("torch."):
            add_fact(run, "first-moment=16-bit,second-moment=16-bit")
    add_optimizer(name, run)
