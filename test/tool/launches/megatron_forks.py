"""Forks of Megatron-LM: their own words, and DeepSpeed's."""

from launch_reading import GPT

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
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --zero-stage 1 --checkpoint-activations --recompute-granularity=full "
    "--recompute-method=uniform": {"megatron.checkpoint-activations": True, "megatron.recompute-granularity": None},
    f"echo 'from domino.training import pretrain' > pretrain_gpt.py\ndeepspeed pretrain_gpt.py {GPT}": {"program.fact": "tensor-overlap=on"},
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --zero-stage 1 --num-experts 1": {"megatron.num-experts": None},
}

REFUSED = {
    f"torchrun finetune.py {GPT} --transformer-type huggingface": "the model is of transformers; say --model",
    f"torchrun tasks/main.py {GPT} --task MNLI": "it trains a classifier",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --mlp-type residual": "another model",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --kd": "of another kind",
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --use-bnb-optimizer": "nothing here says",
    "echo '{\"compression_training\": {\"a\": 1}}' > ds.json\n"
    f"deepspeed pretrain_gpt.py {GPT} --deepspeed --deepspeed_config ds.json": "compression_training",
}
