"""LLaVA."""

from launch_reading import LLAMA

WRITTEN = {
    f"torchrun train_mem.py {LLAMA} --vision_tower clip --mm_projector_type mlp2x_gelu --mm_vision_select_layer -2": {
        "program.freeze": "vision_tower", "unknown": None},
    f"torchrun train_mem.py {LLAMA} --vision_tower clip --mm_projector_type mlp2x_gelu --tune_mm_mlp_adapter True": {
        "program.freeze": "vision_tower,embedding,head,layers", "model": None},
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --lora_enable True --bits 4": {
        "program.freeze": "vision_tower", "program.frozen_weights": "4-bit,double,head,towers=16-bit",
        "program.lora": "64,q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj,whole=multi_modal_projector", "towers.0.tokens": 257,
        "towers.1.products.0": {"rows": 256, "inner": 1024, "has_bias": True}, "unknown": None},
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --freeze_mm_mlp_adapter True "
    "--lora_enable True --lora_r 8 --mm_projector_lr 2e-5": {
        "program.freeze": "vision_tower,multi_modal_projector", "towers.1.products.1": {"rows": 576, "has_bias": True},
        "program.lora": "8,q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj", "program.frozen_weights": None},
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --tune_mm_mlp_adapter True --mm_use_im_start_end True": {
        "program.freeze": "vision_tower,head,layers"},
    f"torchrun train_mem.py {LLAMA} --vision_tower google/siglip-so400m-patch14-384 --mm_projector_type mlp2x_gelu --frames_upbound 32 "
    "--mm_tunable_parts=mm_vision_tower,mm_mlp_adapter": {
        "program.freeze": "embedding,head,layers", "program.attention": "flash_attention_2", "layout.recompute": "full", "towers.0.tokens": 729,
        "towers.1.products.0.rows": 729, "unknown.0": "frames_upbound: images of a sequence, and tokens of each"},
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14-336 --unfreeze_vision_tower True --model_type phi-2 "
    "--lora_enable True": {
        "program.freeze": None,
        "program.lora": "64,q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj,whole=vision_tower,whole=multi_modal_projector"},
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14-336 --tune_entire_model true --tune_vit_from_layer 12": {
        "program.freeze": "vision_tower", "towers.0.layers": [0] * 12, "towers.1.name": "last_vision_layers", "towers.1.layers": [0] * 12,
        "towers.1.continues": True, "towers.1.beside": None},
    f"torchrun train_mem.py {LLAMA} --image_tower a/b --video_tower a/c --mm_projector_type mlp2x_gelu --tokenizer_model_max_length 3072": {
        "program.freeze": "encoders", "batch.sequence": 3072, "towers": None},
}

REFUSED = {
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --vision_tower_aux a": "vision_tower_aux: such a tower",
    f"torchrun train_mem.py {LLAMA} --vision_tower clip --mm_projector_type mlp2x_gelu --lora_enable True --tune_mm_mlp_adapter True":
        "freezes the adapters, too",
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --bits 4": "packed weights do not train",
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --mm_tunable_parts mm_head": "mm_tunable_parts mm_head",
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --vision_tower_aux_list a": "such a tower is not counted",
}
