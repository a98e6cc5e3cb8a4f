// The parts that decoders share: attention, feed-forward parts, and which layers have which.
#include "predict/decoder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace tool {

using ashlar::cost::feed_forward;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;

void decoder::begin(norm_sizes const& final_norm) {
  begin_with({"hidden_size"}, {"num_hidden_layers"}, final_norm);
}

void decoder::begin_with(keys hidden, keys layers, norm_sizes const& final_norm) {
  a_.hidden = h_ = c_.size(hidden);
  double const count = c_.size(layers);
  if (count > 100'000) c_.fail("has too many layers");
  layers_ = static_cast<int>(count);
  set_tables(final_norm);
}

void decoder::set_tables(norm_sizes const& final_norm) {
  a_.vocabulary = c_.size({"vocab_size"});
  a_.is_tied = c_.flag({"tie_word_embeddings"}, false);
  add_norms(a_, h_, final_norm);
}

mixer decoder::heads_of(keys heads) const {
  mixer m{.kind = mixer_kind::attention, .heads = c_.size(heads)};
  m.groups = m.heads;
  m.head = std::floor(h_ / m.heads);
  return m;
}

mixer decoder::with_biases(mixer m, bool before, bool after) const {
  if (before) add_biases(m, (m.heads + 2 * m.groups) * m.head);
  if (after) add_biases(m, h_);
  return m;
}

mixer decoder::attention(bool bias_before, bool bias_after) const {
  mixer m = heads_of({"num_attention_heads"});
  m.groups = c_.size_or({"num_key_value_heads"}, m.heads);
  m.head = c_.size_or({"head_dim"}, m.head);
  return with_biases(m, bias_before, bias_after);
}

mixer decoder::with_head_norms(mixer m) {
  add_norms(m, 2 * m.head);
  return m;
}

mixer decoder::mamba2_mixer(double heads, double inner, double groups, double state, bool bias) const {
  mixer m{.kind = mixer_kind::state_space, .inner = inner, .keys = groups * state, .steps = heads};
  double const channels = inner + 2 * m.keys;
  m.beside = channels * c_.size({"conv_kernel"}) + 2 * heads;                // A, D
  add_biases(m, (c_.flag({"use_conv_bias"}, true) ? channels : 0) + heads);  // step sizes
  add_norms(m, inner);
  if (bias) add_biases(m, 2 * inner + 2 * m.keys + heads + h_);
  return m;
}

feed_forward decoder::gated(bool bias) const { return gated_of(c_.size({"intermediate_size"}), bias); }

feed_forward decoder::gated_of(double width, bool bias) const {
  c_.word({"hidden_act", "hidden_activation"}, "");
  c_.word({"hidden_activation"}, "");
  feed_forward f{.kind = feed_forward_kind::dense, .is_gated = true, .width = width};
  if (bias) add_biases(f, 2 * width + h_);
  return f;
}

feed_forward decoder::plain(double width, bool bias) const {
  c_.word({"hidden_act", "activation_function", "activation", "mlp_hidden_act"}, "");
  feed_forward f{.kind = feed_forward_kind::dense, .width = width};
  if (bias) add_biases(f, width + h_);
  return f;
}

void limit_to_groups(model_config const& c, feed_forward& f) {
  double const groups = c.size_or({"n_group"}, 0), chosen = c.size_or({"topk_group"}, 0);
  if (c.word({"topk_method"}, "") == "greedy" || !(groups > 1) || !(chosen >= 1)) return;
  bool const divide = !(std::fmod(f.experts, groups) > 0) && chosen <= groups;
  if (!divide && !c.gives("n_group")) return;  // of another number of experts than the type's own
  if (!divide)
    c.fail(fmt::format("chooses {} of {} groups of {} experts for a token", chosen, groups, f.experts));
  f.groups = groups;
  f.chosen_groups = chosen;
}

feed_forward decoder::experts(double width) const {
  c_.word({"hidden_act", "mlp_hidden_act"}, "");
  feed_forward f{.kind = feed_forward_kind::experts, .is_gated = true};
  f.experts = c_.size({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
  f.chosen = c_.size({"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"});
  if (f.chosen > f.experts)
    c_.fail(fmt::format("chooses {} of {} experts for a token", f.chosen, f.experts));
  f.expert_width = width;
  limit_to_groups(c_, f);
  return f;
}

feed_forward decoder::with_shared(feed_forward f) const {
  f.shared_width = c_.size_or({"n_shared_experts"}, 0) * f.expert_width;
  return f;
}

feed_forward decoder::with_shared_gate() const {
  feed_forward f = experts(c_.size({"moe_intermediate_size"}));
  f.shared_width = c_.size({"shared_expert_intermediate_size"});
  f.beside = h_;
  return f;
}

void decoder::add(mixer m, feed_forward f, norm_sizes const& norms) {
  add_norms(m, h_ / 2, norms);
  add_norms(f, h_ / 2, norms);
  a_.add({.mix = m, .feed = f});
}

void decoder::repeat(mixer const& m, feed_forward const& f, norm_sizes const& norms) {
  for (int i = 0; i < layers_; ++i) add(seen_by(m, i), f, norms);
  a_.predictor = {.mix = m, .feed = f};
}

void decoder::mixed(mixer const& m, feed_forward const& routed, norm_sizes const& norms,
                    bool dense_bias) {
  double const dense_width = c_.size_or({"intermediate_size_mlp"}, c_.size_or({"intermediate_size"}, 0));
  c_.size_or({"intermediate_size"}, 0);
  feed_forward const dense = gated_of(dense_width, dense_bias);
  for (int i = 0; i < layers_; ++i) {
    bool const is_routed = is_routed_at(i);
    if (!is_routed && !(dense_width > 0)) c_.fail("lacks \"intermediate_size\" of its dense layers");
    add(seen_by(m, i), is_routed ? routed : dense, norms);
  }
  a_.predictor = {.mix = m, .feed = routed};
}

void decoder::repeat_with_wide_norms(bool has_experts) {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  mixer m = attention(bias, bias);
  add_norms(m, (m.heads + m.groups) * m.head);
  repeat(m, has_experts ? experts(c_.size({"intermediate_size"})) : gated(false), 2 * rms_norm);
}

bool decoder::is_routed_at(int i) const {
  std::vector<std::string> const types = c_.words({"mlp_layer_types"});
  if (static_cast<std::size_t>(i) < types.size()) return types[static_cast<std::size_t>(i)] == "sparse";
  bool is_routed = i >= static_cast<int>(c_.size_or({"first_k_dense_replace"}, 0));
  for (keys step : {keys{"decoder_sparse_step"}, keys{"interleave_moe_layer_step"},
                    keys{"moe_layer_interval"}, keys{"moe_layer_freq"}})
    is_routed = is_routed && (i + 1) % static_cast<int>(c_.size_or(step, 1)) == 0;
  is_routed = is_routed && i >= static_cast<int>(c_.size_or({"moe_layer_start_index"}, 0));
  if (c_.whole_or("moe_layer_end_index", -1) >= 0)
    is_routed = is_routed && i <= c_.whole_or("moe_layer_end_index", -1);
  std::vector<long long> const listed = c_.numbers({"moe_layers"});
  if (!listed.empty()) is_routed = std::find(listed.begin(), listed.end(), i) != listed.end();
  std::vector<long long> const dense = c_.numbers({"mlp_only_layers"});
  return is_routed && std::find(dense.begin(), dense.end(), i) == dense.end();
}

// The choice of keys in a layer may be that of a layer before it.
bool decoder::chooses_at(int i) const {
  std::vector<std::string> const types = c_.words({"indexer_types"});
  std::string const pattern = c_.word({"index_topk_pattern"}, "");
  auto const n = static_cast<std::size_t>(i);
  auto const every = static_cast<int>(c_.size_or({"index_topk_freq"}, 1)),
             first = static_cast<int>(c_.size_or({"index_skip_topk_offset"}, 2)) - 1;
  if (n < types.size()) return types[n] == "full";
  if (n < pattern.size()) return pattern[n] == 'F';
  return i <= first || every <= 1 || (i - first) % every == 0;
}

mixer decoder::with_indexer(mixer m) const {
  m.index_heads = c_.size({"index_n_heads"});
  m.index_head = c_.size({"index_head_dim"});
  add_norms(m, m.index_head, layer_norm);
  return m;
}

mixer decoder::seen_by(mixer m, int i) const {
  if (m.chosen > 0) {
    c_.words({"layer_types"});  // all alike
    return chooses_at(i) ? with_indexer(m) : m;
  }
  double const chunk = c_.size_or({"attention_chunk_size"}, 0);
  double window = c_.size_or({"sliding_window"}, 0);
  bool const may_slide = c_.flag({"use_sliding_window"}, true);
  // In letters, L sees a window and G sees all: LLLG.
  std::string const letters =
      c_.is_text("sliding_window_pattern") ? c_.word({"sliding_window_pattern"}, "") : "";
  auto const pattern =
      letters.empty()
          ? static_cast<int>(c_.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, one_in_))
          : 1;
  std::vector<std::string> const types = c_.words({"layer_types"});
  if (static_cast<std::size_t>(i) < types.size()) {
    std::string const& type = types[static_cast<std::size_t>(i)];
    if (type == "linear_attention") return linear_mixer();
    if (type == "chunked_attention") m.chunk = chunk;
    if (type == "sliding_attention") m.window = window;
    if (type != "linear_attention" && type != "chunked_attention" && type != "sliding_attention"
        && type != "full_attention")
      c_.fail(
          fmt::format("\"layer_types\" must be of full_attention, sliding_attention, "
                      "chunked_attention and linear_attention, not '{}'",
                      type.substr(0, 64)));
    return m;
  }
  if (c_.has({"linear_num_value_heads"})
      && (i + 1) % static_cast<int>(c_.size_or({"full_attention_interval"}, 4)) != 0)
    return linear_mixer();
  if (chunk > 0 && (i + 1) % 4 != 0) m.chunk = chunk;
  if (!may_slide || (pattern > 1 && (i + 1) % pattern == 0)) window = 0;
  if (!letters.empty() && letters[static_cast<std::size_t>(i) % letters.size()] != 'L') window = 0;
  m.window = window;
  return m;
}

mixer decoder::linear_mixer() const {
  double const values = c_.size({"linear_num_value_heads"});
  mixer m{.kind = mixer_kind::state_space,
          .inner = values * c_.size({"linear_value_head_dim"}),
          .keys = c_.size({"linear_num_key_heads"}) * c_.size({"linear_key_head_dim"}),
          .steps = 2 * values};
  m.beside = (m.inner + 2 * m.keys) * c_.size({"linear_conv_kernel_dim"}) + values;
  add_biases(m, values);  // of step sizes
  add_norms(m, c_.size({"linear_value_head_dim"}));
  return m;
}

}  // namespace tool
