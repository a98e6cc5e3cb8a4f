"""NeMo AutoModel."""


def recipe(changed):
    """Reduced from examples/llm_finetune/qwen/qwen2_5_7b_squad.yaml; names with dots replace values."""
    tree = {"recipe": "TrainFinetuneRecipeForNextTokenPrediction", "step_scheduler": {"global_batch_size": 64, "local_batch_size": 4, "max_steps": 9},
            "model": {"_target_": "nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained", "pretrained_model_name_or_path": "a/b"},
            "distributed": {"strategy": "fsdp2", "dp_size": "none", "tp_size": 1, "cp_size": 1, "sequence_parallel": False},
            "loss_fn": {"_target_": "nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy"},
            "dataset": {"_target_": "x", "seq_length": 2048}, "packed_sequence": {"packed_sequence_size": 0},
            "optimizer": {"_target_": "torch.optim.Adam", "lr": 1e-5}, "ci": {"time": "00:45:00"}}
    for name, value in changed.items():
        *above, last = name.split(".")
        section = tree
        for part in above:
            section = section.setdefault(part, {})
        section[last] = value
    return tree


IN_16 = "main-weights=16-bit,first-moment=16-bit,second-moment=16-bit"
EXPERTS = {"distributed.ep_size": 8, "model.backend.dispatcher": "deepep", "model.backend.experts": "torch_mm", "model.backend.rms_norm": "te"}
RECIPES = [
    # Weights are held in 32 bits where the file does not say their format, as its optimizer updates them.
    (recipe({}), {"batch.sequences": 64, "batch.micro_batch": 4, "batch.sequence": 2048, "layout.sharding": "full", "layout.recompute": None,
                  "layout.tensor": None, "program.scatter_once": True, "program.wide_sums": True, "unknown": None,
                  "program.fact": "fused-norm=off,loss=whole"}),
    (recipe({"model.torch_dtype": "bf16"}), {"program.fact": f"fused-norm=off,loss=whole,{IN_16}"}),
    (recipe({"model.torch_dtype": "float32", "distributed.defer_fsdp_grad_sync": False}), {"program.scatter_once": None, "unknown": None,
                                                                                          "program.fact": "fused-norm=off,loss=whole"}),
    (recipe({"optimizer": {"_target_": "transformer_engine.pytorch.optimizers.FusedAdam", "exp_avg_dtype": "torch.bfloat16", "master_weights": True,
                           "store_param_remainders": True}, "model.torch_dtype": "bf16"}), {"program.fact": "fused-norm=off,loss=whole,first-moment=16-bit"}),
    (recipe({"distributed.tp_size": 2, "distributed.cp_size": 4, "distributed.sequence_parallel": True, "distributed.activation_checkpointing": True}), {
        "layout.tensor": 2, "layout.context": 4, "program.sequence_parallel": "on", "layout.recompute": "full", "layout.sharding": "full"}),
    (recipe({"distributed.dp_size": 8, "distributed.dp_replicate_size": 2, "distributed.cp_size": 2}), {"layout.shard_ranks": 8, "layout.data": 8}),
    (recipe({"distributed.dp_replicate_size": 2}), "dp_size=N"),
    # Weights beside ranks of experts, or in a pipeline, stay gathered unless the file says otherwise.
    (recipe(EXPERTS), {"layout.expert": 8, "layout.sharding": "gradients",
                       "program.fact": "fused-norm=on,expert-dispatch=once,expert-products=grouped,loss=whole"}),
    (recipe({**EXPERTS, "distributed.moe": {"reshard_after_forward": True}, "model.backend.dispatcher": "torch", "model.backend.fake_balanced_gate": True}), {
        "layout.sharding": "full",
        "program.fact": "fused-norm=on,expert-dispatch=all-gather,expert-products=grouped,imbalance=1,loss=whole"}),
    (recipe({"distributed.pp_size": 4, "distributed.pipeline": {"pp_schedule": "1f1b", "pp_microbatch_size": 2}}), {
        "layout.pipeline": 4, "layout.sharding": "gradients", "batch.micro_batch": 2}),
    (recipe({"distributed.pp_size": 4}), "at which AutoModel stops"),
    (recipe({"distributed.reshard_after_forward": False}), {"layout.sharding": "gradients"}),
    (recipe({"distributed.strategy": "ddp"}), {"layout.sharding": "none"}),
    (recipe({"distributed.offload_policy": {"_target_": "torch.distributed.fsdp.CPUOffloadPolicy"}}), {"layout.offload_weights": "own"}),
    (recipe({"distributed.strategy": "megatron_fsdp"}), "--sharding"),
    (recipe({"distributed.activation_checkpointing": "selective"}), "predicts whole layers"),
    # Names with * are of all linear layers, but experts are grouped.
    (recipe({"peft": {"dim": 8, "target_modules": "*_proj"}, "packed_sequence.packed_sequence_size": 4096}), {
        "program.lora": "8,q_proj,k_proj,v_proj,o_proj,qkv_proj,gate_proj,up_proj,down_proj,gate_up_proj,q_a_proj,q_b_proj,kv_b_proj",
        "batch.sequence": 4096, "unknown": None}),
    (recipe({"peft": {"dim": 16, "match_all_linear": True}}), {"program.lora": "16,all,lm_head"}),
    (recipe({"peft": {"dim": 16, "exclude_modules": ["*vision*", "*lm_head*"]}}), {"program.lora": "16,all"}),
    (recipe({"peft": {"dim": 16, "exclude_modules": ["*.out_proj"]}}), "target_modules=NAMES"),
    (recipe({**EXPERTS, "peft": {"target_modules": ["*"]}}), "adapters of experts"),
    (recipe({"peft": {"target_modules": ["*.layers.0.*.q_proj"]}}), "its places are not known"),
    (recipe({"peft": {"dim": 8}, "quantization": {"load_in_4bit": True}}), {"program.frozen_weights": "4-bit,double"}),
    (recipe({"recipe": "FinetuneRecipeForVLM", "freeze_config": {"freeze_embeddings": True}}), {"program.freeze": "vision_tower"}),
    (recipe({"recipe": "FinetuneRecipeForVLM", "freeze_config": {"freeze_vision_tower": False}}), {"program.freeze": None}),
    (recipe({"fp8": {"enabled": True, "recipe_name": "tensorwise"}, "compile": {"enabled": True}}), {
        "program.precision": "fp8", "program.fact": "fused-norm=on,fused-activation=on,fused-rotation=on,loss=whole,scales=current"}),
    (recipe({"model.backend": {"te_fp8": {"recipe": "mxfp8"}}}), {"program.precision": "mxfp8"}),
    (recipe({"optimizer._target_": "flashoptim.FlashAdamW"}), "only the state of Adam"),
    (recipe({"model.config": {"num_hidden_layers": 2}}), "sizes of its own"),
    (recipe({"recipe": "TrainEagle3Recipe"}), "drafts tokens"),
    (recipe({"recipe": "KnowledgeDistillationRecipeForNextTokenPrediction", "teacher_model.pretrained_model_name_or_path": "a/c", "kd_ratio": 0.5}), {
        "program.teacher": "a/c", "unknown": None}),
    (recipe({"recipe": "KnowledgeDistillationRecipeForNextTokenPrediction", "teacher_model.pretrained_model_name_or_path": "a/c",
             "offload_teacher_model": True}), "offload_teacher_model=false"),
    (recipe({"recipe": {"_target_": "nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction"}}), {"batch.sequences": 64}),
]
FILE = ("echo '{\"recipe\": \"TrainFinetuneRecipeForNextTokenPrediction\", \"step_scheduler\": {\"local_batch_size\": 1}, "
        "\"model\": {\"pretrained_model_name_or_path\": \"a/b\"}}' > r.yaml\n")
WRITTEN = {
    f"{FILE}automodel r.yaml --nproc-per-node 8 --distributed.tp_size 2 --step_scheduler.global_batch_size=16": {
        "layout.tensor": 2, "layout.data": 4, "batch.sequences": 16},
    f"{FILE}torchrun --nproc-per-node 4 nemo_automodel/recipes/llm/train_ft.py -c r.yaml --dataset.seq_len 512": {
        "layout.data": 4, "batch.sequence": 512, "batch.sequences": 32},
}
REFUSED = {"automodel --nproc-per-node 8": "lacks the file"}
