"""Configurations of nanotron, a YAML."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import refuse_other
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, read_file, sorted_out
from .nanotron_model import TYPES

READS = "nanotron"

_QUIET = """
    checkpoints. data_stages general. logging. profiler tokenizer. lighteval
    s3_upload metrics_logging tokens. model.init_method. model.make_vocab_size
    optimizer.learning_rate_scheduler. optimizer.clip_grad optimizer.weight_decay
    model.model_config._ optimizer.optimizer_factory. model.model_config.is_ *rope_
    *bos_token *eos_token *pad_token *initializer *rms_norm_eps *max_position
    *use_cache *pretraining_tp *attention_dropout *log_attn parallelism.tp_
    optimizer.accumulate_grad_in_fp32 optimizer.adam_ optimizer.torch_adam_
    *attention_bias *z_loss *no_rope
""".split()


def is_for(training: Training) -> bool:
    names = {word.partition("=")[0] for word in training.arguments}
    is_train = training.name.startswith(("run_train", "train_"))
    return "--config-file" in names and is_train


def read(training: Training) -> Run:
    """Raises Unreadable."""
    words = list(training.arguments)
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--config-file" and (equals or at + 1 < len(words)):
            path = pathlib.Path(
                training.command.folder, value if equals else words[at + 1]
            )
            return of_recipe(read_file(path), path)
    raise Unreadable("--config-file has no value")


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return {"parallelism", "tokens", "model"} <= set(tree)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    where = str(path)
    if tree.get("doremi"):
        raise Unreadable(f"{where}: doremi: a second model runs beside the one trained")
    v = Values(tree, where)
    run = Run()
    model = v.section("model.model_config")
    for key in model:
        v.get("model.model_config." + key)
    run.model = _model(model, v, where)
    data = v.number("parallelism.dp")
    micro = v.number("tokens.micro_batch_size")
    steps = v.number("tokens.batch_accumulation_per_replica", default=1)
    run.batch = {
        "sequence": v.number("tokens.sequence_length"),
        "sequences": data * micro * steps,
        "micro_batch": micro,
    }
    zero = v.number("optimizer.zero_stage", default=0)
    if zero > 1:
        raise Unreadable(f"{where}: optimizer.zero_stage {zero}: nanotron has 0 and 1")
    run.layout = {
        "data": data,
        "tensor": v.number("parallelism.tp"),
        "pipeline": v.number("parallelism.pp"),
        "context": v.number("parallelism.context_parallel_size", default=1),
        "sharding": "optimizer" if zero == 1 else "none",
    }
    if v.number("parallelism.expert_parallel_size", default=1) > 1:
        raise Unreadable(
            f"{where}: parallelism.expert_parallel_size: nanotron's expert ranks are "
            "ranks of their own beside the data ranks, which no layout here has; "
            "--set parallelism.expert_parallel_size=1 reads the rest"
        )
    engine = v.word("parallelism.pp_engine", default="1f1b")
    if engine == "afab" and run.layout["pipeline"] > 1:
        run.layout["schedule"] = "gpipe"
    elif engine not in ("1f1b", "afab"):
        raise Unreadable(f"{where}: pp_engine {engine!r} is not predicted")
    if v.flag("parallelism.recompute_layer"):
        run.layout["recompute"] = "full"
    dtype = v.word("model.dtype", default="bfloat16")
    formats = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
    if dtype not in formats:
        raise Unreadable(f"{where}: model.dtype {dtype!r} is not predicted")
    mode = v.word("parallelism.tp_mode", default="ALL_REDUCE").upper()
    run.program = {"precision": formats[dtype], "stack": "plain"}
    if run.layout["tensor"] > 1:
        run.program["sequence_parallel"] = "on" if mode == "REDUCE_SCATTER" else "off"
    ranks = ("data", "tensor", "pipeline", "context")
    run.notes.append(f"for {math.prod(run.layout[name] for name in ranks)} devices")
    refuse_other(v, "optimizer.optimizer_factory.name", ("adamw", "adam"))
    if v.get("model.ddp_bucket_cap_mb") != 25:  # PyTorch's own
        v.asked.discard("model.ddp_bucket_cap_mb")
    run.not_read, run.unknown = sorted_out(v.rest(), _QUIET)
    return run


def _model(model: dict[str, Any], v: Values, where: str) -> dict[str, Any]:
    for sign, architecture_of in TYPES.items():
        if model.get(sign):
            multiple = v.number("model.make_vocab_size_divisible_by", default=1)
            multiple *= max(1, v.number("parallelism.tp"))
            words = -(-v.number("model.model_config.vocab_size") // multiple) * multiple
            try:
                made = architecture_of(model, words)
            except KeyError as error:
                raise Unreadable(f"{where}: model.model_config lacks {error}") from None
            return {"name": sign[3:-7], "architecture": made}
    for name in ("llama", "starcoder2"):
        if model.get(f"is_{name}_config"):
            return {"model_type": name, **_known(model)}
    raise Unreadable(f"{where}: model.model_config is of no type that is known here")


def _known(model: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in model.items() if not key.startswith(("is_", "_"))
    }
