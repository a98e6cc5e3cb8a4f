"""Arguments of Megatron-LM, and of programs over it: slime, Megatron-DeepSpeed."""

from __future__ import annotations

import argparse
import importlib
import math
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..facts.optimizers import add_fact
from ..facts.updates import add_update
from ..flags import Flags, megatron_defaults, megatron_version, read_megatron
from ..names import tells_of_model
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import packed
from ..vocabulary import vocabulary_of
from .forks import in_words_of_megatron
from .mimo import read_mimo
from .multimodal import read_multimodal
from .own_programs import imported

READS = "Megatron-LM"

_SIGNS = (
    "num-layers hidden-size num-attention-heads micro-batch-size global-batch-size "
    "tensor-model-parallel-size pipeline-model-parallel-size use-mcore-models "
    "hybrid-layer-pattern hybrid-override-pattern yaml-cfg"
).split()

# Arguments of slime beside Megatron-LM's: of its engines, data and rewards, which a
# training step does not have.
_SLIME_QUIET = """
    rollout- sglang- eval- prompt- input-key label-key apply-chat-template rm- reward-
    hf-checkpoint ref-load custom- loss- kl- entropy- eps- advantage- use-kl use-tis
    n-samples over-sampling num-rollout num-epoch router- colocate offload actor-num
    critic- update-weight wandb- use-wandb metadata- dynamic-sampling balance-data
    multimodal- debug- dump- tensorboard- buffer- group- keep-old- normalize- calculate-
""".split()


# Ends of the names of arguments that a run cannot be without.
_OF_SIZES = tuple(
    "size layers heads length experts topk embeddings channels groups".split()
)


class Lacking(Unreadable):
    """An argument has no value behind it, because a variable of the script is empty."""

    def __init__(self, name: str) -> None:
        super().__init__(f"--{name} has no value", flag=name)


# Fields of Primus and Megatron-Bridge for DeepSeek-V4.
_OF_COMPRESSED = ("compress_ratios", "csa_compress_ratios", "o_lora_rank")

# Fields that count although they have Megatron-LM's defaults.
_SAID = frozenset(
    "normalization add_bias_linear tokenizer_type share_embeddings_and_output_weights "
    "grad_reduce_in_fp32 apply_rope_fusion bias_activation_fusion bias_swiglu_fusion "
    "bias_gelu_fusion overlap_grad_reduce overlap_param_gather tp_comm_overlap "
    "bucket_size fp8_recipe moe_grouped_gemm moe_permute_fusion "
    "moe_token_dispatcher_type".split()
)

# Tokens of a sample: all; or of its prompt and of its answer, at most.
_SLIME_LENGTHS = (
    "rollout-max-context-len",
    "rollout-max-prompt-len",
    "rollout-max-response-len",
)


def is_for(training: Training) -> bool:
    names = {
        word.partition("=")[0].lstrip("-").replace("_", "-")
        for word in training.arguments
    }
    return sum(sign in names for sign in _SIGNS) >= 2 or "yaml-cfg" in names


def read(training: Training) -> Run:
    """Raises Unreadable."""
    flags = _parsed(training.arguments)
    run = Run(framework="megatron")
    folder = pathlib.Path(training.command.folder)
    values = in_words_of_megatron(dict(flags.values), folder, run)
    for name in flags.lacking:
        if name.endswith(_OF_SIZES):
            raise Lacking(name)
    add_vocabulary(values, folder, run)
    read_multimodal(values, run)
    read_mimo(values, run)
    _read_slime(values, flags, run)
    # Pai's: the model of transformers that a folder has, in Megatron-LM's loop.
    kind = values.pop("transformer-type", "megatron")
    if kind != "megatron" and not training.model:
        raise Unreadable(
            f"--transformer-type {kind}: the model is of transformers; say --model",
            flag="transformer-type",
        )
    if any(name.partition(".")[0] == "domino" for name in imported(training)):
        # DeepSpeed-Domino halves a micro-batch, and sums one half beside the other.
        add_fact(run, "tensor-overlap=on")
        run.unknown.append("domino, which overlaps sums of tensor ranks in its own way")
    if training.model:
        run.model = training.model
    elif run.model is None:
        _refuse_unknown_layers(values, flags)
        # Megatron-LM's default, which the tool reads in scripts alone where it stands.
        values.setdefault("normalization", "LayerNorm")
    run.arguments = {"program": training.name, **values}
    if flags.loose:
        run.unknown.extend(flags.loose)
    if _own_parser() is None:
        run.notes.append(
            f"arguments by the table of Megatron-LM {megatron_version()}, which is not "
            "installed here"
        )
    return run


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return bool({"num_layers", "hidden_size"} & set(tree))


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """Fields of Megatron-Core without sections."""
    run = Run()
    of_fields(tree, run, path.parent)
    return run


