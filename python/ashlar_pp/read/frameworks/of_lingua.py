"""Configurations of Meta's lingua, a YAML."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values, sorted_out
from .lingua_layers import LAYERS, architecture_of, width_of

READS = "lingua"

_QUIET = """
    name dump_dir steps probe_freq seed optim. data. profiling. checkpoint. logging.
    async_eval eval. env. distributed.matmul distributed.detect distributed.compile
    setup model.rope_theta model.norm_eps model.init slurm. async_ model.max_seqlen
""".split()


# Those of lingua/tokenizer.py: bytes, and the begin and end of a text.
_BYTES = 258


def is_recipe(tree: Mapping[str, Any]) -> bool:
    model, ranks = tree.get("model"), tree.get("distributed")
    return isinstance(model, Mapping) and "dim" in model and isinstance(ranks, Mapping)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Raises Unreadable."""
    v = Values(tree, str(path))
    kind = _kind(v, path)
    size = _words(v, path)
    run = Run()
    if kind in LAYERS:
        run.model = {"name": kind, "architecture": architecture_of(kind, size, v)}
    else:
        run.model = _transformer(size, v)
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
        if kind in LAYERS:
            raise Unreadable(
                f"{path}: selective_activation_checkpointing keeps products and scans "
                "of recurrent layers, which no part of --recompute does: leave it out "
                "by --set distributed.selective_activation_checkpointing=false, and "
                "the prediction has more memory"
            )
        run.layout["recompute"] = "op"
    dtype = v.word("distributed.model_dtype", default="bf16")
    run.program["precision"] = dtype
    if v.get("distributed.float8_recipe"):
        run.program["precision"] = "fp8"
    v.get("distributed.float8_filter")
    run.not_read, unknown = sorted_out(v.rest(), _QUIET)
    run.unknown.extend(unknown)
    return run


def _words(v: Values, path: pathlib.Path) -> int:
    """The vocabulary, which the trainer takes from its tokenizer if no size is said."""
    said = v.get("model.vocab_size")
    if isinstance(said, int) and said > 0:
        return said
    if v.word("data.tokenizer.name", default="bytes") == "bytes":
        return _BYTES
    raise Unreadable(
        f"{path}: its tokenizer has the vocabulary, which is not known here; --set "
        "model.vocab_size=N says it"
    )


def _kind(v: Values, path: pathlib.Path) -> str:
    """The type of the model, which the program in its folder says."""
    place = path.resolve().as_posix()
    default = "minGRU" if "apps/fastRNN" in place else "transformer"
    kind = v.word("model_type", default="mamba" if "apps/mamba" in place else default)
    others = set(v.section("model")) & {"conv_size", "state_dim", "n_future_head"}
    is_plain = kind == "transformer" and not others and "apps/main" in place
    if kind not in LAYERS and not is_plain:
        raise Unreadable(
            f"{path}: of lingua's models those of apps/main, apps/fastRNN and "
            "apps/mamba are read, by their folders; give the sizes of others to ashlar "
            "predict by its options"
        )
    return kind


def _transformer(words: int, v: Values) -> dict[str, Any]:
    hidden, heads = v.number("model.dim"), v.number("model.n_heads")
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": v.number("model.n_layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": v.number("model.n_kv_heads", default=heads),
        "intermediate_size": width_of(v, int(2 * 4 * hidden / 3)),
        "vocab_size": words,
        "tie_word_embeddings": v.flag("model.weight_tying"),
    }
