"""ROLL."""


def recipe(strategy, config, section="actor_train", top=None, **own):
    model = own.pop("model_args", {"dtype": "bf16"})
    inner = {"model_args": model, "training_args": {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8, "learning_rate": 1e-6},
             "strategy_args": {"strategy_name": strategy, "strategy_config": config}, "device_mapping": "list(range(0,16))", "infer_batch_size": 4, **own}
    return {"pretrain": "a/b", "prompt_length": 1024, "response_length": 3072, "rollout_batch_size": 64, "actor_infer": {"model_args": {}},
            section: inner, **(top or {})}


MEGATRON = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "expert_model_parallel_size": 4, "use_distributed_optimizer": True,
            "sequence_parallel": True, "recompute_granularity": "selective", "recompute_modules": "layernorm", "moe_layer_recompute": True,
            "moe_token_dispatcher_type": "alltoall", "moe_grouped_gemm": False, "bias_activation_fusion": True, "bf16": True}
SIXTEEN = "gradients are held in 16 bits: memory is less than said"
FSDP = {"param_dtype": "bf16", "reduce_dtype": "float32", "fsdp_size": 8}

RECIPES = [
    (recipe("megatron_train", MEGATRON),
     {"batch": {"sequence": 4096, "micro_batch": 2, "micro_batches": 8}, "layout.tensor": 2, "layout.expert": 4, "layout.sharding": "optimizer",
      "layout.recompute": "layernorm,moe", "program.precision": "bf16", "program.sequence_parallel": "on", "program.stack": "megatron-core",
      "program.fact": "fused-activation=on,fused-rotation=off,data-overlap=off,expert-dispatch=all-to-all,expert-products=loop",
      "notes.1": "16 devices train", "unknown": [SIXTEEN]}),
    (recipe("megatron_train", {"recompute_granularity": "full", "accumulate_allreduce_grads_in_fp32": True, "virtual_pipeline_model_parallel_size": 4,
                               "account_for_loss_in_pipeline_split": True, "account_for_embedding_in_pipeline_split": True},
            model_args={}, use_sequence_packing=True),
     {"layout.sharding": "none", "layout.recompute": "full", "layout.chunks": 4, "layout.ends_as_layers": True, "unknown": None,
      "program.precision": "bf16", "batch.micro_batch": 2}),
    (recipe("fsdp2_train", FSDP, top={"sequence_length": 1000}, model_args={"ulysses_size": 2, "attn_implementation": "fa2", "lora_rank": 16,
                                                                          "lora_target": "q_proj,v_proj"}),
     {"batch.sequence": 1000, "layout.sharding": "full", "layout.context": 2, "layout.shard_ranks": 8, "layout.recompute": "full",
      "program.lora": "16,q_proj,v_proj", "program.attention": "flash_attention_2", "unknown": None,
      "program.fact": "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"}),
    (recipe("fsdp2_train", {"reduce_dtype": "bf16", "offload_policy": True, "fsdp_size": 16, "apply_tiled_mlp": True, "reshard_after_forward": False},
            model_args={"disable_gradient_checkpointing": True}),
     {"layout.shard_ranks": None, "layout.offload_weights": "own", "layout.recompute": None, "layout.sharding": "gradients", "program.fact": None,
      "unknown": ["strategy_args.strategy_config.reduce_dtype: gradients are summed in 16 bits", "actor_train.strategy_args.strategy_config.apply_tiled_mlp"]}),
    # A limit on tokens allows 4 of the 16 sequences of a rank.
    (recipe("megatron_train", MEGATRON, use_dynamic_batching_in_train=True, max_tokens_per_microbatch_in_train=16384),
     {"batch.micro_batch": 4, "batch.micro_batches": 4, "unknown.1": "micro-batches of 16384 tokens, of other lengths"}),
    (recipe("megatron_train", MEGATRON, model_args={"freeze_module_prefix": "vision_model"}), {"program.freeze": "towers"}),
    (recipe("megatron_train", MEGATRON, section="sft_train"), {"batch.micro_batch": 2, "notes.2": "all sequences are taken to be of full length"}),
    (recipe("megatron_train", MEGATRON, top={"actor_infer": None, "chosen_key": "chosen"}), {"batch.micro_batch": 4, "program.frozen_forwards": None}),
    (recipe("megatron_train", MEGATRON, top={"actor_infer": None}), "it says no way to train actor_train"),
    (recipe("megatron_train", MEGATRON, section="student"), "a teacher runs beside"),
    (recipe("megatron_train", {"recompute_granularity": "full", "recompute_method": "block"}), "some layers alone"),
    (recipe("megatron_train", {"pipeline_model_parallel_layout": "E|t,L"}), "say it by --layout"),
    (recipe("megatron_train", {"optimizer": "sgd"}), "optimizer sgd"),
    (recipe("megatron_train", {"fp8": "hybrid"}), "fp8 is not predicted"),
    (recipe("megatron_train", MEGATRON, model_args={"freeze_module_prefix": "talker"}), "freeze_module_prefix talker is not known"),
    (recipe("deepspeed_train", {}), "fsdp2_train and megatron_train are read"),
    (recipe("megatron_train", MEGATRON, mtp_training_mode="joint"), "losses of further tokens"),
]
