"""verl: the step that trains its actor, by FSDP or Megatron-Core."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import Any

from ..facts.adapters import lora_words
from ..facts.attention_kernels import add_attention
from ..facts.local_models import add_local_model
from ..facts.megatron_core_facts import add_facts
from ..facts.megatron_ranks import megatron_ranks, read_stages
from ..facts.optimizers import add_optimizer
from ..facts.updates import add_update
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, packed, parsed
from .verl_config import composed
from .verl_quiet import is_silent

READS = "verl"

_ACTOR = "actor_rollout_ref.actor."


_FORMATS = {
    name: short
    for short, long in (("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32"))
    for name in (short, long, f"torch.{long}")
}


# Keys of verl with those of rLLM, and rLLM's defaults.
_RLLM = {
    "actor_rollout_ref.rollout.n": ("rllm.rollout.n", 8),
    "data.max_prompt_length": ("rllm.data.max_prompt_length", 2048),
    "data.max_response_length": ("rllm.data.max_response_length", 30720),
}


def is_for(training: Training) -> bool:
    is_verl = training.is_module and training.program.startswith(("verl.", "recipe."))
    return is_verl or any(w.lstrip("+").startswith(_ACTOR) for w in training.arguments)


def read(training: Training) -> Run:
    """Raises Unreadable."""
    tree: dict[str, Any] = {}
    folder = pathlib.Path(training.command.folder)
    words = list(training.arguments)
    config = _config_name(words)
    words, own = _without_rllm(words)
    for word in words:
        name, equals, value = word.lstrip("+~").partition("=")
        if equals and not name.startswith("-"):
            tree[name] = _value(value)
    whole = composed(config, words)
    if whole is not None:
        run = of_values(Values(whole, "verl's configuration"), folder, set(tree))
        run.unknown.extend(own)
        return run
    engine = "megatron" if "megatron" in config else tree.get("model_engine", "dp")
    if engine != "dp":
        tree.setdefault(_ACTOR + "strategy", engine)
    run = of_values(Values(tree, "verl's configuration"), folder)
    run.notes.append("what the words leave open is as in verl 0.7, which is not here")
    run.unknown.extend(own)
    return run


def _without_rllm(words: list[str]) -> tuple[list[str], list[str]]:
    """Words of rLLM stand above verl's for what both have, and its own defaults where
    neither is said (rllm/trainer/verl/utils.py at 9beb6e0f). Returns verl's words, and
    the names of the others."""
    said = {word.lstrip("+").partition("=")[0]: word for word in words}
    own = [name for name in said if name.startswith(("rllm.", "rllm/"))]
    made = [word for name, word in said.items() if name not in own]
    both = dict(_RLLM)
    if said.get("rllm.async_training.enable", "").lower().endswith("=true"):
        both[_ACTOR + "ppo_mini_batch_size"] = (
            "rllm.async_training.mini_batch_size",
            1,
        )
        made = [w for w in made if "ppo_mini_batch_size=" not in w]
    for name, (other, usual) in both.items():
        if other in said:
            value = said[other].partition("=")[2]
            made = [word for word in made if word.lstrip("+").split("=")[0] != name]
            made.append(f"{name}={value}")
        elif own and not any(word.lstrip("+").startswith(name + "=") for word in made):
            made.append(f"{name}={usual}")
    taken = {other for other, _ in both.values()}
    return (made, [name for name in own if name not in taken]) if own else (words, [])


def _config_name(words: list[str]) -> str:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in ("--config-name", "-cn"):
            found = value if equals else (words[at + 1] if at + 1 < len(words) else "")
            return found.removesuffix(".yaml").strip("'\"")
    return "ppo_trainer"


def _value(text: str) -> Any:
    """An override's value, as Hydra reads it: nearly YAML."""
    try:
        return parsed(text, pathlib.Path("value.yaml"))
    except Unreadable:
        return text


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return "actor_rollout_ref" in tree


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    return of_values(Values(tree, str(path)), path.parent)


