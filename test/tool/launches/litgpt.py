"""LitGPT."""

RECIPES = [
    ({"checkpoint_dir": "checkpoints/a/b", "precision": "bf16-true", "devices": 4, "lora_r": 32, "lora_query": True, "lora_value": True,
      "train": {"global_batch_size": 8, "micro_batch_size": 1, "max_seq_length": 512}},
     {"program.lora": "32,q_proj,v_proj", "layout.sharding": "full", "batch.sequence": 512}),
    ({"checkpoint_dir": "a", "quantize": "bnb.int8-training", "train": {"global_batch_size": 8}}, "is not predicted"),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4-dq", "lora_r": 8, "lora_query": True, "train": {"global_batch_size": 8}},
     {"program.frozen_weights": "4-bit,double,head", "program.lora": "8,q_proj"}),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4", "train": {"global_batch_size": 8}}, "packs on one device, for LoRA"),
]
