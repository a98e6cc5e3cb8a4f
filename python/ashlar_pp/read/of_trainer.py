"""The Trainer of transformers, and what is made over it: TRL, LLaMA-Factory, Axolotl;
with DeepSpeed or FSDP, by arguments, files, or accelerate's configuration."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

from .heads import head_of, read_head
from .of_internvl import add_parts, is_of_internvl
from .of_llava import add_tower
from .optimizers import add_optimizer
from .own_programs import refuse_own_words
from .preferences import (
    OF_GENERATION,
    OF_PREFERENCES,
    add_length,
    add_preference,
    double_batch,
    is_of_rewards,
    preference_of,
    refuse_second_model,
)
from .run_file import Run, Unreadable, add_frozen_towers
from .trained_parts import add_unfrozen
from .trainer_adapters import (
    NO,
    read_adapters,
    read_kind,
    read_packed,
    read_saved,
    refuse_unknown,
)
from .trainer_sharing import read_sharing
from .values import Values, read_file, sorted_out

READS = "the Trainer of transformers, TRL, LLaMA-Factory, Axolotl"

# In the order in which they are looked for: the Trainer's, Axolotl's, others'.
MICRO = ("per_device_train_batch_size", "micro_batch_size", "per_gpu_train_batch_size")
_LENGTH = (
    "max_seq_length",
    "max_length",
    "model_max_length",
    "cutoff_len",
    "sequence_len",
    "max_seq_len",
    "block_size",
    "seq_length",
    "max_source_length",
)
_SIGNS = {"base_model", "model_name_or_path", "per_device_train_batch_size"}
_MODEL = ("model_name_or_path", "base_model", "model_id", "model_name", "model")

_QUIET = """
    *output *logging *log_ *save *eval *learning_rate *lr_ *warmup *weight_decay
    *num_train_epochs *max_steps *num_epochs *report_to *run_name *dataset *data_
    *dataloader *preprocessing *overwrite *do_train *do_eval *do_predict *seed
    *tokenizer *template *chat *wandb *hub *push *train_file *validation *val_ *ddp_
    *tf32 *trust_remote *cache_dir *use_fast *special_tokens *max_grad_norm *adam
    *remove_unused *load_best *include_ *evals *plot_loss *stage *finetuning_type
    *strict *saves *resume *early *hf_ *mlflow *shuffle *split *test_
    *train_on_inputs *datasets *local_rank *scheduler *epochs *print *gradient_clip
    *dataset_ *packing *pad_to *auto_resume *sample_packing *flash_attention *debug
    *special *tokens *plugins *gradient_checkpointing_kwargs *torch_dtype *dtype
    *attn compute_environment debug downcast_bf16 machine_rank *model_revision
    main_ rdzv same_network tpu use_cpu enable_cpu_affinity dynamo *text_column
    *per_device_eval *lazy_preprocess *lora_alpha *lora_dropout *max_samples *fsdp_
    *use_slow *add_bos *with_tracking *exp_name *load_from_cache *system_prompt
    *freeze_vit *merge_lora *neftune *group_by_length *logger *is_causal *priority
    *completion_only *assistant_only *average_tokens *ignore_data *prediction_loss
    *skip_memory *label_ *metric_for *greater_is *length_column *disable_tqdm *fp16_opt
    *use_rslora *loraplus *lorap_ *pissa *init_weights *init_lora_weights
    *half_precision *torchdynamo *project *trackio *restore *enable_jit *data_seed
    *per_gpu_eval *dispatch *split_batches *even_batches *use_seedable *non_blocking
""".split()


_OFF = (False, "false", "False")
_FORMATS = ("bf16", "bfloat16", "pure_bf16", "fp16", "float16", "mixed_precision")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return bool(_SIGNS & set(tree))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Without the program and the launcher that take it. Raises Unreadable."""
    return of_arguments(tree, path.parent, {}, is_alone=True)


