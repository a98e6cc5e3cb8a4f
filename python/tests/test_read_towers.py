"""Parts before a decoder as their own code builds and runs them: ashlar_pp.read."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ashlar_pp.read.model import describe  # noqa: E402
from ashlar_pp.read.modules.sources import read_source  # noqa: E402

BOTH = {
    "vocab_size": 512,
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 96,
    "decoder_ffn_dim": 80,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
}
TEXT = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
}
EYE = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 56,
    "patch_size": 14,
}
PATCHES = {"patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
ROPE = {"type": "mrope", "mrope_section": [2, 3, 3], "rope_type": "default"}
SEEING = {
    "llava": {
        "vision_config": {"model_type": "clip_vision_model", **EYE},
        "text_config": {"model_type": "llama", **TEXT},
    },
    "gemma3": {
        "vision_config": {"model_type": "siglip_vision_model", **EYE},
        "text_config": {"model_type": "gemma3_text", "sliding_window": 40, **TEXT},
        "mm_tokens_per_image": 4,
    },
    "qwen2_vl": {
        "vision_config": {
            **PATCHES,
            "depth": 2,
            "embed_dim": 64,
            "num_heads": 4,
            "hidden_size": 64,
        },
        "text_config": {**TEXT, "rope_parameters": {**ROPE, "rope_theta": 1e6}},
    },
    "qwen2_5_vl": {
        "vision_config": {
            **PATCHES,
            "depth": 2,
            "hidden_size": 64,
            "num_heads": 4,
            "intermediate_size": 96,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [1],
        },
        "text_config": {**TEXT, "rope_parameters": {**ROPE, "rope_theta": 1e6}},
    },
    "qwen3_vl": {
        "vision_config": {
            "depth": 3,
            "hidden_size": 64,
            "num_heads": 4,
            "intermediate_size": 96,
            "out_hidden_size": 64,
            "deepstack_visual_indexes": [1],
            "num_position_embeddings": 64,
        },
        "text_config": {**TEXT, "rope_parameters": {**ROPE, "rope_theta": 1e6}},
    },
}
BOTH = {
    "t5": {
        "vocab_size": 512,
        "d_model": 64,
        "d_kv": 24,
        "d_ff": 96,
        "num_layers": 3,
        "num_decoder_layers": 2,
        "num_heads": 4,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
    },
    "bart": BOTH,
    "whisper": {
        **BOTH,
        "max_source_positions": 60,
        "num_mel_bins": 16,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    },
}


def source_of(tmp_path, kind, tokens=96, **keys):
    """A small model of this type."""
    path = tmp_path / "config.json"
    sizes = {**SEEING, **BOTH}[kind]
    path.write_text(json.dumps({"model_type": kind, **sizes, **keys}))
    return read_source(str(path), tokens)


def matrices_of(part, inside):
    """Sizes of a mixer's matrices: those of its own tokens."""
    heads, groups = part["heads"] * part["head"], part["groups"] * part["head"]
    return 2 * inside * heads, 2 * groups


def operations_of(form, queries, other=0, width=0):
    """Parameters and operations of one forward of the layers of a form."""
    total = operations = 0
    hidden = form["hidden"]
    for at in form["layers"]:
        kind = form["kinds"][at]
        mix, feed = kind["mix"], kind["feed"]
        own, of_keys = matrices_of(mix, hidden)
        own += hidden * of_keys
        own += (3 if feed["is_gated"] else 2) * hidden * feed["width"]
        seen = min(mix.get("chunk") or queries, queries)
        # All keys, as PyTorch's counter has it, but for groups that are apart.
        keys = seen if mix.get("sees_all") else queries
        scores = 4 * queries * keys * mix["heads"] * mix["head"]
        if cross := kind.get("cross"):
            queried, of_keys = matrices_of(cross, hidden)
            scores += 4 * queries * other * cross["heads"] * cross["head"]
            scores += 2 * other * width * of_keys
            own += queried
            total += width * of_keys + cross["beside"]
        total += own + mix["beside"] + feed["beside"]
        operations += 2 * own * queries + scores
    return total, operations


def counts_of(form, queries):
    """Parameters and operations of one forward of a decoder with its towers."""
    rows = width = total = operations = 0
    for tower in form.get("towers", ()):
        tokens = tower["tokens"] or queries
        rows, width = tokens, tower.get("hidden", 0)
        total += tower["beside"]
        if "layers" in tower:
            inside = operations_of(tower, tokens)
            total, operations = total + inside[0], operations + inside[1]
        for one in tower.get("products", ()):
            size = one["inner"] * one["columns"]
            total += size
            operations += 2 * one["rows"] * size
            if not one.get("is_ahead"):
                rows, width = one["rows"], one["columns"]
    inside = operations_of(form, queries, rows, width)
    table = form["vocabulary"] * (form["embedding"] or form["hidden"])
    total += inside[0] + (1 if form["is_tied"] else 2) * table + form["beside"]
    return total, operations + inside[1] + 2 * queries * table


