"""Models as their own code builds and runs them: ashlar_pp.read.model."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from ashlar_pp.read.model import describe, main  # noqa: E402
from ashlar_pp.read.modules.sources import Source, read_source  # noqa: E402
from ashlar_pp.read.modules.walk import walk  # noqa: E402
from ashlar_pp.read.modules.walked import Unreadable  # noqa: E402

SMALL = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}
KINDS = {
    "llama": {},
    "mistral": {"sliding_window": 40},
    "qwen3": {"head_dim": 24, "tie_word_embeddings": True},
    "gemma2": {"head_dim": 16, "sliding_window": 40},
    "gpt_oss": {
        "head_dim": 16,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "sliding_window": 16,
    },
    "qwen3_moe": {
        "head_dim": 16,
        "moe_intermediate_size": 32,
        "num_experts": 8,
        "num_experts_per_tok": 2,
    },
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "moe_intermediate_size": 32,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "q_lora_rank": 48,
        "kv_lora_rank": 32,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8,
        "v_head_dim": 16,
    },
}


def described(tmp_path, kind, **keys):
    """The description of a small model of this type, from a file."""
    pytest.importorskip("transformers")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, **SMALL, **KINDS[kind], **keys}))
    return describe(read_source(str(path), 80))


@pytest.mark.parametrize("kind", [*KINDS, "phi", "starcoder2"])
def test_norms_and_biases_are_told_apart(tmp_path, kind, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.setitem(KINDS, kind, KINDS.get(kind, {}))
    made = described(tmp_path, kind)["architecture"]
    layers = [made["kinds"][at] for at in made["layers"]]
    parts = [made, *(layer[part] for layer in layers for part in ("mix", "feed"))]
    of_experts = sum(
        layer["feed"].get("experts", 0) * layer["feed"].get("beside_expert", 0)
        for layer in layers
    )
    config = transformers.AutoConfig.for_model(kind, **SMALL | KINDS[kind])
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    named = [
        (type(module).__name__, name, one.numel())
        for module in model.modules()
        for name, one in module.named_parameters(recurse=False)
    ]
    assert sum(part.get("norms", 0) for part in parts) == sum(
        size for of, _, size in named if "Norm" in of
    )
    assert sum(part.get("biases", 0) for part in parts) + of_experts == sum(
        size for _, name, size in named if "bias" in name
    )


def formula(architecture):
    """Parameters by the form that `ashlar predict` counts."""
    hidden = architecture["hidden"]
    tables = 1 if architecture["is_tied"] else 2
    total = tables * architecture["vocabulary"] * hidden + architecture["beside"]
    for at in architecture["layers"]:
        mix, feed = (architecture["kinds"][at][part] for part in ("mix", "feed"))
        total += mix["beside"] + feed["beside"]
        heads = mix["heads"]
        if mix["kind"] == "attention":
            total += 2 * hidden * (heads + mix["groups"]) * mix["head"]
        else:
            wide, up = mix["nope"] + mix["rope"], mix["nope"] + mix["value_head"]
            total += mix["q_rank"] * (hidden + heads * wide)
            total += hidden * (mix["kv_rank"] + mix["rope"])
            total += mix["kv_rank"] * heads * up + heads * mix["value_head"] * hidden
        matrices = (3 if feed["is_gated"] else 2) * hidden
        if feed["kind"] == "dense":
            total += matrices * feed["width"]
        else:
            one = matrices * feed["expert_width"] + feed.get("beside_expert", 0)
            total += feed["experts"] * (one + hidden)
            total += matrices * feed.get("shared_width", 0)
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_accounts_for_every_parameter(tmp_path, kind):
    made = described(tmp_path, kind)
    assert "architecture" in made, made.get("no_architecture", made.get("not_walked"))
    assert formula(made["architecture"]) == made["parameters"]["all"]


def test_windows_are_read_from_masks_and_modules(tmp_path):
    def windows(kind, **keys):
        made = described(tmp_path, kind, **keys)["architecture"]
        return [made["kinds"][at]["mix"].get("window", 0) for at in made["layers"]]

    assert windows("mistral") == [40, 40, 40]
    assert windows("mistral", sliding_window=4096) == [4096] * 3
    assert windows("mistral", sliding_window=None) == [0, 0, 0]
    assert windows("gemma2") == [40, 0, 40]
    assert windows("gpt_oss") == [16, 0, 16]


def test_experts_are_counted_as_a_token_meets_them(tmp_path):
    made = described(tmp_path, "qwen3_moe")
    feed = made["architecture"]["kinds"][0]["feed"]
    assert (feed["experts"], feed["chosen"], feed["expert_width"]) == (8, 2, 32)
    unmet = 3 * 6 * 3 * 64 * 32  # layers, experts, matrices
    assert made["parameters"]["all"] - made["parameters"]["active"] == unmet
    groups = described(tmp_path, "deepseek_v3")["architecture"]["kinds"][1]["feed"]
    assert (groups["groups"], groups["chosen_groups"]) == (2, 1)


def test_frozen_layers_are_told(tmp_path):
    pytest.importorskip("transformers")
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", **SMALL}))
    source = read_source(str(path), 80)
    source.model.model.layers[1].requires_grad_(False)
    source.model.model.embed_tokens.requires_grad_(False)
    made = describe(source)
    assert made["architecture"]["freeze"] == "layers=1,embedding"
    source.model.model.layers[2].mlp.requires_grad_(False)
    assert "frozen in part" in describe(source)["no_architecture"]


class Encoder(torch.nn.Module):
    """Convolutions, attention without a mask, and a pooled head."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, 4, stride=4)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.body = torch.nn.TransformerEncoder(layer, 2)
        self.head = torch.nn.Linear(32, 10)

    def forward(self, image):
        tokens = self.first(image).flatten(2).transpose(1, 2)
        return self.head(self.body(tokens).mean(1))


