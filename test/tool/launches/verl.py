"""verl."""

ACTOR = "actor_rollout_ref.actor."
ONE = f"python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a {ACTOR}ppo_micro_batch_size_per_gpu=1"
MIXED = f"{ACTOR}fsdp_config.mixed_precision."

WRITTEN = {
    f"{ONE} +{MIXED}param_dtype=bf16 +{MIXED}reduce_dtype=fp32 +{MIXED}buffer_dtype=fp32": {"program.precision": "bf16", "unknown": None},
    f"{ONE} +{MIXED}param_dtype=float32 +{MIXED}reduce_dtype=bfloat16": {
        "program.precision": "fp32", "unknown.0": f"{MIXED}reduce_dtype: gradients are summed in 16 bits"},
}

REFUSED = {
    "python -m verl.trainer.main_generation data.path=a": "it generates",
    "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a actor_rollout_ref.model.lora_adapter_path=b": "lora_rank=RANK",
}
