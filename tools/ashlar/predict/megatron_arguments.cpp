#include "predict/megatron_arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

struct refusal {
  std::string_view begins;  // a name, or, with a blank behind it, what a name begins with
  char const* why;
};

constexpr char const *another_model = "it makes another model",
                     *part_trained = "a part of the model trains",
                     *adapters = "adapters train in place of the model",
                     *not_counted = "nothing here counts what that takes";

// From megatron/training/arguments.py, and fields of transformer_config.py and model_parallel_config.py
// of megatron-core 0.16.1; flags of forks that people have.
constexpr std::array refusals{
    refusal{"heterogeneous_ ", another_model},
    refusal{"encoder_ ", another_model},
    refusal{"decoder_num_layers", another_model},
    refusal{"decoder_seq_length", another_model},
    refusal{"experimental_attention_variant", another_model},
    refusal{"linear_attention_ ", another_model},
    refusal{"linear_num_ ", another_model},
    refusal{"dsa_ ", another_model},
    refusal{"vision_ ", another_model},
    refusal{"img_h", another_model},
    refusal{"swin_ ", another_model},
    refusal{"dino_ ", another_model},
    refusal{"retro_ ", another_model},
    refusal{"bert_ ", another_model},
    refusal{"biencoder_ ", another_model},
    refusal{"ict_ ", another_model},
    refusal{"num_classes", another_model},
    refusal{"hybrid_attention_ratio", another_model},
    refusal{"hybrid_mlp_ratio", another_model},
    refusal{"mtp_hybrid_override_pattern", another_model},
    refusal{"mlp_chunks_for_prefill", another_model},
    refusal{"use_mla_latent ", another_model},
    refusal{"lora_ ", adapters},
    refusal{"peft ", adapters},
    refusal{"use_lora", adapters},
    refusal{"adapter_ ", adapters},
    refusal{"freeze ", part_trained},
    refusal{"perform_rl_step", "it generates what it trains on"},
    refusal{"export_kd_ ", "another model runs beside it"},
    refusal{"logits_load_ ", "another model's logits are read"},
    refusal{"deepspeed ", "it is of Megatron-DeepSpeed, whose schedule and sharding are other ones"},
    refusal{"zero_stage", "it is of Megatron-DeepSpeed, whose schedule and sharding are other ones"},
    refusal{"pipeline_model_parallel_split_rank", "it makes a pipeline of an encoder and a decoder"},
    refusal{"standalone_embedding_stage", not_counted},
    refusal{"hybrid_context_parallel", not_counted},
    refusal{"tensor_parallel_num_weight_shards", not_counted},
    refusal{"gtp_weight_remat_size", not_counted},
    refusal{"enable_full_sharding_in_hsdp", not_counted},
    refusal{"moe_pad_expert_input_to_capacity", not_counted},
    refusal{"use_kitchen ", "a file of its own says the format of its products"},
    refusal{"kitchen_ ", "a file of its own says the format of its products"},
    refusal{"te_precision_config_file", "a file of its own says the format of its products"},
    refusal{"quant_recipe", "a file of its own says the format of its products"}};