def encoder():
    """A factory, with example inputs."""
    return Encoder(), torch.empty(1, 3, 32, 32)


def test_any_module_is_read_and_what_cannot_be_expressed_is_said():
    model, image = encoder()
    made = describe(Source("encoder", model.to("meta"), (image.to("meta"),)))
    assert made["parameters"]["all"] == sum(p.numel() for p in model.parameters())
    assert [layer["kind"] for layer in made["layers"]] == [0, 0]
    assert made["kinds"][0]["attention"][0]["causal"] is False
    assert "architecture" not in made and made["no_architecture"]


BERT = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "hidden_size": 64,
    "intermediate_size": 256,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "vocab_size": 8000,
    "max_position_embeddings": 128,
}


def test_encoders_see_all_tokens(tmp_path):
    pytest.importorskip("transformers")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(BERT))
    made = describe(read_source(str(path), 80))
    assert made["architecture"]["kinds"][0]["mix"]["sees_all"] is True
    assert made["parameters"]["all"] == formula(made["architecture"])
    around = {**BERT, "model_type": "modernbert", "local_attention": 32}
    around["pad_token_id"] = 0
    around["architectures"] = ["ModernBertForMaskedLM"]
    path.write_text(json.dumps(around))
    kinds = describe(read_source(str(path), 80))["architecture"]["kinds"]
    assert {kind["mix"].get("window", 0) for kind in kinds} == {0, 33}
    assert all(kind["mix"]["sees_all"] for kind in kinds)


OWN_CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel

class OwnConfig(PretrainedConfig):
    model_type = "own"

class OwnModel(PreTrainedModel):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.table = torch.nn.Embedding(config.vocab_size, 8)
        self.post_init()

    def forward(self, input_ids):
        return self.table(input_ids) @ self.table.weight.T