# Older versions have these, and they are read.
_READ = frozenset({"geglu", "hybrid-mlp-ratio"})
_OFF = ("false", "False", "none", "None", "0", "0.0")


def _refuse_unknown_layers(values: Mapping[str, Any], flags: Flags) -> None:
    """Stops at arguments that may make another model than is read."""
    spec = str(values.get("spec", ""))
    if "." in spec and not spec.startswith("megatron.core"):
        raise Unreadable(
            f"--spec {spec}: a function makes the layers; say --model", flag="spec"
        )
    for name in flags.unknown:
        if name in _READ or name not in values or values[name] in _OFF:
            continue
        if tells_of_model(name):
            raise Unreadable(
                f"--{name} is not known, and tells of a model: say --model, or "
                f"--ignore {name}",
                flag=name,
            )


def add_vocabulary(
    values: dict[str, Any], folder: pathlib.Path, run: Run, link: str = "-"
) -> None:
    """Says the vocabulary where only its tokenizer is named; `link` parts names."""
    names = [name.replace("-", link) for name in ("vocab-size", "padded-vocab-size")]
    if any(values.get(name) not in (None, "") for name in names):
        return
    # pretrain_gpt.py takes GPT-2's tokenizer where none is named.
    usual = "GPT2BPETokenizer" if f"merge{link}file" in values else ""
    kind = str(values.get(f"tokenizer{link}type") or usual)
    path = str(values.get(f"tokenizer{link}model") or values.get("hf-checkpoint") or "")
    size, why = vocabulary_of(kind, path, folder)
    if size:
        values[names[0]] = str(size)
        run.notes.append(f"a vocabulary of {size} words, {why}")


