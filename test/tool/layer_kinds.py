#!/usr/bin/env python3
"""Recipes whose layers are of another kind than a transformer's: parameters and operations that their frameworks' own modules have.

usage: layer_kinds.py ASHLAR ROOT

It needs no package. The counts were taken from each framework's own module on PyTorch's `meta` device: all parameters, and the
operations of a forward for one token by torch.utils.flop_counter.
"""
import json
import subprocess
import tempfile
from pathlib import Path

from launch_reading import ASHLAR, read

LINGUA = {"distributed": {"fsdp_type": "full_shard"}, "data": {"seq_len": 256, "batch_size": 2}}


def lingua(kind, **sizes):
    return {"model_type": kind, "model": {"vocab_size": 32000, **sizes}, **LINGUA}


def nanotron(**model):
    return {"model": {"dtype": "bfloat16", "model_config": model}, "parallelism": {"dp": 4, "tp": 2, "pp": 1},
            "tokens": {"micro_batch_size": 2, "sequence_length": 2048}}


QWEN = {"is_qwen2_config": True, "hidden_size": 256, "num_hidden_layers": 12, "num_attention_heads": 4, "num_key_value_heads": 4,
        "intermediate_size": 768, "vocab_size": 128256, "tie_word_embeddings": True}

# A configuration, its module's parameters, and operations of a token. Modules of nanotron need a GPU: those of transformers with the
# same matrices stand for them, MambaForCausalLM, Qwen2MoeForCausalLM without biases, and MixtralForCausalLM less its gates.
COUNTED = [
    (lingua("minGRU", dim=2048, n_layers=50, n_heads=32, conv_size=4), 1_809_717_248, 3_486_515_200),
    (lingua("minGRU", dim=256, n_layers=5, n_heads=4, multiple_of=64, ffn_dim_multiplier=2, weight_tying=True), 13_436_416, 26_869_760),
    (lingua("minLSTM", dim=1920, n_layers=50, n_heads=30, conv_size=4), 1_967_713_920, 3_809_280_000),
    (lingua("hawk", dim=4096, n_layers=32, n_heads=28, conv_size=4, lru_dim_multiplier=0.65), 6_822_764_544, 13_381_926_912),
    (lingua("hawk", dim=512, n_layers=1, n_heads=8, multiple_of=128, ffn_dim_multiplier=0.5, lru_dim_multiplier=0.65), 35_259_968, 37_748_736),
    (lingua("mamba", dim=4096, n_layers=64, n_heads=64, state_dim=128, n_groups=1, conv_size=4), 6_791_442_432, 13_314_818_048),
    (lingua("mamba", dim=1024, n_layers=5, n_heads=8, state_dim=64, ffn_dim_multiplier=1.3, dt_bias=True, D_has_head_dim=True), 109_520_464,
     153_436_160),
    (nanotron(is_mamba_config=True, d_model=1536, num_hidden_layers=48, vocab_size=50277, ssm_cfg={"d_state": 16, "dt_rank": "auto"}),
     870_428_160, 1_579_468_800),
    (nanotron(**QWEN, moe_config={"num_experts": 8, "top_k": 1, "enable_shared_expert": True}), 191_726_848, None),
    (nanotron(**QWEN, attention_bias=True), 128256 * 256 + 12 * (4 * 256**2 + 3 * 256 * 768 + 5 * 256) + 256, None),
    (nanotron(is_llamoe_config=True, hidden_size=512, num_hidden_layers=1, num_attention_heads=8, intermediate_size=2048, vocab_size=32000,
              moe_num_experts=4), 42_208_768, None),
]
# Primus's stack of 16 pairs: one in four mixes by latent attention, the others by Mamba. Parameters by hand, from the modules' own code.
ZEBRA = {"num_layers": 32, "hidden_size": 2048, "ffn_hidden_size": 8192, "hybrid_attention_ratio": 0.25, "mamba_state_dim": 64,
         "mamba_head_dim": 64, "mamba_num_groups": 8, "multi_latent_attention": True, "num_attention_heads": 32, "q_lora_rank": 1344,
         "kv_lora_rank": 128, "qk_head_dim": 32, "qk_pos_emb_head_dim": 32, "v_head_dim": 64, "swiglu": True, "normalization": "RMSNorm",
         "seq_length": 8192, "max_position_embeddings": 8192, "micro_batch_size": 1, "global_batch_size": 8, "vocab_size": 128256, "bf16": True,
         "spec": ["primus.backends.megatron.core.models.hybrid.hybrid_mamba_mla_layer_specs", "hybrid_stack_spec"]}
