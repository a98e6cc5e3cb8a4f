"""torchtune."""

WRITTEN = {
    "echo '{\"model\": {\"_component_\": \"torchtune.models.llama3.llama3_8b\"}, \"optimizer\": {\"_component_\": \"torch.optim.AdamW\"}, "
    "\"batch_size\": 2}' > t.json\ntune run --nproc_per_node 2 full_finetune_distributed --config t.json batch_size=4 tokenizer.max_seq_len=512": {
        "batch.micro_batch": 4, "batch.sequence": 512, "layout.sharding": "full", "unknown": None, "notes.2": "launched on 1 x 2 devices"},
}
