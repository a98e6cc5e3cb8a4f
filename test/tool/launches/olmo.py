"""OLMo."""
import json

OLMO = {"d_model": 5120, "n_heads": 40, "n_layers": 40, "mlp_hidden_size": 27648, "weight_tying": False, "include_bias": False,
        "layer_norm_type": "rms", "attention_layer_norm": True, "norm_after": True, "activation_type": "swiglu", "rope": True,
        "max_sequence_length": 4096, "vocab_size": 100278, "embedding_size": 100352}

WRITTEN = {
    "echo '" + json.dumps({"model": OLMO, "global_train_batch_size": 64, "device_train_microbatch_size": 2, "fsdp": {"precision": "mixed"}})
    + "' > t.json\ntorchrun --nnodes 4 --nproc-per-node 8 scripts/train.py t.json --fsdp.sharding_strategy=HYBRID_SHARD "
    "--fsdp.hybrid_sharding_num_model_replicas=2": {"layout.sharding": "full", "layout.shard_ranks": 16},
}

RECIPES = [
    ({"model": OLMO, "global_train_batch_size": 2048, "device_train_microbatch_size": 2, "precision": "amp_bf16", "fsdp": {"precision": "mixed"}},
     {"model.model_type": "olmo2", "model.intermediate_size": 13824, "model.vocab_size": 100352, "layout.sharding": "full",
      "batch.sequences": 2048}),
    *[({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2, "distributed_strategy": "ddp",
        "activation_checkpointing": kind}, {"layout.recompute": layers} if layers else "recomputes parts of layers")
      for kind, layers in (("whole_layer", "full"), ("one_in_four", "full:4n"), ("two_in_three", "full:3n+1,3n+2"), ("fine_grained", None))],
    ({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2, "fsdp": {"sharding_strategy": "HYBRID_SHARD"}},
     "share within a node"),
    ({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2,
      "fsdp": {"sharding_strategy": "HYBRID_SHARD", "hybrid_sharding_num_model_replicas": 4}}, "4 copies of the state"),
    ({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2, "optimizer": {"name": "lionw"}}, "optimizer.name lionw"),
    ({"model": {**OLMO, "alibi": True}, "global_train_batch_size": 8, "device_train_microbatch_size": 2}, "another model"),
]