def _own_parser() -> argparse.ArgumentParser | None:
    """Megatron-LM's own parser, where its training package is installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = importlib.import_module("megatron.training.arguments")
        parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
        arguments.add_megatron_arguments(parser)
    except Exception:  # its imports fail in many ways
        return None
    return parser


def _parsed(words: Sequence[str]) -> Flags:
    """By the framework's parser, which says what is wrong; names are the table's."""
    parser = _own_parser()
    if parser is not None:
        known = [word for word in words if word]
        try:
            parser.parse_known_args(known)
        except argparse.ArgumentError as error:
            raise Unreadable(f"Megatron-LM's parser stops: {error}") from None
    return read_megatron(words)


def _read_slime(values: dict[str, Any], flags: Flags, run: Run) -> None:
    """The training step of slime: its samples, and what its own arguments change."""
    if "rollout-batch-size" not in values:
        return
    said = dict(values)
    counts = ("rollout-batch-size", "n-samples-per-prompt", "num-steps-per-rollout")
    for name in flags.unknown:
        if name not in counts and any(
            name.startswith(quiet.rstrip("-")) for quiet in _SLIME_QUIET
        ):
            run.not_read.append("--" + name)
            values.pop(name, None)
    sizes = {name: _count(values, name) for name in counts}
    if "global-batch-size" not in values:
        samples = sizes["rollout-batch-size"] * sizes["n-samples-per-prompt"]
        values["global-batch-size"] = str(samples // sizes["num-steps-per-rollout"])
    for name in sizes:
        values.pop(name, None)
    # It sets these whatever its words say (slime/backends/megatron_utils/arguments.py).
    values["use-distributed-optimizer"] = True
    if "fp16" not in values:
        values["bf16"] = True
    if said.get("loss-type") == "sft_loss":
        run.notes.append("slime: all sequences are taken to be of full length")
    else:
        add_update(run, "slime")
    nodes, each = (said.get(f"actor-num-{name}") for name in ("nodes", "gpus-per-node"))
    if nodes and each:
        run.notes.append(f"launched on {nodes} x {each} devices")
    lengths = {name: said.get(name, "0") for name in _SLIME_LENGTHS}
    if (
        "seq-length" not in values
        and str(lengths["rollout-max-response-len"]).isdigit()
    ):
        whole = int(str(lengths["rollout-max-context-len"] or 0) or 0)
        parts = [int(str(lengths[name])) for name in _SLIME_LENGTHS[1:]]
        values["seq-length"] = str(whole or sum(parts))
    if values.pop("use-dynamic-batch-size", None):
        _read_dynamic({**said, **values}, values, run)


def _read_dynamic(said: Mapping[str, Any], values: dict[str, Any], run: Run) -> None:
    """Micro-batches of as many samples as their tokens allow."""
    most = str(values.pop("max-tokens-per-gpu", ""))
    ranks = str(values.get("context-parallel-size", "1"))
    length = str(values.get("seq-length", ""))
    run.unknown.append("--use-dynamic-batch-size")
    if most.isdigit() and ranks.isdigit() and length.isdigit() and int(length) > 0:
        whole = str(values.get("global-batch-size", "1"))
        together = int(most) * int(ranks) // int(length)
        samples = int(whole) if whole.isdigit() else 1
        values["micro-batch-size"] = str(_packed_on_ranks(said, samples, together))


def _packed_on_ranks(values: Mapping[str, Any], samples: int, most: int) -> int:
    """Of the samples of one data rank, where slime's own words say the devices."""
    sizes = [
        str(values.get(name, "1"))
        for name in (
            "tensor-model-parallel-size",
            "pipeline-model-parallel-size",
            "context-parallel-size",
        )
    ]
    nodes, each = (
        str(values.get(name, "0"))
        for name in ("actor-num-nodes", "actor-num-gpus-per-node")
    )
    if all(size.isdigit() for size in (*sizes, nodes, each)):
        ranks = int(nodes) * int(each) // math.prod(map(int, sizes))
        if ranks > 0 and samples % ranks == 0:
            samples //= ranks
    return packed(samples, most)


def _count(values: Mapping[str, Any], name: str) -> int:
    text = str(values.get(name, 1))
    if not text.isdigit() or int(text) == 0:
        raise Unreadable(f"--{name} is no number from 1 on: {text}")
    return int(text)


def of_fields(fields: Mapping[str, Any], run: Run, folder: pathlib.Path) -> None:
    """Takes fields of Megatron-Core's configurations for arguments; the tool knows
    where their names differ. `folder` is that of paths. Raises Unreadable."""
    run.framework = "megatron"
    for name in _OF_COMPRESSED:
        if fields.get(name) not in (None, 0, "", []):
            raise Unreadable(
                f"{name}: attention to compressed keys, as DeepSeek-V4's, is not "
                "predicted"
            )
    usual = megatron_defaults()
    values: dict[str, Any] = {
        name: plain(value)
        for name, value in fields.items()
        if value is not None and (name in _SAID or usual.get(name, 0) != value)
    }
    add_vocabulary(values, folder, run, link="_")
    run.arguments = values


def plain(value: Any) -> str | bool:
    """A value of a configuration as an argument has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return " ".join(str(plain(each)) for each in value)
    return str(value)
