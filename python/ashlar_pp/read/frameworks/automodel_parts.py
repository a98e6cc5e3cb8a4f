"""What trains of a model under NeMo AutoModel, and the state of it."""

from __future__ import annotations

import fnmatch
import pathlib
import re
from typing import Any

from ..facts.adapters import lora_words
from ..facts.optimizers import add_fact, other_optimizer
from ..run_file import Run, Unreadable
from ..values import Values

# Linear layers of decoders, by their names in transformers; other names end otherwise.
_LINEAR = """
    q_proj k_proj v_proj o_proj qkv_proj gate_proj up_proj down_proj gate_up_proj
    q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj
""".split()
# The head, and what stands before a decoder.
_LEFT_OUT = re.compile(
    r"lm_head|vision|visual|image|audio|sound|multi_modal|speech|mlp1|merge"
)
_SIXTEEN = ("bf16", "bfloat16", "torch.bfloat16")


def is_none(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in ("none", "null")


def add_adapters(v: Values, run: Run, path: pathlib.Path) -> None:
    """Names with * as components/_peft/module_matcher.py has them: *_proj unless the
    file says others."""
    if not v.section("peft"):
        return
    if v.flag("peft.use_dora"):
        raise Unreadable(f"{path}: peft.use_dora: not as peft computes it")
    named = _listed(v.get("peft.target_modules"))
    left_out = _listed(v.get("peft.exclude_modules"))
    unknown = [each for each in left_out if not _LEFT_OUT.search(each)]
    if unknown:
        raise Unreadable(
            f"{path}: peft.exclude_modules {' '.join(unknown)}: all linear layers but "
            "these have adapters; --set peft.exclude_modules=null --set "
            "peft.target_modules=NAMES says which"
        )
    rank = v.number("peft.dim", default=8)
    if v.flag("peft.match_all_linear") or left_out or named == ["*"]:
        has_head = not any("lm_head" in each for each in left_out)
        places = ["all", "lm_head"] if has_head else ["all"]
    else:
        places = _places(named or ["*_proj"], path)
    run.program["lora"] = lora_words(rank, places)
    # Grouped experts are matched by names alone, not as linear layers.
    if any(fnmatch.fnmatch("model.layers.0.mlp.experts", each) for each in named):
        if "expert" in run.layout:
            raise Unreadable(
                f"{path}: peft: adapters of experts are not counted; --set "
                "peft.target_modules=NAMES predicts those of other matrices alone"
            )
        run.unknown.append("adapters of experts, if the model has any: not counted")
    if not left_out and (v.section("freeze_config") or v.section("processor")):
        run.unknown.append("adapters in towers, whose names may be the same")
    begin = "quantization."
    if v.flag(begin + "load_in_4bit"):
        doubles = v.flag(begin + "bnb_4bit_use_double_quant", default=True)
        run.program["frozen_weights"] = "4-bit" + (",double" if doubles else "")
    elif v.flag(begin + "load_in_8bit"):
        raise Unreadable(f"{path}: weights in 8 bits cannot be shared by data ranks")


def _listed(said: Any) -> list[str]:
    if said is None:
        return []
    return [said] if isinstance(said, str) else [str(each) for each in said]


def _places(patterns: list[str], path: pathlib.Path) -> list[str]:
    """The linear layers that patterns name in every layer."""
    made: list[str] = []
    for pattern in patterns:
        last = pattern.rpartition(".")[2]
        found = [name for name in _LINEAR if fnmatch.fnmatch(name, last)]
        around = pattern.rpartition(".")[0].strip("*.")
        if not found or around not in ("", "self_attn", "mlp"):
            raise Unreadable(
                f"{path}: peft.target_modules {pattern}: its places are not known; "
                "--set peft.target_modules=NAMES says them as transformers names them"
            )
        made.extend(name for name in found if name not in made)
    return made


def add_frozen(v: Values, run: Run, path: pathlib.Path) -> None:
    """components/utils/model_utils.py: parts are found by their names, and the tower of
    images does not train unless the file says so."""
    sees = "VLM" in v.word("recipe", "recipe._target_")
    if not v.section("freeze_config"):
        if sees:
            run.unknown.append("how many images or sounds a sample has")
        return
    if v.flag("freeze_config.freeze_language_model"):
        raise Unreadable(
            f"{path}: freeze_language_model: say to ashlar predict, by --freeze, what "
            "does not train"
        )
    if v.flag("freeze_config.freeze_audio_tower"):
        run.notes.append("a tower of sounds, if there is one, does not train: --freeze")
    # Nothing of the framework reads this key.
    v.get("freeze_config.freeze_embeddings")
    trains = not v.flag("freeze_config.freeze_vision_tower", default=True)
    if not trains and not run.program.get("lora"):
        # A tower of Qwen's also has what leads to the decoder.
        name = v.word("model.pretrained_model_name_or_path").lower()
        run.program["freeze"] = "towers" if "qwen" in name else "vision_tower"
        run.notes.append(
            "the tower of images does not train: --model needs a file that `python -m "
            "ashlar_pp.read model` wrote, and --freeze the names that it has"
        )
    run.unknown.append("how many images or sounds a sample has")


def add_optimizer_state(v: Values, run: Run, path: pathlib.Path) -> None:
    """components/optim/precision_warnings.py: PyTorch's optimizers update weights of
    32 bits unless the file says another format."""
    name = v.word("optimizer._target_", default="torch.optim.AdamW")
    kind = name.rpartition(".")[2]
    held = v.word("model.torch_dtype", default="auto")
    is_own = name.startswith("torch.optim.")
    if not (is_own and kind in ("Adam", "AdamW")) and kind != "FusedAdam":
        key = "optimizer._target_"
        raise other_optimizer(path, key, name, "torch.optim.AdamW")
    if held not in ("auto", *_SIXTEEN) and "float32" not in held and held != "fp32":
        raise Unreadable(f"{path}: model.torch_dtype {held} is not predicted")
    is_narrow = held in _SIXTEEN or (held == "auto" and not is_own)
    if run.program.get("lora") or not is_narrow:
        return
    if is_own:
        bits = {"first": "16", "second": "16"}
        add_fact(run, "main-weights=16-bit")
    else:
        bits = {
            part: "16" if "bfloat16" in v.word(f"optimizer.{key}") else ""
            for part, key in (
                ("first", "exp_avg_dtype"),
                ("second", "exp_avg_sq_dtype"),
            )
        }
        if not v.flag("optimizer.master_weights"):
            add_fact(run, "main-weights=16-bit")
        elif not v.flag("optimizer.store_param_remainders"):
            run.unknown.append(
                "master_weights: 32 bits beside weights of 16, which are not counted"
            )
    for part, count in bits.items():
        if count:
            add_fact(run, f"{part}-moment={count}-bit")
