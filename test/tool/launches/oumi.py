"""oumi."""

WRITTEN = {
    "echo '{\"model\": {\"model_name\": \"a/b\", \"torch_dtype_str\": \"bfloat16\"}, \"training\": {\"use_peft\": true}, "
    "\"peft\": {\"lora_target_modules\": [\"q_proj\"]}}' > t.json\noumi distributed torchrun -m oumi train -c t.json --model.model_max_length=512": {
        "batch.micro_batch": 8, "batch.sequence": 512, "program.lora": "8,q_proj", "unknown": None},
}

RECIPES = [
    ({"model": {"model_name": "a/b", "freeze_layers": ["model.visual"]}, "training": {"trainer_type": "TRL_SFT"}}, {"program.freeze": "towers"}),
    ({"model": {"model_name": "a/b", "freeze_layers": ["vision_tower", "multi_modal_projector"]}, "training": {"trainer_type": "TRL_SFT"}},
     {"program.freeze": "encoders,aligners"}),
    ({"model": {"model_name": "a/b", "freeze_layers": ["model.layers.0"]}, "training": {"trainer_type": "TRL_SFT"}}, {"program.freeze": None}),
]
