"""oumi."""

WRITTEN = {
    "echo '{\"model\": {\"model_name\": \"a/b\", \"torch_dtype_str\": \"bfloat16\"}, \"training\": {\"use_peft\": true}, "
    "\"peft\": {\"lora_target_modules\": [\"q_proj\"]}}' > t.json\noumi distributed torchrun -m oumi train -c t.json --model.model_max_length=512": {
        "batch.micro_batch": 8, "batch.sequence": 512, "program.lora": "8,q_proj", "unknown": None},
}