ZEBRA_MAMBA = 2048 * (2 * 2048 + 2 * 512 + 32) + (2048 + 1024) * 5 + 3 * 32 + 2048 + 2048 * 2048 + 2048
ZEBRA_ATTENTION = (2048 * 1344 + 1344 * 32 * 64 + 2048 * (128 + 32) + 128 * 32 * 96 + 32 * 64 * 2048 + 2 * (1344 + 128) + 2048)
ZEBRA_PARAMETERS = 128256 * 2048 + 12 * ZEBRA_MAMBA + 4 * ZEBRA_ATTENTION + 16 * (3 * 2048 * 8192 + 2048) + 2048
# A configuration, and a part of the error.
REFUSED = [
    ({**lingua("hawk", dim=512, n_layers=1), "distributed": {"fsdp_type": "full_shard", "selective_activation_checkpointing": True}},
     "which no part of --recompute does"),
    (lingua("transformer", dim=512, n_layers=1, n_heads=8, n_future_head=2), "read, by their folders"),
    ({**nanotron(**QWEN), "parallelism": {"dp": 1, "tp": 1, "pp": 1, "expert_parallel_size": 2}}, "ranks of their own"),
]


def recipe(folder, tree):
    path = Path(folder, "recipe.json")
    path.write_text(json.dumps(tree))
    return read("recipe", folder, [str(path)])


def predicted(folder, tree):
    run, said = recipe(folder, tree)
    assert run is not None, (tree, said)
    ran = subprocess.run([ASHLAR, "predict", "--run", str(Path(folder, "run.json")), "--cluster", "8xH100", "--as", "json"], capture_output=True,
                         text=True)
    assert ran.returncode == 0, (tree, ran.stderr)
    return json.loads(ran.stdout)


def in_primus(folder, **changed):
    """A file in a folder like Primus's repository, whose files of trainers and models are empty."""
    for kind in ("modules", "models"):
        place = Path(folder, "primus", "configs", kind, "megatron")
        place.mkdir(parents=True, exist_ok=True)
        Path(place, "own.yaml").write_text("{}")
    return {"modules": {"pre_trainer": {"framework": "megatron", "config": "own.yaml", "model": "own.yaml", "overrides": {**ZEBRA, **changed}}}}


def check_stacks(folder):
    """Primus's function deals layers in its own order, and Megatron-LM reads the rest."""
    made = predicted(folder, in_primus(folder))
    assert made["parameters"] == ZEBRA_PARAMETERS, (made["parameters"], ZEBRA_PARAMETERS)
    for ratio, letters in ((0, "M-" * 16), (0.3, "*-M-M-M-" * 4), (0.75, "*-" * 8 + "*-M-" * 4)):
        run, said = recipe(folder, in_primus(folder, hybrid_attention_ratio=ratio))
        assert "".join("*M-"[kind] for kind in run["model"]["architecture"]["layers"]) == letters, (ratio, said)
    run, said = recipe(folder, in_primus(folder, spec=[ZEBRA["spec"][0], "gdn_hybrid_stack_spec"]))
    assert run is None and "delta networks" in said, said


def check_windows(folder):
    """Layers without rotations see all tokens."""
    run, said = recipe(folder, nanotron(**QWEN, sliding_window_size=20, no_rope_layer=4))
    made = run["model"]["architecture"]
    assert [made["kinds"][kind]["mix"].get("window") for kind in made["layers"]] == [20, 20, 20, None] * 3, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        for tree, parameters, operations in COUNTED:
            made = predicted(folder, tree)
            assert made["parameters"] == parameters, (tree, made["parameters"])
            if operations is None:
                continue
            # A backward takes twice as many; those of each parameter beside products are counted, too.
            of_token = made["tflops_per_device"] * 1e12 * made["devices"] / made["tokens_per_second"] / 3
            assert operations <= of_token < 1.01 * operations, (tree, of_token, operations)
        for tree, expected in REFUSED:
            run, said = recipe(folder, tree)
            assert run is None and expected in said, (tree, said)
        check_windows(folder)
        check_stacks(folder)
    print(f"{len(COUNTED) + len(REFUSED)} configurations")


if __name__ == "__main__":
    main()
