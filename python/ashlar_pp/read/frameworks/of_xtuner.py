"""Configurations of XTuner that mmengine reads (its first version), a Python file."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from ..facts.optimizers import other_optimizer
from ..facts.preferences import adds_reference
from ..run_file import Run, Unreadable
from ..scripts.python_values import python_values
from ..values import Values, sorted_out
from .of_trainer import of_arguments
from .xtuner_engine import engine_of
from .xtuner_parts import (
    adapters_of,
    finish_llava,
    parts_of_internvl,
    parts_of_llava,
)

READS = "XTuner"
# Sections that its runner is made of; other names are the file's own.
_SECTIONS = (
    "model",
    "train_dataloader",
    "optim_wrapper",
    "strategy",
    "deepspeed",
    "compile",
    "sequence_parallel_size",
    "framework",
    "lora",
    "training_args",
    "train_dataset",
)
_QUIET = """
    model.type model.llm.type model.llm.trust_remote_code model.llm.torch_dtype
    model.llm.quantization_config.type model.llm.quantization_config.llm_int8
    model.llm.quantization_config.bnb_4bit_compute model.llm.rope_scaling.
    model.llm.quantization_config.bnb_4bit_quant model.llm.device_map
    model.llm.low_cpu model.llm.use_cache model.llm.revision
    model.llm.moe_implementation model.llm.expert_in_one_shard
    model.lora.type model.lora.lora_alpha model.lora.task_type model.lora.use_rslora
    model.lora.lora_dropout model.lora.inference model.lora.init model.peft_model
    model.llm_lora.type model.llm_lora.lora_alpha model.llm_lora.task_type
    model.llm_lora.lora_dropout model.max_position_embeddings model.use_varlen_attn
    model.loss_type model.beta model.label_smoothing model.reward_token_id
    model.penalty_ model.pretrained_pth model.visual_select_layer model.ref_llm.
    model.visual_encoder.type model.model_path model.quantization_vit
    train_dataloader. optim_wrapper.type optim_wrapper.optimizer.
    optim_wrapper.clip_grad. optim_wrapper.loss_scale optim_wrapper.dtype
    strategy.type train_dataset.