def of_values(v: Values, folder: pathlib.Path, said: set[str] | None = None) -> Run:
    """`said` are the keys that the answer lists where it does not read them; None:
    all. Raises Unreadable."""
    run = Run()
    model = "actor_rollout_ref.model."
    rank = int(v.get(model + "lora_rank", model + "lora.rank") or 0)
    targets = v.get(model + "target_modules", model + "lora.target_modules")
    if rank > 0:
        run.program["lora"] = lora_words(rank, targets or "all-linear")
    elif v.get(model + "lora_adapter_path", model + "lora.adapter_path"):
        raise Unreadable(
            f"{model}lora_adapter_path: adapters train, whose rank stands in that "
            f"folder; --set {model}lora_rank=RANK says it"
        )
    path = v.word("actor_rollout_ref.model.path", default="")
    for key in ("data.image_key", "data.video_key", "data.audio_key"):
        if v.get(key) and (said is None or key in said):
            run.unknown.append(f"{key}: what images or sounds add")
    if path:
        add_local_model(run, path, folder)
    prompt = v.number("data.max_prompt_length", default=512)
    answer = v.number("data.max_response_length", default=512)
    copies = v.number("actor_rollout_ref.rollout.n", default=1)
    samples = v.number(_ACTOR + "ppo_mini_batch_size", default=256) * copies
    run.batch = {"sequence": prompt + answer, "sequences": samples}
    add_update(run, "verl")
    nodes, devices = v.get("trainer.nnodes"), v.get("trainer.n_gpus_per_node")
    if isinstance(nodes, int) and isinstance(devices, int):
        run.notes.append(f"launched on {nodes} x {devices} devices")
    if v.flag(_ACTOR + "use_dynamic_bsz"):
        most = v.number(_ACTOR + "ppo_max_token_len_per_gpu", default=16384)
        run.unknown.append(f"{_ACTOR}use_dynamic_bsz (micro-batches of {most} tokens)")
        ranks, context = _data_ranks(v)
        each = samples // ranks if ranks and samples % ranks == 0 else samples
        run.batch["micro_batch"] = packed(each, most * context // (prompt + answer))
        v.get(_ACTOR + "ppo_micro_batch_size_per_gpu", _ACTOR + "ppo_micro_batch_size")
    else:
        run.batch["micro_batch"] = v.number(
            _ACTOR + "ppo_micro_batch_size_per_gpu", _ACTOR + "micro_batch_size_per_gpu"
        )
    strategy = v.word(_ACTOR + "strategy", default="fsdp")
    if strategy == "megatron":
        _read_megatron(v, run)
    elif strategy in ("fsdp", "fsdp2"):
        _read_fsdp(v, run)
    else:
        raise Unreadable(
            f"{_ACTOR}strategy {strategy}: fsdp, fsdp2 and megatron are read"
        )
    _read_optimizer(v, run)
    key = model + "override_config.attn_implementation"
    add_attention(run, key, v.word(key))
    rest = [key for key in v.rest() if said is None or key in said]
    run.not_read = [key for key in rest if is_silent(key)]
    run.unknown.extend(key for key in rest if not is_silent(key))
    return run


def _read_optimizer(v: Values, run: Run) -> None:
    """Adam of PyTorch or of Megatron-Core, or of bitsandbytes in 8 bits. What else they
    are told is listed (workers/config/optimizer.py)."""
    name = v.word(_ACTOR + "optim.optimizer", default="adam").lower()
    place = v.word(_ACTOR + "optim.optimizer_impl", default="torch.optim")
    own = {"bitsandbytes.optim": "adamw8bit", "torchao.optim": "adamw8bit"}
    if place in own and name == own[place]:
        add_optimizer("adamw_8bit", run)
    elif place != "torch.optim" or name not in ("adam", "adamw"):
        raise Unreadable(
            f"{_ACTOR}optim.optimizer {name} of {place}: only Adam's state is counted"
        )


def _data_ranks(v: Values) -> tuple[int, int]:
    """Data ranks, 0 where nothing says them, and ranks that share a sequence."""
    nodes, devices = v.get("trainer.nnodes"), v.get("trainer.n_gpus_per_node")
    m = _ACTOR + "megatron."
    is_megatron = v.word(_ACTOR + "strategy", default="fsdp") == "megatron"
    names = ("tensor_model", "pipeline_model", "context")
    below = [v.number(f"{m}{name}_parallel_size", default=1) for name in names]
    context = v.number(
        _ACTOR + "ulysses_sequence_parallel_size",
        _ACTOR + "fsdp_config.ulysses_sequence_parallel_size",
        default=1,
    )
    if is_megatron:
        context = below[2]
    all_below = math.prod(below) if is_megatron else context
    if not isinstance(nodes, int) or not isinstance(devices, int):
        return 0, context
    return nodes * devices // all_below, context


def _read_fsdp(v: Values, run: Run) -> None:
    context = v.number(
        _ACTOR + "ulysses_sequence_parallel_size",
        _ACTOR + "fsdp_config.ulysses_sequence_parallel_size",
        default=1,
    )
    keeps = not v.flag(_ACTOR + "fsdp_config.reshard_after_forward", default=True)
    run.layout = {"sharding": "gradients" if keeps else "full", "context": context}
    size = v.get(_ACTOR + "fsdp_config.fsdp_size")
    if isinstance(size, int) and size > 0:
        run.layout["shard_ranks"] = size
    if v.flag(_ACTOR + "fsdp_config.param_offload"):
        run.notes.append(
            "weights are on the host between steps, which is not in the step"
        )
    if v.flag(_ACTOR + "fsdp_config.offload_policy"):
        if v.word(_ACTOR + "strategy", default="fsdp") != "fsdp2":
            run.notes.append("offload_policy is of fsdp2 alone: it changes nothing")
        else:
            run.layout["offload_weights"] = "own"
    v.flag(_ACTOR + "fsdp_config.optimizer_offload")
    # verl/workers/fsdp_workers.py: sums are in 32 bits unless reduce_dtype says others.
    mixed = _ACTOR + "fsdp_config.mixed_precision."
    kind = v.word(mixed + "param_dtype", default="bf16")
    run.program["precision"] = _FORMATS.get(kind, kind)
    v.get(mixed + "buffer_dtype")
    if _FORMATS.get(v.word(mixed + "reduce_dtype", default="fp32")) != "fp32":
        run.unknown.append(f"{mixed}reduce_dtype: gradients are summed in 16 bits")
    if v.flag("actor_rollout_ref.model.enable_gradient_checkpointing", default=True):
        run.layout["recompute"] = "full"


def _read_megatron(v: Values, run: Run) -> None:
    m = _ACTOR + "megatron."
    shares = v.flag(m + "use_distributed_optimizer", default=True)
    run.layout = {**megatron_ranks(v, m), "sharding": "optimizer" if shares else "none"}
    if not v.flag(m + "sequence_parallel", default=True) and run.layout["tensor"] > 1:
        run.program["sequence_parallel"] = "off"
    chunks = v.get(m + "virtual_pipeline_model_parallel_size")
    if isinstance(chunks, int) and chunks > 1:
        run.layout["chunks"] = chunks
    o = m + "override_transformer_config."
    how = v.word(o + "recompute_granularity", default="")
    if how == "full" and v.word(o + "recompute_method", default="uniform") == "block":
        run.layout["recompute"] = (
            f"full:{v.number(o + 'recompute_num_layers', default=1)}"
        )
    elif how == "full":
        if v.number(o + "recompute_num_layers", default=1) > 1:
            raise Unreadable(f"{o}recompute_num_layers: above 1 is not predicted")
        v.get(o + "recompute_method")
        run.layout["recompute"] = "full"
    elif how == "selective":
        parts = v.get(o + "recompute_modules") or ["core_attn"]
        run.layout["recompute"] = ",".join(parts)
    elif how:
        raise Unreadable(
            f"{o}recompute_granularity {how}: there are full and selective"
        )
    run.program["precision"] = "bf16"
    read_stages(v, run, o)
    add_facts(v, run, o)
    for part in ("param_offload", "grad_offload", "optimizer_offload"):
        if v.flag(m + part):
            run.notes.append(f"{part}: between steps, which is not in the step")
