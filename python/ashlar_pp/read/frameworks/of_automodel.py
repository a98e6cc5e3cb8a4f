"""Recipes of NeMo AutoModel, a YAML: FSDP2 over models of transformers, or its own."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.attention_kernels import add_attention
from ..facts.local_models import add_local_model
from ..facts.optimizers import add_fact
from ..facts.teachers import add_teacher
from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from .automodel_parts import add_adapters, add_frozen, add_optimizer_state, is_none

READS = "NeMo AutoModel"

_QUIET = """
    recipe seed rng. dist_env. checkpoint. checkpointer. dataset. validation_
    _validation dataloader. wandb. mlflow. comet. logger. lr_scheduler. ci. benchmark.
    nvtx tokenizer. processor. clip_grad_norm. step_scheduler. loss_fn. compile. fp8.
    model._target_ model.trust_remote_code model.torch_dtype model.backend.
    model.config. model.use_sdpa_patching model.output_hidden_states model.use_cache
    model.force_hf model.text_config. model.load_base_model model.mtp_loss
    model.bos_token model.eos_token model.cache_dir peft._target_ peft.alpha
    peft.dropout peft.use_triton peft.lora_A_init peft.use_memory_efficient
    peft.lora_dtype peft.moe_rank_scaling peft.match_all_linear distributed._target_
    distributed.strategy distributed.patch_ distributed.enable_ distributed.fsdp2_
    distributed.moe distributed.mp_policy. distributed.pipeline. distributed.ddp
    distributed.defer_fsdp distributed.multimodal. distributed.autocast_dtype
    distributed.activation_checkpointing_scope distributed.timeout packed_sequence.
    optimizer. freeze_config. quantization. _dsv4 slurm. skypilot. nemo_run. longalign
    generation. tool_call_eval. prewarm. neftune. autopipeline. parallelizer.
    distributed_config.
""".split()
# Recipes that train a decoder by the loss of its next tokens.
_KINDS = (
    "TrainFinetuneRecipeForNextTokenPrediction",
    "BenchmarkingRecipeForNextTokenPrediction",
    "FinetuneRecipeForVLM",
    "TrainFinetuneRecipeForSequenceClassification",
    "KnowledgeDistillationRecipeForNextTokenPrediction",
    "KnowledgeDistillationRecipeForVLM",
)
_OTHERS = {
    "Eagle": "a head that drafts tokens trains beside a model that is held",
    "DSpark": "a head that drafts tokens trains beside a model that is held",
    "DFlash": "a head that drafts tokens trains beside a model that is held",
    "Jet": "a head that drafts tokens trains beside a model that is held",
    "Vispec": "a head that drafts tokens trains beside a model that is held",
    "Domino": "a head that drafts tokens trains beside a model that is held",
    "Encoder": "a model of embeddings with a loss over pairs",
    "Embedding": "a model of embeddings with a loss over pairs",
    "Diffusion": "steps of diffusion",
}
# Sizes of a model, which a file may change.
_SIZES = """
    num_hidden_layers hidden_size intermediate_size moe_intermediate_size vocab_size
    num_attention_heads num_key_value_heads num_experts n_routed_experts
    num_experts_per_tok kv_lora_rank q_lora_rank n_embd n_layer n_head