"""


def test_code_beside_a_configuration_runs_where_it_is_trusted(tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "config.json"
    places = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    keys = {"model_type": "own", "auto_map": places, "vocab_size": 96}
    path.write_text(json.dumps(keys))
    (tmp_path / "own.py").write_text(OWN_CODE)
    with pytest.raises(Unreadable, match="--trust-code runs it"):
        read_source(str(path), 80)
    made = describe(read_source(str(path), 80, trusts_code=True))
    assert made["parameters"]["all"] == 96 * 8
    (tmp_path / "own.py").unlink()
    with pytest.raises(Unreadable, match="is not one of transformers"):
        read_source(str(path), 80, trusts_code=True)


def test_an_unknown_type_is_read_by_the_class_that_the_file_names(tmp_path):
    pytest.importorskip("transformers")
    path = tmp_path / "config.json"
    keys = {"model_type": "renamed", "architectures": ["Qwen3ForCausalLM"], **SMALL}
    path.write_text(json.dumps(keys))
    made = describe(read_source(str(path), 80))
    assert made["class"] == "Qwen3ForCausalLM"
    path.write_text(json.dumps({**keys, "model_type": "qwen3"}))
    assert describe(read_source(str(path), 80))["parameters"] == made["parameters"]
    path.write_text(json.dumps({**keys, "auto_map": {"AutoConfig": "own.Own"}}))
    with pytest.raises(Unreadable, match="has code of its own"):
        read_source(str(path), 80)


def test_an_installed_package_may_add_types(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    (tmp_path / "fla.py").write_text(
        "from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig\n"
        "from transformers import LlamaForCausalLM\n"
        "class Gla(LlamaConfig):\n    model_type = 'gla'\n"
        "class GlaModel(LlamaForCausalLM):\n    config_class = Gla\n"
        "AutoConfig.register('gla', Gla)\n"
        "AutoModelForCausalLM.register(Gla, GlaModel)\n"
    )
    monkeypatch.delitem(sys.modules, "fla", raising=False)
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if "gla" in known:
        pytest.skip("the package is installed and imported")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gla", **SMALL}))
    made = describe(read_source(str(path), 80))
    assert made["parameters"]["all"] == formula(made["architecture"])


def test_operations_are_those_of_the_flop_counter():
    model, image = encoder()
    walked = walk(model.to("meta"), (image.to("meta"),))
    with FlopCounterMode(display=False) as counter:
        encoder()[0].train()(image)
    assert walked.operations == counter.get_total_flops()


class Choosy(torch.nn.Module):
    """Its sizes depend on values."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, rows):
        kept = self.inner(rows)
        return kept[: int(kept.sum())]


@pytest.mark.parametrize("kind", ["wav2vec2", "wavlm", "bart"])
def test_layers_that_training_skips_at_random_all_run(tmp_path, kind):
    pytest.importorskip("transformers")
    small = dict(hidden_size=32, d_model=32, num_attention_heads=4, vocab_size=64)
    counted = {}
    for share in (0.0, 0.9):
        skipped = dict.fromkeys(
            ("layerdrop", "encoder_layerdrop", "decoder_layerdrop"), share
        )
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"model_type": kind, **small, **skipped}))
        made = describe(read_source(str(path), 64))
        counted[share] = made["operations"]
        told = "all layers run, and training skips up to 90% at random"
        assert (told in made["assumed"]) == (share > 0)
    assert counted[0.0] == counted[0.9]


def test_sizes_from_values_are_refused_by_name():
    with pytest.raises(Unreadable, match="from the values of activations"):
        walk(Choosy().to("meta"), (torch.empty(4, 8, device="meta"),))


def test_shared_weights_count_once_and_are_named(tmp_path):
    made = described(tmp_path, "qwen3")
    assert made["parameters"]["shared"] == [
        ["model.embed_tokens.weight", "lm_head.weight"]
    ]
    assert made["architecture"]["is_tied"]


def test_the_command_writes_a_file_and_refuses_what_it_does_not_know(tmp_path, capsys):
    pytest.importorskip("transformers")
    path, out = tmp_path / "config.json", tmp_path / "model.json"
    path.write_text(json.dumps({"model_type": "llama", **SMALL}))
    assert main([str(path), "-o", str(out)]) == 0
    made = json.loads(out.read_text())
    assert made["ashlar_model"] == 1 and made["class"] == "LlamaForCausalLM"
    assert main(["no_such_type"]) == 2
    assert "no_such_type" in capsys.readouterr().err
    path.write_text('{"model_type": "no_such_type"}')
    assert main([str(path)]) == 2


def test_python_names_a_factory(tmp_path):
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "def make():\n"
        "    return torch.nn.Linear(4, 4), torch.empty(2, 4)\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "ashlar_pp.read", "model", f"{tmp_path}/own.py:make"],
        capture_output=True,
        text=True,
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["operations"] == 2 * 2 * 4 * 4
    assert "no_architecture" in told.stderr


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma2", "qwen3_moe"])
def test_kept_bytes_are_those_that_pytorch_saves(tmp_path, kind):
    """A real model on this machine, in 16 bits: each storage once, parameters not."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**SMALL, **KINDS[kind], "model_type": kind}))
    source = read_source(str(path), 96)
    told = describe(source)["kept_bytes"]
    model = type(source.model)(source.config).to(torch.bfloat16).train()
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = tensor  # it stays alive, and so its address
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        tokens = torch.randint(0, SMALL["vocab_size"], (1, 96))
        result = model(input_ids=tokens, use_cache=False).logits
    kept = sum(each.untyped_storage().nbytes() for each in saved.values())
    assert result.requires_grad and abs(told / kept - 1) < 0.01, (told, kept)
