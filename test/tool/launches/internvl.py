"""InternVL."""

from launch_reading import LLAMA

INTERNVL = f"{LLAMA} --force_image_size 448 --down_sample_ratio 0.5 --ps_version v2"

WRITTEN = {
    f"torchrun internvl_chat_finetune.py {INTERNVL} --freeze_llm True --freeze_backbone True --freeze_mlp False": {
        "program.freeze": "vision_tower,embedding,head,layers", "layout.recompute": "full", "unknown": None},
    f"torchrun internvl_chat_finetune.py {INTERNVL} --freeze_llm True --freeze_backbone True --freeze_mlp True --use_llm_lora 16": {
        "program.freeze": "vision_tower,multi_modal_projector", "program.lora": "16,qkv_proj,o_proj,mlp"},
    f"torchrun internvl_chat_finetune.py {INTERNVL} --conv_style internvl2_5 --freeze_backbone True --use_llm_lora 16": {
        "program.lora": "16,all,whole=multi_modal_projector"},
    f"torchrun internvl_chat_mpo.py {INTERNVL} --grad_checkpoint False --use_packed_ds True --max_packed_tokens 4096": {
        "program.frozen_forwards": 1, "batch.sequence": 4096, "batch.micro_batch": 4, "layout.recompute": None},
}

REFUSED = {
    f"torchrun internvl_chat_finetune.py {INTERNVL} --unfreeze_vit_layers -8": "a part of the tower trains",
}
