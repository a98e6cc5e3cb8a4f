"""What makes tokens of images and sound in several types of transformers, against the
parameters that are built and PyTorch's counter of operations."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from test_read_towers import EYE, TEXT, operations_of  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ashlar_pp.read.model import describe  # noqa: E402
from ashlar_pp.read.sources import read_source  # noqa: E402
from ashlar_pp.read.tower_inputs import inputs_for  # noqa: E402
from ashlar_pp.read.towers import METHODS, _path_of  # noqa: E402

LLAMA = {"model_type": "llama", **TEXT}
QWEN = {"model_type": "qwen2", **TEXT}
CLIP = {"model_type": "clip_vision_model", **EYE}
SIGLIP = {"model_type": "siglip_vision_model", **EYE, "vision_use_head": False}
TILES = [[56, 112], [112, 56], [112, 112]]
WHISPER = {
    "num_mel_bins": 16,
    "d_model": 48,
    "hidden_size": 48,
    "encoder_layers": 2,
    "num_hidden_layers": 2,
    "encoder_attention_heads": 4,
    "num_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "intermediate_size": 96,
    "max_source_positions": 60,
}
# A configuration, and the tokens of its tower and of what leads to the decoder.
TYPES = {
    "llava_next": (
        {"vision_config": CLIP, "text_config": LLAMA, "image_grid_pinpoints": TILES},
        (51, 48),
    ),
    "llava_onevision": (
        {"vision_config": SIGLIP, "text_config": QWEN, "image_grid_pinpoints": TILES},
        (48, 48),
    ),
    "paligemma": (
        {
            "vision_config": {**SIGLIP, "projection_dim": 64},
            "text_config": {"model_type": "gemma", **TEXT},
            "projection_dim": 64,
        },
        (16, 16),
    ),
    "idefics3": (
        {
            "vision_config": {**EYE, "model_type": "idefics3_vision"},
            "text_config": LLAMA,
            "scale_factor": 2,
        },
        (16, 4),
    ),
    "smolvlm": (
        {
            "vision_config": {**EYE, "model_type": "smolvlm_vision"},
            "text_config": LLAMA,
            "scale_factor": 2,
        },
        (16, 4),
    ),
    "internvl": (
        {
            "vision_config": {
                **EYE,
                "model_type": "internvl_vision",
                "image_size": [56, 56],
                "patch_size": [14, 14],
            },
            "text_config": QWEN,
        },
        (17, 4),
    ),
    "mistral3": (
        {
            "vision_config": {"model_type": "pixtral", **EYE, "head_dim": 12},
            "text_config": {"model_type": "mistral", **TEXT},
        },
        (16, 4),
    ),
    "deepseek_vl": (
        {"vision_config": SIGLIP, "text_config": LLAMA},
        (16, 16),
    ),
    "cohere2_vision": (
        {
            "vision_config": SIGLIP,
            "text_config": {"model_type": "cohere2", **TEXT},
            "alignment_intermediate_size": 128,
        },
        (16, 4),
    ),
    "voxtral": (
        {
            "audio_config": {"model_type": "voxtral_encoder", **WHISPER},
            "text_config": LLAMA,
            "hidden_size": 48,
        },
        (60, 30),
    ),
    "audioflamingo3": (
        {
            "audio_config": {"model_type": "audioflamingo3_encoder", **WHISPER},
            "text_config": QWEN,
        },
        (60, 30),
    ),
}


def tower_operations(form):
    """Operations of the layers and products of all towers."""
    total = 0
    for tower in form["towers"]:
        if "layers" in tower:
            total += operations_of(tower, tower["tokens"])[1]
        for one in tower.get("products", ()):
            total += 2 * one["rows"] * one["inner"] * one["columns"]
    return total


def counted(model, inputs, path):
    """Those of the model's own method, with values in place of what has none."""
    with_values = {
        name: torch.rand(one.shape) if one.is_floating_point() else one
        for name, one in inputs.items()
    }
    call = model
    for name in path.split("."):
        call = getattr(call, name)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call(**with_values)
    return counter.get_total_flops()


@pytest.mark.parametrize("kind", TYPES)
def test_a_type_has_every_parameter_and_the_operations_of_its_towers(tmp_path, kind):
    keys, tokens = TYPES[kind]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, **keys}))
    source = read_source(str(path), 96)
    made = describe(source)
    assert "architecture" in made, made.get("no_architecture", made.get("not_walked"))
    form = made["architecture"]
    assert not made["left_out"], made.get("no_towers")
    assert tuple(one["tokens"] for one in form["towers"]) == tokens
    torch.manual_seed(1)
    model = type(source.model)(source.config).float().eval()
    built = sum({id(one): one.numel() for one in model.parameters()}.values())
    assert made["parameters"]["all"] == built
    method = next(filter(None, (_path_of(model, name) for name in METHODS)))
    call = model.model if method.startswith("model.") else model
    for inputs in inputs_for(model, getattr(call, method.removeprefix("model."))):
        try:
            operations = counted(model, inputs, method)
        except (ValueError, RuntimeError):
            continue
        assert tower_operations(form) == pytest.approx(operations, rel=0.01)
        return
    raise AssertionError("the model takes none of these inputs")
