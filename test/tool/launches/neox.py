"""GPT-NeoX."""

import json
from pathlib import Path

from launch_reading import read

NEOX = {"pipe_parallel_size": 2, "model-parallel-size": 4, "num_layers": 80, "hidden_size": 8192, "intermediate_size": 86016, "norm": "rmsnorm",
        "num_attention_heads": 64, "num_kv_heads": 8, "seq_length": 4096, "pos_emb": "rotary", "no_weight_tying": True, "precision": "bfloat16",
        "use_bias_in_attn_linear": False, "activation": "swiglu", "mlp_multiple_of": 256, "vocab_size": 32000, "tokenizer_type": "HFTokenizer",
        "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 1}}

RECIPES = [
    (NEOX, {"megatron.ffn_hidden_size": 28672, "megatron.num_query_groups": 8, "megatron.tensor_model_parallel_size": 4,
            "layout.sharding": "optimizer", "batch.micro_batches": 8, "program.precision": "bf16"}),
    ({**NEOX, "attention_config": [[["gmlp"], 80]]}, "another model"),
]


def check(folder):
    path = Path(folder, "recipe.json")
    path.write_text(json.dumps(NEOX))
    run, said = read("recipe", folder, [str(path), "--set", "zero_optimization.stage=2", "--set", "num_layers=40"])
    assert run["layout"]["sharding"] == "gradients" and run["megatron"]["num_layers"] == 40, said
