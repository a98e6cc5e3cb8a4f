"""Jobs of torchtitan: TOML of versions before 0.3, and its registry of Python."""

from __future__ import annotations

import dataclasses
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

from ..facts.stand_ins import import_recipe, stood_in_for
from ..run_file import Run, Unreadable
from ..scripts.launchers import Training
from ..values import Values, read_file
from .of_megatron import plain
from .torchtitan_model import model_of

READS = "torchtitan"

_TOML = ("--job.config_file", "--job.config-file")


def is_for(training: Training) -> bool:
    if training.is_module and training.program.startswith("torchtitan"):
        return True
    names = {word.partition("=")[0] for word in training.arguments}
    is_registry = "--module" in names and "--config" in names
    return bool(names & set(_TOML)) or (is_registry and training.name == "train.py")


def read(training: Training) -> Run:
    """Raises Unreadable."""
    given = _given(list(training.arguments))
    run = Run(framework="torchtitan")
    file = next((given.pop(name[2:]) for name in _TOML if name[2:] in given), None)
    values: dict[str, Any] = {}
    if isinstance(file, str):
        path = pathlib.Path(training.command.folder, file)
        values = of_job(read_file(path))
    elif "config" in given:
        return _of_registry(training, str(given["config"]))  # with what is given
    run.arguments = {**values, **given}
    return run


def is_recipe(tree: Mapping[str, Any]) -> bool:
    return isinstance(tree.get("training"), Mapping)


def of_recipe(tree: Mapping[str, Any], path: pathlib.Path) -> Run:
    """The tool reads its values."""
    return Run(framework="torchtitan", arguments=of_job(tree))


def of_job(tree: Any) -> dict[str, Any]:
    """The values of a job by dotted keys, as the tool reads them."""
    return {key: _plain(value) for key, value in Values(tree, "the job").all.items()}


def _plain(value: Any) -> str | bool:
    """Lists in a list have commas inside, and blanks between."""
    if isinstance(value, list | tuple) and any(isinstance(one, list) for one in value):
        return " ".join(",".join(map(str, one)) for one in value)
    return plain(value)


def _given(words: list[str]) -> dict[str, str | bool]:
    made: dict[str, str | bool] = {}
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            kind, _, value = word.partition(":")
            if kind == "activation-checkpoint":
                made["activation_checkpoint.mode"] = value
            continue
        name, equals, value = word[2:].partition("=")
        taken: list[str] = [value] if equals else []
        while (
            not equals
            and words
            and not words[0].startswith("--")
            and not _is_command(words[0])
        ):
            taken.append(words.pop(0))
        made[name] = " ".join(taken) if taken else True
    return made


def _is_command(word: str) -> bool:
    """A subcommand of tyro: activation-checkpoint:full."""
    return word.partition(":")[0] in (
        "activation-checkpoint",
        "optimizer",
        "checkpoint",
    )


def _of_registry(training: Training, config: str) -> Run:
    """By torchtitan's own parser, whose registry holds the other values."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            manager = import_recipe("torchtitan.config")[0].ConfigManager()
            job = manager.parse_args(list(training.arguments))
    except ImportError as error:
        raise Unreadable(
            f"--config {config} is a function of torchtitan's registry, and torchtitan "
            f"cannot be imported here ({error}): install it and what it imports, or "
            "give the job's values to ashlar predict by its options"
        ) from None
    except (Exception, SystemExit) as error:  # it is somebody else's code
        said = "it said why above" if isinstance(error, SystemExit) else error
        missing = " ".join(stood_in_for()) or "none"
        raise Unreadable(
            f"torchtitan's parser stops at these arguments: {said}; packages that are "
            f"not installed, and that something stood in for: {missing}"
        ) from None
    run = of_object(job, config)
    if missing := " ".join(stood_in_for()):
        run.notes.append(f"not installed, and not needed: {missing}")
    return run


def is_job(job: Any) -> bool:
    names = {"training", "parallelism", "model_spec", "activation_checkpoint"}
    return all(hasattr(job, name) for name in names)


def of_object(job: Any, config: str = "") -> Run:
    """The run of a Trainer.Config. Raises Unreadable."""
    run = Run(framework="torchtitan")
    tree = dataclasses.asdict(job)
    spec = tree["model_spec"] or {}
    run.model = model_of(spec.get("model"))
    _check_optimizer(tree.get("optimizer") or {})
    parts = {k: v for k, v in tree.items() if k not in ("model_spec", "optimizer")}
    values = dict(of_job(parts))
    for key in [k for k in values if k.startswith(_QUIET)]:
        run.not_read.append(key)
        del values[key]
    if "max_context_length" in tree["training"]:
        _count_samples(tree, values)
    values["activation_checkpoint.mode"] = _recomputation(job.activation_checkpoint)
    if config:
        values["config"] = config
    run.arguments = {k: v for k, v in values.items() if v not in ("None", "")}
    return run


# Values of the registry that change no step.
_QUIET = (
    "loss.loss_fn.",
    "lr_scheduler.",
    "activation_checkpoint.force_recompute",
    "activation_checkpoint.preserve",
    "activation_checkpoint.determinism",
    "activation_checkpoint.debug",
    "comm.",
    "dataloader.",
    "metrics.",
    "checkpoint.",
    "profil",
    "validator.",
    "debug.",
    "training.gc_",
    "hf_assets_path",
    "dump_folder",
    "override.imports",
)


def _check_optimizer(said: Mapping[str, Any]) -> None:
    groups = said.get("param_groups") or []
    names = {str(one.get("optimizer_name", "AdamW")) for one in groups}
    if not names <= {"Adam", "AdamW"}:
        raise Unreadable(
            f"optimizer {' '.join(sorted(names))}: only Adam's state is counted here"
        )


def _recomputation(said: Any) -> str:
    """The mode, which the class of its configuration says; None: none."""
    kind = "" if said is None else type(said).__qualname__.partition(".")[0]
    modes = {"": "none", "FullAC": "full", "SelectiveAC": "selective"}
    if kind not in modes:
        raise Unreadable(f"activation_checkpoint {kind} is not predicted")
    return modes[kind]


def _count_samples(tree: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Since August 2026 a job counts tokens: here sequences of full length."""
    t, t_ = tree["training"], "training."
    length = int(t["max_context_length"])
    each = int(t["num_tokens_per_microbatch_per_dp_rank"])
    whole = int(t["num_tokens_per_train_step"])
    if int(tree["parallelism"].get("pipeline_parallel_degree", 1)) > 1:
        raise Unreadable(
            "training.num_tokens_per_microbatch_per_dp_rank beside a pipeline is not "
            "read: give the sizes to ashlar predict by its options"
        )
    if each % length or (whole > 0 and whole % length):
        raise Unreadable("training: its tokens are no whole sequences")
    for name in ("max_context_length", "num_tokens_per_train_step"):
        values.pop(t_ + name)
    values.pop(t_ + "num_tokens_per_microbatch_per_dp_rank")
    values[t_ + "seq_len"] = str(length)
    values[t_ + "local_batch_size"] = str(each // length)
    values[t_ + "global_batch_size"] = str(whole // length if whole > 0 else -1)
