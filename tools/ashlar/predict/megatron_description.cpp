#include "predict/megatron_description.hpp"

#include "options/number_option.hpp"
#include "predict/hybrid_pattern.hpp"
#include "predict/megatron_encoder.hpp"
#include "predict/megatron_names.hpp"
#include "predict/megatron_norms.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;

constexpr std::size_t most_megatron_layers = 100'000;

// Reads one bit a layer: a list as ([0]*3+[1]*58), as Python has it. Empty if it is none, or has more
// than this many layers.
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

// --moe-layer-freq N makes the first of each N a layer with experts; --window-attn-skip-freq N gives the
// last of each N no window.
std::vector<bool> chosen_layers(megatron_command& a, char const* name, std::size_t layers,
                                bool at_first) {
  std::string const often = a.word(name, "1");
  std::vector<bool> chosen;
  if (std::size_t step = 0; read_number(often, step) && step > 0)
    for (std::size_t i = 0; i < layers; ++i)
      chosen.push_back(at_first ? i % step == 0 : (i + 1) % step != 0);
  else
    chosen = listed_layers(often, layers);
  if (chosen.size() != layers)
    a.fail(
        fmt::format("has a {} that is not understood: N, or ([0]*3+[1]*58) with a number for each layer",
                    with_hyphens(name)));
  return chosen;
}

double hybrid_share(megatron_command& a, char const* name) {
  double share = 0;
  std::string const said = a.word(name, "0");
  if (!read_number(said, share) || !(share >= 0 && share <= 1))
    a.fail(fmt::format("has {} {}: a share of the layers is from 0 to 1", with_hyphens(name),
                       said.substr(0, 64)));
  return share;
}

// Older versions have these shares; a pattern counts in their place.
std::string dealt_pattern(megatron_command& a) {
  double const attention = hybrid_share(a, "hybrid_attention_ratio"),
               feed_forward = hybrid_share(a, "hybrid_mlp_ratio");
  bool const is_hybrid = a.has("is_hybrid_model") || a.program().find("mamba") != std::string::npos;
  if (attention + feed_forward > 1) a.fail("has shares of hybrid layers above 1 together");
  if (attention + feed_forward == 0 && !is_hybrid) return {};
  long long const layers = a.number("num_layers");
  if (layers > static_cast<long long>(most_megatron_layers)) a.fail("has too many layers");
  return pattern_of_shares(static_cast<std::size_t>(layers), attention, feed_forward);
}

// Letters of the layers, where their mixers differ.
std::string hybrid_pattern(megatron_command& a) {
  bool const is_old = a.has("hybrid_override_pattern"), is_new = a.has("hybrid_layer_pattern");
  if (is_old && is_new) a.fail("has --hybrid-override-pattern beside --hybrid-layer-pattern");
  if (!is_old && !is_new) return dealt_pattern(a);
  a.ignore({"hybrid_attention_ratio", "hybrid_mlp_ratio"});
  char const* const name = is_new ? "hybrid_layer_pattern" : "hybrid_override_pattern";
  std::string const pattern = a.word(name);
  if (pattern.empty() || pattern.find_first_not_of("M*-E") != std::string::npos)
    a.fail(fmt::format("has a {} with other letters than M, *, - and E, which are not predicted",
                       with_hyphens(name)));
  return pattern;
}

long long vocabulary_of(megatron_command& a) {
  // pretrain_gpt.py takes GPT-2's tokenizer where none is named.
  bool const is_gpt2 =
      a.word("tokenizer_type", "GPT2BPETokenizer") == "GPT2BPETokenizer" && a.has("merge_file");
  long long const padded = a.number("padded_vocab_size", 0),
                  said = a.number("vocab_size", is_gpt2 ? 50257 : 0), all = padded > 0 ? padded : said;
  if (all == 0)
    a.fail(
        "lacks --vocab-size: that of its tokenizer is not known here; add --vocab-size N, here or to "
        "the "
        "file");
  return all;
}

void add_experts(megatron_command& a, std::size_t layers, nlohmann::json& m) {
  m["num_experts"] = a.number("num_experts");
  m["num_experts_per_tok"] = a.number("moe_router_topk", 2);
  m["moe_intermediate_size"] = a.number("moe_ffn_hidden_size", m["intermediate_size"].get<long long>());
  if (a.has("moe_shared_expert_intermediate_size"))
    m["shared_expert_intermediate_size"] = a.number("moe_shared_expert_intermediate_size");
  if (a.has("moe_router_num_groups")) m["n_group"] = a.number("moe_router_num_groups");
  if (a.has("moe_router_group_topk")) m["topk_group"] = a.number("moe_router_group_topk");
  if (a.has("moe_latent_size")) m["moe_latent_size"] = a.number("moe_latent_size");
  std::vector<bool> const routed = chosen_layers(a, "moe_layer_freq", layers, true);
  std::vector<std::size_t> dense;
  for (std::size_t i = 0; i < layers; ++i)
    if (!routed[i]) dense.push_back(i);
  m["mlp_only_layers"] = dense;
}