def on_cpu(source):
    """The same model with weights, in 32 bits."""
    torch.manual_seed(1)
    return type(source.model)(source.config).float().eval()


def image_of(kind, model):
    """One image, and the text with its tokens, for a forward."""
    if kind.startswith("qwen"):
        from ashlar_pp.read.modules.tower_inputs import _patches_in_rows as _patches_of

        inputs = next(_patches_of(model))
        inputs["pixel_values"] = torch.rand(inputs["pixel_values"].shape)
        grid = inputs["image_grid_thw"][0]
        many = int(grid.prod()) // 4
    else:
        side = model.config.vision_config.image_size
        inputs = {"pixel_values": torch.rand(1, 3, side, side)}
        many = getattr(model.config, "mm_tokens_per_image", 16)
    model.config.image_token_id = 7
    ids = torch.ones(1, many + 32, dtype=torch.long)
    ids[0, 8 : 8 + many] = 7
    return {**inputs, "input_ids": ids}


@pytest.mark.parametrize("kind", SEEING)
def test_towers_have_every_parameter_and_the_operations_of_the_flop_counter(
    tmp_path, kind
):
    source = source_of(tmp_path, kind)
    made = describe(source)
    assert "architecture" in made, made.get("no_architecture", made.get("not_walked"))
    form = made["architecture"]
    assert not made["left_out"] and "no_towers" not in made
    assert counts_of(form, 96)[0] == made["parameters"]["all"]
    model = on_cpu(source)
    inputs = image_of(kind, model)
    if kind.startswith("qwen"):
        ids = inputs["input_ids"]
        inputs["mm_token_type_ids"] = (ids == 7).int()
    with FlopCounterMode(display=False) as counter:
        model(**inputs, use_cache=False)
    told = counts_of(form, inputs["input_ids"].shape[1])[1]
    assert told == pytest.approx(counter.get_total_flops(), rel=0.01)


@pytest.mark.parametrize("kind", BOTH)
def test_encoders_have_every_parameter_and_the_operations_of_the_flop_counter(
    tmp_path, kind
):
    source = source_of(tmp_path, kind)
    made = describe(source)
    form = made["architecture"]
    assert [one["name"] for one in form["towers"]] == ["encoder"]
    assert all("cross" in one for one in form["kinds"])
    assert counts_of(form, 96)[0] == made["parameters"]["all"]
    model = on_cpu(source)
    ids = torch.ones(1, 96, dtype=torch.long)
    inputs = {"input_ids": ids}
    if kind == "whisper":
        inputs = {"input_features": torch.rand(1, 16, 120)}
        assert form["towers"][0]["tokens"] == 60
    else:
        assert form["towers"][0]["tokens"] == 0
    with FlopCounterMode(display=False) as counter:
        model(**inputs, decoder_input_ids=ids, use_cache=False)
    assert counts_of(form, 96)[1] == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_frozen_towers_are_told_by_name(tmp_path):
    source = source_of(tmp_path, "llava")
    source.model.model.vision_tower.requires_grad_(False)
    source.model.model.language_model.embed_tokens.requires_grad_(False)
    form = describe(source)["architecture"]
    assert form["freeze"] == "vision_tower,embedding"
    assert [one["name"] for one in form["towers"]] == [
        "vision_tower",
        "multi_modal_projector",
    ]
    assert [one["continues"] for one in form["towers"]] == [False, True]


@pytest.mark.parametrize("kind", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def test_what_leads_from_a_tower_is_a_part_of_its_own(tmp_path, kind):
    source = source_of(tmp_path, kind)
    visual = source.model.model.visual
    visual.requires_grad_(False)
    visual.merger.requires_grad_(True)
    form = describe(source)["architecture"]
    assert form["freeze"] == "visual.blocks"
    merger = form["towers"][1]
    size = sum(one["inner"] * one["columns"] for one in merger["products"])
    assert size + merger["beside"] == sum(
        one.numel() for one in visual.merger.parameters()
    )


def test_windows_of_an_image_are_chunks(tmp_path):
    form = describe(source_of(tmp_path, "qwen2_5_vl"))["architecture"]
    tower, merger = form["towers"]
    assert [tower["name"], merger["name"]] == ["visual.blocks", "visual.merger"]
    assert [tower["continues"], merger["continues"]] == [False, True]
    assert merger["tokens"] == tower["tokens"] // 4
    mixers = [tower["kinds"][at]["mix"] for at in tower["layers"]]
    assert [mix.get("chunk", 0) for mix in mixers] == [64, 0]
    assert tower["tokens"] == 32 * 32


def test_a_tower_of_other_inputs_is_left_out_with_the_reason(tmp_path):
    path = tmp_path / "config.json"
    keys = {**SEEING["gemma3"], "model_type": "gemma3", "mm_tokens_per_image": 400}
    path.write_text(json.dumps(keys))
    made = describe(read_source(str(path), 96))
    assert "no_towers" in made
    assert list(made["left_out"]) == [
        "model.vision_tower",
        "model.multi_modal_projector",
    ]
    assert "towers" not in made["architecture"]
