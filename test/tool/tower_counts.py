#!/usr/bin/env python3
"""What stands before a decoder has the parameters that its own package builds, and what trains beside adapters is what peft makes train.

usage: tower_counts.py ASHLAR

Skipped (77) without peft, transformers and PyTorch.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoConfig, AutoModelForImageTextToText, CLIPVisionConfig, CLIPVisionModel
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "ashlar_pp"))

from read.images import CLIP, tower_of_images  # noqa: E402

ADAPTED = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
# A small LLaVA: its decoder, and its tower.
TEXT = {"model_type": "llama", "vocab_size": 256, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "tie_word_embeddings": False, "max_position_embeddings": 512}
EYE = {"model_type": "clip_vision_model", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
       "image_size": 56, "patch_size": 14}


def predicted(folder, run, *more):
    path = Path(folder, "run.json")
    path.write_text(json.dumps({"format": "ashlar-run", "version": 1, "cluster": "1xH100", "batch": {"sequence": 64, "sequences": 1}, **run}))
    ran = subprocess.run([ASHLAR, "predict", "--run", str(path), *more, "--as", "json"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def parameters(tower):
    """Of a tower as a run has it."""
    hidden = tower["hidden"]
    layers = 0
    for at in tower["layers"]:
        mix, feed = tower["kinds"][at]["mix"], tower["kinds"][at]["feed"]
        layers += 2 * hidden * (mix["heads"] + mix["groups"]) * mix["head"] + mix["beside"]
        layers += (3 if feed.get("is_gated") else 2) * hidden * feed["width"] + feed["beside"]
    products = sum(one["inner"] * one["columns"] + one["columns"] * bool(one.get("has_bias")) for one in tower["products"])
    return layers + products + tower["beside"]


def check_clip():
    """Sizes of published towers are those of transformers' modules of the same sizes."""
    for name, kind in CLIP.items():
        sizes = {"hidden_size": kind.hidden, "intermediate_size": kind.width, "num_hidden_layers": kind.layers,
                 "num_attention_heads": kind.heads, "image_size": kind.side, "patch_size": kind.patch}
        with torch.device("meta"):
            built = CLIPVisionModel(CLIPVisionConfig(**sizes))
        expected = sum(one.numel() for one in built.parameters())
        assert parameters(tower_of_images(kind, "eye")) == expected, (name, expected)
    # Published: 303 million.
    assert 303e6 < parameters(tower_of_images(CLIP["openai/clip-vit-large-patch14"], "eye")) < 304e6


def small():
    config = AutoConfig.for_model("llava", text_config=TEXT, vision_config=EYE)
    return AutoModelForImageTextToText.from_config(config)


def trained(model):
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def check_beside_adapters(folder):
    """A projector that trains itself, as LLaVA's train.py has it, and one of which peft trains a copy; a tower, likewise."""
    from read.model import describe
    from read.sources import read_source

    config = Path(folder, "config.json")
    config.write_text(json.dumps({"model_type": "llava", "text_config": TEXT, "vision_config": EYE}))
    described = describe(read_source(str(config), 64))
    targets = r".*language_model.*\.(" + ADAPTED.replace(",", "|") + ")"
    sizes = {"vision_tower": 0, "multi_modal_projector": 0}
    for name in sizes:
        sizes[name] = sum(one.numel() for one in small().model.get_submodule(name).parameters())

    def asked(lora, freeze="vision_tower"):
        return predicted(folder, {"model": described, "program": {"lora": f"8,{ADAPTED}{lora}", "freeze": freeze}})

    alone = asked("", "towers")
    itself = get_peft_model(small(), LoraConfig(r=8, target_modules=targets))
    assert alone["trained_parameters"] == trained(itself), alone
    itself.base_model.model.model.multi_modal_projector.requires_grad_(True)
    whole = asked(",whole=multi_modal_projector")
    assert whole["trained_parameters"] == trained(itself), whole
    copied = get_peft_model(small(), LoraConfig(r=8, target_modules=targets, modules_to_save=["multi_modal_projector"]))
    copy = asked(",train=multi_modal_projector")
    assert copy["trained_parameters"] == trained(copied) == trained(itself), copy
    # The copy is beside the part itself, which is held in 16 bits.
    assert sum(one.numel() for one in copied.parameters()) - sum(one.numel() for one in itself.parameters()) == sizes["multi_modal_projector"]
    held = [one["memory"][0]["parameters"] for one in (alone, whole, copy)]
    assert held[0] == held[1] and held[2] - held[1] == 2 * sizes["multi_modal_projector"], (held, sizes)
    copied = get_peft_model(small(), LoraConfig(r=8, target_modules=targets, modules_to_save=["vision_tower"]))
    eye = asked(",train=vision_tower", "multi_modal_projector")
    assert eye["trained_parameters"] == trained(copied), eye
    assert eye["step_seconds"] > alone["step_seconds"]


def main():
    check_clip()
    with tempfile.TemporaryDirectory() as folder:
        check_beside_adapters(folder)
    print(f"{len(CLIP)} towers")


main()
