#include "predict/model_config_keys.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tool {

namespace {

// Keys that say nothing of size and cost: what programs write beside the model, its tokens, how it is
// initialised, dropout, scales, positions that take no parameters, and losses of routing.
constexpr std::array silent_keys{"architectures",
                                 "model_type",
                                 "dtype",
                                 "torch_dtype",
                                 "use_cache",
                                 "auto_map",
                                 "transformers_version",
                                 "return_dict",
                                 "tokenizer_class",
                                 "problem_type",
                                 "_name_or_path",
                                 "name_or_path",
                                 "is_decoder",
                                 "task_specific_params",
                                 "pad_vocab_size_multiple",
                                 "pretraining_tp",
                                 "seq_length",
                                 "max_position_embeddings",
                                 "n_positions",
                                 "n_ctx",
                                 "max_sequence_length",
                                 "max_window_layers",
                                 "cache_implementation",
                                 "rotary",
                                 "partial_rotary_factor",
                                 "sliding_window_size",
                                 "alibi",
                                 "position_embedding_type",
                                 "gradient_checkpointing",
                                 "chunk_size_feed_forward",
                                 "chunk_size",
                                 "attn_implementation",
                                 "_attn_implementation",
                                 "attn_config",
                                 "use_flash_attn",
                                 "masked_softmax_fusion",
                                 "attention_softmax_in_fp32",
                                 "scale_attention_softmax_in_fp32",
                                 "reorder_and_upcast_attn",
                                 "scale_attn_weights",
                                 "scale_attn_by_inverse_layer_idx",
                                 "slow_but_exact",
                                 "apply_residual_connection_post_layernorm",
                                 "query_pre_attn_scalar",
                                 "clip_qkv",
                                 "logit_scale",
                                 "tie_encoder_decoder",
                                 "router_dtype",
                                 "scoring_func",
                                 "topk_method",
                                 "topk_group",
                                 "n_group",
                                 "norm_topk_prob",
                                 "moe_router_enable_expert_bias",
                                 "moe_norm_min",
                                 "moe_capacity",
                                 "moe_use_aux_free",
                                 "seq_aux",
                                 "aux_loss_alpha",
                                 "ep_size",
                                 "residual_in_fp32",
                                 "rescale_prenorm_residual",
                                 "num_logits_to_keep",
                                 "use_mamba_kernels",
                                 "use_mambapy",
                                 "use_associative_scan",
                                 "use_parallel_residual",
                                 "initial_context_length",
                                 "no_rope_layers",
                                 "no_rope_layer_interval",
                                 "nope_layer_interval",
                                 "attn_temperature_tuning",
                                 "floor_scale",
                                 "attn_scale",
                                 "rope_interleave",
                                 "for_llm_compressor",
                                 "swiglu_alpha",
                                 "quantization_config",
                                 "use_bidirectional_attention",
                                 "block_size",
                                 "moe_shared_expert_overlap",
                                 "first_attn_layers",
                                 "mamba_hidden_act",
                                 "mamba_ssm_cache_dtype",
                                 "mamba_chunk_size",
                                 "layerdrop",
                                 "use_qk_norm_scale",
                                 "note",
                                 "family"};

// Keys with these parts are silent, too.
constexpr std::array silent_parts{"dropout",
                                  "pdrop",
                                  "token_id",
                                  "token_index",
                                  "initializer",
                                  "init_std",
                                  "_eps",
                                  "epsilon",
                                  "rope_",
                                  "rotary_",
                                  "output_",
                                  "id2label",
                                  "label2id",
                                  "aux_loss",
                                  "z_loss",
                                  "jitter",
                                  "summary_",
                                  "softcapping",
                                  "_multiplier",
                                  "_scaling",
                                  "scaling_factor",
                                  "_alpha_factor",
                                  "_beta_factor",
                                  "time_step_",
                                  "original_max_position",
                                  "classifier_",
                                  "attention_probs",
                                  "embed_scale",
                                  "mtp_loss"};

constexpr std::array foreign_keys{"add_cross_attention",
                                  "block_configs",
                                  "hc_mult",
                                  "hidden_size_per_layer_input",
                                  "hybrid_override_pattern",
                                  "index_topk",
                                  "is_encoder_decoder",
                                  "kv_lora_rank",
                                  "layers_block_type",
                                  "linear_num_value_heads",
                                  "lora_rank",
                                  "mamba_d_state",
                                  "mamba_num_heads",
                                  "moe_latent_size",
                                  "moe_num_experts",
                                  "n_routed_experts",
                                  "num_experts",
                                  "num_local_experts",
                                  "num_loops",
                                  "ssm_state_size",
                                  "total_ut_steps"};

}  // namespace

bool says_nothing(std::string_view key) {
  for (char const* each : silent_keys)
    if (key == each) return true;
  for (char const* each : silent_parts)
    if (key.find(each) != std::string_view::npos) return true;
  return false;
}

bool is_foreign(std::string_view key, nlohmann::json const& value) {
  return value != 1  // a single expert is none
         && std::find(foreign_keys.begin(), foreign_keys.end(), key) != foreign_keys.end();
}

}  // namespace tool
