"""SkyRL: the step that trains its policy, and supervised training, by FSDP2 of PyTorch
or by Megatron-Core (skyrl/train/config and skyrl/backends/skyrl_train at a9564572)."""

from __future__ import annotations

import math
import pathlib
import re

from ..facts.adapters import lora_words
from ..facts.local_models import add_local_model
from ..facts.megatron_ranks import megatron_ranks
from ..facts.optimizers import add_fact
from ..facts.updates import add_update
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, packed, parsed
from .skyrl_quiet import is_silent

READS = "SkyRL"

_POLICY = "trainer.policy."
# Programs of its own that generate, serve, or only act as if they trained.
_IDLE = re.compile(r"generate|serve|_sim$|eval")
_FORMATS = {"bf16": "bf16", "fp16": "fp16", "fp32": "fp32"}


def is_for(training: Training) -> bool:
    named = training.is_module and training.program.startswith(
        ("skyrl.", "skyrl_train.")
    )
    return named or any(
        word.lstrip("+").startswith(_POLICY) for word in training.arguments
    )


def read(training: Training) -> Run:
    """Raises Unreadable."""
    name = training.name.removesuffix(".py").rpartition(".")[2]
    if _IDLE.search(name):
        raise Unreadable(f"{training.program} trains nothing")
    tree = {}
    for word in training.arguments:
        key, equals, value = word.lstrip("+").partition("=")
        if not equals or word.startswith("-"):
            raise Unreadable(f"{training.program}: {word} is not NAME=VALUE")
        tree[key] = _value(value)
    v = Values(tree, training.program)
    is_supervised = "sft" in name
    run = Run()
    policy, trainer = ("", "") if is_supervised else (_POLICY, "trainer.")
    usual = "Qwen/Qwen3-0.6B" if is_supervised else "Qwen/Qwen2.5-1.5B-Instruct"
    path = v.word(policy + "model.path", default=usual)
    add_local_model(run, path, pathlib.Path(training.command.folder))
    _refuse(v, policy, trainer)
    strategy = v.word(
        trainer + "strategy", default="megatron" if is_supervised else "fsdp"
    )
    if strategy == "megatron":
        _read_megatron(v, run, policy, trainer)
    elif strategy in ("fsdp", "fsdp2"):
        _read_fsdp(v, run, policy, trainer)
    else:
        raise Unreadable(f"{trainer}strategy {strategy}: fsdp and megatron are read")
    _add_adapters(v, run, policy, strategy == "megatron")
    devices = _devices(
        v, run, "placement." if is_supervised else "trainer.placement.policy_"
    )
    if is_supervised:
        _read_samples(v, run)
    else:
        _read_answers(v, run)
    _limit_tokens(v, run, trainer, devices)
    rest = v.rest()
    run.not_read = [key for key in rest if is_silent(key)]
    run.unknown.extend(key for key in rest if not is_silent(key))
    return run


def _value(text: str) -> object:
    try:
        return parsed(text, pathlib.Path("value.yaml"))
    except Unreadable:
        return text


def _refuse(v: Values, policy: str, trainer: str) -> None:
    for key in (
        policy + "model.fake_int4_qat.enabled",
        trainer + "mtp.enabled",
        policy + "megatron_config.mtp_num_layers",
        trainer + "fully_async.simulate_training",
        policy + "inference_only_init",
        trainer + "override_entrypoint",
    ):
        if v.get(key):
            raise Unreadable(f"{key} is not predicted", flag=key)


def _devices(v: Values, run: Run, prefix: str) -> int:
    four = 4 if prefix == "placement." else 1
    nodes = v.number(prefix + "num_nodes", default=1)
    each = v.number(prefix + "num_gpus_per_node", default=four)
    run.notes.append(f"launched on {nodes} x {each} devices")
    return nodes * each