// The model, in general keys.
nlohmann::json general_keys(megatron_command& a, std::string const& pattern) {
  bool const is_silu = a.has("swiglu"), is_gelu = a.has("quick_geglu") || a.has("geglu");
  if (is_silu && is_gelu) a.fail("has --swiglu beside another gate");
  long long const hidden = a.number("hidden_size"), heads = a.number("num_attention_heads");
  auto const layers =
      pattern.empty() ? static_cast<std::size_t>(a.number("num_layers")) : pattern.size();
  if (layers > most_megatron_layers) a.fail("has too many layers");
  long long const usual = is_silu ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
  nlohmann::json m{{"num_hidden_layers", layers},
                   {"hidden_size", hidden},
                   {"num_attention_heads", heads},
                   {"intermediate_size", a.number("ffn_hidden_size", usual)},
                   {"hidden_act", is_silu                 ? "silu"
                                  : is_gelu               ? "geglu"
                                  : a.has("squared_relu") ? "relu2"
                                                          : "gelu"},
                   {"tie_word_embeddings", !a.has("untie_embeddings_and_output_weights")}};
  m["vocab_size"] = vocabulary_of(a);
  if (a.has("group_query_attention")) m["num_key_value_heads"] = a.number("num_query_groups", 1);
  a.ignore({"num_query_groups"});
  if (a.has("kv_channels")) m["head_dim"] = a.number("kv_channels");
  if (a.has("num_experts")) add_experts(a, layers, m);
  if (a.has("multi_latent_attention")) {
    m["kv_lora_rank"] = a.number("kv_lora_rank", 32);
    if (a.has("q_lora_rank")) m["q_lora_rank"] = a.number("q_lora_rank");
    m["qk_nope_head_dim"] = a.number("qk_head_dim", 128);
    m["qk_rope_head_dim"] = a.number("qk_pos_emb_head_dim", 64);
    m["v_head_dim"] = a.number("v_head_dim", 128);
  }
  if (a.has("mtp_num_layers")) m["num_nextn_predict_layers"] = a.number("mtp_num_layers");
  if (a.has("mtp_use_repeated_layer")) m["mtp_repeated"] = true;
  if (!pattern.empty()) {
    m["hybrid_override_pattern"] = pattern;
    m["mamba_head_dim"] = a.number("mamba_head_dim", 64);
    m["mamba_state_dim"] = a.number("mamba_state_dim", 128);
    m["mamba_n_groups"] = a.number("mamba_num_groups", 8);
    m["mamba_num_heads"] =
        a.number("mamba_num_heads", 2 * hidden / std::max(1LL, a.number("mamba_head_dim", 64)));
  }
  return m;
}

// Tokens to the left in a window, which a query sees beside itself: 128,0 or (128, 0).
double window_of(megatron_command& a) {
  std::string sizes = a.word("window_size");
  std::erase_if(sizes,
                [](char c) { return std::string_view("()[] ").find(c) != std::string_view::npos; });
  long long left = 0, right = 0;
  auto const comma = sizes.find(',');
  bool const is_read = comma != std::string::npos && read_number(sizes.substr(0, comma), left)
                       && read_number(sizes.substr(comma + 1), right);
  if (!is_read || left < 0 || left > largest_framework_size || right != 0)
    a.fail("has a --window-size that is not understood: TOKENS,0 is");
  return static_cast<double>(left) + 1;
}

// A gate on attention's result, and windows.
void change_attention(megatron_command& a, architecture& model) {
  bool const has_gate = a.has("attention_output_gate"), has_window = a.has("window_size");
  if (!has_window) a.ignore({"window_attn_skip_freq"});
  if (!has_gate && !has_window) return;
  auto const layers = static_cast<std::size_t>(model.layer_count());
  double const window = has_window ? window_of(a) : 0;
  std::vector<bool> sees_window(layers, has_window);
  if (has_window && a.has("window_attn_skip_freq"))
    sees_window = chosen_layers(a, "window_attn_skip_freq", layers, false);
  architecture made = model;
  made.kinds.clear();
  made.layers.clear();
  auto const changed = [&](layer l, bool has_window_here) {
    if (l.mix.kind == mixer_kind::none || l.mix.kind == mixer_kind::state_space) return l;
    if (has_gate && l.mix.kind == mixer_kind::compressed)
      a.fail("has --attention-output-gate beside --multi-latent-attention, which is not predicted");
    l.mix.has_gate = has_gate;
    if (has_window_here) l.mix.window = window;
    return l;
  };
  for (std::size_t i = 0; i < layers; ++i)
    made.add(changed(model.at(static_cast<int>(i)), sees_window[i]));
  made.predictor = changed(model.predictor, false);
  model = made;
}

