"""Keys of NeMo RL's recipes that do not change an update of the policy."""

from __future__ import annotations

from ..values import alternatives

_SECTIONS = r"""
    (checkpointing|logger|data|data_plane|env|eval|cluster|grpo|dpo|sft|rm|ppo)\..+
    (loss_fn|value_loss_fn|async_rl|reward_penalties|generation|tokenizer|value)\..+
    (distillation|teacher|on_policy_distillation)\..+
"""
_POLICY = r"""
    (tokenizer|generation|scheduler|router_replay|draft|reward_model_cfg)(\..+)?
    (sequence_packing|dynamic_batching|generation\w*|refit\w*)(\..+)?
    logprob_\w+ max_grad_norm make_sequence\w* offload_optimizer_for_logprob train_iters
    quant_\w+ optimizer\.name
    optimizer\.kwargs\.(lr|weight_decay|betas|eps|foreach|fused)
    optimizer\.kwargs\.(master_weights|store_param_remainders)
    hf_config_overrides\.(max_position\w*|rope_\w+(\..+)?|(text_config\.)?router_aux\w+)
"""
_DTENSOR = r"""
    _v2 env_vars(\..+)? clear_cache\w* defer\w* lora_cfg\.\w+
"""
_MEGATRON = r"""
    (scheduler|env_vars|checkpoint\w*)(\..+)? empty_\w+ force_\w+ pipeline_dtype
    converter\w* use_gloo\w* track_moe\w* clear_\w+ cuda_graph_(warmup_steps|modules)
    moe_(router_(dtype|load_balancing_type|bias_update_rate|enable_expert_bias)) mtp_\w+
    moe_(per_layer_logging|aux_loss_coeff|z_loss_coeff|flex_dispatcher_backend)
    moe_(hybridep_num_sms|grouped_gemm|permute_fusion|enable_deepep)
    moe_(token_dispatcher_type|shared_expert_overlap) peft\.\w+
    fused_linear_logprobs_chunk_size
    fp8_cfg\.\w+ recompute_modules recompute_granularity
    bias_activation_fusion apply_rope_fusion gradient_accumulation_fusion
    distributed_data_parallel_config\.(overlap_\w+|grad_reduce_in_fp32)
    distributed_data_parallel_config\.data_parallel_sharding_strategy
    optimizer\.(lr|min_lr|weight_decay|adam_\w+|sgd_momentum|clip_grad|bf16|fp16)
    optimizer\.(params_dtype|overlap_cpu_optimizer_d2h_h2d|optimizer_offload_fraction)
"""


def _of(section: str, group: str) -> str:
    return " ".join(section + name for name in group.split())


_SILENT = alternatives(
    _SECTIONS,
    _of(r"policy\.", _POLICY),
    _of(r"policy\.dtensor_cfg\.", _DTENSOR),
    _of(r"policy\.megatron_cfg\.", _MEGATRON),
)


def is_silent(key: str) -> bool:
    return _SILENT.fullmatch(key) is not None