""".split()
_LENGTHS = (
    "packed_sequence.pack_size",
    "dataset.seq_len",
    "dataset.seq_length",
    "dataset.max_length",
    "dataloader.collate_fn.max_length",
    "packed_sequence.max_length",
)


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model = tree.get("model")
    names = [tree.get("recipe"), model]
    is_own = any(
        "nemo_automodel" in str(each.get("_target_", ""))
        for each in names
        if isinstance(each, Mapping)
    )
    is_named = isinstance(tree.get("recipe"), str) and "Recipe" in tree["recipe"]
    return is_own or (is_named and bool({"model", "recipe_args"} & set(tree)))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path, ranks: int = 0) -> Run:
    """By the defaults of components/distributed/config.py and recipes/llm/train_ft.py;
    `ranks` are known unless 0. Raises Unreadable."""
    v = Values(tree, str(path))
    for key, value in list(v.all.items()):
        if is_none(value):
            v.all[key] = None
    _refuse_others(v, path)
    run = Run(program={"precision": "bf16", "stack": "torchtitan"})
    _add_model(v, run, path)
    _add_batch(v, run)
    _add_ranks(v, run, path, ranks)
    _add_sharing(v, run, path, ranks)
    _add_program(v, run, path)
    add_adapters(v, run, path)
    add_frozen(v, run, path)
    add_optimizer_state(v, run, path)
    _add_sums(v, run)
    if v.section("teacher_model"):
        _add_teacher(v, run, path)
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _refuse_others(v: Values, path: pathlib.Path) -> None:
    name = v.word("recipe", "recipe._target_").rpartition(".")[2]
    if not v.section("step_scheduler") and not v.section("recipe_args"):
        raise Unreadable(f"{path} has no step_scheduler: nothing trains")
    for part, why in _OTHERS.items():
        if part in name:
            raise Unreadable(
                f"{path}: recipe {name}: {why}; describe the step that trains to "
                "ashlar predict by its options"
            )
    is_of_text = "ForCausalLM" in v.word("model._target_")
    # A file without a name is for the program that reads it: recipes/llm/train_ft.py.
    if name not in _KINDS and (name or not is_of_text):
        raise Unreadable(f"{path}: recipe {name or 'without a name'} is not known here")
    for key in ("qat", "dllm", "flow_matching"):
        if v.section(key) and v.get(f"{key}.enabled") is not False:
            hint = "; --set qat=null predicts without" if key == "qat" else ""
            raise Unreadable(f"{path}: {key}: a step of another kind{hint}")
        v.asked.update(f"{key}.{each}" for each in v.section(key))
    if v.get("model.drafter_path"):
        raise Unreadable(f"{path}: model.drafter_path: a second model trains beside it")
    if v.word("distributed.strategy", default="fsdp2") not in ("fsdp2", "ddp"):
        raise Unreadable(
            f"{path}: distributed.strategy {v.word('distributed.strategy')}: say what "
            "ranks share to ashlar predict by --sharding"
        )


def _add_model(v: Values, run: Run, path: pathlib.Path) -> None:
    changed = [
        key
        for key in (
            *(f"model.config.{each}" for each in _SIZES),
            *(f"model.{each}" for each in _SIZES),
        )
        if v.get(key) is not None
    ]
    name = v.word(
        "model.pretrained_model_name_or_path",
        "model.config.pretrained_model_name_or_path",
        "model.config.name_or_path",
        "model.config",
    )
    if changed:
        raise Unreadable(
            f"{path}: {changed[0]}: the file says sizes of its own; give --model to "
            "ashlar predict a file with them, and --set " + changed[0] + "=null"
        )
    add_local_model(run, name, path.parent)
    if v.get("model.num_labels") is not None:
        run.program["head"] = str(v.number("model.num_labels"))
    deeper = v.get(
        "model.num_nextn_predict_layers", "model.config.num_nextn_predict_layers"
    )
    if deeper is not None:
        run.unknown.append(
            f"num_nextn_predict_layers {deeper}: --model has to say as many"
        )
    v.asked.update(
        ("model.num_nextn_predict_layers", "model.config.num_nextn_predict_layers")
    )


def _add_teacher(v: Values, run: Run, path: pathlib.Path) -> None:
    """recipes/llm/kd.py: of the same ranks, unless they have meshes of their own."""
    for key in ("separate_meshes", "offload_teacher_model"):
        if v.flag(key):
            raise Unreadable(
                f"{path}: {key}: the teacher is on devices of its own, or on the host; "
                f"--set {key}=false predicts it beside the model"
            )
    name = v.word("teacher_model.pretrained_model_name_or_path")
    add_teacher(run, name, path.parent)
    held = v.word("teacher_model.torch_dtype", default="auto")
    if held not in ("auto", "bf16", "bfloat16", "torch.bfloat16"):
        raise Unreadable(f"{path}: teacher_model.torch_dtype {held} is not predicted")
    quiet = ("teacher_model.", "teacher_distributed.", "kd_")
    v.asked.update(key for key in v.all if key.startswith(quiet))


def _add_batch(v: Values, run: Run) -> None:
    micro = v.number("step_scheduler.local_batch_size", default=1)
    run.batch = {
        "micro_batch": micro,
        "sequences": v.number("step_scheduler.global_batch_size", default=32),
    }
    packed = v.number("packed_sequence.packed_sequence_size", default=0)
    length = packed or v.get(*_LENGTHS)
    v.asked.update(_LENGTHS)
    if length:
        run.batch["sequence"] = int(length)
        run.notes.append("all sequences are taken to be of full length")
    else:
        run.notes.append("nothing says how long sequences are: give --sequence")


def _size(v: Values, name: str) -> int:
    return max(1, v.number(f"distributed.{name}", default=1))


def _add_ranks(v: Values, run: Run, path: pathlib.Path, ranks: int) -> None:
    sizes = {
        "tensor": _size(v, "tp_size"),
        "context": _size(v, "cp_size"),
        "pipeline": _size(v, "pp_size"),
        "expert": _size(v, "ep_size"),
    }
    run.layout.update({key: size for key, size in sizes.items() if size > 1})
    data = v.number("distributed.dp_size", default=0)
    inside = sizes["tensor"] * sizes["context"] * sizes["pipeline"]
    if not data and ranks:
        data = ranks // inside
    if data:
        run.layout["data"] = data
    if sizes["pipeline"] > 1:
        _add_pipeline(v, run, path)
    copies = v.number("distributed.dp_replicate_size", default=1)
    if copies > 1:
        if not data:
            raise Unreadable(
                f"{path}: distributed.dp_replicate_size {copies}: nothing says how "
                "many ranks share; --set distributed.dp_size=N does"
            )
        run.layout["shard_ranks"] = data // copies * sizes["context"]
    if sizes["tensor"] > 1:
        is_split = v.flag("distributed.sequence_parallel")
        run.program["sequence_parallel"] = "on" if is_split else "off"
    v.get("distributed.sequence_parallel")


def _add_pipeline(v: Values, run: Run, path: pathlib.Path) -> None:
    """A pipeline takes a local batch at once, in micro-batches of its own."""
    if not v.section("distributed.pipeline") and "distributed.pipeline" not in v.all:
        raise Unreadable(
            f"{path}: pp_size without distributed.pipeline, at which AutoModel stops"
        )
    local = run.batch["micro_batch"]
    run.batch["micro_batch"] = v.number(
        "distributed.pipeline.pp_microbatch_size", default=1
    )
    kind = v.word("distributed.pipeline.pp_schedule", default="1f1b").lower()
    kind = kind.replace("_", "")
    if kind == "interleaved1f1b":
        each = v.get("distributed.pipeline.layers_per_stage")
        run.unknown.append(
            "stages of a rank, by the model's layers and layers_per_stage "
            f"{each}: --chunks says how many"
        )
    elif kind != "1f1b":
        raise Unreadable(f"{path}: pp_schedule {kind}: --schedule of predict says it")
    if run.batch["sequences"] > local:
        run.unknown.append(
            f"each {local} sequences of a data rank run through the pipeline by "
            "themselves: a step that has more fills and empties it again"
        )


def _add_sharing(v: Values, run: Run, path: pathlib.Path, ranks: int) -> None:
    """Layers are gathered again for the backward, but not those of a pipeline, nor
    beside ranks of experts (components/moe/parallelizer.py)."""
    if v.word("distributed.strategy", default="fsdp2") == "ddp":
        run.layout["sharding"] = "none"
    else:
        keeps = "pipeline" in run.layout
        if "expert" in run.layout:
            keeps = not v.flag("distributed.moe.reshard_after_forward")
        said = v.get("distributed.reshard_after_forward")
        keeps = keeps if said is None else not said
        run.layout["sharding"] = "gradients" if keeps else "full"
    if v.get("distributed.offload_policy") or v.section("distributed.offload_policy"):
        if run.layout["sharding"] != "full":
            raise Unreadable(
                f"{path}: distributed.offload_policy: weights that are kept"
            )
        run.layout["offload_weights"] = "own"
    again = v.get("distributed.activation_checkpointing")
    if str(again).lower() == "selective":
        raise Unreadable(
            f"{path}: activation_checkpointing selective: PyTorch keeps some "
            "operators; --set distributed.activation_checkpointing=true predicts whole "
            "layers"
        )
    if str(again).lower() in ("true", "on", "full", "enabled", "yes"):
        run.layout["recompute"] = "full"


def _add_program(v: Values, run: Run, path: pathlib.Path) -> None:
    for key in ("param_dtype", "reduce_dtype"):
        said = v.word(f"distributed.mp_policy.{key}", default="bfloat16")
        if key == "param_dtype" and "bf" not in said:
            raise Unreadable(f"{path}: mp_policy.{key} {said} is not predicted")
    kernel = v.word("model.backend.attn", "model.attn_implementation")
    add_attention(run, "model.attn_implementation", kernel)
    is_compiled = v.flag("compile.enabled") or v.flag("distributed.enable_compile")
    has_liger = v.flag("model.use_liger_kernel")
    norm = v.word("model.backend.rms_norm", default="torch")
    is_fused = norm in ("te", "quack") or is_compiled or has_liger
    add_fact(run, f"fused-norm={'on' if is_fused else 'off'}")
    if is_compiled or has_liger:
        add_fact(run, "fused-activation=on,fused-rotation=on")
    if "expert" in run.layout:
        dispatcher = v.word("model.backend.dispatcher")
        if not dispatcher:
            run.unknown.append(
                "model.backend.dispatcher: DeepEP where it is installed, else gathers"
            )
        elif dispatcher == "mok":
            run.unknown.append("dispatcher mok: exchanges run inside the products")
        else:
            kind = "all-gather" if dispatcher == "torch" else "once"
            add_fact(run, f"expert-dispatch={kind}")
        experts = v.word("model.backend.experts", default="torch_mm")
        add_fact(run, f"expert-products={'loop' if experts == 'torch' else 'grouped'}")
    if v.flag("model.backend.fake_balanced_gate"):
        add_fact(run, "imbalance=1")
    loss = v.word("loss_fn._target_").rpartition(".")[2]
    if loss == "FusedLinearCrossEntropy":
        add_fact(run, "loss=fused")
    elif loss == "ChunkedCrossEntropy":
        add_fact(run, "loss=chunks")
    elif loss in ("MaskedCrossEntropy", "TEParallelCrossEntropy", ""):
        add_fact(run, "loss=whole")
    else:
        run.unknown.append(f"loss {loss}: taken to be of the next token")
    _add_eight_bits(v, run)


def _add_eight_bits(v: Values, run: Run) -> None:
    named = v.word("model.backend.te_fp8.recipe")
    if v.flag("fp8.enabled"):
        run.program["precision"] = "fp8"
        add_fact(run, "scales=current")
        if v.flag("fp8.enable_fsdp_float8_all_gather"):
            run.unknown.append("fp8: weights are gathered in 8 bits, counted in 16")
    elif named or v.section("model.backend.te_fp8"):
        run.program["precision"] = "mxfp8" if named == "mxfp8" else "fp8"
        if named != "mxfp8":
            add_fact(run, f"scales={'blocks' if named == 'block' else 'current'}")


def _add_sums(v: Values, run: Run) -> None:
    """Micro-batches but the last of a step sum whole gradients, in the format in which
    they are scattered (defer_fsdp_grad_sync, and FSDP2 of PyTorch)."""
    has_several = run.batch["sequences"] > run.batch["micro_batch"]
    defers = v.flag("distributed.defer_fsdp_grad_sync", default=True)
    if not defers or not has_several or run.layout["sharding"] == "none":
        return
    run.program["scatter_once"] = True
    if "bf" not in v.word("distributed.mp_policy.reduce_dtype", default="float32"):
        run.program["wide_sums"] = True