""".split()
_MODELS = {
    "SupervisedFinetune": "",
    "DPO": "dpo",
    "ORPO": "orpo",
    "RewardModel": "reward",
    "LLaVAModel": "",
    "InternVL_V1_5": "",
}
_OPTIMIZERS = {
    "AdamW": "adamw_torch",
    "Adam": "adamw_torch",
    "FusedAdam": "adamw_torch",
    "DeepSpeedCPUAdam": "adamw_torch",
    "PagedAdamW32bit": "paged_adamw_32bit",
    "PagedAdamW8bit": "paged_adamw_8bit",
    "AdamW8bit": "adamw_8bit",
}


def is_recipe(tree: Mapping[str, Any]) -> bool:
    """Its models are classes of xtuner, or its trainer that of transformers."""
    model = tree.get("model")
    if not isinstance(model, Mapping):
        return False
    is_own = str(model.get("type", "")).startswith("xtuner.model")
    return is_own or (
        tree.get("framework") == "huggingface" and "training_args" in tree
    )


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path, ranks: int = 0) -> Run:
    """`deepspeed` of the tree is the file, or the name of one, that --deepspeed of its
    command says; `ranks` are known unless 0. Raises Unreadable."""
    _refuse_used(tree, path)
    v = Values({key: tree[key] for key in _SECTIONS if key in tree}, str(path))
    if v.get("framework") == "huggingface":
        return _of_trainer(tree, v, path)
    kind = v.word("model.type").rpartition(".")[2]
    if kind not in _MODELS:
        raise Unreadable(f"{path}: model.type {kind} is not known here")
    if v.get("compile"):
        raise Unreadable(f"{path}: compile: torch.compile of mmengine's is not read")
    engine = engine_of(tree, v, path)
    given: dict[str, Any] = {"optim": _optimizer(v, path)}
    micro = v.number("train_dataloader.batch_size")
    given["per_device_train_batch_size"] = micro
    given["gradient_accumulation_steps"] = v.number(
        "optim_wrapper.accumulative_counts", default=1
    )
    given["gradient_checkpointing"] = v.flag(
        "model.use_activation_checkpointing", default=True
    )
    context = v.number("sequence_parallel_size", default=1)
    if context > 1:
        given["sequence_parallel_size"] = context
    is_packed = v.flag("model.use_varlen_attn")
    length = _length(tree["train_dataloader"], is_packed and bool(_MODELS[kind]))
    kernel = v.get("model.llm.attn_implementation")
    given["attn_implementation"] = kernel
    given["bf16"], given["fp16"] = _format(v, engine is not None)
    if engine is not None:
        given["deepspeed"] = json.dumps(engine)
    given["model_name_or_path"] = v.word(
        "model.llm.pretrained_model_name_or_path", "model.model_path"
    )
    if _MODELS[kind] == "reward":
        # A pack holds both answers; else each is a sequence.
        given.update({"task_type": "seq_cls"} if is_packed else {"reward_model": True})
    elif _MODELS[kind] and not is_packed:
        given["rl"] = _MODELS[kind]
    if kind == "LLaVAModel":
        given.update(parts_of_llava(v, path))
        # Words of a picture's place become its tokens.
        given["max_length"] = length and length - 1
    elif kind == "InternVL_V1_5":
        given.update(parts_of_internvl(v, path, given["model_name_or_path"]))
        given["max_length"] = length
    else:
        given["max_length"] = length
        given.update(adapters_of(v, "model.lora", given["model_name_or_path"], path))
    packed = _packed(v, kind)
    if packed and not (given.get("lora_r") or given.get("use_llm_lora")):
        raise Unreadable(
            f"{path}: frozen weights in fewer bits are predicted beside adapters "
            "alone; --set model.llm.quantization_config=null predicts 16 bits"
        )
    given.update(packed)
    run = of_arguments(
        {key: each for key, each in given.items() if each is not None}, path.parent, {}
    )
    if kind == "LLaVAModel":
        finish_llava(v, run)
    if packed:
        run.program["frozen_weights"] = _rest(run, kind, engine is None)
        run.unknown = [each for each in run.unknown if "kbit_training" not in each]
    elif run.program.get("lora") and engine is None:
        run.unknown.append(
            "frozen weights, which prepare_model_for_kbit_training of peft makes 32 "
            "bits: they are counted in 16"
        )
    if kind == "DPO" and is_packed:
        adds_reference(run, 1)
        run.notes.append("dpo: a pack holds both answers")
    if context > 1 and engine is None:
        raise Unreadable(
            f"{path}: sequence_parallel_size without --deepspeed, at which XTuner "
            "stops; --set deepspeed=deepspeed_zero2 says it"
        )
    _say_more(v, run, engine, is_packed, length)
    if ranks == 1:
        run.layout["data"] = 1
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _refuse_used(tree: Mapping[str, Any], path: pathlib.Path) -> None:
    """Names that the file has used already, before --set could say another value."""
    if not path.is_file():
        return
    before = python_values(path.read_text(encoding="utf-8"), path)
    for name, value in tree.items():
        is_said = name not in before or before[name] != value
        if is_said and name not in _SECTIONS:
            raise Unreadable(
                f"--set {name}: the file has used it already; say what it is used for, "
                "as --set train_dataloader.batch_size=4"
            )


def _format(v: Values, has_engine: bool) -> tuple[bool, bool]:
    """bf16, fp16: of DeepSpeed, which says it itself, or of mmengine's wrapper."""
    if has_engine:
        return True, False
    kind = v.word("optim_wrapper.type", default="OptimWrapper").rpartition(".")[2]
    name = v.word("optim_wrapper.dtype", default="float16").rpartition(".")[2]
    if kind != "AmpOptimWrapper":
        return False, False
    return name == "bfloat16", name in ("float16", "half")


def _optimizer(v: Values, path: pathlib.Path) -> str:
    name = v.word("optim_wrapper.optimizer.type").rpartition(".")[2]
    for key in ("paramwise_cfg", "constructor"):
        if v.get(f"optim_wrapper.{key}") or v.section(f"optim_wrapper.{key}"):
            raise Unreadable(f"{path}: optim_wrapper.{key}: parts may train otherwise")
    if name not in _OPTIMIZERS or v.get("optim_wrapper.optimizer.amsgrad"):
        raise other_optimizer(path, "optim_wrapper.optimizer.type", name, "AdamW")
    return _OPTIMIZERS[name]


