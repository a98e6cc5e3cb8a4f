"""A loop of a program's own, in the words of the Trainer's reader and of
`ashlar predict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts.optimizers import add_held_in_16
from ..run_file import Run, Unreadable

_WORDS = {
    "FULL_SHARD": "full_shard",
    "SHARD_GRAD_OP": "shard_grad_op",
    "NO_SHARD": "no_shard",
    "HYBRID_SHARD": "hybrid_shard",
    "_HYBRID_SHARD_ZERO2": "hybrid_shard_zero2",
}


def words_of(loop: Mapping[str, Any]) -> dict[str, Any]:
    """What the Trainer's reader takes. Raises Unreadable for what nothing proves."""
    if not loop["sequences"]:
        raise Unreadable(
            "data that are not here give batches of a size that nothing says"
        )
    options = loop["options"]
    given: dict[str, Any] = {
        "per_device_train_batch_size": loop["sequences"],
        "gradient_accumulation_steps": loop["micro_batches"],
    }
    if loop["tokens"]:
        given["block_size"] = loop["tokens"]
    if loop["recomputes"] == "full":
        given["gradient_checkpointing"] = True
    elif loop["recomputes"] == "other":
        raise Unreadable(
            "it recomputes other parts than each layer by itself, which is not read"
        )
    kind = loop["wrapper"]
    if kind == "ddp":
        given["ddp_bucket_cap_mb"] = options["bucket_cap_mb"]
    elif kind:
        strategy = _WORDS[options.get("strategy", "FULL_SHARD")]
        if options.get("keeps"):
            strategy = "shard_grad_op"
        if options.get("has_groups"):
            raise Unreadable("FSDP over groups of ranks of the program's own")
        if loop["gathers"] != "layers":
            raise Unreadable(
                "its FSDP does not gather each layer by itself, which is predicted"
            )
        given["fsdp"] = f"{strategy} auto_wrap"
        given["fsdp_config"] = {"offload_params": bool(options.get("offloads"))}
    elif loop["ranks"] > 1:
        raise Unreadable(
            f"it starts {loop['ranks']} ranks, and no wrapper that is read sums their "
            "gradients"
        )
    return given


def finish(
    run: Run, loop: Mapping[str, Any], formats: set[str], optimizer: str
) -> None:
    """What no word of the Trainer says. `formats` are those of the parameters. Raises
    Unreadable."""
    kind, options = loop["wrapper"], loop["options"]
    if len(formats) > 1:
        raise Unreadable(f"parameters of several formats: {', '.join(sorted(formats))}")
    (form,) = formats
    products = loop["products"] or options.get("weights") or form
    run.program["precision"] = {"bfloat16": "bf16", "float16": "fp16"}.get(
        products, "fp32"
    )
    run.unknown = [one for one in run.unknown if "format of products" not in one]
    shards = run.layout.get("sharding")
    if form != "float32" and shards != "none":
        add_held_in_16(run, optimizer)
    if form == "float32" and kind in ("fsdp", "fully_shard"):
        if products != "float32" and not options.get("weights"):
            run.unknown.append("FSDP gathers weights in 32 bits, without a policy")
        if options.get("sums") == "float32" and products != "float32":
            run.unknown.append("FSDP sums gradients in 32 bits")
    if not kind:
        run.layout["data"] = 1
    if options.get("shard_ranks"):
        run.layout["shard_ranks"] = options["shard_ranks"]
        run.is_in_node = False
    # The Trainer sums once a step.
    run.program.pop("scatter_once", None)
    micro = loop["micro_batches"]
    if micro > 1 and not loop["sums_each"] and shards == "full":
        run.program["scatter_once"] = True
    elif micro > 1 and loop["sums_each"] and loop["ranks"] > 1 and shards != "full":
        run.unknown.append(f"gradients are summed after each of {micro} backwards")
    if loop["evaluations"]:
        run.notes.append(
            f"{loop['evaluations']} forwards without gradients, outside of the step "
            "that is read, are left out"
        )
    if loop["is_compiled"]:
        run.unknown.append("torch.compile")