def of_arguments(
    given: Mapping[str, Any],
    folder: pathlib.Path,
    accelerate: Mapping[str, Any],
    is_alone: bool = False,
) -> Run:
    """`folder` is that of paths in the arguments. A file `is_alone` where nothing
    around it says how ranks share the state. Raises Unreadable."""
    v = Values(given, "the Trainer's arguments")
    run = Run()
    # Recipes stand in a folder of their kind, as those of the alignment handbook.
    kind = preference_of(given, folder.name if is_alone and given.get("beta") else "")
    refuse_second_model(given, "", kind or head_of(given))
    for key in ("pipeline_model_parallel_size", "tensor_model_parallel_size"):
        if v.number(key, default=1) > 1:
            raise Unreadable(f"{key}: Megatron-Core trains in place of the Trainer")
    if v.get("fp8") not in NO or v.number("expert_parallel_size", default=1) > 1:
        raise Unreadable(
            "fp8, expert_parallel_size: nothing here counts what they take"
        )
    for key in ("use_badam", "use_galore", "use_apollo", "use_adam_mini", "use_muon"):
        if v.flag(key):
            raise Unreadable(f"{key}: only the state of Adam is counted here")
    if v.get("qat.weight_dtype") == "nvfp4":
        raise Unreadable(
            "qat.weight_dtype nvfp4: Axolotl stops, because torchao makes no weights "
            "of NVFP4 alone for it; --set qat=null predicts without"
        )
    if v.get("use_kt") not in NO:
        raise Unreadable(
            "use_kt: KTransformers runs the experts on the CPU, whose speed nothing "
            "here knows"
        )
    for key in ("qat", "gptq", "quantization", "q_lora"):
        if v.get(key) not in NO or v.section(key):
            raise Unreadable(
                f"{key}: products of another kind, which are not predicted; --set "
                f"{key}=null predicts without"
            )
    if v.get("mixture_of_depths"):
        raise Unreadable("mixture_of_depths: it makes another model")
    is_of_llava = add_tower(v, run)
    is_internvl = is_of_internvl(v)
    if is_internvl:
        add_parts(v, run)
    is_of_pairs = read_head(v, run)
    if not is_of_llava:
        read_adapters(v, run)
    read_kind(v, run)
    read_saved(v, run)
    if v.get("unfrozen_parameters"):
        if run.program.get("lora"):
            raise Unreadable("unfrozen_parameters beside adapters: Axolotl trains none")
        add_unfrozen(run, v.get("unfrozen_parameters"))
    if v.get("finetuning_type", "cutoff_len") is not None:  # LLaMA-Factory's defaults
        names = ("freeze_vision_tower", "freeze_multi_modal_projector")
        add_frozen_towers(run, {key: v.get(key) not in _OFF for key in names})
        if v.get("freeze_language_model") not in NO:
            raise Unreadable(
                "freeze_language_model: towers train alone; say to ashlar predict, by "
                "--freeze, what does not",
                flag="freeze_language_model",
            )
    name = v.word(*_MODEL)
    if name and not is_internvl:
        run.model = local_model(name, folder)
        if run.model is None:
            run.notes.append(
                f"the {'decoder' if is_of_llava else 'model'} is {name}, which is not "
                "on this machine: give --model to ashlar predict"
            )
    length = v.get(*_LENGTH)
    if is_of_rewards(kind):
        add_length(v, run)
    elif length is not None and "sequence" not in run.batch:
        run.batch["sequence"] = v.number(*_LENGTH)
    run.notes.append("all sequences are taken to be of full length")
    micro = v.number(*MICRO, default=8 if not v.get("deepspeed_config") else 0)
    steps = v.get("gradient_accumulation_steps")
    if micro:
        run.batch["micro_batch"] = micro
        if steps != "auto":
            run.batch["micro_batches"] = v.number(
                "gradient_accumulation_steps", default=1
            )
    _read_ranks(v, run)
    _read_precision(v, accelerate, run)
    read_sharing(v, accelerate, folder, run)
    shards, copies = v.number("dp_shard_size", default=0), v.get("dp_replicate_size")
    if shards and copies not in (None, 1) and run.layout.get("sharding") == "full":
        run.layout["shard_ranks"] = shards * int(run.layout.get("context", 1))
    read_packed(v, run)
    _read_optimizer(v, run)
    if is_of_pairs:
        double_batch(run)
    if kind:
        add_preference(run, kind)
        v.asked.update((*OF_PREFERENCES, "stage"))
    refuse_unknown(v, run)
    refuse_own_words(v)
    quiet = [*_QUIET, *(OF_GENERATION if is_of_rewards(kind) else ())]
    run.not_read, unknown = sorted_out(v.rest(), quiet)
    run.unknown.extend(unknown)
    said = [v.get(key) for key in _FORMATS]
    if all(each is None for each in (*said, accelerate.get("mixed_precision"))):
        run.unknown.append(
            "the format of products, which nothing says: fp32, as the Trainer has it"
        )
    if is_alone and run.layout.get("sharding") == "none":
        run.unknown.append(
            "how ranks share the state, which the launcher says: taken to be "
            "--sharding none"
        )
    return run


