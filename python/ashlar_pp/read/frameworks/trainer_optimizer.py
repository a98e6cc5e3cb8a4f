"""The optimizer of the Trainer of transformers (trainer_optimizer.py), and those that
LLaMA-Factory (train/trainer_utils.py) and ms-swift (swift/optimizers) add."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..facts.optimizers import add_fact, add_optimizer
from ..run_file import Run, Unreadable
from ..values import Values

_PROJECTED = re.compile(r"(galore|apollo)_adamw(_8bit)?(_layerwise)?")
# Every matrix of a Llama's layer by its path.
_MATRICES = tuple(
    f"model.layers.0.{part}.{name}_proj"
    for part, names in (("self_attn", "qkvo"), ("mlp", ("gate", "up", "down")))
    for name in names
)


def read_optimizer(v: Values, run: Run) -> None:
    """Raises Unreadable where its state is not counted."""
    name = v.word("optim", "optimizer", default="adamw_torch")
    # Flags of LLaMA-Factory and ms-swift stand beside the Trainer's kind of Adam.
    if v.flag("use_galore") or name == "galore":
        return _read_own_projection("galore", v, run)
    if v.flag("use_apollo"):
        return _read_own_projection("apollo", v, run)
    if v.flag("use_badam"):
        raise Unreadable(
            "use_badam: one block trains at a time, and which changes during the run; "
            "--set use_badam=false --train-only of ashlar predict says one"
        )
    if v.flag("use_adam_mini"):
        run.program["optimizer"] = "adam-mini"
        return None
    if v.flag("use_muon") or (name == "muon" and v.get("base_model") is None):
        return _read_muon(v, run)
    if _PROJECTED.fullmatch(name):
        return _read_projection(name, v, run)
    if name in ("sgd", "rmsprop"):
        arguments = _arguments(v)
        if "centered" in arguments:
            raise Unreadable("optim_args centered: its state is not counted here")
        if float(arguments.get("momentum", 0)) > 0:
            # SGD then has a mean, and RMSprop one beside the squares, as Adam has.
            if name == "sgd":
                run.program["optimizer"] = "momentum"
            return None
    if not add_optimizer(name, run):
        raise Unreadable(
            f"optim {name}: its state is not counted here; --set optim=adamw_torch "
            "(Axolotl: optimizer=adamw_torch) predicts with that"
        )
    return None


def _arguments(v: Values) -> dict[str, str]:
    """The Trainer's optim_args: names and values with commas."""
    said = str(v.get("optim_args") or "").replace(" ", "")
    return dict(each.split("=", 1) for each in said.split(",") if "=" in each)


def _read_muon(v: Values, run: Run) -> None:
    """Both give AdamW what is no matrix, the embedding and the head. Experts that are
    one tensor are no matrices for LLaMA-Factory; the code that ms-swift fetches
    stops."""
    if run.framework or run.layout.get("sharding") != "none":
        raise Unreadable(
            "muon beside DeepSpeed or FSDP: it takes whole matrices, and ranks share "
            "pieces of them"
        )
    v.get("optim_args", "local_repo_path")
    run.program["optimizer"] = "muon"


def _read_projection(name: str, v: Values, run: Run) -> None:
    targets = v.get("optim_target_modules")
    if not _are_all(targets):
        raise Unreadable(
            f"optim_target_modules {targets}: only gradients of all matrices of the "
            "layers, and of no others, are projected in a prediction"
        )
    arguments = _arguments(v)
    _must_be_usual(arguments.get("proj_type", "std"), arguments.get("proj", "random"))
    words = [name.partition("_")[0], str(int(arguments.get("rank", "128")))]
    if name.endswith("_layerwise"):
        words.append("layerwise")
    run.program["optimizer"] = ",".join(words)
    if "_8bit" in name:
        _in_8_bits(run)


def _are_all(targets: Any) -> bool:
    """Whether these name every matrix of a layer, as the Trainer looks for them: a
    pattern for the whole path, or words that stand in it."""
    if isinstance(targets, str):
        if targets.replace("_", "-") == "all-linear":
            return False  # the head, too
        try:
            return all(re.fullmatch(targets, path) for path in _MATRICES) and not (
                re.fullmatch(targets, "lm_head")
            )
        except re.error:
            return False
    if not isinstance(targets, Sequence) or not targets:
        return False
    words = [str(each) for each in targets]
    return all(any(word in path for word in words) for path in _MATRICES) and not any(
        word in "lm_head" for word in words
    )


def _read_own_projection(kind: str, v: Values, run: Run) -> None:
    # LLaMA-Factory's default (hparams/finetuning_args.py), and ms-swift's.
    is_factory = v.get("finetuning_type", "cutoff_len") is not None
    default = "16" if is_factory else "128"
    targets = v.get(f"{kind}_target", f"{kind}_target_modules") or "all"
    names = targets.replace(",", " ").split() if isinstance(targets, str) else targets
    if names != ["all"] and not _are_all(names):
        raise Unreadable(
            f"{kind}_target {targets}: only gradients of all matrices of the layers "
            "are projected in a prediction"
        )
    if v.flag("galore_quantization") or v.flag("galore_with_embedding"):
        raise Unreadable(
            "galore_quantization, galore_with_embedding: weights and projections in "
            "fewer bits, and projections of a table, are not counted"
        )
    _must_be_usual(
        v.word(f"{kind}_proj_type", default="std"),
        v.word("apollo_proj", default="random"),
    )
    words = [kind, v.word(f"{kind}_rank", default=default)]
    if v.flag(f"{kind}_layerwise"):
        words.append("layerwise")
    run.program["optimizer"] = ",".join(words)
    v.asked.update(k for k in v.all if k.startswith(kind + "_"))
    if "8bit" in v.word("optim", default=""):
        _in_8_bits(run)


def _must_be_usual(sides: str, source: str) -> None:
    if (sides, source) != ("std", "random"):
        raise Unreadable(
            f"projections {sides} of {source}: only those of the shorter side are "
            "counted, by singular vectors of GaLore and at random of APOLLO"
        )


def _in_8_bits(run: Run) -> None:
    add_fact(run, "first-moment=8-bit,second-moment=8-bit")
    run.notes.append("moments of 1 byte; their scales are not counted")
