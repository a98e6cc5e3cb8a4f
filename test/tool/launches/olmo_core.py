"""open-instruct, by OLMo-core."""

WRITTEN = {
    "uv run python mason.py --gpus 8 --num_nodes 2 -- torchrun --nnodes=2 --nproc_per_node=8 open_instruct/olmo_core_finetune.py "
    "--model_name_or_path a/b --max_seq_length 2048 --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --cp_degree 2": {
        "batch.sequence": 2048, "batch.micro_batch": 2, "batch.micro_batches": 3, "layout.context": 2, "layout.shard_ranks": 4,
        "layout.sharding": "full", "program.sum_copies_once": True, "unknown": None},
    "torchrun --nproc_per_node=8 open_instruct/olmo_core_finetune.py --compile_model false": {
        "layout.shard_ranks": None, "program.sum_copies_once": None, "batch.micro_batch": 8, "batch.sequence": 4096,
        "unknown.0": "compile_model false: blocks are taken to be compiled"},
}

REFUSED = {
    "torchrun --nproc_per_node=8 olmo_core_finetune.py --cache_dataset_only": "nothing trains",
    "torchrun --nproc_per_node=8 olmo_core_finetune.py --activation_memory_budget 0.5": "partitioner decides",
    "torchrun --nproc_per_node=8 olmo_core_pretrain.py --seed 1": "alone is read",
}
