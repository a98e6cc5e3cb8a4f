"""FlagScale over Megatron-LM."""
import json
from pathlib import Path

from launch_reading import part, read

SYSTEM = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1, "use_distributed_optimizer": True,
          "precision": {"bf16": True, "initial_loss_scale": 4096}, "logging": {"log_interval": 1}}
MODEL = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 512, "micro_batch_size": 2, "global_batch_size": 16,
         "moe_layer_freq": "[0]+[1]*3", "fp32_residual_ranks": [1, 2], "add_qkv_bias": False, "optimizer": {"lr_scheduler": {"lr": 1e-4}}}
DATA = {"data_path": "a", "tokenizer": {"vocab_size": 1000}}
TASK = {"type": "train", "backend": "megatron", "entrypoint": "flagscale/train/train_gpt.py"}

RECIPES = [
    ({"system": SYSTEM, "model": MODEL, "data": DATA},
     {"megatron.num-layers": "4", "megatron.use-distributed-optimizer": True, "megatron.bf16": True, "megatron.vocab-size": "1000",
      "megatron.moe-layer-freq": "[0]+[1]*3", "megatron.fp32-residual-ranks": "1 2", "megatron.add-qkv-bias": None, "megatron.log-interval": None, "megatron.data-path": None}),
    # int(4 * 64 * 2 / 3) is 170; a width that is said replaces it.
    ({"system": SYSTEM, "model": {**MODEL, "swiglu": True, "multiple_of": 64, "hidden_dim_multiplier": 1.3}, "data": DATA},
     {"megatron.ffn-hidden-size": "256", "megatron.multiple-of": None, "unknown": None}),
    ({"system": SYSTEM, "model": {**MODEL, "swiglu": True, "multiple_of": 64, "ffn_hidden_size": 128}, "data": DATA}, {"megatron.ffn-hidden-size": "128"}),
    ({"system": {**SYSTEM, "hetero": {"enable_hetero": True}}, "model": MODEL, "data": DATA}, "enable_hetero"),
    ({"experiment": {"task": {"type": "inference", "backend": "vllm"}}}, "task inference by vllm"),
    ({"experiment": {"task": TASK}, "defaults": ["_self_", {"train": "7b"}]}, "7b.yaml, which is not there"),
]


def check(folder):
    """Arguments stand in the file that the experiment names, and over it."""
    Path(folder, "train").mkdir()
    Path(folder, "train", "own.yaml").write_text(json.dumps({"system": SYSTEM, "model": MODEL, "data": DATA}))
    tree = {"experiment": {"task": TASK, "runner": {"nnodes": 2, "nproc_per_node": 8}}, "defaults": ["_self_", {"train": "own"}],
            "train": {"model": {"seq_length": 1024}}}
    Path(folder, "train.json").write_text(json.dumps(tree))
    run, said = read("recipe", folder, ["train.json"])
    assert part(run, "megatron.seq-length") == "1024" and part(run, "megatron.num-layers") == "4", said
    assert "launched on 2 x 8 devices" in run["notes"], run