def _read_answers(v: Values, run: Run) -> None:
    """An update has policy_mini_batch_size prompts with n_samples_per_prompt answers;
    prompts of several turns have a limit of their own."""
    prompt = v.number("trainer.max_prompt_length", default=512)
    prompt = v.number("generator.max_input_length", default=prompt)
    answer = v.number("generator.sampling_params.max_generate_length", default=1024)
    samples = v.number("trainer.policy_mini_batch_size", default=256)
    samples *= v.number("generator.n_samples_per_prompt", default=5)
    run.batch = {
        "sequence": prompt + answer,
        "sequences": samples,
        "micro_batch": v.number("trainer.micro_train_batch_size_per_gpu", default=1),
    }
    add_update(run, "SkyRL")
    limits = (
        "trainer.max_prompt_length",
        "generator.sampling_params.max_generate_length",
    )
    if not v.where.startswith("skyrl") and not set(limits) & set(v.all):
        run.unknown.append(f"{limits[0]}: no word says it, and the program may")
    if v.flag("generator.step_wise_trajectories"):
        run.unknown.append("generator.step_wise_trajectories: a sequence for each turn")


def _read_samples(v: Values, run: Run) -> None:
    run.batch = {
        "sequence": v.number("max_length"),
        "sequences": v.number("batch_size", default=4),
        "micro_batch": v.number("micro_train_batch_size_per_gpu", default=2),
    }
    if v.flag("use_sequence_packing"):
        v.number("max_tokens_per_microbatch")
        run.batch["micro_batch"] = 1
    run.notes.append("all sequences are taken to be of full length")


