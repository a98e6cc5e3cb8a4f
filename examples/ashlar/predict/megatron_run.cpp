// Arguments of Megatron-LM as a run.
#include "options/number_option.hpp"
#include "predict/framework_files.hpp"
#include "predict/megatron_command.hpp"
#include "predict/megatron_norms.hpp"
#include <ashlar/predict/stage_layout.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

namespace {

// Arguments that make another model, and that no formula here has.
constexpr char const* other_models[] = {"heterogeneous_layers_config_path",
                                        "heterogeneous_layers_config_encoded_json",
                                        "encoder_num_layers",
                                        "experimental_attention_variant",
                                        "vision_pretraining",
                                        "retro_add_retriever"};

// Which layers have experts, one after the other: a list as ([0]*3+[1]*58), as Python has it. Empty if
// it is none, or says more than this many layers.
std::vector<bool> listed_layers(std::string_view list, std::size_t most) {
  std::vector<bool> all;
  std::string rest;
  for (char c : list)
    if (std::string_view(" ()").find(c) == std::string_view::npos) rest += c;
  for (std::size_t at = 0; at < rest.size();) {
    auto const close = rest.find(']', at);
    if (rest[at] != '[' || close == std::string::npos) return {};
    std::vector<bool> some;
    for (char c : std::string_view(rest).substr(at + 1, close - at - 1)) {
      if (c == '0' || c == '1')
        some.push_back(c == '1');
      else if (c != ',')
        return {};
    }
    auto const plus = std::min(rest.find('+', close), rest.size());
    std::string_view const times = std::string_view(rest).substr(close + 1, plus - close - 1);
    long long count = 1;
    if (!times.empty() && (times[0] != '*' || !read_number(times.substr(1), count))) return {};
    for (; count > 0 && !some.empty(); --count) {
      if (all.size() + some.size() > most) return {};
      all.insert(all.end(), some.begin(), some.end());
    }
    at = plus + 1;
  }
  return all;
}

// Layers without experts: --moe-layer-freq N makes the first of each N a layer with experts.
std::vector<std::size_t> dense_layers(megatron_command& a) {
  std::string const often = a.word("moe_layer_freq", "1");
  auto const layers = static_cast<std::size_t>(a.number("num_layers"));
  std::vector<bool> routed;
  if (std::size_t step = 0; read_number(often, step) && step > 0)
    for (std::size_t i = 0; i < layers; ++i) routed.push_back(i % step == 0);
  else
    routed = listed_layers(often, layers);
  if (routed.size() != layers)
    a.fail(
        "has a --moe-layer-freq that is not understood: N, or ([0]*3+[1]*58) with a number for each "
        "layer");
  std::vector<std::size_t> dense;
  for (std::size_t i = 0; i < layers; ++i)
    if (!routed[i]) dense.push_back(i);
  return dense;
}

// The model, in general keys.
nlohmann::json megatron_model(megatron_command& a) {
  for (char const* each : other_models)
    if (a.has(each)) a.fail(fmt::format("has {}, which is not understood", with_hyphens(each)));
  bool const is_gated = a.has("swiglu");
  long long const hidden = a.number("hidden_size"), heads = a.number("num_attention_heads");
  long long const usual = is_gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
  nlohmann::json m{{"num_hidden_layers", a.number("num_layers")},
                   {"hidden_size", hidden},
                   {"num_attention_heads", heads},
                   {"intermediate_size", a.number("ffn_hidden_size", usual)},
                   {"hidden_act", is_gated                ? "silu"
                                  : a.has("squared_relu") ? "relu2"
                                                          : "gelu"},
                   {"tie_word_embeddings", !a.has("untie_embeddings_and_output_weights")}};
  // pretrain_gpt.py takes GPT-2's tokenizer where none is named.
  bool const is_gpt2 =
      a.word("tokenizer_type", "GPT2BPETokenizer") == "GPT2BPETokenizer" && a.has("merge_file");
  long long const vocabulary =
      a.number("padded_vocab_size", a.number("vocab_size", is_gpt2 ? 50257 : 0));
  if (vocabulary == 0)
    a.fail("lacks --vocab-size: that of its tokenizer is not known here; add it to the file");
  m["vocab_size"] = vocabulary;
  if (a.has("group_query_attention")) m["num_key_value_heads"] = a.number("num_query_groups", 1);
  a.number("num_query_groups", 0);
  if (a.has("kv_channels")) m["head_dim"] = a.number("kv_channels");
  if (a.has("num_experts")) {
    m["num_experts"] = a.number("num_experts");
    m["num_experts_per_tok"] = a.number("moe_router_topk", 2);
    m["moe_intermediate_size"] =
        a.number("moe_ffn_hidden_size", m["intermediate_size"].get<long long>());
    if (a.has("moe_shared_expert_intermediate_size"))
      m["shared_expert_intermediate_size"] = a.number("moe_shared_expert_intermediate_size");
    if (a.has("moe_router_num_groups")) m["n_group"] = a.number("moe_router_num_groups");
    if (a.has("moe_router_group_topk")) m["topk_group"] = a.number("moe_router_group_topk");
    m["mlp_only_layers"] = dense_layers(a);
  }
  if (a.has("multi_latent_attention")) {
    m["kv_lora_rank"] = a.number("kv_lora_rank", 32);
    if (a.has("q_lora_rank")) m["q_lora_rank"] = a.number("q_lora_rank");
    m["qk_nope_head_dim"] = a.number("qk_head_dim", 128);
    m["qk_rope_head_dim"] = a.number("qk_pos_emb_head_dim", 64);
    m["v_head_dim"] = a.number("v_head_dim", 128);
  }
  if (a.has("mtp_num_layers")) m["num_nextn_predict_layers"] = a.number("mtp_num_layers");
  if (a.has("hybrid_override_pattern")) {
    m["hybrid_override_pattern"] = a.word("hybrid_override_pattern");
    m["mamba_head_dim"] = a.number("mamba_head_dim", 64);
    m["mamba_state_dim"] = a.number("mamba_state_dim", 128);
    m["mamba_n_groups"] = a.number("mamba_num_groups", 8);
    m["mamba_num_heads"] =
        a.number("mamba_num_heads", 2 * hidden / std::max(1LL, a.number("mamba_head_dim", 64)));
  }
  return m;
}

// Without --normalization, norms and biases are not counted.
void count_norms(megatron_command& a, ashlar::predict::architecture& model) {
  std::string const norm = a.word("normalization");
  bool const is_learned = a.word("position_embedding_type", "learned_absolute") == "learned_absolute";
  megatron_norms const norms{.is_rms = norm == "RMSNorm",
                             .has_biases = !a.has("disable_bias_linear"),
                             .has_qkv_bias = a.has("add_qkv_bias"),
                             .norms_heads = a.has("qk_layernorm"),
                             .gates_shared = a.has("moe_shared_expert_gate"),
                             .learns_positions = is_learned,
                             .has_expert_bias = a.has("moe_router_enable_expert_bias")};
  long long const positions = a.number("max_position_embeddings", a.number("seq_length"));
  if (!norm.empty()) norms.count_in(model, static_cast<double>(positions));
}

std::string megatron_precision(megatron_command& a) {
  if (a.has("fp4_format") || a.has("fp4")) return "nvfp4";
  std::string const recipe = a.word("fp8_recipe");
  if (a.has("fp8_format") || a.has("fp8")) return recipe == "mxfp8" ? "mxfp8" : "fp8";
  return a.has("fp16") ? "fp16" : a.has("bf16") ? "bf16" : "fp32";
}

// Names with blanks, commas or brackets between, with commas.
std::string listed(std::string const& modules) {
  std::string parts;
  for (std::size_t at = 0; at < modules.size();) {
    std::size_t const end = std::min(modules.find_first_of(" ,[]'\"", at), modules.size());
    if (end > at) parts += (parts.empty() ? "" : ",") + modules.substr(at, end - at);
    at = end + 1;
  }
  return parts;
}

// Inputs of modules, or all that the first layers keep.
std::string megatron_offload(megatron_command& a) {
  std::string const modules = listed(a.word("offload_modules"));
  long long const layers = a.number("cpu_offloading_num_layers", 0);
  if (a.has("fine_grained_activation_offloading")) return modules;
  return layers > 0 ? fmt::format("full:{}", layers) : "none";
}

// `block` runs the first layers of each stage again, as many as are said; `uniform` all.
std::string megatron_recomputation(megatron_command& a) {
  std::string const how = a.word("recompute_granularity");
  long long const layers = a.number("recompute_num_layers", 0);
  if (how == "full")
    return a.word("recompute_method") == "block" ? fmt::format("full:{}", layers) : "full";
  std::string modules = a.word("recompute_modules", "core_attn");
  if (how != "selective" && !a.has("recompute_activations")) return "none";
  return listed(modules);
}

// `local` is Megatron's own attention, of single kernels; `fused` Transformer Engine's by cuDNN; `flash`
// the package flash-attn, of which version 3 is another one.
std::string megatron_attention(megatron_command& a) {
  std::string const backend = a.word("attention_backend", "auto");
  bool const is_local = a.word("transformer_impl") == "local";
  if (backend == "flash" || a.has("use_flash_attn")) return "flash_attention_2";
  if (backend == "fused") return "cudnn";
  return backend == "unfused" || backend == "local" || is_local ? "unfused" : "auto";
}

// Stages whose first or last is not as the others.
std::string megatron_layout(megatron_command& a, long long pipeline) {
  if (a.has("pipeline_model_parallel_layout")) return a.word("pipeline_model_parallel_layout");
  long long const first = a.number("decoder_first_pipeline_num_layers", 0),
                  last = a.number("decoder_last_pipeline_num_layers", 0);
  if ((first == 0 && last == 0) || pipeline < 2) return "";
  long long const ends = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0), middle = pipeline - ends;
  long long const left = a.number("num_layers") - first - last;
  if (middle < 1 || left < 0 || left % middle != 0)
    a.fail("has layers of the first or last stage that leave no equal share to the others");
  std::string layout;
  for (long long s = 0; s < pipeline; ++s)
    layout += fmt::format("{}{}", s == 0 ? "" : ",",
                          s == 0 && first > 0             ? first
                          : s == pipeline - 1 && last > 0 ? last
                                                          : left / middle);
  return layout;
}

}  // namespace