// Beginnings of names, and, behind *, parts of them.
constexpr std::array silent_arguments{"*data_path",
                                      "data_ ",
                                      "*dataset",
                                      "*dataloader",
                                      "*checkpoint",
                                      "ckpt",
                                      "dist_ckpt",
                                      "save",
                                      "load",
                                      "log_",
                                      "*_log_",
                                      "logging",
                                      "*wandb",
                                      "tensorboard",
                                      "timing_",
                                      "*timers",
                                      "tokenizer",
                                      "vocab_file",
                                      "vocab_extra",
                                      "merge_file",
                                      "lr",
                                      "min_lr",
                                      "decoupled_",
                                      "adam_",
                                      "weight_decay",
                                      "start_weight_decay",
                                      "end_weight_decay",
                                      "clip_grad",
                                      "seed",
                                      "init_method",
                                      "*dropout",
                                      "eval_",
                                      "exit_",
                                      "train_",
                                      "*_data_path",
                                      "split",
                                      "num_workers",
                                      "manual_gc",
                                      "rerun_",
                                      "check_",
                                      "distributed_timeout",
                                      "distributed_backend",
                                      "local_rank",
                                      "use_dist_ckpt",
                                      "nccl_",
                                      "*one_logger",
                                      "enable_ft_package",
                                      "calc_ft",
                                      "ft_",
                                      "inprocess_",
                                      "otel_",
                                      "*straggler",
                                      "app_tag",
                                      "profile",
                                      "use_pytorch_profiler",
                                      "record_memory_history",
                                      "memory_snapshot",
                                      "inference_",
                                      "async_",
                                      "no_save",
                                      "no_load",
                                      "non_persistent",
                                      "finetune",
                                      "use_checkpoint",
                                      "override_",
                                      "perform_init",
                                      "use_cpu_init",
                                      "*deterministic",
                                      "empty_unused",
                                      "*cuda_graph",
                                      "moe_router_load",
                                      "moe_router_score",
                                      "moe_router_pre",
                                      "moe_router_dtype",
                                      "moe_router_topk_scaling",
                                      "moe_router_bias",
                                      "moe_router_fusion",
                                      "moe_router_force",
                                      "moe_aux",
                                      "moe_z_loss",
                                      "moe_token_dispatcher",
                                      "moe_grouped_gemm",
                                      "moe_use_legacy_grouped",
                                      "moe_permute_fusion",
                                      "moe_enable_deepep",
                                      "moe_flex_",
                                      "moe_per_layer",
                                      "moe_input_jitter",
                                      "moe_deepep",
                                      "moe_hybridep",
                                      "moe_token_drop_policy",
                                      "trust_remote_code",
                                      "DDP_impl",
                                      "moe_use_upcycling",
                                      "moe_upcycling",
                                      "moe_shared_expert_overlap",
                                      "*loss_scale",
                                      "hysteresis",
                                      "*norm_epsilon",
                                      "layernorm_zero",
                                      "apply_layernorm_1p",
                                      "rotary_",
                                      "use_rotary",
                                      "*rope",
                                      "*yarn",
                                      "mscale",
                                      "beta_fast",
                                      "beta_slow",
                                      "use_flash_attn",
                                      "tp_comm_",
                                      "overlap_grad_reduce",
                                      "overlap_param_gather",
                                      "overlap_p2p",
                                      "no_overlap_p2p",
                                      "ddp_",
                                      "align_",
                                      "no_align",
                                      "no_async_tensor",
                                      "attention_softmax",
                                      "*_fusion",
                                      "cross_entropy",
                                      "fused_",
                                      "use_te_",
                                      "use_mcore",
                                      "no_persist",
                                      "softmax_",
                                      "result_rejected",
                                      "mock_data",
                                      "reset_",
                                      "eod_mask",
                                      "no_create_attention",
                                      "*mmap",
                                      "num_dataset",
                                      "fim_",
                                      "iterations_to_skip",
                                      "error_injection",
                                      "disable_tp_comm",
                                      "disable_mem_eff",
                                      "disable_bf16",
                                      "disable_parameter_transpose",
                                      "disable_symmetric",
                                      "*one_sent",
                                      "hidden_dropout",
                                      "create_attention",
                                      "variable_seq",
                                      "barrier_",
                                      "make_vocab_size",
                                      "norm_init",
                                      "mtp_loss",
                                      "calculate_per_token",
                                      "attention_dropout",
                                      "accumulate_allreduce",
                                      "gradient_accumulation_fusion",
                                      "high_priority",
                                      "config_logger",
                                      "use_distributed_optimizer",
                                      "external_cuda",
                                      "num_experts_per_tok",
                                      "sft",
                                      "rl_",
                                      "grpo_",
                                      "warmup",
                                      "optimizer_cuda",
                                      "dump_",
                                      "apply_query_key",
                                      "symmetric_",
                                      "batch_invariant",
                                      "pin_cpu",
                                      "no_pin",
                                      "pipeline_dtype",
                                      "params_dtype",
                                      "autocast_dtype",
                                      "enable_autocast",
                                      "fp16_lm",
                                      "no_check",
                                      "use_ring",
                                      "qk_clip",
                                      "qk_l2",
                                      "moe_router_padding",
                                      "stride",
                                      "enable_msc",
                                      "disable_msc",
                                      "enable_experimental",
                                      "cpu_offloading_",
                                      "no_weight_decay",
                                      "use_nccl_ub",
                                      "nccl_ub",
                                      "fsdp_double",
                                      "suggested_comm",
                                      "keep_fp8_transpose",
                                      "init_model_with_meta",
                                      "num_floating",
                                      "world_size",
                                      "rank"};

bool is_begin(std::string_view name, std::string_view begin) {
  if (begin.ends_with(' ')) return name.starts_with(begin.substr(0, begin.size() - 1));
  return name == begin;
}

}  // namespace

bool says_nothing_to_predict(std::string_view name) {
  return std::any_of(silent_arguments.begin(), silent_arguments.end(), [&](std::string_view each) {
    if (each.ends_with(' ')) each.remove_suffix(1);
    return each.starts_with('*') ? name.find(each.substr(1)) != name.npos : name.starts_with(each);
  });
}

std::string why_not_predicted(std::string_view name) {
  for (refusal const& each : refusals)
    if (is_begin(name, each.begins)) return each.why;
  return {};
}

std::string why_other_program(std::string_view program) {
  for (std::string_view const other :
       {"bert", "t5", "ict", "vision", "retro", "realm", "vlm", "multimodal", "llava", "dino", "inpaint",
        "orqa", "biencoder", "diffusion", "clip"}) {
    std::size_t const at = program.find(other);
    if (at == program.npos) continue;
    bool const begins = at == 0 || program[at - 1] == '_' || program[at - 1] == '-';
    if (begins) return fmt::format("{} trains no decoder alone", program);
  }
  return {};
}

}  // namespace tool
