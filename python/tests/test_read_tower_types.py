"""What makes tokens of images and sound in several types of transformers, against the
parameters that are built and PyTorch's counter of operations."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from test_read_towers import EYE, TEXT, operations_of  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ashlar_pp.read.model import describe  # noqa: E402
from ashlar_pp.read.modules.sources import read_source  # noqa: E402
from ashlar_pp.read.modules.tower_chains import add_chain  # noqa: E402
from ashlar_pp.read.modules.tower_inputs import inputs_for  # noqa: E402
from ashlar_pp.read.modules.towers import METHODS, _path_of  # noqa: E402

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
QUERIES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "encoder_hidden_size": 48,
    "vocab_size": 64,
}
OPT = {
    "model_type": "opt",
    "vocab_size": 512,
    "hidden_size": 64,
    "ffn_dim": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "word_embed_proj_dim": 64,
}
THIRDS = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e4}
HALF = {**THIRDS, "mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5}
RATIOS = {
    "model_type": "mllama_vision_model",
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_global_layers": 1,
    "attention_heads": 4,
    "image_size": 126,
    "patch_size": 14,
    "intermediate_layers_indices": [0, 1],
    "vision_output_dim": 144,
}
CROSS = {
    "model_type": "mllama_text_model",
    "cross_attention_layers": [1],
    "pad_token_id": 0,
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
    "glm4v": (
        {
            "vision_config": {
                "depth": 2,
                "hidden_size": 48,
                "intermediate_size": 96,
                "out_hidden_size": 64,
                "num_heads": 4,
                "image_size": 56,
                "patch_size": 14,
            },
            "text_config": {**TEXT, "rope_parameters": HALF},
        },
        (16, 4, 4),
    ),
    "kimi_k25": (
        {
            "vision_config": {**EYE, "pos_emb_height": 8, "pos_emb_width": 8},
            "text_config": LLAMA,
            "projection_hidden_size": 48,
        },
        (16, 4),
    ),
    "paddleocr_vl": (
        {"vision_config": EYE, "text_config": {**TEXT, "rope_parameters": THIRDS}},
        (16, 4),
    ),
    "blip-2": (
        {
            "vision_config": {**EYE},
            "qformer_config": QUERIES,
            "text_config": OPT,
            "num_query_tokens": 8,
        },
        (17, 8, 8),
    ),
    "instructblip": (
        {
            "vision_config": {**EYE},
            "qformer_config": QUERIES,
            "text_config": OPT,
            "num_query_tokens": 8,
        },
        (17, 24, 8),
    ),
    "idefics2": (
        {
            "vision_config": {**EYE, "model_type": "idefics2_vision"},
            "perceiver_config": {
                "hidden_size": 64,
                "resampler_n_latents": 6,
                "resampler_depth": 2,
                "resampler_n_heads": 4,
                "resampler_head_dim": 16,
                "num_key_value_heads": 2,
            },
            "text_config": {"model_type": "mistral", **TEXT},
        },
        (16, 16),
    ),
    "mllama": (
        {"vision_config": RATIOS, "text_config": {**CROSS, **TEXT}},
        (4 * 88, 4 * 82),
    ),
    "qwen2_audio": (
        {
            "audio_config": {"model_type": "qwen2_audio_encoder", **WHISPER},
            "text_config": QWEN,
        },
        (60, 30),
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
    model.requires_grad_(False)  # the counter hooks gradients of parameters
    built = sum({id(one): one.numel() for one in model.parameters()}.values())
    assert made["parameters"]["all"] == built
    method = next(filter(None, (_path_of(model, name) for name in METHODS)), "")
    method = method or add_chain(
        model, ["model." + one["name"] for one in form["towers"]]
    )
    call = model.model if method.startswith("model.") else model
    for inputs in inputs_for(model, getattr(call, method.removeprefix("model."))):
        try:
            operations = counted(model, inputs, method)
        except (ValueError, RuntimeError):
            continue
        assert tower_operations(form) == pytest.approx(operations, rel=0.01)
        return
    raise AssertionError("the model takes none of these inputs")


def test_layers_that_attend_to_an_image_have_no_attention_to_text(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "mllama", **TYPES["mllama"][0]}))
    source = read_source(str(path), 96)
    form = describe(source)["architecture"]
    kinds = [form["kinds"][at] for at in form["layers"]]
    assert [("mix" in kind, "cross" in kind) for kind in kinds] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    heads = TEXT["num_attention_heads"]
    assert (kinds[1]["cross"]["heads"], kinds[1]["cross"]["groups"]) == (heads, 2)
    # The text, and what its layers do with the tokens of the image.
    torch.manual_seed(1)
    model = type(source.model)(source.config).float().eval()
    ids, rows, hidden = torch.ones(1, 96, dtype=torch.long), 4 * 82, form["hidden"]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(
            input_ids=ids,
            cross_attention_states=torch.rand(1, rows, hidden),
            cross_attention_mask=torch.ones(1, 96, 1, 4, dtype=torch.long),
            use_cache=False,
        )
    told = 2 * 96 * hidden * form["vocabulary"]
    for kind in kinds:
        mix, feed = kind.get("mix") or kind["cross"], kind["feed"]
        wide, narrow = mix["heads"] * mix["head"], mix["groups"] * mix["head"]
        keys = 96 if "mix" in kind else rows
        told += 2 * 96 * hidden * (2 * wide + 3 * feed["width"])
        told += 2 * keys * hidden * 2 * narrow + 4 * 96 * keys * wide
    assert told == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_a_model_without_some_of_its_layers_has_no_architecture(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "mllama", **TYPES["mllama"][0]}))
    made = describe(read_source(str(path), 96, "AutoModelForCausalLM"))
    assert "leaves out the layer" in made["no_architecture"]
