"""LLaMA-Factory, both versions."""
import json
from pathlib import Path

from launch_reading import LLAMA, part, read

WRITTEN = {
    "echo '{\"model_name_or_path\": \"a/b\", \"cutoff_len\": 2048, \"bf16\": true, \"per_device_train_batch_size\": 1}' > t.json\n"
    "llamafactory-cli train t.json per_device_train_batch_size=4 cutoff_len=512": {"batch.micro_batch": 4, "batch.sequence": 512, "unknown": None},
    f"torchrun sft.py {LLAMA} --finetuning_type full --freeze_vision_tower False --freeze_multi_modal_projector False": {
        "program.freeze": None, "unknown": None},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --lora_rank 8 --additional_target multi_modal_projector,lm_head": {
        "program.lora": "8,train=multi_modal_projector,train=head"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --freeze_multi_modal_projector False --freeze_language_model True": {
        "program.freeze": "encoders,embedding,head,layers"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --image_max_pixels 262144": {"program.freeze": "towers"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_galore true --galore_target all --galore_scale 2.0": {
        "program.optimizer": "galore,16", "unknown": None},
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_apollo true --apollo_rank 128 --apollo_layerwise true": {
        "program.optimizer": "apollo,128,layerwise"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_adam_mini true": {"program.optimizer": "adam-mini"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_muon true": {"program.optimizer": "muon"},
    f"torchrun train.py {LLAMA} --stage dpo --pref_loss simpo": {"batch.micro_batch": 4, "unknown": None},
    f"torchrun train.py {LLAMA} --finetuning_type oft --oft_block_size 64 --lora_target q_proj,v_proj": {"program.lora": "64,oft,q_proj,v_proj"},
    f"torchrun train.py {LLAMA} --finetuning_type oft --oft_target all --quantization_bit 4": {
        "program.lora": "32,oft", "program.frozen_weights": "4-bit,double"},
    f"torchrun train.py {LLAMA} --finetuning_type lora --lora_rank 16 --use_dora True": {"program.lora": "16,dora"},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 4": {
        "program.frozen_weights": "4-bit,double", "layout.recompute": "full", "unknown": None},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --disable_gradient_checkpointing True": {"layout.recompute": None, "unknown": None},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 8 --double_quantization False": {"program.frozen_weights": "8-bit"},
}

REFUSED = {
    f"torchrun train.py {LLAMA} --finetuning_type oft --oft_rank 8": "blocks of another size in each matrix",
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_badam true": "one block trains at a time",
    f"torchrun sft.py {LLAMA} --finetuning_type full --use_muon true --fsdp full_shard": "ranks share pieces of them",
    f"torchrun sft.py {LLAMA} --finetuning_type lora --freeze_language_model True": "adapters of towers alone",
    f"torchrun train.py {LLAMA} --stage rm": "a head of one output beside",
    f"torchrun sft.py {LLAMA} --stage dpo --pref_loss kto_pair --num_generations 4": "num_generations",
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 4 --quantization_method hqq": "only weights that bitsandbytes packs",
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 3": "bitsandbytes packs 4 and 8",
}

RECIPES = [
    ({"model_name_or_path": "a/b", "adapter_name_or_path": "c", "export_dir": "d"}, "it writes a model, and trains nothing"),
    ({"model": "a/b", "model_class": "llm", "micro_batch_size": 2, "cutoff_len": 4096, "global_batch_size": 32, "cp_size": 2,
      "dist_config": {"name": "fsdp2"}, "peft_config": {"name": "lora", "r": 16}, "quant_config": {"name": "bnb", "quantization_bit": 4}},
     {"batch.sequence": 4096, "batch.micro_batch": 2, "batch.sequences": 32, "batch.micro_batches": None, "layout.sharding": "full",
      "layout.context": 2, "layout.recompute": "full", "program.precision": "bf16", "program.lora": "16",
      "program.frozen_weights": "4-bit,double"}),
    ({"model": "a/b", "model_class": "llm", "micro_batch_size": 2, "pref_loss": "sigmoid"},
     {"batch.micro_batch": 4, "program.frozen_forwards": 1, "unknown.0": "the command's stage, which the file leaves open: taken as dpo"}),
    ({"model": "a/b", "model_class": "llm", "micro_batch_size": 2, "pref_loss": "orpo"}, {"batch.micro_batch": 4, "program.frozen_forwards": None}),
    ({"model": "a/b", "peft_config": {"name": "lora", "export_dir": "c"}}, "it writes a model, and trains nothing"),
    ({"model": "a/b", "model_class": "llm", "enable_activation_checkpointing": False}, {"layout.recompute": None, "layout.sharding": "none"}),
    ({"model": "a/b", "model_class": "llm", "peft_config": {"name": "freeze", "freeze_trainable_layers": 4}}, {"program.train_only": "last=4"}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze",
      "freeze_trainable_layers": -3, "freeze_extra_modules": "embed_tokens,lm_head"}, {"program.train_only": "first=3,embedding,head"}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze",
      "freeze_trainable_modules": "mlp"}, "a part of each layer trains"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze", "use_llama_pro": True},
     "every n-th layer"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "use_kt": True}, "experts on the CPU"),
    ({"model": "a/b", "model_class": "llm", "optim_config": {"name": "lion"}}, "its state is not counted"),
    ({"model": "a/b", "model_class": "llm", "optim_config": {"name": "muon"}, "dist_config": {"name": "fsdp2"}},
     {"program.optimizer": "muon,repeated", "layout.sharding": "full"}),
]


def check(folder):
    """Data of two answers are DPO's."""
    Path(folder, "pairs.yaml").write_text("own: {path: a/b, converter: pair}\n")
    Path(folder, "v1.json").write_text(json.dumps({"model": "a/b", "model_class": "llm", "micro_batch_size": 2, "train_dataset": "pairs.yaml"}))
    run, said = read("recipe", folder, ["v1.json"])
    assert part(run, "batch.micro_batch") == 4, said
