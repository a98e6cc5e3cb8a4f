"""Arguments of Megatron-LM's forks in the words of Megatron-LM: Megatron-DeepSpeed,
Megatron-LLM, BigCode's, Pai's."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from ..run_file import Run, Unreadable
from ..values import Values

# Another name for the same.
_SAME = {
    "intermediate-size": "ffn-hidden-size",
    "num-key-value-heads": "num-query-groups",
    "num-attention-heads-kv": "num-query-groups",
    "pad-vocab-size-to": "padded-vocab-size",
    "topk": "moe-router-topk",
    "moe-expert-parallel-size": "expert-model-parallel-size",
    "ds-sequence-parallel-size": "context-parallel-size",
    "no-tie-embed-logits": "untie-embeddings-and-output-weights",
    "router-topk": "moe-router-topk",
    "moe-top-k": "moe-router-topk",
}
# Arguments of forks that change no step.
_QUIET = (
    "kill-switch",
    "abort-on",
    "codecarbon",
    "train-weighted",
    "valid-weighted",
    "test-weighted",
    "skip-train-iteration",
    "inference",
    "data-impl",
    "reset-progress",
    "universal-checkpoint",
    "patch-tokenizer",
    "synchronize-each-layer",
    "contigious-checkpointing",
    "partition-activations",
    "deepspeed-activation",
    "no-pipeline-parallel",
    "zero-contigious",
    "zero-reduce",
    "zero-allgather",
    "log-optimizer",
    "custom-token-counting",
    "repeated-dataloader",
    "train-tokens",
    "hf-tokenizer",
    "max-padding-length",
    "epochs",
    "norm-epsilon",
    "use-tutel",
    "disable-moe-token",
    "moe-train-capacity",
    "moe-eval-capacity",
    "moe-min-capacity",
    "moe-loss-coeff",
    "use-pin-memory",
    "use-wandb",
    "structured-logs",
    "no-gradient-accumulation-fusion",
    "deepscale",
    "deepspeed-config",
    "deepspeed_config",
    "sft-concat",
    "task-list",
    "results-path",
)
# Tasks of tasks/main.py that train.
_CLASSIFIERS = ("RACE", "MNLI", "QQP")
# Arguments of programs whose model and sharding stand in their code.
_OF_OTHERS = (
    "gradient-accumulation-steps",
    "enable-gradient-checkpointing",
    "gradient-checkpointing",
    "per-device-train-batch-size",
)
# Sections of DeepSpeed's files that change what a step does.
_CHANGES = (
    "compression_training",
    "progressive_layer_drop",
    "curriculum_learning.enabled",
    "data_efficiency.enabled",
)
_STAGES = ("none", "optimizer", "gradients", "full")


def in_words_of_megatron(
    values: dict[str, Any], folder: pathlib.Path, run: Run
) -> dict[str, Any]:
    """Renames arguments, and takes DeepSpeed's into the run. Raises Unreadable."""
    made = dict(values)
    for name in ("task", "tasks"):
        if name in made:
            does = "trains a classifier, which is not predicted"
            if str(made[name]).upper() not in _CLASSIFIERS:
                does = "evaluates"
            raise Unreadable(f"--{name} {made[name]}: it {does}", flag=name)
    for name in _OF_OTHERS:
        if name in made:
            raise Unreadable(
                f"--{name} beside arguments of Megatron-LM: the program is of neither "
                "kind that is read here; describe the run to ashlar predict",
                flag=name,
            )
    if "yaml-cfg" in made:
        raise Unreadable(
            f"--yaml-cfg {made['yaml-cfg']}: the arguments are in that file; read it "
            "by `python -m ashlar_pp.read recipe`",
            flag="yaml-cfg",
        )
    # Megatron-LM itself reads its groups only beside --group-query-attention.
    has_groups = "num-query-groups" in made
    for name, same in _SAME.items():
        if name in made and same not in made:
            made[same] = made.pop(name)
    if not has_groups and "num-query-groups" in made:
        if made["num-query-groups"] != made.get("num-attention-heads"):
            made["group-query-attention"] = True
    if made.pop("attention-head-type", "") == "multiquery":
        made["group-query-attention"], made["num-query-groups"] = True, "1"
    if made.pop("use-rms-norm", None) or made.pop("use-rmsnorm", None):
        made["normalization"] = "RMSNorm"
    norm = str(made.get("normalization", "")).lower()
    if norm in ("rmsnorm", "layernorm"):
        made["normalization"] = "RMSNorm" if norm == "rmsnorm" else "LayerNorm"
    _read_gate(made)
    extra, words = (
        str(made.pop("extra-vocab-size", "0")),
        str(made.get("vocab-size", "")),
    )
    if extra.isdigit() and words.isdigit():
        made["vocab-size"] = str(int(words) + int(extra))
    if _of_deepspeed(made):
        _read_deepspeed(made, folder, run)
    for name in list(made):
        if name.startswith(_QUIET):
            run.not_read.append("--" + name)
            del made[name]
    return made


