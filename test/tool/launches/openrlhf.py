"""OpenRLHF."""

WRITTEN = {
    "deepspeed --module openrlhf.cli.train_sft --data.max_len 4096 --train.batch_size 256 --train.micro_batch_size 2 --ds.zero_stage 2 "
    "--model.model_name_or_path a/b --model.gradient_checkpointing_enable --ds.ring_attn_size 2": {
        "batch.sequence": 4096, "batch.sequences": 256, "batch.micro_batch": 2, "layout.sharding": "gradients", "layout.recompute": "full",
        "layout.context": 2, "program.precision": "bf16", "unknown": None},
    "ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 8 --pretrain a/b --bf16 "
    "--prompt_max_len 1024 --generate_max_len 2048 --train_batch_size 128 --micro_train_batch_size 2 --zero_stage 3 --adam_offload": {
        "batch.sequence": 3072, "batch.sequences": 128, "batch.micro_batch": 2, "layout.sharding": "full", "layout.offload_optimizer": True,
        "layout.recompute": None, "program.precision": "bf16"},
    "python3 -m openrlhf.cli.train_ppo_ray --actor.num_nodes 1 --actor.num_gpus_per_node 4 --ds.ring_attn_size 2 --data.max_len 8192 "
    "--train.batch_size 64 --train.dynamic_batch_enable --train.max_tokens_per_gpu 16384 --ds.zero_stage 3": {"batch.micro_batch": 4},
    "deepspeed --module openrlhf.cli.train_sft --train.batch_size 8 --ds.load_in_4bit --ds.lora.rank 8": {
        "program.frozen_weights": "4-bit,double", "program.lora": "8"},
    "deepspeed --module openrlhf.cli.train_dpo --train.batch_size 8 --train.micro_batch_size 1 --model.beta 0.1 --ds.zero_stage 3": {
        "batch.sequences": 16, "batch.micro_batch": 2, "batch.sequence": 512, "program.frozen_forwards": 1, "program.frozen_copy": True,
        "program.head": None, "unknown": None},
    "deepspeed --module openrlhf.cli.train_dpo --pretrain a/b --train_batch_size 8 --beta 0.1 --max_len 4096 --lora_rank 8 --bf16": {
        "batch.sequence": 4096, "batch.micro_batch": 16, "program.lora": "8",
        "unknown.0": "weights of the reference, a second model in 16 bits"},
    "deepspeed --module openrlhf.cli.train_rm --train.batch_size 8 --data.max_len 2048 --ds.packing_samples": {
        "batch.sequences": 16, "batch.micro_batch": 2, "batch.sequence": 2048, "program.head": "1", "program.frozen_forwards": None,
        "unknown": None},
}

REFUSED = {
    "deepspeed --module openrlhf.cli.train_kto --train_batch_size 8": "a second model",
    "deepspeed --module openrlhf.cli.train_sft --train.batch_size 8 --ds.load_in_4bit": "line 1: --ds.load_in_4bit: weights in 4 bits do not train",
}
