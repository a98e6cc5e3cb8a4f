"""Configurations of Meta's lingua, a YAML: its transformer alone."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from .run_file import Run, Unreadable
from .values import Values, sorted_out

_QUIET = """
    name dump_dir steps probe_freq seed optim. data. profiling. checkpoint. logging.
    async_eval eval. env. distributed.matmul distributed.detect distributed.compile
    setup model.rope_theta model.norm_eps model.init slurm. async_ model.max_seqlen
""".split()


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model, ranks = tree.get("model"), tree.get("distributed")
    return isinstance(model, Mapping) and "dim" in model and isinstance(ranks, Mapping)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    kind = v.word("model_type", default="transformer")
    parts = set(v.section("model")) & {"conv_size", "state_dim", "n_future_head"}
    if kind != "transformer" or parts or "apps/main" not in path.resolve().as_posix():
        raise Unreadable(
            f"{path}: of lingua's models its transformer of apps/main alone is read; "
            "give the sizes of others to ashlar predict by its options"
        )
    hidden, heads = v.number("model.dim"), v.number("model.n_heads")
    multiple = v.number("model.multiple_of", default=256)
    width = int(2 * 4 * hidden / 3)
    if v.get("model.ffn_dim_multiplier") is not None:
        width = int(float(v.word("model.ffn_dim_multiplier")) * width)
    words = v.get("model.vocab_size")
    run = Run(
        model={
            "model_type": "llama",
            "hidden_size": hidden,
            "num_hidden_layers": v.number("model.n_layers"),
            "num_attention_heads": heads,
            "num_key_value_heads": v.number("model.n_kv_heads", default=heads),
            "intermediate_size": -(-width // multiple) * multiple,
            "vocab_size": words if isinstance(words, int) and words > 0 else 32000,
            "tie_word_embeddings": v.flag("model.weight_tying"),
        }
    )
    if not isinstance(words, int) or words <= 0:
        run.unknown.append(
            "the vocabulary, which its tokenizer says: taken to be 32000"
        )
    run.batch = {
        "sequence": v.number("data.seq_len"),
        "micro_batch": v.number("data.batch_size"),
        "micro_batches": v.number("grad_acc_steps", default=1),
    }
    shared = {"full_shard": "full", "no_shard": "none"}
    strategy = v.word("distributed.fsdp_type", default="no_shard")
    if strategy not in shared:
        raise Unreadable(
            f"{path}: distributed.fsdp_type {strategy!r} is not known here"
        )
    run.layout["sharding"] = shared[strategy]
    run.layout["tensor"] = v.number("distributed.tp_size", default=1)
    copies = v.number("distributed.dp_replicate", default=1)
    if copies > 1 and strategy == "full_shard":
        run.layout["shard_ranks"] = v.number("distributed.dp_shard")
    v.get("distributed.dp_shard")
    if v.flag("distributed.selective_activation_checkpointing"):
        run.layout["recompute"] = "op"
    dtype = v.word("distributed.model_dtype", default="bf16")
    run.program["precision"] = dtype
    if v.get("distributed.float8_recipe"):
        run.program["precision"] = "fp8"
    v.get("distributed.float8_filter")
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run
