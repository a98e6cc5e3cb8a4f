"""ms-swift."""

WRITTEN = {
    "export NPROC_PER_NODE=4\nswift sft --model org/none --torch_dtype bfloat16 --max_length 2048 --per_device_train_batch_size 2": {
        "program.lora": "8", "program.precision": "bf16", "layout.recompute": "full", "batch.micro_batches": 2},
    "accelerate launch --num_processes 4 swift/cli/sft.py --model org/none --max_length 2048 --per_device_train_batch_size 2": {
        "program.lora": "8", "batch.micro_batch": 2, "batch.sequence": 2048},
    "swift sft --model org/none --tuner_type full --deepspeed zero3 --max_length 2048 --gradient_accumulation_steps 1": {
        "program.lora": None, "deepspeed.zero_optimization.stage": 3, "program.freeze": "towers"},
    "swift sft --model org/none --tuner_type full --max_length 2048 --freeze_vit false --freeze_aligner false": {
        "program.freeze": None, "unknown": ["weights and gradients in 16 bits without a copy: memory is less than said"]},
    "swift sft --model org/none --tuner_type full --max_length 2048 --torch_dtype float32 --deepspeed zero2": {
        "deepspeed.fp16.enabled": True, "unknown": None},
    "swift sft --model org/none --max_length 2048 --freeze_vit false --freeze_aligner false": {
        "program.freeze": None, "program.lora": "8",
        "unknown.0": "--freeze_aligner: adapters of what leads from a tower to the decoder are not counted"},
    "megatron sft --model org/none --max_length 2048 --freeze_aligner false": {"program.freeze": "encoders", "unknown": None},
    "megatron sft --model Qwen/Qwen3-VL-8B --max_length 2048 --freeze_vit false": {
        "program.freeze": "aligners", "unknown.0": "freeze_vit and freeze_aligner, which differ: mergers of single layers train as the tower "
        "does here, and as the aligner there"},
    "megatron sft --model org/none --max_length 2048 --tuner_type lora --modules_to_save word_embeddings output_layer": {
        "program.lora": "8,train=embedding,train=head"},
    "megatron sft --model org/none --max_length 2048 --tensor_model_parallel_size 2 --sequence_parallel true --moe_grouped_gemm true": {
        "megatron.tensor-model-parallel-size": "2", "megatron.sequence-parallel": True, "megatron.seq-length": "2048",
        "megatron.global-batch-size": "16", "megatron.recompute-granularity": "selective"},
    "swift sft --model a/b --max_length 2048 --packing true --packing_length 8192 --lazy_tokenize true": {
        "batch.sequence": 8192, "unknown": None},
    "megatron sft --model a/b --max_length 2048 --packing true --packing_length 8192 --attention_backend unfused --fp16 true": {
        "megatron.seq-length": "8192", "megatron.attention-backend": "unfused", "megatron.bf16": None, "unknown": None},
    "swift rlhf --rlhf_type rm --model a/b --max_length 2048 --per_device_train_batch_size 2": {
        "batch.micro_batch": 4, "program.head": "1", "unknown": None},
    "swift sft --task_type seq_cls --num_labels 3 --model a/b --max_length 2048": {"batch.micro_batch": 1, "program.head": "3", "unknown": None},
    "swift sft --model org/none --max_length 2048 --optimizer muon": {"program.optimizer": "muon", "program.lora": "8"},
    "swift sft --model org/none --max_length 2048 --tuner_type full --use_galore true --galore_optim_per_parameter true": {
        "program.optimizer": "galore,128", "program.lora": None},
    "swift sft --model a/b --max_length 2048 --use_dora true --lora_rank 16": {"program.lora": "16,dora,dropout", "unknown": None},
    "swift sft --model a/b --max_length 2048 --use_dora true --lora_dropout 0 --target_modules q_proj v_proj": {"program.lora": "8,dora,q_proj,v_proj"},
    "swift sft --model a/b --max_length 2048 --tuner_type full --freeze_parameters_ratio 0.9": {"program.freeze": "ratio=0.9"},
    "swift sft --model a/b --max_length 2048 --tuner_type adalora --lora_rank 4": {"program.lora": "12,adalora", "unknown": None},
    "swift sft --model a/b --max_length 2048 --tuner_type boft --boft_dropout 0.1": {
        "program.lora": "4,boft", "unknown.0": "permutations of BOFT: held on the device here; where a model is there before it has adapters, "
        "they stay on the host and each forward copies them"},
    "swift sft --model a/b --max_length 2048 --tuner_type fourierft --target_modules q_proj": {"program.lora": "2000,fourierft,q_proj", "unknown": None},
    "swift sft --model a/b --max_length 2048 --tuner_type vera --vera_rank 64 --target_modules k_proj v_proj": {
        "program.lora": "64,vera,k_proj,v_proj", "unknown": None},
    "swift sft --model a/b --max_length 2048 --init_weights pissa --use_rslora true --lorap_lr_ratio 16": {"program.lora": "8", "unknown": None},
    "swift sft --task_type embedding --model a/b --max_length 2048": {
        "program.head": "0", "unknown.0": "task_type embedding: a sample is several sequences"},
    "megatron rlhf --rlhf_type rm --model a/b --max_length 2048 --global_batch_size 8 --micro_batch_size 1": {
        "batch.micro_batch": 2, "batch.sequences": 16, "program.head": "1", "unknown": None},
    "swift rlhf --rlhf_type grpo --model a/b --reward_funcs a": {"batch.sequence": None, "unknown": None},
    "echo '{\"fsdp\": \"full_shard\", \"fsdp_config\": {\"activation_checkpointing\": false, \"activation_cpu_offload\": true}}' > f.json\n"
    "swift sft --model a/b --max_length 2048 --fsdp f.json --gradient_checkpointing false": {
        "layout.sharding": "full", "layout.recompute": None, "layout.offload_activations": "full"},
    "swift rlhf --rlhf_type orpo --model a/b --max_length 2048 --per_device_train_batch_size 2": {"batch.micro_batch": 4, "unknown": None},
    "swift rlhf --rlhf_type grpo --model a/b --max_length 2048 --reward_funcs a --per_device_train_batch_size 2": {
        "batch.sequence": 2560, "batch.micro_batch": 2, "program.frozen_copy": None, "unknown": None},
    "swift rlhf --rlhf_type grpo --tuner_type full --model a/b --max_length 2048 --reward_funcs a": {"program.frozen_copy": True},
    "megatron rlhf --rlhf_type dpo --model a/b --max_length 2048 --global_batch_size 8 --micro_batch_size 1": {
        "batch.micro_batch": 2, "batch.sequences": 16, "program.frozen_forwards": 1, "program.frozen_copy": True, "unknown": None},
    "megatron rlhf --rlhf_type dpo --model a/b --max_length 2048 --pipeline_model_parallel_size 2": {
        "program.frozen_forwards": None, "unknown.0": "the forward of the reference, and its weights, in a pipeline"},
    "megatron rlhf --rlhf_type grpo --model a/b --max_length 2048 --max_completion_length 1024 --global_batch_size 8 --num_generations 4 "
    "--reward_funcs a --offload_optimizer true": {"batch.sequences": 8, "megatron.seq-length": "3072", "unknown": ["the weights of the reference"]},
    "echo '{\"distributed_type\": \"FSDP\", \"num_processes\": 8}' > fsdp.json\n"
    "accelerate launch --config_file fsdp.json swift/cli/sft.py --model a/b --max_length 2048": {"layout.sharding": "full"},
    "swift sft --model org/none --deepspeed zero2 --max_length 2048 --gradient_accumulation_steps 4": {
        "deepspeed.gradient_accumulation_steps": 4, "deepspeed.train_micro_batch_size_per_gpu": 1},
    "swift sft --model org/none --max_length 2048 --quant_method bnb --quant_bits 4 --lora_rank 16 --task_type causal_lm --freeze_llm false": {
        "unknown": None, "program.frozen_weights": "4-bit,double", "program.lora": "16"},
    "swift sft --model org/none --tuner_type full --deepspeed zero3_offload --max_length 2048 --gradient_accumulation_steps 1": {
        "deepspeed.zero_optimization.offload_param.device": "cpu"},
}

