"""verl."""

PPO = ("python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a/b data.train_files=c actor_rollout_ref.actor.optim.lr=1e-6 "
       "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 actor_rollout_ref.rollout.tensor_model_parallel_size=2 ")
ACTOR = "actor_rollout_ref.actor."
ONE = f"python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a {ACTOR}ppo_micro_batch_size_per_gpu=1"
MEGATRON = f"{ONE} model_engine=megatron {ACTOR}megatron.expert_model_parallel_size=4 {ACTOR}megatron.pipeline_model_parallel_size=2"
CORE = f"{ACTOR}megatron.override_transformer_config."
MIXED = f"{ACTOR}fsdp_config.mixed_precision."

WRITTEN = {
    # Words of rLLM stand above verl's, and its own defaults where neither is said.
    "python -m train rllm/backend=verl rllm.rollout.n=4 actor_rollout_ref.rollout.n=2 data.max_response_length=1024 rllm.agent.max_steps=3 "
    f"{ACTOR}ppo_mini_batch_size=16 {ACTOR}ppo_micro_batch_size_per_gpu=1": {
        "batch": {"sequence": 3072, "sequences": 64, "micro_batch": 1}, "unknown": ["rllm/backend", "rllm.agent.max_steps"]},
    f"python -m train rllm.async_training.enable=True rllm.async_training.mini_batch_size=32 {ACTOR}ppo_mini_batch_size=16 "
    f"{ACTOR}ppo_micro_batch_size_per_gpu=1 data.max_prompt_length=1024": {
        "batch": {"sequence": 31744, "sequences": 256, "micro_batch": 1}, "unknown": ["rllm.async_training.enable"]},
    f"{ONE} +{MIXED}param_dtype=bf16 +{MIXED}reduce_dtype=fp32 +{MIXED}buffer_dtype=fp32": {"program.precision": "bf16", "unknown": None},
    f"{ONE} +{MIXED}param_dtype=float32 +{MIXED}reduce_dtype=bfloat16": {
        "program.precision": "fp32", "unknown.0": f"{MIXED}reduce_dtype: gradients are summed in 16 bits"},
    f"{PPO} {ACTOR}fsdp_config.reshard_after_forward=False": {"layout.sharding": "gradients", "unknown": None},
    f"{PPO} {ACTOR}optim.optimizer=AdamW8bit {ACTOR}optim.optimizer_impl=bitsandbytes.optim": {
        "program.fact": "first-moment=8-bit,second-moment=8-bit", "unknown": None},
    f"{PPO} {ACTOR}entropy_coeff=0.001 actor_rollout_ref.model.use_fused_kernels=True {ACTOR}checkpointing_own=1": {
        "unknown": [f"{ACTOR}entropy_coeff", "actor_rollout_ref.model.use_fused_kernels", f"{ACTOR}checkpointing_own"]},
    f"{PPO} model_engine=megatron {ACTOR}megatron.tensor_model_parallel_size=2 {ACTOR}megatron.sequence_parallel=False "
    f"{ACTOR}megatron.use_distributed_optimizer=False +{ACTOR}optim.override_optimizer_config.optimizer_offload_fraction=1": {
        "layout.sharding": "none", "layout.tensor": 2, "program.sequence_parallel": "off",
        "unknown": [f"{ACTOR}optim.override_optimizer_config.optimizer_offload_fraction"]},
    f"{PPO} actor_rollout_ref.model.override_config.attn_implementation=eager": {"program.attention": "unfused"},
    f"{MEGATRON} +{CORE}apply_rope_fusion=True +{CORE}moe_permute_fusion=False +{CORE}moe_enable_deepep=True +{CORE}moe_router_dtype=fp32": {
        "program.fact": "fused-permutation=off,fused-rotation=on,expert-dispatch=once", "unknown": None},
    f"{MEGATRON} +{CORE}num_layers_in_first_pipeline_stage=2": {
        "unknown": ["stages have layers of their own number (2 of the first): --layout says them"]},
}

REFUSED = {
    f"{PPO} model_engine=veomni": "fsdp, fsdp2 and megatron are read",
    f"{PPO} {ACTOR}optim.optimizer=muon": "only Adam's state is counted",
    "python -m verl.trainer.main_generation data.path=a": "it generates",
    "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a actor_rollout_ref.model.lora_adapter_path=b": "lora_rank=RANK",
}
