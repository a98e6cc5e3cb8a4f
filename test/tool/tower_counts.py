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
    from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, CLIPVisionConfig, CLIPVisionModel, Dinov2Config, Dinov2Model, InternVLVisionConfig,
                              InternVLVisionModel, SiglipVisionConfig, SiglipVisionModel, WhisperConfig, WhisperModel)
except ImportError:
    sys.exit(77)

ASHLAR = sys.argv[1]
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "ashlar_pp"))

from read.facts.images import CLIP, tower_of_images  # noqa: E402
from read.frameworks.mimo import read_mimo  # noqa: E402
from read.frameworks.multimodal import read_multimodal  # noqa: E402
from read.run_file import Run  # noqa: E402

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
                 "num_attention_heads": kind.heads, "image_size": kind.height, "patch_size": kind.patch}
        with torch.device("meta"):
            built = CLIPVisionModel(CLIPVisionConfig(**sizes))
        expected = sum(one.numel() for one in built.parameters())
        assert parameters(tower_of_images(kind, "eye")) == expected, (name, expected)
    # Published: 303 million.
    assert 303e6 < parameters(tower_of_images(CLIP["openai/clip-vit-large-patch14"], "eye")) < 304e6


def of_megatron(kind, side, patch, *more):
    """The tower and the projection of examples/multimodal beside a decoder with heads of 128."""
    words = (f"--hidden-size 7168 --num-attention-heads 56 --language-model-type yi-34b --vision-model-type {kind} --img-h {side} --img-w {side} "
             f"--patch-dim {patch} --decoder-seq-length 4096 --normalization RMSNorm").split()
    values = {name[2:]: value for name, value in zip(words[::2], words[1::2])} | dict(more)
    run = Run()
    read_multimodal(values, run)
    return run.towers


def check_megatron():
    """Towers of Megatron-LM's examples/multimodal beside modules of transformers and PyTorch of the same sizes."""
    def count(module):
        return sum(one.numel() for one in module.parameters())

    with torch.device("meta"):
        large = CLIPVisionModel(CLIPVisionConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, image_size=336,
                                                 patch_size=14))
        siglip = SiglipVisionModel(SiglipVisionConfig(hidden_size=1152, intermediate_size=4304, num_hidden_layers=27, num_attention_heads=16, image_size=448,
                                                      patch_size=14, vision_use_head=False))
        sizes = {"image_size": 448, "patch_size": 14, "use_absolute_position_embeddings": True}
        small_intern = InternVLVisionModel(InternVLVisionConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
                                                                attention_bias=True, **sizes))
        intern = InternVLVisionModel(InternVLVisionConfig(hidden_size=3200, intermediate_size=12800, num_hidden_layers=45, num_attention_heads=25,
                                                          attention_bias=False, use_qk_norm=True, norm_type="rms_norm", **sizes))
        huge, giant = (torch.nn.TransformerEncoderLayer(width, heads, wide) for width, heads, wide in ((1280, 16, 5120), (1536, 24, 6144)))
        gated = Dinov2Model(Dinov2Config(hidden_size=1536, num_hidden_layers=40, num_attention_heads=24, use_swiglu_ffn=True)).encoder
    # Megatron-LM's CLIP ends without a norm, and InternVL's in transformers has a token for masks where it is asked for.
    assert parameters(of_megatron("clip", 336, 14)[0]) == count(large) - 2 * 1024
    assert parameters(of_megatron("siglip", 448, 14)[0]) == count(siglip)
    assert parameters(of_megatron("internvit300M", 448, 14)[0]) == count(small_intern)
    assert parameters(of_megatron("internvit", 448, 14)[0]) == count(intern)
    assert 5.5e9 < count(intern) < 5.6e9  # published: 5.5 billion
    # On eight tensor ranks, seven heads of zeros join the 25.
    wide = of_megatron("internvit", 448, 14, ("tensor-model-parallel-size", "8"))[0]
    assert parameters(wide) - count(intern) == 45 * 7 * 128 * (4 * 3200 + 2)
    positions = 128**2
    assert parameters(of_megatron("radio", 512, 16)[0]) == 32 * count(huge) + (768 + positions + 8) * 1280
    assert parameters(of_megatron("cradio-g", 512, 16)[0]) == 40 * count(giant) + (768 + positions + 8) * 1536
    assert parameters(of_megatron("radio-g", 448, 14)[0]) == count(gated) + (588 + 1 + positions + 5 + 1 + 2) * 1536
    assert of_megatron("radio", 512, 16)[0]["tokens"] == 32**2 + 8
    # Four neighbours are one token of four widths; tiles are inputs.
    tower, projection = of_megatron("internvit", 448, 14, ("pixel-shuffle", True), ("disable-vision-class-token", True), ("max-num-tiles", "6"),
                                    ("use-thumbnail", True))
    assert tower["tokens"] == 1025 and tower["inputs"] == projection["inputs"] == 7
    assert projection["products"] == [{"rows": 256, "inner": 12800, "columns": 20480}, {"rows": 256, "inner": 20480, "columns": 7168}]


def check_mimo():
    """Towers of Megatron-LM's examples/mimo are transformers' own, and the decoder is Vicuna's."""
    run = Run()
    read_mimo({"model-provider": "llava_avlm"}, run)
    with torch.device("meta"):
        ear = WhisperModel(WhisperConfig(d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048, decoder_layers=1, decoder_attention_heads=8)).encoder
        decoder = AutoModelForCausalLM.from_config(AutoConfig.for_model(**run.model))
    assert parameters(run.towers[2]) == sum(one.numel() for one in ear.parameters())
    assert sum(one.numel() for one in decoder.parameters()) == 6_738_415_616 + 2 * 256 * 4096  # Llama 7B with a longer table
    bridges = torch.nn.Linear(1024, 4096), torch.nn.Linear(512, 4096), torch.nn.Linear(4096, 4096), torch.nn.Linear(4096, 4096)
    counted = sum(one["inner"] * one["columns"] + one["columns"] for at in (1, 3) for one in run.towers[at]["products"])
    assert counted == sum(one.numel() for bridge in bridges for one in bridge.parameters())


def small():
    config = AutoConfig.for_model("llava", text_config=TEXT, vision_config=EYE)
    return AutoModelForImageTextToText.from_config(config)


def trained(model):
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def check_beside_adapters(folder):
    """A projector that trains itself, as LLaVA's train.py has it, and one of which peft trains a copy; a tower, likewise."""
    from read.model import describe
    from read.modules.sources import read_source

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
    check_megatron()
    check_mimo()
    with tempfile.TemporaryDirectory() as folder:
        check_beside_adapters(folder)
    print(f"{len(CLIP)} towers")


main()
