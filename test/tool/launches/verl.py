"""verl."""

REFUSED = {
    "python -m verl.trainer.main_generation data.path=a": "it generates",
    "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a actor_rollout_ref.model.lora_adapter_path=b": "lora_rank=RANK",
}
