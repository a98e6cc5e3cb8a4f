"""What ranks share under a plugin of ColossalAI's booster."""

from __future__ import annotations

from ..run_file import Run, Unreadable
from ..values import Values

_STAGES = {0: "none", 1: "optimizer", 2: "gradients"}


def add_plugin(v: Values, run: Run, ranks: int) -> None:
    """By colossalai/booster/plugin; `ranks` are known unless 0. Raises Unreadable."""
    kind = v.word("plugin")
    run.program["precision"] = v.word("mixed_precision", default="bf16")
    if run.program["precision"] not in ("bf16", "fp16"):
        raise Unreadable(f"mixed_precision {run.program['precision']}: there are two")
    if v.flag("use_fp8") or v.flag("use_fp8_comm"):
        raise Unreadable("use_fp8: products or exchanges in 8 bits of its own")
    if v.flag("custom_ckpt"):
        raise Unreadable("custom_ckpt: the program says which layers are run again")
    if kind.startswith("3d"):
        _add_hybrid(v, run, kind)
        return
    if kind == "gemini_auto":
        raise Unreadable(
            "plugin gemini_auto: where weights are is chosen while it runs; --set "
            "plugin=gemini predicts them on the devices"
        )
    if kind == "gemini":
        _add_chunks(v, run, ranks)
    elif kind in ("zero2", "zero2_cpu"):
        run.layout["sharding"] = "gradients"
        if kind.endswith("cpu"):
            run.layout["offload_optimizer"] = True
    elif kind in ("fsdp", "fsdp_cpu"):
        run.layout["sharding"] = "full"
        run.program["precision"] = (
            "fp16"  # of the benchmarks, which have no word for it
        )
        if kind.endswith("cpu"):
            run.layout["offload_weights"] = "own"
    elif kind == "ddp":
        run.layout["sharding"] = "none"
    else:
        raise Unreadable(f"plugin {kind or 'is not said'}: it is not known here")
    v.asked.update(("tp", "pp", "sp", "zero", "zero_stage", "zero_cpu_offload"))
    v.asked.update(("extra_dp", "pp_style", "n_chunks", "overlap_allgather"))


def _add_chunks(v: Values, run: Run, ranks: int) -> None:
    """Gemini holds shards of chunks, of which shard_param_frac are gathered again."""
    share = v.get("shard_param_frac")
    if share is not None and float(share) != 1:
        raise Unreadable(f"shard_param_frac {share}: a share of the weights is whole")
    for key in ("offload_optim_frac", "offload_param_frac"):
        part = v.get(key)
        if part is not None and float(part) != 0:
            raise Unreadable(f"{key} {part}: a share of the state is on the host")
    run.layout["sharding"] = "full"
    tensor, copies = v.number("tp", default=1), v.number("extra_dp", default=1)
    if tensor > 1:
        run.layout["tensor"] = tensor
    if copies > 1:
        if not ranks:
            raise Unreadable("extra_dp: nothing says how many ranks share")
        run.layout["shard_ranks"] = ranks // tensor // copies
    v.asked.update(("prefetch_num", "disable_async_reduce"))


def _add_hybrid(v: Values, run: Run, kind: str) -> None:
    tensor, pipeline = v.number("tp", default=1), v.number("pp", default=1)
    ranks, mode = v.number("sp", default=1), v.word("sp_mode")
    stage = v.number("zero_stage", "zero", default=0)
    if stage not in _STAGES or (stage == 2 and pipeline > 1):
        raise Unreadable(
            f"zero stage {stage} with pp {pipeline}: HybridParallelPlugin stops"
        )
    run.layout["sharding"] = _STAGES[stage]
    # Programs turn it on by a word; benchmarks by the number of its ranks.
    splits = v.flag("enable_sequence_parallelism", default=ranks > 1)
    if splits and mode in ("all_to_all", "ring_attn"):
        run.layout["context"] = ranks
    if tensor > 1:
        run.layout["tensor"] = tensor
        inside = splits and mode in ("split_gather", "ring")
        run.program["sequence_parallel"] = "on" if inside else "off"
    if pipeline > 1:
        run.layout["pipeline"] = pipeline
        style = v.word("pp_style", default="1f1b")
        if style == "interleaved":
            run.layout["chunks"] = v.number("n_chunks", default=1)
        elif style != "1f1b":
            raise Unreadable(f"pp_style {style}: --schedule of ashlar predict says it")
    if stage and (v.flag("zero_cpu_offload") or kind.endswith("cpu")):
        run.layout["offload_optimizer"] = True
    v.asked.update(("zero_cpu_offload", "pp_style", "n_chunks", "overlap_allgather"))
    v.asked.update(("prefetch_num", "disable_async_reduce", "extra_dp"))
    v.asked.update(("shard_param_frac", "offload_optim_frac", "offload_param_frac"))
