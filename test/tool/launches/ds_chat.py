"""DeepSpeed-Chat."""

DS_CHAT = ("deepspeed main.py --data_path a b --data_split 2,4,4 --per_device_train_batch_size 4 --gradient_checkpointing --deepspeed "
           "--gradient_accumulation_steps 2")

WRITTEN = {
    f"{DS_CHAT} --zero_stage 2 --offload --lora_dim 128 --lora_module_name layers.": {
        "program.lora": "128,train=embedding,train=head", "deepspeed.zero_optimization.stage": 2, "deepspeed.fp16.enabled": True,
        "deepspeed.zero_optimization.offload_optimizer.device": "cpu", "deepspeed.train_micro_batch_size_per_gpu": 4, "batch.sequence": 512,
        "layout.recompute": "full", "unknown.0": "tables that train beside adapters: a frozen original of each is counted, so memory is less "
        "than said; norms and biases, which train, too, are not"},
    f"{DS_CHAT} --zero_stage 3 --dtype bf16 --lora_dim 8 --only_optimize_lora --max_seq_len 2048": {
        "program.lora": "8", "deepspeed.bf16.enabled": True, "deepspeed.fp16": None, "batch.sequence": 2048},
    f"{DS_CHAT} --zero_stage 0 --num_padding_at_beginning 1 --lora_dim 8": {
        "program.head": "1", "program.lora": "8,train=embedding", "deepspeed.train_micro_batch_size_per_gpu": 8},
    f"mkdir step2_dpo_finetuning\ncd step2_dpo_finetuning\n{DS_CHAT} --zero_stage 2": {"program.frozen_forwards": 1, "program.frozen_copy": True},
}

REFUSED = {
    f"{DS_CHAT} --zero_stage 4": "there are 0 to 3",
    f"{DS_CHAT} --zero_stage 2 --lora_dim 8 --lora_module_name self_attn.": "beside a part of a layer",
}