def local_model(name: str, folder: pathlib.Path) -> Mapping[str, Any] | None:
    """The configuration of a model in a folder, or among the files of the hub that are
    here; nothing is fetched."""
    hub = pathlib.Path.home() / ".cache" / "huggingface" / "hub"
    places = [pathlib.Path(folder, name, "config.json")]
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        kept = hub / ("models--" + name.replace("/", "--")) / "snapshots"
        places.extend(sorted(kept.glob("*/config.json")))
    for path in places:
        if path.is_file():
            tree = read_file(path)
            return tree if isinstance(tree, Mapping) else None
    return None


def _read_ranks(v: Values, run: Run) -> None:
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
    checkpoints = v.get("gradient_checkpointing", "use_gradient_checkpointing")
    is_on = checkpoints not in (*NO, "no", "0", 0)
    # LLaMA-Factory has its own name, and it is on unless that is said.
    is_factory = v.get("finetuning_type", "cutoff_len") is not None
    is_off = v.flag("disable_gradient_checkpointing")
    if is_on or (checkpoints is None and is_factory and not is_off):
        run.layout["recompute"] = "full"
    elif checkpoints is None and not is_factory and v.get("reward_funcs", "use_peft"):
        run.unknown.append("gradient_checkpointing: newer releases of TRL turn it on")
    kernel = v.word("attn_implementation", "flash_attn", default="")
    if v.flag("flash_attention", "use_flash_attn"):
        kernel = "flash_attention_2"
    kernels = {
        "flash_attention_2": "flash_attention_2",
        "fa2": "flash_attention_2",
        "flash_attention_3": "flash_attention_3",
        "sdpa": "sdpa",
        "eager": "unfused",
    }
    if kernel in kernels:
        run.program["attention"] = kernels[kernel]


def _read_precision(v: Values, accelerate: Mapping[str, Any], run: Run) -> None:
    said = str(v.get("mixed_precision") or accelerate.get("mixed_precision") or "no")
    is_bf16 = v.get("bf16", "bfloat16") in (True, "true", "True", "auto", "full", "1")
    is_fp16 = v.get("fp16", "float16") in (True, "true", "True")
    if v.flag("pure_bf16"):
        is_bf16 = True
        run.unknown.append("pure_bf16: weights and state in 16 bits")
    if is_bf16 and is_fp16:
        raise Unreadable("bf16 and fp16 at once: the Trainer stops")
    run.program["precision"] = (
        "bf16" if is_bf16 else "fp16" if is_fp16 else said if said != "no" else "fp32"
    )


def _read_optimizer(v: Values, run: Run) -> None:
    name = v.word("optim", "optimizer", default="adamw_torch")
    if not add_optimizer(name, run):
        raise Unreadable(
            f"optim {name}: only the state of Adam in 32 or 8 bits is counted here; "
            "--set optim=adamw_torch (Axolotl: optimizer=adamw_torch) predicts with "
            "that"
        )
