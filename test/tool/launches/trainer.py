"""Programs over the Trainer of transformers."""

from launch_reading import LLAMA, of_script

# Without a word of release 4 of transformers.
SHORT = LLAMA.replace(" --overwrite_output_dir True", "")
OPEN = ("torch_dtype is not said: weights and state are taken in 32 bits, as transformers 4 loads them; "
        "5 loads them as the model's file has them")

WRITTEN = {
    f"torchrun sft.py {LLAMA} --model_name_or_path none --use_peft --lora_r 16 --lora_target_modules q_proj v_proj": {
        "program.lora": "16,q_proj,v_proj", "batch.micro_batch": 2, "layout.sharding": "none"},
    "echo '{\"zero_optimization\": {\"stage\": 2}, \"fp16\": {\"enabled\": \"auto\"}}' > ds.json\n"
    f"deepspeed sft.py {LLAMA} --deepspeed ds.json": {"deepspeed.bf16.enabled": True, "deepspeed.fp16.enabled": False},
    f"torchrun own.py {LLAMA} --lora_r 8 --target_modules q_proj,v_proj --qlora False --bits 16": {
        "program.lora": "8,q_proj,v_proj", "program.frozen_weights": None},
    f"torchrun sft.py {LLAMA.replace('--max_seq_length 2048', '')} --max_source_length 64 --max_target_length 96": {"batch.sequence": None},
    f"torchrun sft.py {LLAMA.replace('--max_seq_length 2048', '')} --max_source_length 64": {"batch.sequence": 64},
    "echo '{\"zero_optimization\": {\"stage\": 2}}' > ds.json\nexport CUDA_VISIBLE_DEVICES=0,2\n"
    f"deepspeed sft.py {LLAMA} --deepspeed ds.json": {"notes.1": "launched on 1 x 2 devices"},
    f"torchrun own.py {LLAMA} --grad_accum_steps 1 --model_parallel_size 1 --grad_checkpoint false": {
        "batch.micro_batches": 4, "unknown": None},
    "echo 'num_machines: 2\nnum_processes: 12' > a.yaml\n"
    f"accelerate launch --config_file a.yaml sft.py {LLAMA}": {"notes.1": "launched on 2 x 6 devices"},
    "echo 'num_machines: 2\nnum_processes: 12' > a.yaml\n"
    f"accelerate launch --config_file a.yaml --num_machines 1 --num_processes 4 sft.py {LLAMA}": {"notes.1": "launched on 1 x 4 devices"},
    f"python mason.py --num_nodes 4 --gpus 8 -- accelerate launch --num_processes 8 sft.py {LLAMA}": {"notes.1": "launched on 4 x 8 devices"},
    f"python other.py --num_nodes 4 --gpus 8 -- accelerate launch --num_processes 8 sft.py {LLAMA}": {"notes.1": "launched on 1 x 8 devices"},
    f"torchrun sft.py {LLAMA} --optim paged_adamw_8bit": {
        "program.fact": "data-overlap=on,bucket=6553600,first-moment=8-bit,second-moment=8-bit"},
    f"torchrun sft.py {LLAMA} --optim adamw_torch_4bit": {
        "program.fact": "data-overlap=on,bucket=6553600,first-moment=4-bit,second-moment=4-bit"},
    f"torchrun sft.py {LLAMA} --optim paged_adamw_32bit": {"program.fact": "data-overlap=on,bucket=6553600"},
    f"torchrun sft.py {LLAMA} --optim paged_lion_8bit": {
        "program.optimizer": "lion", "program.fact": "data-overlap=on,bucket=6553600,first-moment=8-bit,second-moment=8-bit"},
    f"torchrun sft.py {LLAMA} --optim sgd --optim_args momentum=0.9": {"program.optimizer": "momentum"},
    f"torchrun sft.py {LLAMA} --optim sgd": {"program.optimizer": "sgd"},
    f"torchrun sft.py {LLAMA} --optim schedule_free_adamw": {"program.optimizer": None},
    f"torchrun sft.py {LLAMA} --optim galore_adamw_layerwise --optim_target_modules '.*(attn|mlp).*' --optim_args rank=64": {
        "program.optimizer": "galore,64,layerwise", "unknown": None},
    f"torchrun train.py {LLAMA} --use_peft --lora_r 16 --lora_target_modules all-linear --use_dora True": {"program.lora": "16,dora,dropout"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --use_peft False": {"program.lora": None},
    f"torchrun sft.py {LLAMA} --gradient_checkpointing 0": {"layout.recompute": None},
    "echo '{\"fsdp_activation_checkpointing\": true}' > f.json\n"
    f"torchrun sft.py {LLAMA} --fsdp full_shard --fsdp_config f.json": {"layout.sharding": "full", "layout.recompute": "full"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --q_lora False": {"program.lora": "8,q_proj,v_proj"},
    f"torchrun sft.py {LLAMA} --lora_r 8": {
        "program.lora": "8,q_proj,v_proj",
        "unknown.0": "places of adapters, which peft chooses by the model's type: taken to be q_proj and v_proj, as for Llama, Mistral, Qwen and Gemma"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --lora_target_modules q_proj --load_in_4bit True --use_peft": {
        "program.frozen_weights": "4-bit", "program.lora": "8,q_proj"},
    f"torchrun sft.py {LLAMA} --lora_r 8 --lora_target_modules q_proj --load_in_4bit True --use_bnb_nested_quant True": {
        "program.frozen_weights": "4-bit,double"},
    f"torchrun sft.py {LLAMA} --pure_bf16 True".replace(" --bf16 True", ""): {
        "program.precision": "bf16", "unknown.0": "weights and gradients in 16 bits without a copy: memory is less than said",
        "program.fact": "data-overlap=on,bucket=6553600,main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"},
    f"torchrun sft.py {SHORT}": {"unknown": [OPEN]},
    f"torchrun sft.py {SHORT} --evaluation_strategy no": {"unknown": None},
    f"torchrun sft.py {SHORT} --fsdp 'full_shard auto_wrap'": {"unknown": None},
    f"echo 'transformers==4.44.2' > requirements.txt\ntorchrun sft.py {SHORT}": {"unknown": None},
    f"echo 'transformers>=5.0,<6' > requirements.txt\ntorchrun sft.py {SHORT}": {"unknown": [OPEN]},
    f"torchrun sft.py {LLAMA} --torch_dtype bfloat16": {
        "program.fact": "data-overlap=on,bucket=6553600,main-weights=16-bit,first-moment=16-bit,second-moment=16-bit",
        "unknown": ["weights and gradients in 16 bits without a copy: memory is less than said"]},
    f"torchrun sft.py {LLAMA} --torch_dtype bfloat16 --fsdp 'full_shard auto_wrap'": {"program.fact": None, "unknown": None},
    f"torchrun sft.py {LLAMA} --torch_dtype auto --fsdp 'full_shard auto_wrap'": {
        "unknown": ["torch_dtype auto: weights and state are taken in 32 bits"]},
    f"torchrun sft.py {LLAMA} --use_peft --lora_r 8 --lora_target_modules q_proj --torch_dtype float32 --gradient_checkpointing False": {
        "unknown": ["torch_dtype float32: frozen weights in 32 bits take more than said"]},
    f"torchrun sft.py {LLAMA} --use_peft --lora_r 8 --lora_target_modules q_proj --torch_dtype bfloat16 --gradient_checkpointing False": {
        "unknown": None},
    f"torchrun sft.py {LLAMA} --fsdp full_shard": {"unknown": ["fsdp without auto_wrap: the whole model may be gathered at once"]},
    f"torchrun sft.py {LLAMA} --fsdp 'full_shard auto_wrap' --fsdp_min_num_params 2000": {
        "unknown": ["min_num_params 2000: what FSDP gathers at once"]},
    "echo '{\"distributed_type\": \"FSDP\", \"mixed_precision\": \"bf16\", \"dynamo_config\": {\"dynamo_backend\": \"INDUCTOR\"}, \"main_process_port\": 1, "
    "\"fsdp_config\": {\"fsdp_auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\", \"fsdp_state_dict_type\": \"FULL_STATE_DICT\", "
    "\"fsdp_own\": 1}}' > a.json\n"
    f"accelerate launch --config_file a.json sft.py {LLAMA}": {
        "layout.sharding": "full", "unknown": ["fsdp_config.own", "accelerate's dynamo_config"]},
    # Words that begin as those that change nothing do.
    f"torchrun own.py {LLAMA} --tokens_per_sample 4096 --data_parallel_size 2 --label_smoothing_factor 0.1 --attn_implementation own/kernel": {
        "unknown": ["attn_implementation own/kernel", "tokens_per_sample", "data_parallel_size", "label_smoothing_factor"]},
    f"torchrun own.py {LLAMA} --half_precision_backend auto --ddp_backend nccl --tf32 True --label_smoothing_factor 0.0": {"unknown": None},
    f"accelerate launch --use_deepspeed --zero_stage 3 sft.py {LLAMA}": {"deepspeed.gradient_accumulation_steps": 4},
    f"accelerate launch --num_machines 2 --num_processes 16 sft.py {LLAMA} --fsdp hybrid_shard": {
        "layout.sharding": "full", "layout.shard_ranks": 8, "program.scatter_once": True},
    f"torchrun --nproc_per_node 8 sft.py {LLAMA} --fsdp hybrid_shard_zero2": {"layout.sharding": "gradients", "layout.shard_ranks": None},
    f"torchrun sft.py {LLAMA} --fsdp 'full_shard offload'": {"layout.sharding": "full", "layout.offload_weights": "own"},
}

REFUSED = {
    f"torchrun sft.py {LLAMA} --lora_r 8 --lora_target_modules q_proj --model_name_or_path a/B-7B-Instruct-AWQ": "AWQ or AQLM pack",
    f"torchrun sft.py {LLAMA} --max_seq_length $N": "line 1: max_seq_length has no value",
    "echo '{\"distributed_type\": \"MEGATRON_LM\"}' > a.json\n"
    f"accelerate launch --config_file a.json sft.py {LLAMA}": "Megatron-LM trains in place",
    f"torchrun own.py {LLAMA} --train_group_size 8 --query_max_len 512": "a query with several passages",
    f"torchrun sft.py {LLAMA} --vision_tower clip": "vision_tower clip: its sizes are known here only of",
    f"torchrun sft.py {LLAMA} --optim lomo": "--set optim=adamw_torch",
    f"torchrun sft.py {LLAMA} --optim grokadamw": "its state is not counted here",
    f"torchrun sft.py {LLAMA} --optim rmsprop --optim_args centered=true": "its state is not counted here",
    f"torchrun sft.py {LLAMA} --optim galore_adamw --optim_target_modules q_proj": "only gradients of all matrices of the layers",
    f"torchrun sft.py {LLAMA} --optim galore_adamw --optim_target_modules all-linear": "only gradients of all matrices of the layers",
    f"torchrun sft.py {LLAMA} --optim apollo_adamw --optim_target_modules '.*(attn|mlp).*' --optim_args proj=svd": "at random of APOLLO",
    f"torchrun sft.py {LLAMA} --mixture_of_depths convert": "another model",
    f"torchrun sft.py {LLAMA} --load_in_4bit True": "nothing says which adapters train",
    f"torchrun sft.py {LLAMA} --train_mode qlora": "train_mode: adapters by a program",
    f"echo 'import torch, colossalai.zero' > gemini.py\ntorchrun gemini.py {LLAMA}": "imports colossalai.zero, which trains",
    f"torchrun own.py {LLAMA} --lora_r 8 --load_in_bits 4": "load_in_bits 4: weights in fewer bits",
    f"torchrun own.py {LLAMA} --tune_eye false": "tune_eye: which parts train",
    f"torchrun own.py {LLAMA} --freeze_backbone True": "freeze_backbone: which parts train",
    f"torchrun own.py {LLAMA} --use_grad_checkpointing True": "use_grad_checkpointing: recomputation by a name",
    f"torchrun sft.py {LLAMA} --lora_rank 8": "adapters by a program of its own",
    f"torchrun sft.py {LLAMA} --rank 8 --alpha 16": "rank: adapters by a program of its own",
    f"torchrun sft.py {LLAMA} --include_expert_lora true": "include_expert_lora: adapters by a program of its own",
    f"torchrun own.py {LLAMA} --image_token_num_per_image 576": "it trains on images that it generates",
    f"torchrun own.py {LLAMA} --grad_accum_steps 4": "--set gradient_accumulation_steps=4 --set grad_accum_steps=1",
    f"deepspeed own.py {LLAMA} --pipe_parallel_size 2": "a program of its own shares the model",
    f"torchrun own.py {LLAMA} --grad_checkpoint 1": "recomputation by a name",
    f"torchrun own.py {LLAMA} --activation_memory_budget 0.5": "recomputation by a name",
    f"torchrun own.py {LLAMA} --noise_range_low 0.1": "a model of diffusion trains",
    f"torchrun sft.py {LLAMA} --low_rank_training True": "low_rank_training: adapters by a program of its own",
    f"torchrun sft.py {LLAMA} --use_lora True": "--set lora_r=RANK --set lora_target_modules=NAMES",
}

RECIPES = [
    ({"model": {"hidden_dim": 64, "type": "llama"}, "trainer": {"train_batch_size": 8}}, "of no kind that is read here"),
    ({"model_name_or_path": "a/b", "num_generations": 8, "reward_funcs": ["accuracy"], "pass_rate_min": 0.2}, "nothing trains"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "beta": 0.1, "max_prompt_length": 512}, "--set rl=dpo"),
    ({"model_name_or_path": "a/b", "per_device_train_batch_size": 2, "max_length": 2048, "bf16": True, "group_by_length": False},
     {"unknown.0": "how ranks share the state, which the launcher says: taken to be --sharding none"}),
    ({"compute_environment": "LOCAL_MACHINE", "distributed_type": "FSDP"}, "is accelerate's"),
]


def check(folder):
    run, said = of_script(folder, f"torchrun sft.py {LLAMA} --optim lomo", "--set", "optim=adamw_torch")
    assert run is not None, said
    run, said = of_script(folder, f"torchrun sft.py {LLAMA} --use_lora True", "--set", "lora_r=64", "--set", "lora_target_modules=q_proj,v_proj")
    assert run is not None and run["program"]["lora"] == "64,q_proj,v_proj" and run["layout"]["sharding"] == "none", (run, said)