// Parameters of fields without a normalization, which may be a part of a configuration, are counted
// without norms and biases.
void count_norms(megatron_command& a, architecture& model, long long sequence) {
  std::string const said = a.word("normalization", a.is_of_command() ? "LayerNorm" : "");
  std::string norm;
  for (char c : said) norm += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  bool const is_rms = norm == "rmsnorm";
  if (!norm.empty() && !is_rms && norm != "layernorm" && norm != "layernorm1p")
    a.fail(fmt::format("has --normalization {}; there are LayerNorm and RMSNorm", said.substr(0, 64)));
  bool const is_rotary = a.has("use_rotary_position_embeddings"),
             has_none = a.has("no_position_embedding");
  bool const is_learned = !is_rotary && !has_none
                          && a.word("position_embedding_type", "learned_absolute") == "learned_absolute";
  megatron_norms const norms{.is_rms = is_rms,
                             .has_biases = !a.has("disable_bias_linear"),
                             .has_qkv_bias = a.has("add_qkv_bias"),
                             .norms_heads = a.has("qk_layernorm"),
                             .gates_shared = a.has("moe_shared_expert_gate"),
                             .learns_positions = is_learned,
                             .has_expert_bias = a.has("moe_router_enable_expert_bias"),
                             .norms_embedding = a.has("embed_layernorm")};
  a.ignore({"max_position_embeddings"});
  if (norm.empty()) return;
  long long const positions = is_learned ? a.number("max_position_embeddings", sequence) : 0;
  norms.count_in(model, static_cast<double>(positions));
}

}  // namespace

described_model megatron_description(megatron_command& a, std::string const& path, long long sequence,
                                     long long encoder_tokens) {
  std::string const pattern = hybrid_pattern(a);
  if (!pattern.empty()) a.ignore({"num_layers"});
  described_model made = described_keys(general_keys(a, pattern), path);
  change_attention(a, made.shape);
  count_norms(a, made.shape, sequence);
  bool const has_pairs = !a.has("bert_no_binary_head");
  if (trains_encoder(a.program())) make_encoder(a, has_pairs, made.shape);
  if (encoder_tokens > 0) make_encoder_decoder(a, encoder_tokens, made.shape);
  return made;
}

void ignore_description(megatron_command& a) {
  a.ignore({"num_layers",
            "hidden_size",
            "num_attention_heads",
            "ffn_hidden_size",
            "swiglu",
            "quick_geglu",
            "geglu",
            "squared_relu",
            "untie_embeddings_and_output_weights",
            "tokenizer_type",
            "padded_vocab_size",
            "vocab_size",
            "group_query_attention",
            "num_query_groups",
            "kv_channels",
            "num_experts",
            "moe_router_topk",
            "moe_ffn_hidden_size",
            "moe_shared_expert_intermediate_size",
            "moe_router_num_groups",
            "moe_router_group_topk",
            "moe_latent_size",
            "moe_layer_freq",
            "multi_latent_attention",
            "kv_lora_rank",
            "q_lora_rank",
            "qk_head_dim",
            "qk_pos_emb_head_dim",
            "v_head_dim",
            "mtp_num_layers",
            "mtp_use_repeated_layer",
            "hybrid_override_pattern",
            "hybrid_layer_pattern",
            "hybrid_attention_ratio",
            "hybrid_mlp_ratio",
            "is_hybrid_model",
            "mamba_head_dim",
            "mamba_state_dim",
            "mamba_num_groups",
            "mamba_num_heads",
            "window_size",
            "window_attn_skip_freq",
            "attention_output_gate",
            "normalization",
            "position_embedding_type",
            "use_rotary_position_embeddings",
            "no_position_embedding",
            "disable_bias_linear",
            "add_qkv_bias",
            "qk_layernorm",
            "moe_shared_expert_gate",
            "moe_router_enable_expert_bias",
            "max_position_embeddings",
            "bert_no_binary_head",
            "relative_attention_num_buckets",
            "embed_layernorm",
            "spec"});
}

}  // namespace tool
