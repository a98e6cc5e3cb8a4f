"""Keys of SkyRL that do not change an update of its policy."""

from __future__ import annotations

from ..values import alternatives

# Other processes, or other times: data, generation, rewards, losses, files.
_ELSEWHERE = r"""
    (data|generator|environment|dispatcher|harbor\w*|terminal_bench\w*)\..+
    trainer\.(algorithm|critic|ref|placement|fully_async)\..+
    trainer\.(strategy|epochs|max_training_steps|update_\w+|train_batch_size)
    trainer\.(critic_mini_batch_size|micro_forward_\w+|recompute_old_\w+|eval_\w+)
    trainer\.(ckpt_\w+|hf_save_\w+|export_path|resume_\w+|log\w*|project_name|run_name)
    trainer\.(tags|dump_\w+|print_\w+|num_logger_\w+|seed|disable_fast_\w+|max_ckpts_\w+)
    trainer\.(use_expandable_segments|enable_ray_\w+|remove_microbatch_padding)
    trainer\.(sequence_parallel_backend|gradient_checkpointing_use_\w+|use_sample_packing)
    trainer\.(use_orm_score|rewards?\w*|flash_attn|log_example\w*)
"""
_POLICY = r"""
    optimizer_config\.\w+ model\.lora\.(alpha|dropout|lora_sync_path|init_method)
    model\.lora\.max_\w+ model\.fake_int4_qat\.\w+ record_memory
    torch_profiler_config\..+ fsdp_config\.wrap_policy\..+
    fsdp_config\.mixed_precision\.buffer_dtype
    megatron_config\.(moe_router_\w+|moe_aux_\w+|moe_per_layer_\w+|moe_enable_routing_\w+)
    megatron_config\.(empty_cuda_\w+|dist_ckpt_\w+|async_\w+|hf_export_\w+\..+)
    megatron_config\.(ddp_config\.average_\w+|freeze_moe_router|lora_config\.merge_lora)
    megatron_config\.optimizer_config_kwargs\.(overlap_cpu_\w+|optimizer_offload_\w+)
    megatron_config\.mtp_\w+
"""
# Keys of supervised training have no section in front.
_SUPERVISED = r"""
    strategy (train|eval|pretokenized)_\w+ dataset_\w+ messages_key tools_key system_key
    num_\w+ logger project_name run_name tags ckpt_\w+ enable_ray_\w+ max_ckpts_\w+
    resume_from hf_save_\w+ export_path seed async_batch_\w+ dataloader_\w+ sampler\w*
    cache_dir force_recache disable_cache remove_microbatch_padding dummy_run_\w+
    max_training_steps placement\.\w+
"""


def _of(section: str, group: str) -> str:
    return " ".join(section + name for name in group.split())


_SILENT = alternatives(_ELSEWHERE, _of(r"(trainer\.policy\.)?", _POLICY), _SUPERVISED)


def is_silent(key: str) -> bool:
    return _SILENT.fullmatch(key) is not None
