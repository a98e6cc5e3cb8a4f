"""The Trainer of transformers, and what is made over it: TRL, LLaMA-Factory, Axolotl;
with DeepSpeed or FSDP, by arguments, files, or accelerate's configuration."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.heads import head_of, read_head
from ..facts.local_models import add_local_model
from ..facts.packed import refuse_packed_model
from ..facts.preferences import (
    OF_GENERATION,
    OF_PREFERENCES,
    add_length,
    add_preference,
    double_batch,
    is_of_rewards,
    preference_of,
    refuse_second_model,
)
from ..facts.teachers import read_teacher
from ..facts.trained_parts import add_unfrozen
from ..run_file import Run, Unreadable, add_frozen_towers
from ..values import Values, sorted_out
from .of_axolotl import read_axolotl
from .of_internvl import add_parts, is_of_internvl
from .of_llava import add_tower
from .own_programs import refuse_own_words
from .trainer_adapters import (
    NO,
    read_adapters,
    read_kind,
    read_packed,
    read_saved,
    refuse_unknown,
)
from .trainer_optimizer import read_optimizer
from .trainer_quiet import is_silent
from .trainer_sharing import read_sharing
from .trainer_silent import pass_over
from .trainer_step import read_precision, read_ranks
from .trainer_weights import read_weights
from .vision_programs import add_parts as add_words_of
from .vision_programs import program_of

READS = "the Trainer of transformers, TRL, LLaMA-Factory, Axolotl"

# In the order in which they are looked for: the Trainer's, Axolotl's, others'.
MICRO = ("per_device_train_batch_size", "micro_batch_size", "per_gpu_train_batch_size")
LENGTHS = (
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
    says_weights: bool = True,
) -> Run:
    """`folder` is that of paths in the arguments. A file `is_alone` where nothing
    around it says how ranks share the state; it `says_weights` where nothing else says
    their format. Raises Unreadable."""
    v = Values(given, "the Trainer's arguments")
    run = Run()
    # Recipes stand in a folder of their kind, as those of the alignment handbook.
    kind = preference_of(given, folder.name if is_alone and given.get("beta") else "")
    refuse_second_model(given, "", kind or head_of(given))
    for key in ("pipeline_model_parallel_size", "tensor_model_parallel_size"):
        if v.number(key, default=1) > 1:
            raise Unreadable(f"{key}: Megatron-Core trains in place of the Trainer")
    if v.get("fp8") not in NO:
        raise Unreadable("fp8: nothing here counts what it takes beside the Trainer")
    if v.number("expert_parallel_size", default=1) > 1:
        raise Unreadable(
            "expert_parallel_size: nothing here counts expert ranks of the Trainer"
        )
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
    if v.get("export_dir") and v.get("do_train", "output_dir") is None:
        raise Unreadable("export_dir: it writes a model, and trains nothing")
    if v.get("mixture_of_depths"):
        raise Unreadable("mixture_of_depths: it makes another model")
    program = program_of(v)
    if program:
        add_words_of(program, v, run)
    is_of_llava = program is None and add_tower(v, run)
    is_internvl = is_of_internvl(v)
    if is_internvl:
        add_parts(v, run)
    is_of_pairs = read_head(v, run)
    if not is_of_llava and program is None:
        read_adapters(v, run)
    read_kind(v, run)
    read_saved(v, run)
    if v.get("unfrozen_parameters"):
        if run.program.get("lora"):
            raise Unreadable("unfrozen_parameters beside adapters: Axolotl trains none")
        add_unfrozen(run, v.get("unfrozen_parameters"))
    if v.get("finetuning_type", "cutoff_len") is not None:  # LLaMA-Factory's defaults
        names = ("freeze_vision_tower", "freeze_multi_modal_projector")
        tower, projector = (v.get(key) not in _OFF for key in names)
        add_frozen_towers(run, tower, projector, _freezes_decoder(v, run))
    name = v.word(*_MODEL)
    refuse_packed_model(name)
    if name and not is_internvl and program is None:
        add_local_model(run, name, folder, "decoder" if is_of_llava else "model")
    length = v.get(*LENGTHS)
    prompts = v.get("max_source_length")
    answers = v.get("max_target_length") if prompts is not None else None
    if is_of_rewards(kind):
        add_length(v, run)
    elif answers is not None and length == prompts:
        run.notes.append(
            f"prompts have {prompts} tokens and answers {answers}: give --sequence, "
            "which is their sum where a decoder reads both"
        )
    elif length is not None and "sequence" not in run.batch:
        run.batch["sequence"] = v.number(*LENGTHS)
    run.notes.append("all sequences are taken to be of full length")
    micro = v.number(*MICRO, default=8 if not v.get("deepspeed_config") else 0)
    steps = v.get("gradient_accumulation_steps")
    if micro:
        run.batch["micro_batch"] = micro
        if steps != "auto":
            run.batch["micro_batches"] = v.number(
                "gradient_accumulation_steps", default=1
            )
    read_ranks(v, run)
    read_axolotl(v, run)
    read_precision(v, accelerate, run)
    read_sharing(v, accelerate, folder, run)
    shards, copies = v.number("dp_shard_size", default=0), v.get("dp_replicate_size")
    if shards and copies not in (None, 1) and run.layout.get("sharding") == "full":
        run.layout["shard_ranks"] = shards * int(run.layout.get("context", 1))
    read_packed(v, run)
    read_optimizer(v, run)
    if says_weights:
        read_weights(v, run, folder)
    if is_of_pairs:
        double_batch(run)
    if kind == "gkd":
        read_teacher(v, run, name, folder)
        v.asked.update((*OF_PREFERENCES, "stage"))
    elif kind:
        add_preference(run, kind, v.get("beta", "trl.beta"))
        v.asked.update((*OF_PREFERENCES, "stage"))
    refuse_unknown(v, run)
    refuse_own_words(v)
    pass_over(v, run)
    run.not_read = [key for key in v.rest() if is_silent(key)]
    others = [key for key in v.rest() if not is_silent(key)]
    quiet, unknown = sorted_out(
        others, OF_GENERATION if is_of_rewards(kind) or kind == "gkd" else ()
    )
    run.not_read.extend(quiet)
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


def _freezes_decoder(v: Values, run: Run) -> bool:
    """LLaMA-Factory's freeze_language_model (model/model_utils/visual.py). Raises
    Unreadable."""
    is_frozen = v.get("freeze_language_model") not in NO
    if is_frozen and (run.program.get("lora") or run.program.get("train_only")):
        raise Unreadable(
            "freeze_language_model: adapters of towers alone are not counted",
            flag="freeze_language_model",
        )
    return is_frozen
