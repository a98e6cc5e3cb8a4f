#!/usr/bin/env python3
"""Kinds of launch files that people have: what `python -m ashlar_pp.read` makes of each, or why it stops.

usage: launch_kinds.py ASHLAR ROOT

It needs no package. Each case is a reduction written for this test: a script, or the values of a configuration, with the sizes that the
framework itself takes from it, counted by hand.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ASHLAR = sys.argv[1]
ROOT = Path(sys.argv[2]).resolve()
PACKAGE = ROOT / "python" / "ashlar_pp"  # whose extension is not built here
sys.path.insert(0, str(PACKAGE))

from read.launchers import trainings_of  # noqa: E402
from read.recording import record  # noqa: E402

GPT = ("--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
       "--micro-batch-size 4 --global-batch-size 64 --vocab-size 50257 --fp16")
LLAMA = "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --max_seq_length 2048 --bf16 True --output_dir o"
OLMO = {"d_model": 5120, "n_heads": 40, "n_layers": 40, "mlp_hidden_size": 27648, "weight_tying": False, "include_bias": False,
        "layer_norm_type": "rms", "attention_layer_norm": True, "norm_after": True, "activation_type": "swiglu", "rope": True,
        "max_sequence_length": 4096, "vocab_size": 100278, "embedding_size": 100352}
NEOX = {"pipe_parallel_size": 2, "model-parallel-size": 4, "num_layers": 80, "hidden_size": 8192, "intermediate_size": 86016, "norm": "rmsnorm",
        "num_attention_heads": 64, "num_kv_heads": 8, "seq_length": 4096, "pos_emb": "rotary", "no_weight_tying": True, "precision": "bfloat16",
        "use_bias_in_attn_linear": False, "activation": "swiglu", "mlp_multiple_of": 256, "vocab_size": 32000, "tokenizer_type": "HFTokenizer",
        "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 1}}

INTERNVL = f"{LLAMA} --force_image_size 448 --down_sample_ratio 0.5 --ps_version v2"
POLICY = {"model_name": "a/b", "train_global_batch_size": 128, "train_micro_batch_size": 2, "max_total_sequence_length": 1024,
          "precision": "bfloat16"}

DS_CHAT = ("deepspeed main.py --data_path a b --data_split 2,4,4 --per_device_train_batch_size 4 --gradient_checkpointing --deepspeed "
           "--gradient_accumulation_steps 2")

# A script: the commands that it starts.
RECORDED = {
    "set -e\nsource /no/such/place/env.sh\n. ~/none/activate\ncd /no/such/folder\ntorchrun a.py x": ["a.py x"],
    "cd /no/such/folder && torchrun a.py y": ["a.py y"],
    "set -e\nD=`cat /no/such/file`\ncat run.sh > o\nE=$(cat run.sh | wc -l)\ntorchrun a.py $D $E": ["a.py 5"],
    "echo N=4 > own.sh\nsource ./own.sh\ntorchrun a.py $N": ["a.py 4"],
    "python submit.py --gpus 8 -- accelerate launch --num_processes 8 a.py --b 1": ["a.py --b 1"],
    "N=$(ds_ssh nvidia-smi --query-gpu=name | wc -l)\ntorchrun a.py $((N - 2))": ["a.py 8"],
}
# Parameters of pretrain_gpt.py's arguments: GPT-2 medium's, with all norms, biases and positions.
COUNTED = {GPT: 354_823_168, GPT.replace("-", "_").replace("__", "--"): 354_823_168}
# Older arguments that say shares of layers, and the layers that Megatron-LM's own code deals for them.
PATTERNS = {
    "--num-layers 24 --hybrid-attention-ratio 0.08 --hybrid-mlp-ratio 0.5": "M-M-M--*M-M-M-M-*M--M-M-",
    "--num-layers 10 --hybrid-attention-ratio 0.3 --hybrid-mlp-ratio 0.2 --is-hybrid-model": "MM*M-*M*M-",
    "--num-layers 5 --is-hybrid-model": "MMMMM",
}
# A script: parts of the run that is written, by dotted keys.
WRITTEN = {
    f"torchrun pretrain_gpt.py {GPT} --num-key-value-heads 4": {"megatron.num-query-groups": "4", "megatron.group-query-attention": True},
    f"torchrun finetune.py {GPT} --glu_activation swiglu --use_rms_norm --no_tie_embed_logits": {
        "megatron.swiglu": True, "megatron.normalization": "RMSNorm", "megatron.untie-embeddings-and-output-weights": True},
    f"torchrun pretrain_gpt.py {GPT} --attention-head-type multiquery": {"megatron.num-query-groups": "1"},
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --zero-stage 1 --bitfit --embed-layernorm": {
        "program.train_only": "biases,unfrozen", "megatron.embed-layernorm": True},
    "echo '{\"zero_optimization\": {\"stage\": 2}}' > ds.json\n"
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --deepspeed_config ds.json --zero-stage 1": {"layout.sharding": "gradients"},
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --zero-stage 1 --num-experts 8 --expert-interval 2 --topk 1 --moe-expert-parallel-size 4": {
        "layout.sharding": "optimizer", "megatron.moe-layer-freq": "([0,1]*12)", "megatron.moe-router-topk": "1",
        "megatron.expert-model-parallel-size": "4"},
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --pp-partition-method 'type:transformer|embedding'": {"layout.ends_as_layers": True},
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --zero-stage 1 --num-experts 1": {"megatron.num-experts": None},
    f"torchrun sft.py {LLAMA} --model_name_or_path none --use_peft --lora_r 16 --lora_target_modules q_proj v_proj": {
        "program.lora": "16,q_proj,v_proj", "batch.micro_batch": 2, "layout.sharding": "none"},
    "export NPROC_PER_NODE=4\nswift sft --model org/none --torch_dtype bfloat16 --max_length 2048 --per_device_train_batch_size 2": {
        "program.lora": "8", "program.precision": "bf16", "layout.recompute": "full", "batch.micro_batches": 2},
    "accelerate launch --num_processes 4 swift/cli/sft.py --model org/none --max_length 2048 --per_device_train_batch_size 2": {
        "program.lora": "8", "batch.micro_batch": 2, "batch.sequence": 2048},
    "swift sft --model org/none --tuner_type full --deepspeed zero3 --max_length 2048 --gradient_accumulation_steps 1": {
        "program.lora": None, "deepspeed.zero_optimization.stage": 3, "program.freeze": "towers"},
    "swift sft --model org/none --tuner_type full --max_length 2048 --freeze_vit false --freeze_aligner false": {
        "program.freeze": None, "unknown": None},
    "swift sft --model org/none --max_length 2048 --freeze_vit false --freeze_aligner false": {
        "program.freeze": None, "program.lora": "8",
        "unknown.0": "--freeze_aligner: adapters of what leads from a tower to the decoder are not counted"},
    "megatron sft --model org/none --max_length 2048 --freeze_aligner false": {
        "program.freeze": "towers", "unknown.0": "freeze_vit and freeze_aligner, which differ: towers are taken to be frozen"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --freeze_vision_tower False --freeze_multi_modal_projector False": {
        "program.freeze": None, "unknown": None},
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
    "echo '{\"zero_optimization\": {\"stage\": 2}, \"fp16\": {\"enabled\": \"auto\"}}' > ds.json\n"
    f"deepspeed sft.py {LLAMA} --deepspeed ds.json": {"deepspeed.bf16.enabled": True, "deepspeed.fp16.enabled": False},
    f"torchrun own.py {LLAMA} --lora_r 8 --target_modules q_proj,v_proj --qlora False --bits 16": {
        "program.lora": "8,q_proj,v_proj", "program.frozen_weights": None},
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
    f"torchrun internvl_chat_finetune.py {INTERNVL} --freeze_llm True --freeze_backbone True --freeze_mlp False": {
        "program.freeze": "vision_tower,embedding,head,layers", "layout.recompute": "full", "unknown": None},
    f"torchrun internvl_chat_finetune.py {INTERNVL} --freeze_llm True --freeze_backbone True --freeze_mlp True --use_llm_lora 16": {
        "program.freeze": "vision_tower,multi_modal_projector", "program.lora": "16,qkv_proj,o_proj,mlp"},
    f"torchrun internvl_chat_finetune.py {INTERNVL} --conv_style internvl2_5 --freeze_backbone True --use_llm_lora 16": {
        "program.lora": "16,all,whole=multi_modal_projector"},
    f"torchrun internvl_chat_mpo.py {INTERNVL} --grad_checkpoint False --use_packed_ds True --max_packed_tokens 4096": {
        "program.frozen_forwards": 1, "batch.sequence": 4096, "batch.micro_batch": 4, "layout.recompute": None},
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
    f"torchrun sft.py {LLAMA} --finetuning_type lora --lora_rank 8 --additional_target multi_modal_projector,lm_head": {
        "program.lora": "8,train=multi_modal_projector,train=head"},
    "megatron sft --model org/none --max_length 2048 --tuner_type lora --modules_to_save word_embeddings output_layer": {
        "program.lora": "8,train=embedding,train=head"},
    f"torchrun sft.py {LLAMA} --finetuning_type full --image_max_pixels 262144": {"program.freeze": "towers"},
    "megatron sft --model org/none --max_length 2048 --tensor_model_parallel_size 2 --sequence_parallel true --moe_grouped_gemm true": {
        "megatron.tensor-model-parallel-size": "2", "megatron.sequence-parallel": True, "megatron.seq-length": "2048",
        "megatron.global-batch-size": "16", "megatron.recompute-granularity": "selective"},
    "uv run python mason.py --gpus 8 --num_nodes 2 -- torchrun --nnodes=2 --nproc_per_node=8 open_instruct/olmo_core_finetune.py "
    "--model_name_or_path a/b --max_seq_length 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --cp_degree 2": {
        "batch.sequence": 2048, "batch.micro_batch": 2, "batch.micro_batches": 3, "layout.context": 2, "layout.shard_ranks": 4,
        "layout.sharding": "full", "program.sum_copies_once": True, "unknown": None},
    "torchrun --nproc_per_node=8 open_instruct/olmo_core_finetune.py --compile_model false": {
        "layout.shard_ranks": None, "program.sum_copies_once": None, "batch.micro_batch": 8, "batch.sequence": 4096,
        "unknown.0": "compile_model false: blocks are taken to be compiled"},
    f"torchrun pretrain_gpt.py {GPT} --num-query-groups 4": {"megatron.group-query-attention": None},
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
    f"torchrun sft.py {LLAMA} --optim paged_adamw_8bit": {
        "program.fact": "data-overlap=on,bucket=6553600,first-moment=8-bit,second-moment=8-bit"},
    f"torchrun sft.py {LLAMA} --optim adamw_torch_4bit": {
        "program.fact": "data-overlap=on,bucket=6553600,first-moment=4-bit,second-moment=4-bit"},
    f"torchrun sft.py {LLAMA} --optim paged_adamw_32bit": {"program.fact": "data-overlap=on,bucket=6553600"},
    f"torchrun scripts/dpo.py {LLAMA} --beta 0.1": {
        "batch.micro_batch": 4, "batch.micro_batches": 4, "program.frozen_forwards": 1, "program.frozen_copy": True, "unknown": None},
    f"torchrun train.py {LLAMA} --stage dpo --pref_loss simpo": {"batch.micro_batch": 4, "unknown": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --reward_funcs accuracy "
    "--gradient_checkpointing False": {
        "batch.sequence": 1536, "batch.micro_batch": 2, "unknown": None},
    f"torchrun grpo.py {LLAMA} --num_generations 8 --max_prompt_length 512 --max_completion_length 1024 --reward_funcs accuracy": {
        "unknown.0": "gradient_checkpointing: newer releases of TRL turn it on"},
    f"torchrun kto.py {LLAMA}": {"batch.micro_batch": 2, "program.frozen_forwards": 3, "program.frozen_copy": True, "unknown": None},
    f"torchrun dpo.py {LLAMA} --deepspeed '" + '{"zero_optimization": {"stage": 3}}' + "'": {
        "deepspeed.train_micro_batch_size_per_gpu": 4, "deepspeed.gradient_accumulation_steps": 4, "program.frozen_forwards": 1},
    "swift rlhf --rlhf_type rm --model a/b --max_length 2048 --per_device_train_batch_size 2": {
        "batch.micro_batch": 4, "program.head": "1", "unknown": None},
    "swift sft --task_type seq_cls --num_labels 3 --model a/b --max_length 2048": {"batch.micro_batch": 1, "program.head": "3", "unknown": None},
    "swift sft --model a/b --max_length 2048 --use_dora true --lora_rank 16": {"program.lora": "16,dora,dropout", "unknown": None},
    "swift sft --model a/b --max_length 2048 --use_dora true --lora_dropout 0 --target_modules q_proj v_proj": {"program.lora": "8,dora,q_proj,v_proj"},
    "swift sft --model a/b --max_length 2048 --tuner_type full --freeze_parameters_ratio 0.9": {"program.freeze": "ratio=0.9", "unknown": None},
    "swift sft --model a/b --max_length 2048 --tuner_type adalora --lora_rank 4": {"program.lora": "12,adalora", "unknown": None},
    "swift sft --model a/b --max_length 2048 --init_weights pissa --use_rslora true --lorap_lr_ratio 16": {"program.lora": "8", "unknown": None},
    f"torchrun train.py {LLAMA} --use_peft --lora_r 16 --lora_target_modules all-linear --use_dora True": {"program.lora": "16,dora,dropout"},
    f"torchrun train.py {LLAMA} --finetuning_type lora --lora_rank 16 --use_dora True": {"program.lora": "16,dora"},
    "swift sft --task_type embedding --model a/b --max_length 2048": {
        "program.head": "0", "unknown.0": "task_type embedding: a sample is several sequences"},
    "megatron rlhf --rlhf_type rm --model a/b --max_length 2048 --global_batch_size 8 --micro_batch_size 1": {
        "batch.micro_batch": 2, "batch.sequences": 16, "program.head": "1", "unknown": None},
    "swift rlhf --rlhf_type grpo --model a/b --reward_funcs a": {"batch.sequence": None, "unknown": None},
    f"torchrun sft.py {LLAMA} --lora_r 8 --use_peft False": {"program.lora": None},
    f"torchrun sft.py {LLAMA} --gradient_checkpointing 0": {"layout.recompute": None},
    f"torchrun run_dpov2_align.py {LLAMA} --reference_model_name_or_path a/b": {"batch.micro_batch": 4, "program.frozen_forwards": 1},
    "echo '{\"fsdp\": \"full_shard\", \"fsdp_config\": {\"activation_checkpointing\": false, \"activation_cpu_offload\": true}}' > f.json\n"
    "swift sft --model a/b --max_length 2048 --fsdp f.json --gradient_checkpointing false": {
        "layout.sharding": "full", "layout.recompute": None, "layout.offload_activations": "full"},
    "echo '{\"fsdp_activation_checkpointing\": true}' > f.json\n"
    f"torchrun sft.py {LLAMA} --fsdp full_shard --fsdp_config f.json": {"layout.sharding": "full", "layout.recompute": "full"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --q_lora False": {"program.lora": "8,q_proj,v_proj"},
    f"torchrun sft.py {LLAMA} --lora_r 8": {
        "program.lora": "8,q_proj,v_proj",
        "unknown.0": "places of adapters, which peft chooses by the model's type: taken to be q_proj and v_proj, as for Llama, Mistral, Qwen and Gemma"},
    "swift rlhf --rlhf_type orpo --model a/b --max_length 2048 --per_device_train_batch_size 2": {"batch.micro_batch": 4, "unknown": None},
    "swift rlhf --rlhf_type grpo --model a/b --max_length 2048 --reward_funcs a --per_device_train_batch_size 2": {
        "batch.sequence": 2560, "batch.micro_batch": 2, "unknown": None},
    "megatron rlhf --rlhf_type dpo --model a/b --max_length 2048 --global_batch_size 8 --micro_batch_size 1": {
        "batch.micro_batch": 2, "batch.sequences": 16, "unknown.0": "the forward of the reference, and its weights"},
    "megatron rlhf --rlhf_type grpo --model a/b --max_length 2048 --max_completion_length 1024 --global_batch_size 8 --num_generations 4 "
    "--reward_funcs a --offload_optimizer true": {"batch.sequences": 8, "megatron.seq-length": "3072", "unknown": None},
    "echo '{\"distributed_type\": \"FSDP\", \"num_processes\": 8}' > fsdp.json\n"
    "accelerate launch --config_file fsdp.json swift/cli/sft.py --model a/b --max_length 2048": {"layout.sharding": "full"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --lora_target_modules q_proj --load_in_4bit True --use_peft": {
        "program.frozen_weights": "4-bit", "program.lora": "8,q_proj"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --lora_target_modules q_proj --load_in_4bit True --use_bnb_nested_quant True": {
        "program.frozen_weights": "4-bit,double"},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 4": {
        "program.frozen_weights": "4-bit,double", "layout.recompute": "full", "unknown": None},
    f"torchrun sft.py {LLAMA} --pure_bf16 True".replace(" --bf16 True", ""): {
        "program.precision": "bf16", "unknown.0": "pure_bf16: weights and state in 16 bits"},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --disable_gradient_checkpointing True": {"layout.recompute": None, "unknown": None},
    "swift sft --model org/none --deepspeed zero2 --max_length 2048 --gradient_accumulation_steps 4": {
        "deepspeed.gradient_accumulation_steps": 4, "deepspeed.train_micro_batch_size_per_gpu": 1},
    f"accelerate launch --use_deepspeed --zero_stage 3 sft.py {LLAMA}": {"deepspeed.gradient_accumulation_steps": 4},
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 8 --double_quantization False": {"program.frozen_weights": "8-bit"},
    "swift sft --model org/none --max_length 2048 --quant_method bnb --quant_bits 4 --lora_rank 16 --task_type causal_lm --freeze_llm false": {
        "unknown": None, "program.frozen_weights": "4-bit,double", "program.lora": "16"},
    "deepspeed --module openrlhf.cli.train_sft --train.batch_size 8 --ds.load_in_4bit --ds.lora.rank 8": {
        "program.frozen_weights": "4-bit,double", "program.lora": "8"},
    f"accelerate launch --num_machines 2 --num_processes 16 sft.py {LLAMA} --fsdp hybrid_shard": {
        "layout.sharding": "full", "layout.shard_ranks": 8, "program.scatter_once": True},
    f"torchrun --nproc_per_node 8 sft.py {LLAMA} --fsdp hybrid_shard_zero2": {"layout.sharding": "gradients", "layout.shard_ranks": None},
    f"torchrun sft.py {LLAMA} --fsdp 'full_shard offload'": {"layout.sharding": "full", "layout.offload_weights": "own"},
    "swift sft --model org/none --tuner_type full --deepspeed zero3_offload --max_length 2048 --gradient_accumulation_steps 1": {
        "deepspeed.zero_optimization.offload_param.device": "cpu"},
    "echo '{\"model\": {\"_component_\": \"torchtune.models.llama3.llama3_8b\"}, \"optimizer\": {\"_component_\": \"torch.optim.AdamW\"}, "
    "\"batch_size\": 2}' > t.json\ntune run --nproc_per_node 2 full_finetune_distributed --config t.json batch_size=4 tokenizer.max_seq_len=512": {
        "batch.micro_batch": 4, "batch.sequence": 512, "layout.sharding": "full", "unknown": None, "notes.2": "launched on 1 x 2 devices"},
    "echo '{\"model\": {\"model_name\": \"a/b\", \"torch_dtype_str\": \"bfloat16\"}, \"training\": {\"use_peft\": true}, "
    "\"peft\": {\"lora_target_modules\": [\"q_proj\"]}}' > t.json\noumi distributed torchrun -m oumi train -c t.json --model.model_max_length=512": {
        "batch.micro_batch": 8, "batch.sequence": 512, "program.lora": "8,q_proj", "unknown": None},
    f"torchrun pretrain_gpt.py {GPT} --own-heads 4 --ignore-me": None,
}
# A script: a part of the error.
REFUSED = {
    f"torchrun pretrain_gpt.py {GPT} --own-attention-heads 4": "tells of a model",
    f"torchrun train_mem.py {LLAMA} --vision_tower clip --mm_projector_type mlp2x_gelu --lora_enable True --tune_mm_mlp_adapter True":
        "freezes the adapters, too",
    f"torchrun train_mem.py {LLAMA} --vision_tower openai/clip-vit-large-patch14 --bits 4": "packed weights do not train",
    f"torchrun train.py {GPT} --language-model-type yi-34b --vision-model-type hf://a/b --img-h 448 --img-w 448 --patch-dim 14 "
    "--decoder-seq-length 2048": "--vision-model-type hf://a/b: its layers are not counted here",
    f"torchrun train.py {GPT} --model-provider video_llava_vlm": "at which model_provider of train.py stops",
    f"torchrun pretrain_mimo.py {GPT} --model-provider nemotron-moe-vlm --encoder-tp 2 --llm-tp 2": "on devices of their own",
    f"torchrun train.py {GPT} --model-provider llava_vlm --packing-buffer-size 24": "how many images a packed sequence has",
    f"torchrun train.py {GPT} --language-model-type mistral_7b --pipeline-model-parallel-size 2 --decoder-seq-length 2048": "which stages have the tower",
    f"torchrun sft.py {LLAMA} --finetuning_type full --freeze_language_model True": "towers train alone",
    f"torchrun pretrain_gpt.py {GPT} --spec own.layers get": "a function makes the layers",
    f"X=1\ntorchrun pretrain_gpt.py \\\n {GPT} \\\n --own_attention_heads 4": "line 4: --own-attention-heads is not known",
    f"torchrun pretrain_gpt.py {GPT} --yaml-cfg a.yaml": "line 1: --yaml-cfg a.yaml: the arguments are in that file",
    "deepspeed --module openrlhf.cli.train_dpo --train.batch_size 8": "a second model",
    "deepspeed --module openrlhf.cli.train_sft --train.batch_size 8 --ds.load_in_4bit": "line 1: --ds.load_in_4bit: weights in 4 bits do not train",
    f"torchrun pretrain_gpt.py {GPT} --gradient-accumulation-steps 2": "of neither kind",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --mlp-type residual": "another model",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --kd": "of another kind",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --use-bnb-optimizer": "nothing here says",
    "echo '{\"compression_training\": {\"a\": 1}}' > ds.json\n"
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --deepspeed_config ds.json": "compression_training",
    f"B=$3\ntorchrun pretrain_gpt.py {GPT} --global-batch-size $B": "line 2 takes it from $B, which line 1 takes from argument 3",
    "S=$2\nexit 1": "line 1 takes S from argument 2",
    f"torchrun generate_samples_gpt.py {GPT}": "it generates",
    f"torchrun tools/run_text_generation_server.py {GPT}": "it generates",
    f"python train_tokenizer.py {GPT}": "it makes files",
    "python -m verl.trainer.main_generation data.path=a": "it generates",
    "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=a actor_rollout_ref.model.lora_adapter_path=b": "lora_rank=RANK",
    f"python tasks/main.py --task RETRIEVER-EVAL {GPT}": "it evaluates",
    f"torchrun reward.py {LLAMA}": "a second model",
    "torchrun --nproc_per_node=8 olmo_core_finetune.py --cache_dataset_only": "nothing trains",
    "torchrun --nproc_per_node=8 olmo_core_finetune.py --activation_memory_budget 0.5": "partitioner decides",
    "torchrun --nproc_per_node=8 olmo_core_pretrain.py --seed 1": "alone is read",
    "swift rlhf --rlhf_type ppo --model a/b": "rlhf_type ppo: a second model runs",
    f"torchrun dpo.py {LLAMA} --reward_model a/b": "reward_model",
    f"torchrun sft.py {LLAMA} --stage dpo --pref_loss kto_pair --num_generations 4": "num_generations",
    f"torchrun sft.py {LLAMA} --vision_tower clip": "vision_tower clip: its sizes are known here only of",
    f"torchrun sft.py {LLAMA} --optim adafactor": "--set optim=adamw_torch",
    f"torchrun sft.py {LLAMA} --mixture_of_depths convert": "another model",
    f"torchrun sft.py {LLAMA} --load_in_4bit True": "nothing says which adapters train",
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 4 --quantization_method hqq": "only weights that bitsandbytes packs",
    f"torchrun sft.py {LLAMA} --finetuning_type lora --quantization_bit 3": "bitsandbytes packs 4 and 8",
    "swift sft --model a/b --quant_method hqq --quant_bits 4": "only weights that bitsandbytes packs",
    "megatron sft --model a/b --quant_method bnb --quant_bits 4": "Megatron-Core has no packed weights",
    f"torchrun sft.py {LLAMA} --use_badam true": "use_badam: only the state of Adam",
    f"torchrun sft.py {LLAMA} --train_mode qlora": "train_mode: adapters by a program",
    f"torchrun internvl_chat_finetune.py {INTERNVL} --unfreeze_vit_layers -8": "a part of the tower trains",
    f"{DS_CHAT} --zero_stage 4": "there are 0 to 3",
    f"{DS_CHAT} --zero_stage 2 --lora_dim 8 --lora_module_name self_attn.": "beside a part of a layer",
    f"echo 'import torch, colossalai.zero' > gemini.py\ntorchrun gemini.py {LLAMA}": "imports colossalai.zero, which trains",
    f"torchrun own.py {LLAMA} --lora_r 8 --load_in_bits 4": "load_in_bits 4: weights in fewer bits",
    f"torchrun own.py {LLAMA} --tune_vision false": "tune_vision: which parts train",
    f"torchrun own.py {LLAMA} --freeze_backbone True": "freeze_backbone: which parts train",
    f"torchrun own.py {LLAMA} --use_grad_checkpointing True": "use_grad_checkpointing: recomputation by a name",
    f"torchrun sft.py {LLAMA} --lora_rank 8": "adapters by a program of its own",
    f"torchrun run_iterative.py {LLAMA} --reward_model_name_or_path a/b": "runs a second model",
    f"torchrun sft.py {LLAMA} --use_lora True": "--set lora_r=RANK --set lora_target_modules=NAMES",
    "swift sft --model a/b --tuner_type reft": "another package, pyreft",
    "swift sft --model a/b --tuner_type boft": "orthogonal matrices",
    "swift sft --model a/b --tuner_type fourierft": "not counted",
    "megatron sft --model a/b --tuner_type adalora": "Megatron-Core has it in a way of its own",
    "swift sft --model a/b --task_type generative_reranker": "its head, or its loss, is not known",
    "megatron sft --model a/b --freeze_llm true": "--freeze_llm",
    "swift sample --model a/b": "sft, pt and rlhf are read",
}
# The values of a configuration: parts of the run, or of the error.
RECIPES = [
    ({"model": OLMO, "global_train_batch_size": 2048, "device_train_microbatch_size": 2, "precision": "amp_bf16", "fsdp": {"precision": "mixed"}},
     {"model.model_type": "olmo2", "model.intermediate_size": 13824, "model.vocab_size": 100352, "layout.sharding": "full",
      "batch.sequences": 2048}),
    ({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2, "fsdp": {"sharding_strategy": "HYBRID_SHARD"}},
     "share within a node"),
    ({"model": OLMO, "global_train_batch_size": 8, "device_train_microbatch_size": 2,
      "fsdp": {"sharding_strategy": "HYBRID_SHARD", "hybrid_sharding_num_model_replicas": 4}}, "--shard-ranks N"),
    ({"max_seq_len": 2048, "model": {"name": "hf_causal_lm"}, "global_train_batch_size": 8, "max_duration": "1ba",
      "fsdp_config": {"sharding_strategy": "HYBRID_SHARD"}}, "share within a node"),
    ({"model": {**OLMO, "alibi": True}, "global_train_batch_size": 8, "device_train_microbatch_size": 2}, "another model"),
    (NEOX, {"megatron.ffn_hidden_size": 28672, "megatron.num_query_groups": 8, "megatron.tensor_model_parallel_size": 4,
            "layout.sharding": "optimizer", "batch.micro_batches": 8, "program.precision": "bf16"}),
    ({**NEOX, "attention_config": [[["gmlp"], 80]]}, "another model"),
    ({"checkpoint_dir": "checkpoints/a/b", "precision": "bf16-true", "devices": 4, "lora_r": 32, "lora_query": True, "lora_value": True,
      "train": {"global_batch_size": 8, "micro_batch_size": 1, "max_seq_length": 512}},
     {"program.lora": "32,q_proj,v_proj", "layout.sharding": "full", "batch.sequence": 512}),
    ({"checkpoint_dir": "a", "quantize": "bnb.int8-training", "train": {"global_batch_size": 8}}, "is not predicted"),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4-dq", "lora_r": 8, "lora_query": True, "train": {"global_batch_size": 8}},
     {"program.frozen_weights": "4-bit,double,head", "program.lora": "8,q_proj"}),
    ({"checkpoint_dir": "a", "quantize": "bnb.nf4", "train": {"global_batch_size": 8}}, "packs on one device, for LoRA"),
    ({"variables": {"n": 2048}, "max_seq_len": "${variables.n}", "model": {"name": "mpt_causal_lm", "d_model": 4096, "n_heads": 32,
      "n_layers": 32, "expansion_ratio": 4, "vocab_size": 50432, "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}},
      "global_train_batch_size": 1024, "device_train_microbatch_size": 4, "precision": "amp_bf16", "max_duration": "1ba",
      "fsdp_config": {"sharding_strategy": "FULL_SHARD", "activation_checkpointing": True}},
     {"model.num_key_value_heads": 8, "model.intermediate_size": 16384, "batch.sequence": 2048, "layout.recompute": "full"}),
    ({"model": {"model_path": "a/b"}, "data": {"max_seq_len": 2048}, "train": {"micro_batch_size": 1, "global_batch_size": 8,
      "accelerator": {"ulysses_size": 2, "ep_size": 4, "fsdp_config": {"fsdp_mode": "fsdp2"}}}},
     {"layout.sharding": "full", "layout.context": 2, "layout.expert": 4, "layout.recompute": "full"}),
    ({"model": {"model_path": "a/b"}, "data": {"data_type": "dpo"}, "train": {"global_batch_size": 8}},
     {"batch.sequences": 8, "batch.micro_batch": 1, "program.frozen_forwards": 1, "program.frozen_copy": True}),
    ({"model": {"model_path": "a/b"}, "data": {"data_type": "dpo"}, "train": {"global_batch_size": 8, "micro_batch_size": 2, "dyn_bsz": False},
      "dpo_config": {"refer_model_precision": "float32"}},
     {"batch.sequences": 16, "batch.micro_batch": 4, "program.frozen_forwards": 1, "unknown.0": "dpo_config.refer_model_precision"}),
    ({"model_name_or_path": "a/b", "num_generations": 8, "reward_funcs": ["accuracy"], "pass_rate_min": 0.2}, "nothing trains"),
    ({"model": {"dim": 64, "n_layers": 2, "n_heads": 2, "conv_size": 4}, "distributed": {"fsdp_type": "full_shard"}, "data": {}},
     "read, by their folders"),
    ({"base_model": "a/b", "micro_batch_size": 2, "gradient_accumulation_steps": 1, "sequence_len": 2048, "bf16": True,
      "fsdp_version": 2, "fsdp_config": {"activation_checkpointing": True}}, {"layout.sharding": "full", "layout.recompute": "full"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "rl": "dpo", "bf16": True},
     {"batch.micro_batch": 4, "program.frozen_forwards": 1}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "reward_model": True, "num_labels": 1,
      "model_type": "AutoModelForSequenceClassification"}, {"batch.micro_batch": 4, "program.head": "1"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "process_reward_model": True}, "rewards of steps"),
    ({"base_model": "a/b", "micro_batch_size": 2, "gradient_accumulation_steps": 4, "sequence_len": 2048, "fsdp_version": 2},
     {"layout.sharding": "full", "program.scatter_once": True}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "rl": "kto"},
     {"program.frozen_forwards": 3, "program.frozen_copy": True}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "beta": 0.1, "max_prompt_length": 512}, "--set rl=dpo"),
    ({"model": "a/b", "model_class": "llm", "micro_batch_size": 2, "cutoff_len": 4096, "global_batch_size": 32, "cp_size": 2,
      "dist_config": {"name": "fsdp2"}, "peft_config": {"name": "lora", "r": 16}, "quant_config": {"name": "bnb", "quantization_bit": 4}},
     {"batch.sequence": 4096, "batch.micro_batch": 2, "batch.sequences": 32, "batch.micro_batches": None, "layout.sharding": "full",
      "layout.context": 2, "layout.recompute": "full", "program.precision": "bf16", "program.lora": "16",
      "program.frozen_weights": "4-bit,double"}),
    ({"model": "a/b", "model_class": "llm", "enable_activation_checkpointing": False}, {"layout.recompute": None, "layout.sharding": "none"}),
    ({"model": "a/b", "model_class": "llm", "peft_config": {"name": "freeze", "freeze_trainable_layers": 4}}, {"program.train_only": "last=4"}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze",
      "freeze_trainable_layers": -3, "freeze_extra_modules": "embed_tokens,lm_head"}, {"program.train_only": "first=3,embedding,head"}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze",
      "freeze_trainable_modules": "mlp"}, "a part of each layer trains"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "finetuning_type": "freeze", "use_llama_pro": True},
     "every n-th layer"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "unfrozen_parameters": ["model.language_model.*", "lm_head"]},
     {"program.train_only": None, "program.lora": None}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "unfrozen_parameters": ["^lm_head.weight$", "model.layers.2[0-9]+."]},
     {"program.train_only": "head,layers=20-29",
      "unknown.0": "unfrozen_parameters: gradients also flow through the frozen layers below, to the embedding's results"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "unfrozen_parameters": ["model.layers.1[0-9]+.mlp.experts"]},
     "a part of layer 10 trains"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "unfrozen_parameters": ["transformer.blocks.[0-7]."]},
     "of no decoder's parameter"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "unfrozen_parameters": ["^model.embed_tokens.weight$[:32000]"]},
     "rows of a matrix train"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "qat": {"weight_dtype": "nvfp4", "group_size": 16}}, "Axolotl stops"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "qat": {"weight_dtype": "int4"}}, "--set qat=null"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "cutoff_len": 512, "use_kt": True}, "experts on the CPU"),
    ({"model": "a/b", "model_class": "llm", "optim_config": {"name": "muon"}}, "only AdamW's state"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "gptq": True, "adapter": "lora"}, "products of another kind"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "qlora", "load_in_4bit": True, "lora_r": 8,
      "lora_target_linear": True, "fsdp_version": 1}, {"program.lora": "8", "program.frozen_weights": "4-bit,double", "layout.sharding": "full"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "load_in_8bit": True, "lora_r": 8,
      "lora_target_modules": ["q_proj"]}, {"program.lora": "8,q_proj", "program.frozen_weights": "8-bit"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "load_in_8bit": True, "lora_r": 8,
      "lora_target_linear": True, "fsdp_version": 2}, "cannot be shared by data ranks"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "qlora", "lora_r": 8, "lora_target_linear": True},
     "Axolotl stops, or packs nothing"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "lora_r": 8,
      "lora_target_modules": r"model.language_model.layers.[\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj"},
     {"program.lora": "8,q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "lora_r": 8,
      "lora_target_modules": r"model.layers.[0-5].self_attn.q_proj"}, "a pattern says where"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "lora_r": 8,
      "lora_target_modules": r"model.layers.[\d]+.(self_attn.(q_a_proj|o_proj)|mlp.up_proj)"}, "a pattern says where"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "lora_r": 8, "lora_target_linear": True,
      "lora_modules_to_save": ["embed_tokens", "lm_head"]}, {"program.lora": "8,train=embedding,train=head"}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "adapter": "lora", "lora_r": 8, "lora_target_linear": True,
      "lora_modules_to_save": ["norm"]}, "only copies of embed_tokens, lm_head and parts"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "lora_r": 8}, {"program.lora": None}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "fp8": True}, "nothing here counts"),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "fsdp_version": 2, "dp_shard_size": 4, "dp_replicate_size": 2},
     {"layout.shard_ranks": 4}),
    ({"base_model": "a/b", "micro_batch_size": 2, "sequence_len": 2048, "bf16": False, "float16": True}, {"program.precision": "fp16"}),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "max_length": 2048, "bf16": True},
     {"unknown.0": "how ranks share the state, which the launcher says: taken to be --sharding none"}),
    ({"compute_environment": "LOCAL_MACHINE", "distributed_type": "FSDP"}, "is accelerate's"),
    ({"sft": {"max_num_steps": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True, "tensor_parallel_size": 4, "sequence_parallel": True,
      "activation_checkpointing": True}}},
     {"layout.sharding": "full", "layout.tensor": 4, "layout.recompute": "full", "program.sequence_parallel": "on", "batch.sequences": 128,
      "batch.micro_batch": 2, "batch.sequence": 1024, "unknown": None}),
    ({"dpo": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": False}, "megatron_cfg": {"enabled": True,
      "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4, "expert_model_parallel_size": 1, "activation_checkpointing": True,
      "recompute_granularity": "selective", "optimizer": {"optimizer": "adam", "use_distributed_optimizer": True}}}},
     {"batch.sequences": 256, "batch.micro_batch": 4, "layout.pipeline": 4, "layout.sharding": "optimizer", "layout.recompute": "core_attn",
      "program.frozen_forwards": None, "unknown": None}),
    ({"sft": {"seed": 1}, "policy": {**POLICY, "megatron_cfg": {"enabled": True, "expert_model_parallel_size": 8, "moe_enable_deepep": True,
      "moe_permute_fusion": True, "apply_rope_fusion": False, "fp8_cfg": {"enabled": True, "fp8_recipe": "blockwise"},
      "distributed_data_parallel_config": {"overlap_grad_reduce": True, "overlap_param_gather": False}}}},
     {"program.precision": "fp8", "layout.expert": 8,
      "program.fact": "fused-permutation=on,fused-rotation=off,data-overlap=off,scales=blocks,expert-dispatch=once"}),
    ({"rm": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True, "cpu_offload": True}}},
     {"program.head": "1", "batch.micro_batch": 4, "layout.offload_weights": "own"}),
    ({"grpo": {"seed": 1}, "cluster": {"num_nodes": 8, "gpus_per_node": 8}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True},
      "sequence_packing": {"enabled": True, "train_mb_tokens": 8192}, "generation": {"colocated": {"enabled": False, "resources": {"num_nodes": 4}}}}},
     {"batch.micro_batch": 4, "notes.1": "launched on 4 x 8 devices", "unknown.0": "policy.sequence_packing (micro-batches of 8192 tokens)"}),
    ({"grpo": {"seed": 1}, "policy": {**POLICY, "is_vlm": True, "hf_config_overrides": {"rope_scaling": {"factor": 2}, "num_hidden_layers": 2},
      "dtensor_cfg": {"enabled": True, "automodel_kwargs": {"use_liger_kernel": True},
                      "lora_cfg": {"enabled": True, "dim": 8, "target_modules": ["q_proj"], "exclude_modules": ["*out_proj*"]}}}},
     {"program.lora": "8,q_proj", "unknown": ["policy.dtensor_cfg.lora_cfg.exclude_modules: layers without adapters",
      "frozen weights beside adapters are in 32 bits", "policy.is_vlm: what images add", "policy.hf_config_overrides.num_hidden_layers",
      "policy.dtensor_cfg.automodel_kwargs.use_liger_kernel"]}),
    ({"grpo": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": True}, "optimizer": {"name": "torch.optim.SGD"}}}, "only Adam's state"),
    ({"distillation": {"seed": 1}, "policy": POLICY}, "a teacher runs beside"),
    ({"sft": {"seed": 1}, "policy": {**POLICY, "dtensor_cfg": {"enabled": False}}}, "one of megatron_cfg and dtensor_cfg"),
]


def part(run, name):
    for key in name.split("."):
        run = run.get(key) if isinstance(run, dict) else run[int(key)] if isinstance(run, list) else None
    return run


def read(noun, folder, words):
    """The run that the command line writes, or None; and what it says."""
    out = Path(folder, "run.json")
    out.unlink(missing_ok=True)
    line = [sys.executable, "-c", "import sys; from read.__main__ import main; sys.exit(main(sys.argv[1:]))", noun, "-o", str(out), *words]
    ran = subprocess.run(line, capture_output=True, text=True, cwd=folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGE), "HOME": folder})
    assert (ran.returncode == 0) == out.exists(), ran.stderr
    return (json.loads(out.read_text()) if out.exists() else None), ran.stderr


def of_script(folder, script, *options):
    Path(folder, "run.sh").write_text(script + "\n")
    return read("launch", folder, [*options, "--", "bash", "run.sh"])


def check_scripts(folder):
    for script, expected in WRITTEN.items():
        if expected is None:  # what is set aside by name is not read
            run, said = of_script(folder, script, "--ignore", "own-heads")
            assert run is not None and "own-heads" not in run["megatron"], said
            continue
        run, said = of_script(folder, script)
        assert run is not None, (script, said)
        for name, value in expected.items():
            assert part(run, name) == value, (script, name, part(run, name), run)
    for script, expected in REFUSED.items():
        run, said = of_script(folder, script)
        assert run is None and expected in said, (script, said)
    run, said = of_script(folder, f"torchrun pretrain_gpt.py {GPT} --spec own.layers get", "--model", "llama3-8b")
    assert run is not None and run["model"] == "llama3-8b", said
    run, said = of_script(folder, f"torchrun sft.py {LLAMA} --optim adafactor", "--set", "optim=adamw_torch")
    assert run is not None, said
    run, said = of_script(folder, f"torchrun sft.py {LLAMA} --use_lora True", "--set", "lora_r=64", "--set", "lora_target_modules=q_proj,v_proj")
    assert run is not None and run["program"]["lora"] == "64,q_proj,v_proj" and "unknown" not in run, (run, said)


def check_recordings(folder):
    for script, expected in RECORDED.items():
        path = Path(folder, "run.sh")
        path.write_text(script + "\n")
        here = os.getcwd()
        os.chdir(folder)
        try:
            made = record(["bash", "run.sh"], seconds=30)
        finally:
            os.chdir(here)
        found = [" ".join([one.program, *one.arguments]) for one in trainings_of(made.commands)]
        assert found == expected, (script, found, made.output)


def check_missing_texts(folder):
    """The answer names what a script takes from a file that is not there."""
    run, said = of_script(folder, f"set -e\nDATA=`cat /no/such/file`\ntorchrun pretrain_gpt.py {GPT} --data-path $DATA")
    assert run is not None and run["unknown"] == ["the output of `cat /no/such/file`"], said
    run, said = of_script(folder, "set -e\ncat /no/such/file\ntorchrun pretrain_gpt.py")
    assert run is None and "No such file" in said, said


def check_recipes(folder):
    for tree, expected in RECIPES:
        path = Path(folder, "recipe.json")
        path.write_text(json.dumps(tree))
        run, said = read("recipe", folder, [str(path)])
        if isinstance(expected, str):
            assert run is None and expected in said, (tree, said)
            continue
        assert run is not None, (tree, said)
        for name, value in expected.items():
            assert part(run, name) == value, (tree, name, part(run, name), run)
    path.write_text(json.dumps(NEOX))
    run, said = read("recipe", folder, [str(path), "--set", "zero_optimization.stage=2", "--set", "num_layers=40"])
    assert run["layout"]["sharding"] == "gradients" and run["megatron"]["num_layers"] == 40, said


def check_inheritance(folder):
    """A recipe of NeMo RL says how it differs from files that begin as others."""
    inner = {"enabled": True, "tensor_parallel_size": 4, "activation_checkpointing": True}
    files = {"base.json": {"sft": {"seed": 1}, "cluster": {"num_nodes": 1}, "policy": {**POLICY, "dtensor_cfg": inner}},
             "more/mid.json": {"defaults": "../base.json", "policy": {"train_global_batch_size": 64}},
             "more/own.json": {"defaults": ["./mid.json"], "policy": {"dtensor_cfg": {"_override_": True, "enabled": True}}},
             "more/loop.json": {"defaults": "loop.json", "policy": {}}}
    for name, tree in files.items():
        Path(folder, name).parent.mkdir(exist_ok=True)
        Path(folder, name).write_text(json.dumps(tree))
    run, said = read("recipe", folder, [str(Path(folder, "more/own.json"))])
    assert run is not None, said
    found = [part(run, name) for name in ("batch.sequences", "batch.sequence", "layout.tensor", "layout.recompute")]
    assert found == [64, 1024, 1, None], found
    run, said = read("recipe", folder, [str(Path(folder, "more/loop.json"))])
    assert run is None and "more than 32 files" in said, said


def check_parameters(folder):
    for words, count in COUNTED.items():
        run, said = of_script(folder, f"torchrun pretrain_gpt.py {words}")
        assert run is not None, said
        ran = subprocess.run([ASHLAR, "predict", "--run", str(Path(folder, "run.json")), "--cluster", "8xA100-80", "--as", "json"],
                             capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)["parameters"] == count, (words, json.loads(ran.stdout)["parameters"])


def check_patterns(folder):
    """Both ways, as the pattern itself."""
    size = GPT.partition(" --hidden-size")[2]
    script = Path(folder, "run.sh")
    for words, pattern in PATTERNS.items():
        layers = " ".join(words.split()[:2])
        said = [f"{words} --hidden-size{size}", f"{layers} --hybrid-override-pattern {pattern} --hidden-size{size}"]
        found = []
        for each in said:
            run, why = of_script(folder, f"torchrun pretrain_mamba.py {each}")
            assert run is not None, why
            for given in ("--run", Path(folder, "run.json")), ("--megatron", script):
                ran = subprocess.run([ASHLAR, "predict", *map(str, given), "--cluster", "8xA100-80", "--as", "run"], capture_output=True, text=True)
                assert ran.returncode == 0, ran.stderr
                found.append(json.loads(ran.stdout)["model"]["architecture"])
        assert all(each == found[0] for each in found), (words, found)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_recordings(folder)
        check_scripts(folder)
        check_missing_texts(folder)
        check_recipes(folder)
        check_inheritance(folder)
        check_parameters(folder)
        check_patterns(folder)
    print(f"{len(RECORDED) + len(WRITTEN) + len(REFUSED)} scripts, {len(RECIPES)} configurations")


if __name__ == "__main__":
    main()
