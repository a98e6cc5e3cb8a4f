"""open-instruct's training by rewards."""

GRPO = "python open_instruct/grpo_fast.py --model_name_or_path a/b"

WRITTEN = {
    f"{GRPO} --num_unique_prompts_rollout 48 --num_samples_per_prompt_rollout 16 --max_prompt_token_length 1024 --response_length 2048 "
    "--pack_length 6144 --deepspeed_stage 3 --num_learners_per_node 8 8 --num_mini_batches 2 --gradient_checkpointing --beta 0.0": {
        "batch.sequence": 6144, "batch.sequences": 192, "batch.micro_batch": 1, "layout.sharding": "full", "layout.weight_ranks": 8,
        "layout.recompute": "full", "program.precision": "bf16", "program.frozen_copy": True, "unknown": None},
    f"{GRPO} --num_learners_per_node 4 --pack_length 1024 --response_length 2048 --load_ref_policy false --beta 0.0": {
        "batch.sequences": 64, "program.frozen_copy": None, "batch.sequence": 1024, "layout.sharding": "none", "layout.weight_ranks": None},
}

REFUSED = {
    f"{GRPO} --local_rollout_batch_size 8": "an older version",
    f"{GRPO} --use_peft true": "--use_peft: it is not read",
}
