"""AReaL."""


def recipe(backend="fsdp:d4p1t1", top=None, **actor):
    own = {"backend": backend, "path": "a/b", "experiment_name": "a", "mb_spec": {"max_tokens_per_mb": 8192}, "optimizer": {"type": "adam", "lr": 1e-5},
           "gradient_checkpointing": True, "ppo_n_minibatches": 2, **actor}
    return {"cluster": {"n_nodes": 1}, "train_dataset": {"batch_size": 64, "max_length": 1024}, "gconfig": {"n_samples": 4, "max_new_tokens": 1024},
            "actor": own, **(top or {})}


SIXTEEN = "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"
LIMIT = "actor.mb_spec.max_tokens_per_mb (micro-batches of 8192)"
NO_REWARDS = {"gconfig": None}

RECIPES = [
    (recipe(), {"batch": {"sequence": 2048, "sequences": 128, "micro_batch": 4}, "layout.sharding": "full", "layout.recompute": "full",
                "program.fact": SIXTEEN, "program.attention": "flash_attention_2", "notes.1": "4 devices train", "unknown": [LIMIT]}),
    (recipe("fsdp:d2c2t2", dtype="float32", grad_reduce_dtype="bfloat16", fsdp={"offload_params": True}, attn_impl="sdpa", use_lora=True,
            target_modules=["all-linear"]),
     {"layout.context": 2, "layout.tensor": 2, "program.sequence_parallel": "on", "program.fact": None, "layout.offload_weights": "own",
      "program.lora": "32", "notes.1": "8 devices train", "unknown.0": "actor.grad_reduce_dtype: gradients are summed in 16 bits"}),
    # A limit on all tokens of a sequence holds for several turns.
    (recipe(top={"gconfig": {"max_tokens": 4096}}), {"batch.sequence": 4096, "batch.sequences": 32, "batch.micro_batch": 2}),
    (recipe("megatron:(attn:d4p4t2|ffn:d2p4e4)", gradient_checkpointing=False, megatron={"bridge_type": "megatron-bridge", "moe_shared_expert_overlap": True}),
     {"layout.tensor": 2, "layout.pipeline": 4, "layout.expert": 4, "layout.expert_tensor": None, "layout.sharding": "optimizer",
      "layout.recompute": "full", "notes.1": "32 devices train",
      "program.fact": "data-overlap=off,expert-dispatch=all-to-all,expert-overlap=shared,fused-permutation=off"}),
    (recipe("megatron:d2p2", gradient_checkpointing=False, megatron={"fp8_config": {"mode": "hybrid", "recipe": "blockwise"},
                                                                   "use_deterministic_algorithms": True}),
     {"layout.recompute": None, "program.precision": "fp8", "program.fact": "data-overlap=off,scales=blocks", "notes.1": "4 devices train",
      "unknown": [LIMIT, "actor.megatron.use_deterministic_algorithms"]}),
    # Older files name what generates first.
    (recipe("", top={"allocation_mode": "sglang:d8+d2t2"}), {"layout.tensor": 2, "notes.1": "4 devices train"}),
    (recipe(top=NO_REWARDS), {"batch.sequence": 1024, "batch.sequences": 64, "program.head": None}),
    (recipe(top=NO_REWARDS, is_critic=True), {"batch.sequences": 128, "program.head": "1"}),
    (recipe(top={**NO_REWARDS, "ref": {"path": "a/b"}}, mb_spec={"n_mbs": 4}), {"batch.sequences": 128, "batch.micro_batch": 8, "unknown": ["actor.ppo_n_minibatches"]}),
    (recipe(top={"train_dataset": {"batch_size": 64}}), "nothing says how long sequences are"),
    (recipe("archon:d8"), "fsdp and megatron are read"),
    (recipe("fsdp:x8"), "backend fsdp:x8 is not known here"),
    (recipe(optimizer={"type": "sgd"}), "optimizer.type sgd"),
    (recipe(enable_tree_training=True), "enable_tree_training is not predicted"),
    (recipe("megatron:d2", megatron={"use_precision_aware_optimizer": True}), "use_precision_aware_optimizer is not predicted"),
    (recipe("megatron:d2", megatron={"recompute_num_layers": 2}), "recompute_granularity full, 2 layers"),
]
