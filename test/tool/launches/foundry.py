"""llm-foundry."""

RECIPES = [
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm"}, "global_train_batch_size": 8, "max_duration": "1ba",
      "optimizer": {"name": "decoupled_lionw"}}, "--set optimizer.name=decoupled_adamw"),
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm"}, "global_train_batch_size": 8, "max_duration": "1ba",
      "fsdp_config": {"sharding_strategy": "HYBRID_SHARD"}}, "share within a node"),
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm", "pretrained_model_name_or_path": "a/b",
      "config_overrides": {"max_seq_len": 2048, "attn_config": {"attn_impl": "torch"}}}, "global_train_batch_size": 8, "max_duration": "1ba"},
     {"model": None, "program.attention": "unfused", "unknown": None}),
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm", "config_overrides": {"n_layers": 2}}, "global_train_batch_size": 8, "max_duration": "1ba"},
     "model.config_overrides.n_layers: another model"),
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm", "use_flash_attention_2": True}, "global_train_batch_size": 8, "max_duration": "1ba",
      "fsdp_config": {"backward_prefetch": "BACKWARD_POST"}}, {"program.attention": "flash_attention_2", "unknown": None}),
    ({"variables": {"n": 2048}, "max_seq_len": "${variables.n}", "model": {"name": "mpt_causal_lm", "d_model": 4096, "n_heads": 32,
      "n_layers": 32, "expansion_ratio": 4, "vocab_size": 50432, "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}},
      "global_train_batch_size": 1024, "device_train_microbatch_size": 4, "precision": "amp_bf16", "max_duration": "1ba",
      "fsdp_config": {"sharding_strategy": "FULL_SHARD", "activation_checkpointing": True}},
     {"model.num_key_value_heads": 8, "model.intermediate_size": 16384, "batch.sequence": 2048, "layout.recompute": "full"}),
]
