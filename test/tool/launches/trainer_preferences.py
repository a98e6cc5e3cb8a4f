"""Preferences, rewards and generation with the Trainer."""

from launch_reading import LLAMA

WRITTEN = {
    f"torchrun scripts/dpo.py {LLAMA} --beta 0.1": {
        "batch.micro_batch": 4, "batch.micro_batches": 4, "program.frozen_forwards": 1, "program.frozen_copy": True, "unknown": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --reward_funcs accuracy "
    "--gradient_checkpointing False": {
        "batch.sequence": 1536, "batch.micro_batch": 2, "unknown": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --reward_funcs accuracy": {
        "unknown.0": "gradient_checkpointing: newer releases of TRL turn it on"},
    # The reference of rewards is held where the loss has a distance from it, and beside adapters it is the model.
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --beta 0.04": {
        "program.frozen_copy": True, "program.frozen_forwards": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --beta 0.0": {"program.frozen_copy": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --beta 0.04 --lora_r 8 "
    "--lora_target_modules q_proj": {"program.frozen_copy": None, "program.lora": "8,q_proj"},
    f"torchrun rloo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024": {"program.frozen_copy": True},
    f"torchrun kto.py {LLAMA}": {"batch.micro_batch": 2, "program.frozen_forwards": 3, "program.frozen_copy": True, "unknown": None},
    f"torchrun dpo.py {LLAMA} --deepspeed '" + '{"zero_optimization": {"stage": 3}}' + "'": {
        "deepspeed.train_micro_batch_size_per_gpu": 4, "deepspeed.gradient_accumulation_steps": 4, "program.frozen_forwards": 1},
    f"torchrun run_dpov2_align.py {LLAMA} --reference_model_name_or_path a/b": {"batch.micro_batch": 4, "program.frozen_forwards": 1},
    f"torchrun examples/scripts/bco.py {LLAMA}": {"batch.micro_batch": 2, "program.frozen_forwards": 1, "program.frozen_copy": True},
    # Heads by the names of TRL's examples: of pairs, and of two classes.
    f"torchrun examples/scripts/reward_modeling.py {LLAMA}": {"batch.micro_batch": 4, "program.head": "1", "program.frozen_forwards": None},
    f"torchrun examples/scripts/prm.py {LLAMA}": {"batch.micro_batch": 2, "program.head": "2"},
}

RECIPES = [
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "max_length": 512, "beta": 2.0, "gamma_beta_ratio": 0.8, "bf16": True, "overwrite_output_dir": True,
      "dataset_mixer": {"a/b": 1.0}}, {"batch.micro_batch": 4, "program.frozen_forwards": None,
      "unknown.0": "how ranks share the state, which the launcher says: taken to be --sharding none"}),
]

REFUSED = {
    **{f"torchrun examples/scripts/{name}.py {LLAMA}": f"{name}.py: training by" for name in ("xpo", "nash_md", "gold", "sdft", "distillation")},
    f"torchrun reward.py {LLAMA}": "a second model",
    f"torchrun dpo.py {LLAMA} --reward_model a/b": "reward_model",
    f"torchrun run_iterative.py {LLAMA} --reward_model_name_or_path a/b": "runs a second model",
}
