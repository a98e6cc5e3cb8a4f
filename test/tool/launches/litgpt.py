"""LitGPT."""
import json
from pathlib import Path

from launch_reading import check_run, read

RECIPES = [
    ({"checkpoint_dir": "checkpoints/a/b", "precision": "bf16-true", "devices": 4, "lora_r": 32, "lora_query": True, "lora_value": True,
      "train": {"global_batch_size": 8, "micro_batch_size": 1, "max_seq_length": 512}},
     {"program.lora": "32,q_proj,v_proj", "layout.sharding": "full", "batch.sequence": 512, "unknown": None,
      "program.fact": "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"}),
    ({"checkpoint_dir": "a", "precision": "bf16-mixed", "devices": 1, "train": {"global_batch_size": 8},
      "optimizer": {"class_path": "bitsandbytes.optim.PagedAdamW8bit", "init_args": {"lr": 1}}},
     {"program.fact": "first-moment=8-bit,second-moment=8-bit", "layout.sharding": "none"}),
    ({"checkpoint_dir": "a", "precision": "bf16-true", "train": {"global_batch_size": 8}, "optimizer": {"class_path": "bitsandbytes.optim.AdamW"}},
     {"program.fact": "main-weights=16-bit", "layout.sharding": "full", "layout.data": 1}),
    ({"checkpoint_dir": "a", "train": {"global_batch_size": 8}, "optimizer": "SGD"}, "optimizer SGD: only the state of Adam"),
    ({"checkpoint_dir": "a", "quantize": "bnb.int8-training", "train": {"global_batch_size": 8}}, "is not predicted"),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4-dq", "lora_r": 8, "lora_query": True, "train": {"global_batch_size": 8}},
     {"program.frozen_weights": "4-bit,double,head", "program.lora": "8,q_proj"}),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4", "train": {"global_batch_size": 8}}, "packs on one device, for LoRA"),
]


def check(folder):
    """Its head is never tied, but for a training from nothing that says so."""
    Path(folder, "small").mkdir()
    Path(folder, "small", "config.json").write_text(json.dumps({"model_type": "gemma", "tie_word_embeddings": True}))
    path = Path(folder, "tuning.json")
    for ties in (False, True):
        train = {"global_batch_size": 8, "tie_embeddings": ties}
        path.write_text(json.dumps({"checkpoint_dir": "small", "train": train}))
        check_run(train, *read("recipe", folder, [str(path)]), {"model.tie_word_embeddings": ties})