def _length(section: Any, has_pairs: bool) -> int | None:
    """The longest of the samples, or packs of them, of all data sets."""
    names = ("max_packed_length",) if has_pairs else ()
    said = list(_named(section, (*names, "packed_length")))
    said = said or list(_named(section, ("max_length", "max_sample_length")))
    sizes = [int(each) for each in said if isinstance(each, (int, float))]
    return max(sizes, default=None)


def _named(tree: Any, names: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key in names:
                yield value
            else:
                yield from _named(value, names)
    elif isinstance(tree, (list, tuple)):
        for each in tree:
            yield from _named(each, names)


def _packed(v: Values, kind: str) -> dict[str, Any]:
    if kind == "InternVL_V1_5":
        if not v.flag("model.quantization_llm"):
            return {}
        return {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}
    names = ("load_in_4bit", "load_in_8bit", "bnb_4bit_use_double_quant")
    said = {
        key: v.flag(f"model.llm.{key}", f"model.llm.quantization_config.{key}")
        for key in names
    }
    return said if said["load_in_4bit"] or said["load_in_8bit"] else {}


def _rest(run: Run, kind: str, is_whole: bool) -> str:
    """InternVL's skipped modules leave the head among those that are packed. Under
    DeepSpeed all others have its 16 bits."""
    words = [run.program["frozen_weights"]]
    if kind == "InternVL_V1_5":
        words.append("head")
    if is_whole:
        words.append("rest=32-bit")
    if kind != "SupervisedFinetune" and kind in ("LLaVAModel", "InternVL_V1_5"):
        words.append("towers=16-bit")
    return ",".join(words)


def _say_more(
    v: Values,
    run: Run,
    engine: Mapping[str, Any] | None,
    is_packed: bool,
    length: int | None,
) -> None:
    if length is None:
        run.notes.append("nothing says how long sequences are: give --sequence")
    if is_packed:
        run.notes.append(
            "use_varlen_attn: samples of a pack attend to themselves alone; scores of "
            "the whole pack are counted"
        )
    if v.get("model.tokenizer") or v.section("model.tokenizer"):
        run.unknown.append("model.tokenizer: words of its own lengthen the vocabulary")
        v.asked.update(key for key in v.all if key.startswith("model.tokenizer"))
    if engine is None:
        run.unknown.append(
            "how ranks share the state, which --deepspeed of the command says: taken "
            "to be whole on each; --set deepspeed=deepspeed_zero2 says it"
        )
        if not run.program.get("lora"):
            run.unknown.append(
                "weights and state in bf16, as XTuner loads them where flash_attn is "
                "installed: taken to be in 32 bits"
            )
        return
    zero = engine.get("zero_optimization") or {}
    if (zero.get("offload_optimizer") or {}).get("device", "none") != "none":
        run.notes.append("on the host, AdamW is PyTorch's, which takes longer")


def _of_trainer(tree: Mapping[str, Any], v: Values, path: pathlib.Path) -> Run:
    """framework = "huggingface": the Trainer, with adapters that XTuner makes."""
    arguments = tree["training_args"]
    given = {str(key): value for key, value in arguments.items() if key != "type"}
    engine = engine_of({}, v, path) if v.get("deepspeed") else None
    if engine is not None:
        # The Trainer says the format itself.
        formats = {key: {"enabled": "auto"} for key in ("bf16", "fp16")}
        given["deepspeed"] = json.dumps({**engine, **formats})
    model = v.word("model.pretrained_model_name_or_path")
    given["model_name_or_path"] = model
    given["max_length"] = _length(tree.get("train_dataset"), False)
    given.update(adapters_of(v, "lora", model, path))
    said = {
        key: v.get(f"model.{key}", f"model.quantization_config.{key}")
        for key in ("load_in_4bit", "load_in_8bit", "bnb_4bit_use_double_quant")
    }
    given.update({key: value for key, value in said.items() if value is not None})
    if any(said.values()):
        # prepare_model_for_kbit_training turns it on.
        given.setdefault("gradient_checkpointing", True)
    run = of_arguments(
        {key: each for key, each in given.items() if each is not None}, path.parent, {}
    )
    if run.program.get("frozen_weights"):
        run.program["frozen_weights"] += "" if engine else ",rest=32-bit"
        run.unknown = [each for each in run.unknown if "kbit_training" not in each]
    return run
