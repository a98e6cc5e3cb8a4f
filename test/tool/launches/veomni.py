"""VeOmni."""

WRITTEN = {
    "echo '{\"model\": {\"model_path\": \"a/b\"}, \"data\": {\"max_seq_len\": 2048}, \"train\": {\"micro_batch_size\": 1, "
    "\"global_batch_size\": 8}}' > t.json\ntorchrun tasks/train_torch.py t.json --train.micro_batch_size 2 --data.max_seq_len=512": {
        "batch.micro_batch": 2, "batch.sequence": 512, "batch.sequences": 8},
}

RECIPES = [
    ({"model": {"model_path": "a/b"}, "data": {"data_type": "diffusion"}, "train": {}}, "no decoder trains"),
    ({"model": {"model_path": "a/b", "pretrained_vae_path": "c"}, "data": {}, "train": {}}, "a model of diffusion"),
    ({"model": {"model_path": "a/b"}, "data": {"noise_range_low": 0.1}, "train": {"global_batch_size": 8}}, "data.noise_range_low: a model of diffusion"),
    ({"model": {"model_path": "a/b"}, "data": {}, "train": {"global_batch_size": 8, "block_diffusion_mode": True}}, "a model of diffusion"),
    ({"model": {"model_path": "a/b", "lora_rank": 16}, "data": {}, "train": {}}, "model.lora_rank: say its adapters"),
    ({"model": {"model_path": "a/b"}, "data": {"max_seq_len": 2048}, "train": {"micro_batch_size": 1, "global_batch_size": 8,
      "accelerator": {"ulysses_size": 2, "ep_size": 4, "fsdp_config": {"fsdp_mode": "fsdp2"}}}},
     {"layout.sharding": "full", "layout.context": 2, "layout.expert": 4, "layout.recompute": "full",
      "program.tower_ranks": "context"}),
    ({"model": {"model_path": "a/b"}, "data": {"max_seq_len": 2048}, "train": {"global_batch_size": 8, "optimizer": {"type": "muon"}}},
     {"program.optimizer": "muon,experts"}),
    ({"model": {"model_path": "a/b", "lora_config": {"rank": 16, "alpha": 32, "use_rslora": False, "lora_modules": ["q_proj", "v_proj"]}},
      "data": {"max_seq_len": 2048}, "train": {"global_batch_size": 8, "accelerator": {"fsdp_config": {"fsdp_mode": "fsdp2"}}}},
     {"program.lora": "16,q_proj,v_proj", "unknown": None}),
    ({"model": {"model_path": "a/b", "lora_config": {"target_modules": ["q_proj", "up_proj"]}}, "data": {}, "train": {"global_batch_size": 8}},
     {"program.lora": "8,q_proj,up_proj", "unknown.0": "adapters of routed experts, if the model has any, which are not counted"}),
    ({"model": {"model_path": "a/b", "lora_config": {"rank": 8, "target_parameters": ["a.*"]}}, "data": {}, "train": {}}, "routed experts"),
    ({"model": {"model_path": "a/b", "lora_config": {"rank": 8, "lora_modules": ["q_proj"], "bias": "all"}}, "data": {}, "train": {}},
     "biases that train beside adapters"),
    ({"model": {"model_path": "a/b"}, "data": {"data_type": "dpo"}, "train": {"global_batch_size": 8}},
     {"batch.sequences": 8, "batch.micro_batch": 1, "program.frozen_forwards": 1, "program.frozen_copy": True}),
    ({"model": {"model_path": "a/b"}, "data": {"data_type": "dpo"}, "train": {"global_batch_size": 8, "micro_batch_size": 2, "dyn_bsz": False},
      "dpo_config": {"refer_model_precision": "float32"}},
     {"batch.sequences": 16, "batch.micro_batch": 4, "program.frozen_forwards": 1, "unknown.0": "dpo_config.refer_model_precision"}),
]
