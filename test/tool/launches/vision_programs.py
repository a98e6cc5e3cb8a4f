"""Programs over the Trainer with a tower of images and words of their own."""

from launch_reading import LLAMA

WRITTEN = {
    f"torchrun train_qwen.py {LLAMA} --tune_mm_llm True --tune_mm_mlp True --tune_mm_vision False --data_flatten True --max_pixels 50176 "
    "--model_name_or_path Qwen/Qwen2.5-VL-7B": {
        "program.freeze": "encoders", "program.attention": "flash_attention_2", "batch.tower_tokens": "visual=256", "unknown": None},
    f"torchrun train_qwen.py {LLAMA} --tune_mm_vision True --max_pixels 50176 --model_name_or_path Qwen/Qwen3-VL-8B": {
        "program.freeze": "aligners,embedding,layers", "batch.tower_tokens": "visual=196"},
    f"torchrun train_qwen.py {LLAMA} --tune_mm_mlp True --lora_enable True --data_packing True": {
        "program.lora": "64,q_proj,k_proj,v_proj,o_proj", "program.freeze": "encoders,aligners", "batch.tower_tokens": "visual=2304",
        "unknown.0": "data_packing: other inputs than one image of one size"},
    f"torchrun finetune.py {LLAMA} --tune_vision false --max_slice_nums 4": {
        "program.freeze": "encoders", "unknown.0": "max_slice_nums: an image is 1 to 4 parts, beside the whole"},
    f"torchrun finetune.py {LLAMA} --tune_vision true --tune_llm false --use_lora true --lora_r 16 "
    r"--lora_target_modules 'llm\..*layers\.\d+\.self_attn\.(q_proj|v_proj)'": {
        "program.lora": "16,q_proj,v_proj,train=encoders,train=aligners,train=embedding", "program.freeze": None},
    f"torchrun train_mem.py {LLAMA} --tune_mm_projector True --vision_tower a/b --image_aspect_ratio dynamic": {
        "program.freeze": "encoders,embedding,head,layers", "unknown.0": "image_aspect_ratio: other inputs than one image of one size"},
    f"torchrun train_mem.py {LLAMA} --tune_mm_projector True --lora_enable True --lora_llm True --lora_vt True": {
        "program.lora": "64,all,whole=aligners", "program.freeze": None},
    f"torchrun train.py {LLAMA} --tune_type_llm lora --lora_r 128 --connector_type mlp2x_gelu": {
        "program.lora": "128,all,whole=aligners", "program.freeze": "encoders"},
    f"torchrun train.py {LLAMA} --tune_type_connector full": {"program.freeze": "encoders,embedding,head,layers"},
    f"torchrun train_sft.py {LLAMA} --freeze_vision_tower True --freeze_llm True --freeze_merger False --image_max_pixels 1003520": {
        "program.freeze": "encoders,embedding,head,layers", "batch.tower_tokens": "visual=5120"},
    f"torchrun train_sft.py {LLAMA} --freeze_vision_tower True --freeze_merger False --freeze_llm True --lora_enable True --lora_rank 8 "
    "--lora_namespan_exclude \"['lm_head', 'embed_tokens']\"": {"program.lora": "8,all,whole=aligners", "program.freeze": "encoders"},
    f"torchrun train.py {LLAMA} --tune_img_projector False --freeze_llm False": {"program.freeze": "aligners"},
}
REFUSED = {
    f"torchrun finetune.py {LLAMA} --tune_vision true --use_lora true": "use_lora with tune_llm",
    f"torchrun finetune.py {LLAMA} --tune_vision true --tune_llm false --use_lora true --lora_target_modules '.*q_proj'": "adapters of vpm",
    f"torchrun train_mem.py {LLAMA} --tune_mm_projector True --lora_enable True --lora_vt True": "adapters of the tower alone",
    f"torchrun train_mem.py {LLAMA} --tune_language_model True --seq_parallel_size 8": "division of sequences",
    f"torchrun train.py {LLAMA} --tune_type_vision_tower partially-tune --tune_type_llm full": "frozen are read",
    f"torchrun train.py {LLAMA} --tune_type_llm full --vision_tower2 a/b": "vision_tower2",
    f"torchrun train_sft.py {LLAMA} --freeze_merger True --lora_enable True --lora_rank 8": "adapters of tables",
    f"torchrun train_cls.py {LLAMA} --freeze_merger True --num_labels 2": "num_labels",
}