REFUSED = {
    "swift sft --model a/B-7B-GPTQ-Int4 --max_length 2048": "AWQ or AQLM pack",
    "swift sft --model org/none --tuner_type full --use_galore true --galore_quantization true": "projections in fewer bits",
    "swift rlhf --rlhf_type ppo --model a/b": "rlhf_type ppo: a second model runs",
    "swift sft --model a/b --quant_method hqq --quant_bits 4": "only weights that bitsandbytes packs",
    "megatron sft --model a/b --quant_method bnb --quant_bits 4": "Megatron-Core has no packed weights",
    "swift sft --model a/b --tuner_type reft": "another package, pyreft",
    "swift sft --model a/b --tuner_type bone": "adds blocks to whole weights",
    "swift sft --model a/b --tuner_type boft --boft_n_butterfly_factor 2": "with one factor",
    "swift sft --model a/b --tuner_type vera": "only matrices of the size of v_proj",
    "megatron sft --model a/b --tuner_type adalora": "Megatron-Core has LoRA alone",
    "swift sft --model a/b --task_type generative_reranker": "its head, or its loss, is not known",
    "megatron sft --model a/b --freeze_llm true": "--freeze_llm",
    "swift sft --model a/b --tuner_type full --lisa_activated_layers 2": "state of all that have trained stays",
    "swift sample --model a/b": "sft, pt and rlhf are read",
}