def _limit_tokens(v: Values, run: Run, trainer: str, devices: int) -> None:
    said = v.get(trainer + "max_tokens_per_microbatch")
    if said is None or str(said) == "-1":
        return
    most = v.number(trainer + "max_tokens_per_microbatch")
    ranks = devices // math.prod(
        int(run.layout.get(name, 1)) for name in ("tensor", "pipeline", "context")
    )
    samples = run.batch["sequences"]
    each = samples // ranks if ranks and samples % ranks == 0 else samples
    run.batch["micro_batch"] = packed(each, most // run.batch["sequence"])
    run.unknown.append(f"{trainer}max_tokens_per_microbatch (micro-batches of {most})")


def _add_adapters(v: Values, run: Run, policy: str, is_megatron: bool) -> None:
    rank = v.number(policy + "model.lora.rank", default=0)
    targets = v.get(policy + "model.lora.target_modules") or "all-linear"
    if not rank:
        return
    run.program["lora"] = lora_words(rank, targets)
    if v.get(policy + "model.lora.exclude_modules"):
        run.unknown.append(f"{policy}model.lora.exclude_modules")
    if (
        v.word(policy + "megatron_config.lora_config.lora_type", default="lora")
        != "lora"
    ):
        raise Unreadable(f"{policy}megatron_config.lora_config.lora_type: not LoRA")
    if not is_megatron:
        run.unknown.append("frozen weights beside adapters are in 32 bits")


def _read_fsdp(v: Values, run: Run, policy: str, trainer: str) -> None:
    f = policy + "fsdp_config."
    keeps = not v.flag(f + "reshard_after_forward", default=True)
    run.layout = {
        "sharding": "gradients" if keeps else "full",
        "context": v.number(policy + "sequence_parallel_size", default=1),
    }
    size = v.get(f + "fsdp_size")
    if size is not None and str(size) != "-1":
        run.layout["shard_ranks"] = v.number(f + "fsdp_size")
    if v.flag(f + "cpu_offload"):
        run.layout["offload_weights"] = "own"
    kind = v.word(f + "mixed_precision.param_dtype", default="bf16")
    sums = v.word(f + "mixed_precision.reduce_dtype", default="fp32")
    if kind not in _FORMATS or sums not in _FORMATS:
        raise Unreadable(f"{f}mixed_precision: {kind}, {sums} are not known here")
    run.program["precision"] = kind
    if sums != "fp32":
        run.unknown.append(f"{f}mixed_precision.reduce_dtype: gradients in 16 bits")
    if v.flag(trainer + "gradient_checkpointing", default=True):
        run.layout["recompute"] = "full"
    is_flash = v.flag(trainer + "flash_attn", default=True)
    run.program["attention"] = "flash_attention_2" if is_flash else "sdpa"


def _read_megatron(v: Values, run: Run, policy: str, trainer: str) -> None:
    m = policy + "megatron_config."
    if not policy:  # supervised training has other defaults (sft_config.py)
        for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size"):
            v.all.setdefault(m + name, 2)
    run.layout = {**megatron_ranks(v, m), "sharding": "optimizer"}
    run.program["precision"] = "bf16"
    if run.layout["tensor"] > 1:
        run.program["sequence_parallel"] = "on"
    ddp = m + "ddp_config."
    overlaps = [
        v.flag(ddp + "overlap_" + each) for each in ("grad_reduce", "param_gather")
    ]
    add_fact(run, f"data-overlap={'on' if all(overlaps) else 'off'}")
    if any(overlaps) != all(overlaps):
        run.unknown.append(f"{ddp}overlap_grad_reduce: sums run during backwards")
    if not v.flag(ddp + "grad_reduce_in_fp32", default=True):
        run.unknown.append("gradients are held in 16 bits: memory is less than said")
    if run.layout["expert"] > 1:
        kind = v.word(m + "moe_token_dispatcher_type", default="alltoall")
        ways = {"alltoall": "all-to-all", "allgather": "all-gather", "flex": "once"}
        if kind not in ways:
            raise Unreadable(f"{m}moe_token_dispatcher_type {kind} is not known here")
        add_fact(run, f"expert-dispatch={ways[kind]}")
    is_grouped = v.flag(m + "moe_grouped_gemm", default=True)
    add_fact(run, f"expert-products={'grouped' if is_grouped else 'loop'}")
    v.get(m + "moe_token_dispatcher_type", policy + "sequence_parallel_size")
    ends = [
        f"{m}transformer_config_kwargs.num_layers_in_{part}_pipeline_stage"
        for part in ("first", "last")
    ]
    if any([v.get(key) for key in ends]) and run.layout["pipeline"] > 1:
        run.unknown.append(f"{ends[1]}: stages have other layers, which --layout says")
    _read_state(v, run, m + "optimizer_config_kwargs.")
    _add_recomputation(v, run, m + "transformer_config_kwargs.", trainer)


def _read_state(v: Values, run: Run, o: str) -> None:
    is_offloaded = v.flag(o + "optimizer_cpu_offload")
    share = float(v.get(o + "optimizer_offload_fraction") or 0)
    if is_offloaded and share not in (0.0, 1.0):
        raise Unreadable(f"{o}optimizer_offload_fraction {share}: not all moves")
    if is_offloaded and share:
        run.layout["offload_optimizer"] = True
    if v.flag(o + "use_precision_aware_optimizer") and not is_offloaded:
        add_fact(run, "main-weights=rest")


def _add_recomputation(v: Values, run: Run, t: str, trainer: str) -> None:
    """Whole layers, one by one, unless these words say others."""
    how = v.word(t + "recompute_granularity", default="full")
    method = v.word(t + "recompute_method", default="uniform")
    layers = v.number(t + "recompute_num_layers", default=1)
    parts = v.get(t + "recompute_modules") or ["core_attn"]
    if not v.flag(trainer + "gradient_checkpointing", default=True):
        return
    if how == "selective":
        run.layout["recompute"] = ",".join(parts)
    elif how != "full" or method not in ("uniform", "block"):
        raise Unreadable(f"{t}recompute_granularity {how}, {method}")
    elif method == "block":
        run.layout["recompute"] = f"full:{layers}"
    elif layers > 1:
        raise Unreadable(f"{t}recompute_num_layers: above 1 is not predicted")
    else:
        run.layout["recompute"] = "full"