framework_run read_megatron(std::string const& path) {
  megatron_command a(path);
  framework_run run;
  run.model = described_keys(megatron_model(a), path);
  count_norms(a, run.model->shape);
  option_words& o = run.options;
  long long const tensor = a.number("tensor_model_parallel_size", 1),
                  pipeline = std::max(1LL, a.number("pipeline_model_parallel_size", 1));
  auto const set = [&](char const* option, long long value) { o[option] = fmt::format("{}", value); };
  set("sequence", a.number("seq_length"));
  set("batch", a.number("global_batch_size"));
  set("micro-batch", a.number("micro_batch_size", 1));
  set("tensor", tensor);
  set("pipeline", pipeline);
  set("context", a.number("context_parallel_size", 1));
  set("expert", a.number("expert_model_parallel_size", 1));
  if (a.has("num_experts")) set("expert-tensor", a.number("expert_tensor_parallel_size", tensor));
  long long chunks = a.number("num_virtual_stages_per_pipeline_rank", 1);
  if (long long const each = a.number("num_layers_per_virtual_pipeline_stage", 0); each > 0)
    chunks = std::max(1LL, a.number("num_layers") / pipeline / each);
  o["layout"] = megatron_layout(a, pipeline);
  if (a.has("pipeline_model_parallel_layout"))
    chunks = static_cast<long long>(ashlar::predict::read_layout(o["layout"]).size()) / pipeline;
  set("chunks", chunks);
  if (o["layout"].empty()) o.erase("layout");
  bool const is_sharded =
      a.has("use_megatron_fsdp") || a.has("use_torch_fsdp2") || a.has("use_custom_fsdp");
  std::string const strategy = a.word("data_parallel_sharding_strategy", "optim_grads_params");
  o["sharding"] = is_sharded                           ? strategy == "optim"         ? "optimizer"
                                                         : strategy == "optim_grads" ? "gradients"
                                                                                     : "full"
                  : a.has("use_distributed_optimizer") ? "optimizer"
                                                       : "none";
  if (a.has("overlap_moe_expert_parallel_comm")) o["schedule"] = "combined-1f1b";
  if (a.has("use_tp_pp_dp_mapping")) o["pipeline-inside"] = "true";
  o["recompute"] = megatron_recomputation(a);
  if (std::string const parts = megatron_offload(a); parts != "none") o["offload-activations"] = parts;
  if (a.has("optimizer_cpu_offload")) {
    std::string const share = a.word("optimizer_offload_fraction", "1");
    if (share != "1" && share != "1.0")
      a.fail("keeps a part of the optimizer on the host: nothing here says what that takes");
    o["offload-optimizer"] = "true";
  }
  if (tensor > 1) o["sequence-parallel"] = a.has("sequence_parallel") ? "on" : "off";
  o["attention"] = megatron_attention(a);
  o["precision"] = megatron_precision(a);
  a.ignore({"fp8_recipe",
            "fp8_format",
            "fp8",
            "fp16",
            "bf16",
            "recompute_modules",
            "recompute_granularity",
            "use_distributed_optimizer",
            "expert_tensor_parallel_size",
            "sequence_parallel",
            "train_iters",
            "lr",
            "min_lr",
            "overlap_grad_reduce",
            "overlap_param_gather",
            "fp4_format",
            "fp4",
            "moe_token_dispatcher_type",
            "use_precision_aware_optimizer",
            "cpu_offloading",
            "optimizer_offload_fraction"});
  run.not_read = a.not_asked();
  return run;
}

}  // namespace tool
