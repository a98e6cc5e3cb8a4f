"""Compares `ashlar_pp.read model` with transformers' models, for all types it builds.

usage: python python/tests/model_types.py [GROUP ...] [--type TYPE] [--as csv]

A group is causal, masked, seq2seq, vision, speech, ctc, audio or towers; default: all.
The last is of decoders behind a tower of images or sound: operations are those of the
tower. For each
type's default configuration: parameters against the sum over an independently built
model, active parameters against those outside of experts and the chosen share of those
inside, and operations of a forward against torch.utils.flop_counter. It takes about 20
minutes, and no memory for weights.
"""

import argparse
import gc
import operator
import sys
import warnings

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import FlopCounterMode
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ashlar_pp.read.model import describe
from ashlar_pp.read.modules.sources import read_source
from ashlar_pp.read.modules.tower_chains import NAME
from ashlar_pp.read.modules.tower_inputs import inputs_for
from ashlar_pp.read.modules.towers import METHODS, _path_of
from ashlar_pp.read.modules.walked import Unreadable

GROUPS = {
    "causal": ("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "masked": ("AutoModelForMaskedLM", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"),
    "seq2seq": (
        "AutoModelForSeq2SeqLM",
        "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    ),
    "vision": (
        "AutoModelForImageClassification",
        "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
    ),
    "speech": ("AutoModelForSpeechSeq2Seq", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES"),
    "ctc": ("AutoModelForCTC", "MODEL_FOR_CTC_MAPPING_NAMES"),
    "audio": (
        "AutoModelForAudioClassification",
        "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES",
    ),
    "towers": (
        "AutoModelForImageTextToText",
        "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    ),
}
# Types with a tower of sound, which no auto class has apart.
OF_SOUND = """
    audioflamingo3 fun_asr_nano glmasr granite_speech granite_speech_plus musicflamingo
    phi4_multimodal qwen2_audio qwen3_asr vibevoice_asr voxtral
""".split()


def numbers(indices):
    """Places in place of masks with values."""
    made = []
    for one in indices:
        is_mask = torch.is_tensor(one) and one.dtype == torch.bool and not one.is_meta
        made.extend(one.nonzero().unbind(1) if is_mask else [one])
    return made


class OneDevice(TorchDispatchMode):
    """Lets ids with values meet weights without; new tensors have values."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [t for t in tree_leaves((args, kwargs)) if torch.is_tensor(t)]
        if func is torch.ops.aten.index.Tensor:
            args = (args[0], numbers(args[1]))
        if not tensors and "device" in kwargs:
            kwargs["device"] = "cpu"
        elif any(t.is_meta for t in tensors):
            args, kwargs = tree_map(
                lambda t: t.to("meta") if torch.is_tensor(t) else t, (args, kwargs)
            )
            if "device" in kwargs:
                kwargs["device"] = "meta"
        if func is torch.ops.aten._local_scalar_dense.default and tensors[0].is_meta:
            return False
        return func(*args, **kwargs)


def build(auto, kind, **options):
    """A model of a type's default configuration on the meta device."""
    config = CONFIG_MAPPING[kind]()
    cls = getattr(transformers, auto)
    found = cls._model_mapping[type(config)]
    with torch.device("meta"):
        if isinstance(found, tuple | list):
            return found[0](config)
        return cls.from_config(config, **options)


def operations(model, inputs):
    """Those that PyTorch's own counter finds; experts as products it knows."""
    try:
        model.set_experts_implementation("batched_mm")
    except (AttributeError, ValueError):
        pass  # it has none
    with FlopCounterMode(display=False) as counter, OneDevice():
        model(**inputs)
    return counter.get_total_flops()


def active(model):
    """Parameters but for the experts that a token does not choose, by configuration."""
    config = model.config.get_text_config()
    chosen = next(
        (
            getattr(config, name)
            for name in (
                "num_experts_per_tok",
                "num_experts_per_token",
                "moe_k",
                "moe_topk",
                "top_k_experts",
                "moe_top_k",
            )
            if getattr(config, name, None)
        ),
        None,
    )
    total = 0
    for name, parameter in model.named_parameters():
        size = parameter.numel()
        routed = ".experts." in name and parameter.dim() > 1
        if routed and chosen is None:
            return None
        if routed:
            chosen = chosen[0] if isinstance(chosen, list) else chosen
            size = size * chosen // parameter.shape[0]
        total += size
    return total


def compare(group, kind):
    """A row: the group, the type, and how each figure compares."""
    auto = GROUPS[group][0]
    try:
        model = build(auto, kind)
    except Exception as error:
        return group, kind, "not built", str(error).strip().split("\n")[0][:100], "", ""
    whole = sum({id(p): p.numel() for p in model.parameters()}.values())
    try:
        source = read_source(kind, 176, auto)
        made = describe(source)
    except Unreadable as error:
        return group, kind, "NOT READ", str(error)[:100], "", ""
    told = made["parameters"]
    rows = ["exact" if told["all"] == whole else f"{told['all']} for {whole}"]
    if "not_walked" in made:
        rows += ["not walked: " + made["not_walked"][:100], ""]
    else:
        meets = active(model)
        same = "exact" if meets == told["active"] else f"{told['active']} for {meets}"
        rows.append("dense" if meets == whole == told["active"] else same)
        try:
            counted = operations(source.model, source.inputs)
            off = made["operations"] / counted - 1 if counted else 0
            rows.append(f"{100 * off:+.2f} %")
        except Exception as error:
            rows.append("not counted: " + str(error).strip().split("\n")[0][:60])
    return group, kind, *rows, made.get("no_architecture", "expressed")


def tower_operations(form):
    """Operations of one input of all towers of a form."""
    total = 0
    for tower in form["towers"]:
        hidden, rows = tower.get("hidden", 0), tower["tokens"]
        for at in tower.get("layers", ()):
            mix, feed = tower["kinds"][at]["mix"], tower["kinds"][at]["feed"]
            heads, groups = mix["heads"] * mix["head"], mix["groups"] * mix["head"]
            own = 2 * hidden * (heads + groups)
            own += (3 if feed.get("is_gated") else 2) * hidden * feed.get("width", 0)
            total += 2 * rows * own + 4 * rows * (mix.get("chunk") or rows) * heads
        for one in tower.get("products", ()):
            total += 2 * one["rows"] * one["inner"] * one["columns"]
    return total


def compare_towers(kind):
    """A row: how the towers of a type compare, or why none is read."""
    group = "towers"
    auto = GROUPS[group][0] if kind not in OF_SOUND else ""
    try:
        source = read_source(kind, 176, auto)
    except Unreadable as error:
        return group, kind, "not built", str(error)[:100], "", ""
    model = source.model
    whole = sum({id(p): p.numel() for p in model.parameters()}.values())
    made = describe(source)
    told = made["parameters"]["all"]
    rows = ["exact" if told == whole else f"{told} for {whole}"]
    form = made.get("architecture", {})
    names = [one["name"] for one in form.get("towers", ())]
    if not names:
        reason = made.get("no_architecture", made.get("no_towers", ""))
        why = made.get("not_walked", reason or "no tower")
        return group, kind, *rows, "no tower: " + why[:120], "", ""
    counted = 0
    paths = [_path_of(model, method) for method in METHODS]
    for path in (*paths, NAME if hasattr(model, NAME) else ""):
        call = operator.attrgetter(path)(model) if path else None
        for inputs in inputs_for(model, call) if path else ():
            try:
                with FlopCounterMode(display=False) as counter, OneDevice():
                    call(**inputs)
            except Exception:
                continue  # the next inputs are others
            counted += counter.get_total_flops()
            break
    off = tower_operations(form) / counted - 1 if counted else float("nan")
    left = ", ".join(made["left_out"])
    return group, kind, *rows, f"{100 * off:+.2f} %", " ".join(names), left


def main():
    """Prints a row for each type, and how many of them agree."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("group", nargs="*")
    parser.add_argument("--type")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    built = exact = 0
    for group in given.group or GROUPS:
        kinds = list(getattr(modeling_auto, GROUPS[group][1]))
        for kind in kinds + (OF_SOUND if group == "towers" else []):
            if given.type and kind != given.type:
                continue
            of_towers = group == "towers"
            row = compare_towers(kind) if of_towers else compare(group, kind)
            print(*row, sep=" | ", flush=True)
            built += row[2] != "not built"
            exact += row[2] == "exact"
            gc.collect()
    print(f"parameters exact: {exact} of {built} types")
    return 0 if exact >= 0.97 * built else 1


if __name__ == "__main__":
    sys.exit(main())
