"""Arguments of Megatron-LM, and of programs over it: slime, Megatron-DeepSpeed."""

from __future__ import annotations

import argparse
import importlib
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from .flags import Flags, megatron_defaults, megatron_version, read_megatron
from .launchers import Training
from .run_file import Run, Unreadable
from .vocabulary import vocabulary_of

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


# Fields that count although they have Megatron-LM's defaults.
_SAID = ("normalization", "add_bias_linear", "tokenizer_type")

# Tokens of a sample: all; or of its prompt and of its answer, at most.
_SLIME_LENGTHS = (
    "rollout-max-context-len",
    "rollout-max-prompt-len",
    "rollout-max-response-len",
)


def is_for(training: Training) -> bool:
    names = {word.partition("=")[0].lstrip("-") for word in training.arguments}
    return sum(sign in names for sign in _SIGNS) >= 2 or "yaml-cfg" in names


def read(training: Training) -> Run:
    """Raises Unreadable."""
    flags = _parsed(training.arguments)
    values: dict[str, Any] = dict(flags.values)
    run = Run(framework="megatron")
    add_vocabulary(values, pathlib.Path(training.command.folder), run)
    _read_slime(values, flags, run)
    run.arguments = {"program": training.name, **values}
    if flags.loose:
        run.unknown.extend(flags.loose)
    if _own_parser() is None:
        run.notes.append(
            f"arguments by the table of Megatron-LM {megatron_version()}, which is not "
            "installed here"
        )
    return run


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
    run.notes.append("slime: its training step alone, in which all samples are as long")
    lengths = {name: said.get(name, "0") for name in _SLIME_LENGTHS}
    if (
        "seq-length" not in values
        and str(lengths["rollout-max-response-len"]).isdigit()
    ):
        whole = int(str(lengths["rollout-max-context-len"] or 0) or 0)
        parts = [int(str(lengths[name])) for name in _SLIME_LENGTHS[1:]]
        values["seq-length"] = str(whole or sum(parts))
    if values.pop("use-dynamic-batch-size", None):
        _read_dynamic(values, run)


def _read_dynamic(values: dict[str, Any], run: Run) -> None:
    """Micro-batches of as many samples as their tokens allow."""
    most = str(values.pop("max-tokens-per-gpu", ""))
    ranks = str(values.get("context-parallel-size", "1"))
    length = str(values.get("seq-length", ""))
    run.unknown.append("--use-dynamic-batch-size")
    if most.isdigit() and ranks.isdigit() and length.isdigit() and int(length) > 0:
        together = max(1, int(most) * int(ranks) // int(length))
        values["micro-batch-size"] = str(together)


def _count(values: Mapping[str, Any], name: str) -> int:
    text = str(values.get(name, 1))
    if not text.isdigit() or int(text) == 0:
        raise Unreadable(f"--{name} is no number from 1 on: {text}")
    return int(text)


def of_fields(fields: Mapping[str, Any], run: Run, folder: pathlib.Path) -> None:
    """Takes fields of Megatron-Core's configurations for arguments; the tool knows
    where their names differ. `folder` is that of paths."""
    run.framework = "megatron"
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
