"""Keys of verl's configuration that do not change an update of its actor."""

from __future__ import annotations

from ..values import alternatives

# Other processes, or other times: data, generation, rewards, the reference, files.
_ELSEWHERE = r"""
    (data|algorithm|trainer|critic|global_profiler|sandbox_fusion|skip)\..+
    (reward|reward_\w+|custom_reward_\w+|ray_\w+|transfer_queue)(\..+)? model_engine
    actor_rollout_ref\.(rollout|ref)\..+ actor_rollout_ref\.(nccl_timeout|hybrid_engine)
    .+\._target_
"""
_LOSS = r"""
    kl_\w+ use_kl_loss clip_\w+ loss_agg_mode loss_scale_factor tau_(neg|pos) ppo_epochs
    entropy_from_logits_\w+ entropy_checkpointing grad_clip policy_loss(\..+)? shuffle
    data_loader_seed checkpoint(\..+)? profile\w*(\..+)?
    optim\.(lr\w*|min_lr\w*|warmup_style|num_cycles|zero_indexed_step|betas|clip_grad)
    optim\.(total_training_steps|weight_decay\w*|use_checkpoint_opt_param_scheduler)
    optim\.muon_\w+
"""
_PLACES = r"""
    fsdp_config\.(wrap_policy\.transformer_layer_cls_to_wrap|seed|use_orig_params)
    fsdp_config\.(entropy_from_logits_\w+|strategy)
    megatron\.(seed|use_mbridge|vanilla_mbridge|dist_\w+|distrib_optim_\w+)
    megatron\.(use_dist_checkpointing|entropy_from_logits_\w+)
"""
# Fields of Megatron-Core's TransformerConfig.
_MEGATRON = r"""
    moe_(router_dtype|aux_loss_coeff|z_loss_coeff|grouped_gemm)
    gradient_accumulation_fusion masked_softmax_fusion bias_dropout_fusion
    persist_layer_norm deallocate_pipeline_outputs use_flash_attn
"""
_MODEL = r"""
    use_remove_padding trust_remote_code external_lib custom_chat_template
    tokenizer_path lora_alpha lora\.alpha use_shm
"""


def _of(section: str, group: str) -> str:
    return " ".join(section + name for name in group.split())


_ACTOR = r"actor_rollout_ref\.actor\."
_SILENT = alternatives(
    _ELSEWHERE,
    _of(_ACTOR, _LOSS),
    _of(_ACTOR, _PLACES),
    _of(_ACTOR + r"megatron\.override_transformer_config\.", _MEGATRON),
    _of(r"actor_rollout_ref\.model\.", _MODEL),
)


def is_silent(key: str) -> bool:
    return _SILENT.fullmatch(key) is not None