def _read_gate(made: dict[str, Any]) -> None:
    gate = made.pop("glu-activation", None)
    if gate is None:
        return
    if gate not in ("swiglu", "geglu"):
        raise Unreadable(
            f"--glu-activation {gate} is not predicted; swiglu and geglu are"
        )
    made[str(gate)] = True


def _of_deepspeed(made: Mapping[str, Any]) -> bool:
    return "deepspeed" in made or "zero-stage" in made


def _read_deepspeed(made: dict[str, Any], folder: pathlib.Path, run: Run) -> None:
    """Its sharding, its experts, its division of layers."""
    used = made.pop("deepspeed", None)
    stage = str(made.pop("zero-stage", "1" if used else "0"))
    file = str(made.pop("deepspeed-config", made.pop("deepspeed_config", "")) or "")
    path = pathlib.Path(folder, file)
    if used and file and path.is_file() and path.stat().st_size > 0:
        stage = _in_file(path, stage)
    elif used and file:
        run.unknown.append(
            f"--deepspeed_config {file}, which is not here, or empty: start in the "
            "folder that the script expects"
        )
    number = stage.removesuffix(".0")
    if number not in ("0", "1", "2", "3"):
        raise Unreadable(f"--zero-stage {stage}: there are 0 to 3")
    if used:
        run.layout["sharding"] = _STAGES[int(number)]
    for name in (
        "cpu-optimizer",
        "cpu-torch-adam",
        "use-bnb-optimizer",
        "remote-device",
    ):
        if made.pop(name, None) not in (None, "none"):
            raise Unreadable(f"--{name}: nothing here says what that takes")
    if made.get("mlp-type", "standard") != "standard":
        raise Unreadable(f"--mlp-type {made['mlp-type']}: it makes another model")
    made.pop("mlp-type", None)
    if made.pop("bitfit", None):
        # Its optimizer is given the biases; nothing is frozen (optimizer/__init__.py).
        run.program["train_only"] = "biases,unfrozen"
    for name in ("kd", "load-teacher", "curriculum-learning"):
        if name in made:
            raise Unreadable(f"--{name}: its steps are of another kind, not predicted")
    method = str(made.pop("pp-partition-method", "") or "type:transformer")
    if method == "type:transformer|embedding" and run.layout.get("layout") is None:
        run.layout["ends_as_layers"] = True
    elif method not in ("type:transformer", "uniform"):
        raise Unreadable(
            f"--pp-partition-method {method}: say the layers of each stage by --layout"
        )
    if made.get("checkpoint-activations") and (
        made.get("recompute-granularity") == "full"
        and made.get("recompute-method", "uniform") == "uniform"
    ):
        # Both are the same; the former counts (megatron/model/gpt_model.py).
        for name in ("granularity", "method", "num-layers"):
            made.pop(f"recompute-{name}", None)
    if not (made.get("checkpoint-activations") or made.get("recompute-granularity")):
        made.pop("deepspeed-activation-checkpointing", None)
    _read_experts(made)


def _in_file(path: pathlib.Path, stage: str) -> str:
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {error}") from None
    v = Values(tree, str(path))
    for part in ("offload_optimizer", "offload_param"):
        device = v.get(f"zero_optimization.{part}.device")
        if device not in (None, "none"):
            raise Unreadable(f"{path}: {part}: nothing here says what that takes")
    for part in _CHANGES:
        if v.get(part) or (not part.endswith("enabled") and v.section(part)):
            raise Unreadable(f"{path}: {part}: its steps are of another kind")
    return str(v.number("zero_optimization.stage", default=int(float(stage))))


def _read_experts(made: dict[str, Any]) -> None:
    """Of each `expert-interval` layers the last has experts; 1 expert means none."""
    counts = str(made.get("num-experts", "1")).split()
    often = str(made.pop("expert-interval", "2"))
    if len(set(counts)) > 1:
        raise Unreadable(
            f"--num-experts {' '.join(counts)}: layers with several numbers of experts"
        )
    if counts[0] == "1":
        for name in ("num-experts", "moe-router-topk", "expert-model-parallel-size"):
            made.pop(name, None)
        return
    made["num-experts"] = counts[0]
    made.setdefault("moe-router-topk", "1")
    layers = str(made.get("num-layers", ""))
    if not (often.isdigit() and layers.isdigit() and int(often)):
        raise Unreadable(f"--expert-interval {often} is no number")
    if int(layers) % int(often):
        raise Unreadable(f"--expert-interval {often} does not divide --num-layers")
    period = ",".join(["0"] * (int(often) - 1) + ["1"])
    made["moe-layer-freq"] = f"([{period}]*{int(layers) // int(often)})"
