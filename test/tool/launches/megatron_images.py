"""Megatron-LM with towers before its decoder."""

from launch_reading import GPT

BRIDGE = {"num_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_query_groups": 4, "ffn_hidden_size": 18944, "seq_length": 4096,
          "vocab_size": 152064, "vision_config": {"depth": 32, "hidden_size": 1280}}
WRITTEN = {
    f"torchrun train.py {GPT} --language-model-type mistral_7b --img-h 336 --img-w 336 --patch-dim 14 --freeze-LM --freeze-ViT "
    "--decoder-seq-length 2048 --disable-vision-class-token --prompt-path p.json --use-te": {
        "program.freeze": "vision_tower,embedding,head,layers", "megatron.seq-length": "2048", "towers.0.tokens": 577, "towers.0.keeps_all": True,
        "towers.0.beside": 577 * 1024 + 1024 + 2048, "towers.1.tokens": 576, "towers.1.products.1.columns": 1024, "megatron.img-h": None,
        "unknown": None},
    f"torchrun train.py {GPT} --language-model-type llama3.1_8b --vision-model-type siglip --img-h 448 --img-w 448 --patch-dim 14 "
    "--decoder-seq-length 4096 --pixel-shuffle --use-tiling --use-thumbnail --max-num-tiles 6 --recompute-vision": {
        "program.freeze": None, "towers.0.tokens": 1024, "towers.0.inputs": 7, "towers.0.keeps_all": False, "towers.1.tokens": 256,
        "towers.1.products.0.inner": 4 * 1152, "towers.1.beside": 2 * 4 * 1152 + 4096 + 1024},
    f"torchrun train.py {GPT} --language-model-type qwen2.0_72B --vision-model-type internvit --img-h 448 --img-w 448 --patch-dim 14 "
    "--decoder-seq-length 4096 --tensor-model-parallel-size 4 --vision-projection-type affine": {
        "towers.0.kinds.0.mix.heads": 28, "towers.0.tokens": 1025, "towers.1.products": [{"rows": 1025, "inner": 3200, "columns": 1024}]},
    f"torchrun --nproc_per_node 8 train.py {GPT} --model-provider llava_avlm --dataset-provider llava_avlm --encoder-seq-length 4096": {
        "model.num_hidden_layers": 32, "program.freeze": "vision_tower,audio_tower,embedding,head,layers", "towers.2.tokens": 1500,
        "towers.2.is_undivided": True, "megatron.num-layers": None, "megatron.seq-length": None},
    f"torchrun train.py {GPT} --language-model-type nemotron5-8b --vision-model-type radio --img-h 512 --img-w 512 --patch-dim 16 "
    "--decoder-seq-length 4096 --packing-seq-length 0 --class-token-len 10": {"towers.0.tokens": 32 * 32 + 10, "unknown": None},
}

RECIPES = [
    ({"model": {**BRIDGE, "_target_": "megatron.bridge.models.qwen_vl.qwen25_vl_provider.Qwen25VLModelProvider", "freeze_vision_model": True,
                "pipeline_model_parallel_size": 2}, "train": {"micro_batch_size": 1, "global_batch_size": 8}},
     {"program.freeze": "encoders", "program.tower_ranks": "none", "megatron.vision_config": None, "megatron.freeze_vision_model": None,
      "unknown.0": "vision_config: the recipe has a tower; give --model a file that `python -m ashlar_pp.read model` wrote of the model's "
      "configuration"}),
    ({"model": {**BRIDGE, "_target_": "megatron.bridge.models.qwen_vl.qwen3_vl_provider.Qwen3VLModelProvider", "freeze_language_model": True,
                "freeze_vision_projection": True, "vision_dp_when_cp": True}, "train": {"micro_batch_size": 1, "global_batch_size": 8}},
     {"program.freeze": "aligners,embedding,head,layers", "program.tower_ranks": "context"}),
    ({"model": BRIDGE, "train": {"micro_batch_size": 1, "global_batch_size": 8}}, "whether tensor ranks divide the tower"),
]
REFUSED = {
    f"torchrun train.py {GPT} --language-model-type yi-34b --vision-model-type hf://a/b --img-h 448 --img-w 448 --patch-dim 14 "
    "--decoder-seq-length 2048": "--vision-model-type hf://a/b: its layers are not counted here",
    f"torchrun train.py {GPT} --model-provider video_llava_vlm": "at which model_provider of train.py stops",
    f"torchrun pretrain_mimo.py {GPT} --model-provider nemotron-moe-vlm --encoder-tp 2 --llm-tp 2": "on devices of their own",
    f"torchrun train.py {GPT} --model-provider llava_vlm --packing-buffer-size 24": "how many images a packed sequence has",
    f"torchrun train.py {GPT} --model-provider llava_vlm --pipeline-model-parallel-size 2": "train.py of examples/mimo stops",
}
