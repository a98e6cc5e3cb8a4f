"""SkyRL."""

MAIN = "uv run --isolated --extra fsdp --with vllm -m skyrl.train.entrypoints.main_base "
POLICY = "trainer.policy.model.path=a/b trainer.placement.policy_num_nodes=2 trainer.placement.policy_num_gpus_per_node=8 trainer.policy_mini_batch_size=16 "
LENGTHS = "trainer.max_prompt_length=1024 generator.sampling_params.max_generate_length=3072 generator.n_samples_per_prompt=4 "
OTHER = "uv run -m examples.dapo.main_dapo " + POLICY
MEGATRON = "trainer.strategy=megatron trainer.policy.megatron_config."

RECORDED = {
    # Names of extras are no commands.
    "uv run --extra megatron --python 3.12 -m a.b x=1": ["a.b x=1"],
    "uv run --frozen train.py x=1": ["train.py x=1"],
    "uv run --extra deepspeed torchrun --nproc_per_node 2 -m a.b x=1": ["a.b x=1"],
}

WRITTEN = {
    MAIN + POLICY + LENGTHS + "trainer.micro_train_batch_size_per_gpu=2 trainer.policy.sequence_parallel_size=2 trainer.policy.fsdp_config.fsdp_size=8":
        {"batch": {"sequence": 4096, "sequences": 64, "micro_batch": 2}, "layout.sharding": "full", "layout.context": 2, "layout.shard_ranks": 8,
         "layout.recompute": "full", "program.precision": "bf16", "program.attention": "flash_attention_2", "notes.1": "launched on 2 x 8 devices",
         "unknown": None},
    # Its own classes say the rest.
    MAIN + "trainer.policy.model.path=a/b":
        {"batch": {"sequence": 1536, "sequences": 1280, "micro_batch": 1}, "layout.shard_ranks": None, "notes.1": "launched on 1 x 1 devices", "unknown": None},
    MAIN + POLICY + "generator.max_turns=3 generator.max_input_length=9000 generator.step_wise_trajectories=true trainer.flash_attn=false "
    "trainer.gradient_checkpointing=false trainer.policy.fsdp_config.reshard_after_forward=false trainer.policy.fsdp_config.cpu_offload=true "
    "trainer.policy.model.lora.rank=8":
        {"batch.sequence": 10024, "program.attention": "sdpa", "layout.recompute": None, "layout.sharding": "gradients", "layout.offload_weights": "own",
         "program.lora": "8", "unknown": ["frozen weights beside adapters are in 32 bits", "generator.step_wise_trajectories: a sequence for each turn"]},
    OTHER + MEGATRON + "tensor_model_parallel_size=4 trainer.policy.megatron_config.expert_model_parallel_size=8 "
    "trainer.policy.megatron_config.optimizer_config_kwargs.optimizer_cpu_offload=true trainer.policy.use_torch_compile=true "
    "trainer.policy.megatron_config.optimizer_config_kwargs.optimizer_offload_fraction=1.0 " + LENGTHS:
        {"layout.tensor": 4, "layout.expert": 8, "layout.sharding": "optimizer", "layout.offload_optimizer": True, "layout.recompute": "full",
         "program.sequence_parallel": "on", "program.fact": "data-overlap=off,expert-dispatch=all-to-all,expert-products=grouped",
         "unknown": ["trainer.policy.use_torch_compile"]},
    OTHER + MEGATRON + "transformer_config_kwargs.recompute_method=block trainer.policy.megatron_config.transformer_config_kwargs.recompute_num_layers=3 "
    "trainer.policy.megatron_config.optimizer_config_kwargs.use_precision_aware_optimizer=true":
        {"layout.recompute": "full:3", "program.fact": "data-overlap=off,expert-products=grouped,main-weights=rest",
         "unknown": ["trainer.max_prompt_length: no word says it, and the program may"]},
    MAIN + POLICY + LENGTHS + "trainer.max_tokens_per_microbatch=8192":
        {"batch.micro_batch": 2, "unknown": ["trainer.max_tokens_per_microbatch (micro-batches of 8192)"]},
    "uv run -m skyrl.train.main_sft strategy=fsdp model.path=a/b max_length=512 batch_size=32 micro_train_batch_size_per_gpu=4":
        {"batch": {"sequence": 512, "sequences": 32, "micro_batch": 4}, "layout.sharding": "full", "notes.1": "launched on 1 x 4 devices"},
    "uv run -m skyrl.train.main_sft model.path=a/b max_length=512 placement.num_gpus_per_node=8 megatron_config.pipeline_model_parallel_size=1":
        {"layout.tensor": 2, "layout.pipeline": 1, "batch.sequences": 4, "batch.micro_batch": 2},
}

REFUSED = {
    "python -m skyrl.train.entrypoints.main_generate trainer.policy.model.path=a/b": "trains nothing",
    MAIN + POLICY + "trainer.mtp.enabled=true": "trainer.mtp.enabled is not predicted",
    MAIN + POLICY + "trainer.strategy=deepspeed": "fsdp and megatron are read",
    MAIN + POLICY + MEGATRON + "optimizer_config_kwargs.optimizer_cpu_offload=true trainer.policy.megatron_config.optimizer_config_kwargs."
    "optimizer_offload_fraction=0.5": "not all moves",
    MAIN + POLICY + "trainer.override_entrypoint=other.main": "override_entrypoint is not predicted",
    MAIN + POLICY + MEGATRON + "moe_token_dispatcher_type=own trainer.policy.megatron_config.expert_model_parallel_size=2": "own is not known here",
    "uv run -m skyrl.train.main_sft model.path=a/b": "lacks max_length",
}
