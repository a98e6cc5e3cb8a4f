// Decoders by model_type: which parts their layers have, to the last bias.
#include "predict/models.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tool {

namespace {

using ashlar::predict::architecture;
using ashlar::predict::feed_forward;
using ashlar::predict::feed_forward_kind;
using ashlar::predict::layer;
using ashlar::predict::mixer;
using ashlar::predict::mixer_kind;

using keys = model_config::keys;

// Parameters of a norm are so many times its width.
constexpr double rms_norm = 1, layer_norm = 2;

class decoder {
 public:
  decoder(model_config const& config, architecture& made, double one_in)
      : c_(config), a_(made), one_in_(one_in) {}

  // Llama and those like it: gated, RMS norms before both parts, biases by flags.
  void llama() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), gated(c_.flag({"mlp_bias"}, false)), 2 * rms_norm);
  }
  void smollm3() {
    c_.flag({"use_sliding_window"}, false);
    llama();
  }
  void mistral() {
    begin();
    repeat(attention(false, false), gated(false), 2 * rms_norm);
  }
  void phi3() { mistral(); }
  void mixtral() {
    begin();
    repeat(attention(false, false), experts(c_.size({"intermediate_size"})), 2 * rms_norm);
  }
  void qwen2() {
    begin();
    repeat(attention(true, false), gated(false), 2 * rms_norm);
  }
  void qwen2_moe() {
    begin();
    mixed(attention(c_.flag({"qkv_bias"}, true), false), with_shared_gate(), 2 * rms_norm);
  }
  void qwen3() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(with_head_norms(attention(bias, bias)), gated(false), 2 * rms_norm);
  }
  void qwen3_moe() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    mixed(with_head_norms(attention(bias, bias)), experts(c_.size({"moe_intermediate_size"})),
          2 * rms_norm);
  }
  void qwen3_next() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    mixer gate = attention(bias, bias);
    gate.has_gate = true;
    if (bias) gate.beside += gate.heads * gate.head;
    mixed(with_head_norms(gate), with_shared_gate(), 2 * rms_norm);
  }
  void gemma() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), gated(false), 2 * rms_norm);
  }
  void gemma2() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), gated(false), 4 * rms_norm);
  }
  void gemma3() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(with_head_norms(attention(bias, bias)), gated(false), 4 * rms_norm);
  }
  void cohere() {  // both parts behind one norm, which has no bias
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    mixer m = attention(bias, bias);
    if (c_.flag({"use_qk_norm"}, false)) m.beside += (m.heads + m.groups) * m.head;
    repeat(m, gated(false), rms_norm);
  }
  void glm() {
    begin();
    repeat(attention(c_.flag({"attention_bias"}, false), false), gated(false), 2 * rms_norm);
  }
  void glm4() {
    begin();
    repeat(attention(c_.flag({"attention_bias"}, false), false), gated(false), 4 * rms_norm);
  }
  void glm4_moe() {
    begin();
    mixer m = attention(c_.flag({"attention_bias"}, false), false);
    if (c_.flag({"use_qk_norm"}, false)) m = with_head_norms(m);
    mixed(m, with_shared(experts(c_.size({"moe_intermediate_size"}))), 2 * rms_norm);
  }
  void granitemoe() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), experts(c_.size({"intermediate_size"})), 2 * rms_norm);
  }
  void olmo() {  // norms without parameters
    begin(0);
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), gated(false), 0);
  }
  void olmo2() { repeat_with_wide_norms(false); }
  void olmoe() { repeat_with_wide_norms(true); }
  void exaone4() {
    begin();
    repeat(with_head_norms(attention(false, false)), gated(false), 2 * rms_norm);
  }
  void hunyuan_dense() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(with_head_norms(attention(bias, bias)), gated(false), 2 * rms_norm);
  }
  // One shared expert of the experts' size.
  void hunyuan_moe() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    feed_forward f = experts(c_.size({"intermediate_size"}));
    f.shared_width = f.expert_width;
    repeat(with_head_norms(attention(bias, bias)), f, 2 * rms_norm);
  }
  void ernie() {
    begin();
    bool const bias = c_.flag({"use_bias"}, false);
    repeat(attention(bias, bias), gated(bias), 2 * rms_norm);
  }
  void ernie_moe() {
    begin();
    bool const bias = c_.flag({"use_bias"}, false);
    feed_forward f = experts(c_.size({"moe_intermediate_size"}));
    f.shared_width = c_.size_or({"moe_num_shared_experts"}, 0) * f.expert_width;
    f.beside = f.experts;  // a correction that training does not touch, yet a parameter
    if (bias && f.shared_width > 0) f.beside += 2 * f.shared_width + h_;  // experts have none
    if (bias) a_.beside += a_.vocabulary;
    mixed(attention(bias, bias), f, 2 * rms_norm, bias);
  }
  // Sinks, a bias everywhere, clamped gates.
  void gpt_oss() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, true);
    mixer m = attention(bias, bias);
    m.beside += m.heads;
    feed_forward f = experts(c_.size({"intermediate_size"}));
    f.is_clamped = true;
    f.beside = f.experts;
    f.beside_expert = 2 * f.expert_width + h_;
    c_.has({"swiglu_limit"});
    repeat(m, f, 2 * rms_norm);
  }
  // Experts take a shared one beside them; layers between them are wider.
  void llama4() {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    feed_forward f = experts(c_.size({"intermediate_size"}));
    f.shared_width = f.expert_width;
    c_.flag({"use_qk_norm"}, true);  // without parameters
    mixed(attention(bias, bias), f, 2 * rms_norm);
  }
  void deepseek() {
    begin();
    mixer m{.kind = mixer_kind::compressed, .heads = c_.size({"num_attention_heads"})};
    c_.size_or({"num_key_value_heads"}, 0);  // each head has its own, of the compressed ones
    c_.size_or({"head_dim", "qk_head_dim"}, 0);
    m.groups = m.heads;
    m.q_rank = c_.size_or({"q_lora_rank"}, 0);
    m.kv_rank = c_.size({"kv_lora_rank"});
    m.nope = c_.size({"qk_nope_head_dim"});
    m.rope = c_.size({"qk_rope_head_dim"});
    m.value_head = c_.size({"v_head_dim"});
    m.head = m.nope + m.rope;
    m.beside = m.q_rank + m.kv_rank;  // norms
    if (c_.flag({"attention_bias"}, false)) m.beside += m.q_rank + m.kv_rank + m.rope + h_;
    bool const bias = c_.flag({"mlp_bias"}, false);
    feed_forward f = with_shared(experts(c_.size({"moe_intermediate_size"})));
    if (bias && f.shared_width > 0) f.beside += 2 * f.shared_width + h_;
    mixed(m, f, 2 * rms_norm, bias);
  }

  // GPT-2 and its time: LayerNorm, a bias everywhere, two matrices.
  void gpt2() {
    begin_with({"n_embd", "hidden_size"}, {"n_layer", "num_hidden_layers"}, layer_norm);
    mixer m = heads_of({"n_head", "num_attention_heads"});
    if (c_.flag({"multi_query"}, false)) m.groups = 1;
    a_.beside += c_.size({"n_positions", "max_position_embeddings"}) * h_;
    if (c_.flag({"add_cross_attention"}, false)) c_.fail("has cross attention: it is no decoder alone");
    c_.size_or({"num_key_value_heads"}, 0);  // follows from multi_query
    repeat(with_biases(m, true, true), plain(c_.size_or({"n_inner"}, 4 * h_), true), 2 * layer_norm);
  }
  void gptj() {
    begin_with({"n_embd", "hidden_size"}, {"n_layer", "num_hidden_layers"}, layer_norm);
    a_.beside += a_.vocabulary;  // the head's bias
    repeat(heads_of({"n_head", "num_attention_heads"}), plain(c_.size_or({"n_inner"}, 4 * h_), true),
           layer_norm);
  }
  void gpt_neox() {
    begin(layer_norm);
    bool const bias = c_.flag({"attention_bias"}, true);
    repeat(with_biases(heads_of({"num_attention_heads"}), bias, bias),
           plain(c_.size({"intermediate_size"}), true), 2 * layer_norm);
  }
  void opt() {
    bool const final_norm =
        c_.flag({"do_layer_norm_before"}, true) && !c_.flag({"_remove_final_layer_norm"}, false);
    double const norm = c_.flag({"layer_norm_elementwise_affine"}, true) ? layer_norm : 0;
    begin(final_norm ? norm : 0);
    a_.embedding = c_.size_or({"word_embed_proj_dim"}, 0);
    a_.beside += (c_.size({"max_position_embeddings"}) + 2) * h_;
    bool const bias = c_.flag({"enable_bias"}, true);
    repeat(with_biases(heads_of({"num_attention_heads"}), bias, bias), plain(c_.size({"ffn_dim"}), bias),
           2 * norm);
  }
  void bloom() {
    begin_with({"hidden_size", "n_embed", "n_embd"}, {"n_layer", "num_hidden_layers"}, 2 * layer_norm);
    repeat(with_biases(heads_of({"n_head", "num_attention_heads"}), true, true), plain(4 * h_, true),
           2 * layer_norm);
  }
  void falcon() {
    begin_with({"hidden_size"}, {"num_hidden_layers", "n_layer"}, layer_norm);
    mixer m = heads_of({"num_attention_heads", "n_head"});
    bool const is_new = c_.flag({"new_decoder_architecture"}, false);
    bool const shares_keys = c_.flag({"multi_query"}, true);
    double const groups = c_.size_or({"num_kv_heads", "n_head_kv"}, m.heads);
    if (is_new)
      m.groups = groups;
    else if (shares_keys)
      m.groups = 1;
    double norms = is_new ? c_.size_or({"num_ln_in_parallel_attn"}, 2) : 1;
    if (!is_new && !c_.flag({"parallel_attn"}, true)) norms = 2;
    c_.flag({"parallel_attn"}, true);
    c_.size_or({"num_ln_in_parallel_attn"}, 2);
    bool const bias = c_.flag({"bias"}, false);
    repeat(with_biases(m, bias, bias), plain(c_.size_or({"ffn_hidden_size"}, 4 * h_), bias),
           norms * layer_norm);
  }
  void starcoder2() {
    begin(layer_norm);
    bool const bias = c_.flag({"use_bias"}, true);
    repeat(attention(bias, bias), plain(c_.size({"intermediate_size"}), bias), 2 * layer_norm);
  }
  void nemotron() {
    begin(layer_norm);
    bool const bias = c_.flag({"attention_bias"}, false);
    repeat(attention(bias, bias), plain(c_.size({"intermediate_size"}), c_.flag({"mlp_bias"}, false)),
           2 * layer_norm);
  }

  // Layers of one part each, by letters or by name.
  void nemotron_h() {
    std::string const pattern = c_.word({"hybrid_override_pattern"}, "");
    std::vector<std::string> const types = c_.words({"layers_block_type"});
    a_.hidden = h_ = c_.size({"hidden_size"});
    double const heads = c_.size({"mamba_num_heads"}), inner = heads * c_.size({"mamba_head_dim"});
    mixer const scan =
        mamba2_mixer(heads, inner, c_.size_or({"n_groups", "mamba_n_groups"}, 8),
                     c_.size({"ssm_state_size"}), c_.flag({"use_bias", "mamba_proj_bias"}, false));
    c_.flag({"mamba_proj_bias"}, false);
    c_.size_or({"expand"}, 2);  // heads and their size say it
    bool const mlp_bias = c_.flag({"mlp_bias"}, false);
    c_.flag({"attention_bias"}, false);  // no layer has one
    mixer const attends = attention(false, false);
    feed_forward const dense = plain(c_.size({"intermediate_size"}), mlp_bias);
    feed_forward routed = experts(c_.size({"moe_intermediate_size"}));
    routed.is_gated = false;
    routed.latent = c_.size_or({"moe_latent_size"}, 0);
    routed.shared_width = c_.size_or({"moe_shared_expert_intermediate_size"}, 0);  // of all of them
    c_.size_or({"n_shared_experts"}, 0);
    if (mlp_bias) {
      if (routed.shared_width > 0) routed.beside += routed.shared_width + h_;
      if (routed.latent > 0) routed.beside += routed.latent + h_;
    }
    std::string letters = pattern;
    for (std::string const& each : types)
      letters += each == "mamba" || each == "linear_attention"     ? 'M'
                 : each == "attention" || each == "full_attention" ? '*'
                 : each == "mlp"                                   ? '-'
                 : each == "moe"                                   ? 'E'
                                                                   : '?';
    if (!pattern.empty() && !types.empty()) letters = pattern;
    if (letters.empty()) c_.fail("lacks \"hybrid_override_pattern\" or \"layers_block_type\"");
    c_.size_or({"num_hidden_layers"}, 0);
    set_tables(rms_norm);
    a_.is_tied = false;
    for (char kind : letters) {
      layer l;
      if (kind == 'M') l.mix = scan;
      if (kind == '*') l.mix = attends;
      if (kind == '-') l.feed = dense;
      if (kind == 'E') l.feed = routed;
      if (std::string_view("M*-E").find(kind) == std::string_view::npos)
        c_.fail(
            "\"hybrid_override_pattern\" must have letters M, *, - and E, and \"layers_block_type\" "
            "mamba, attention, mlp and moe");
      (kind == 'M' || kind == '*' ? l.mix.beside : l.feed.beside) += h_;
      a_.add(l);
    }
    a_.predictor = {.mix = attends, .feed = letters.find('E') != std::string::npos ? routed : dense};
    c_.word({"mtp_hybrid_override_pattern"}, "");
    c_.words({"mtp_layers_block_type"});
  }
  void mamba2() {
    begin();
    double const heads = c_.size({"num_heads"}), inner = c_.size_or({"expand"}, 2) * h_;
    c_.word({"hidden_act"}, "silu");
    if (std::fabs(heads * c_.size({"head_dim"}) - inner) > 0.5)
      c_.fail("must have \"num_heads\" x \"head_dim\" = \"expand\" x \"hidden_size\"");
    layer l;
    l.mix = mamba2_mixer(heads, inner, c_.size_or({"n_groups"}, 8), c_.size({"state_size"}),
                         c_.flag({"use_bias"}, false));
    l.mix.beside += h_;
    for (int i = 0; i < layers_; ++i) a_.add(l);
    a_.predictor = l;
  }
  // Mamba-1 with attention and experts now and then.
  void jamba() {
    begin();
    mixer const attends = attention(false, false);
    double const inner = c_.size_or({"mamba_expand"}, 2) * h_, state = c_.size({"mamba_d_state"});
    double const width = c_.size({"mamba_d_conv"});
    bool const is_automatic = c_.is_text("mamba_dt_rank");
    mixer scan{.kind = mixer_kind::state_space,
               .inner = inner,
               .keys = state,
               .rank = is_automatic ? std::ceil(h_ / 16) : c_.size({"mamba_dt_rank"})};
    scan.beside = inner * width + (c_.flag({"mamba_conv_bias"}, true) ? inner : 0)  //
                  + inner                                                           // of dt_proj
                  + inner * state + inner                                           // A, D
                  + scan.rank + 2 * state;                                          // norms
    if (c_.flag({"mamba_proj_bias"}, false)) scan.beside += 2 * inner + h_;
    feed_forward const dense = gated(false), routed = experts(c_.size({"intermediate_size"}));
    auto const at = [&](char const* period, char const* offset, int i) {
      auto const p = static_cast<int>(c_.size({period}));
      return i % p == static_cast<int>(c_.size_or({offset}, 0)) % p;
    };
    for (int i = 0; i < layers_; ++i) {
      bool const is_routed = routed.experts > 1 && at("expert_layer_period", "expert_layer_offset", i);
      layer l{.mix = at("attn_layer_period", "attn_layer_offset", i) ? attends : scan,
              .feed = is_routed ? routed : dense};
      l.mix.beside += h_;
      l.feed.beside += h_;
      a_.add(l);
    }
    a_.predictor = {.mix = attends, .feed = routed};
  }
  // Softmax attention in some layers, linear attention in the others.
  void minimax() {
    begin();
    mixer const attends = attention(false, false);
    double const inner = attends.heads * attends.head;
    mixer linear{.kind = mixer_kind::state_space, .heads = attends.heads, .inner = inner, .keys = inner};
    linear.beside = inner;
    feed_forward const f = experts(c_.size({"intermediate_size"}));
    std::vector<std::string> const types = c_.words({"layer_types"});
    std::vector<long long> const numbers = c_.numbers({"attn_type_list"});
    for (int i = 0; i < layers_; ++i) {
      auto const n = static_cast<std::size_t>(i);
      bool const is_full = n < types.size()     ? types[n] == "full_attention"
                           : n < numbers.size() ? numbers[n] == 1
                                                : i % 2 == 0;
      add(is_full ? attends : linear, f, 2 * rms_norm);
    }
    a_.predictor = {.mix = attends, .feed = f};
  }

 private:
  void begin(double final_norm = rms_norm) {
    begin_with({"hidden_size"}, {"num_hidden_layers"}, final_norm);
  }
  void begin_with(keys hidden, keys layers, double final_norm) {
    a_.hidden = h_ = c_.size(hidden);
    double const count = c_.size(layers);
    if (count > 100'000) c_.fail("has too many layers");
    layers_ = static_cast<int>(count);
    set_tables(final_norm);
  }
  void set_tables(double final_norm) {
    a_.vocabulary = c_.size({"vocab_size"});
    a_.is_tied = c_.flag({"tie_word_embeddings"}, false);
    a_.beside = final_norm * h_;
  }

  mixer heads_of(keys heads) const {
    mixer m{.kind = mixer_kind::attention, .heads = c_.size(heads)};
    m.groups = m.heads;
    m.head = std::floor(h_ / m.heads);
    return m;
  }
  mixer with_biases(mixer m, bool before, bool after) const {
    if (before) m.beside += (m.heads + 2 * m.groups) * m.head;
    if (after) m.beside += h_;
    return m;
  }
  mixer attention(bool bias_before, bool bias_after) const {
    mixer m = heads_of({"num_attention_heads"});
    m.groups = c_.size_or({"num_key_value_heads"}, m.heads);
    m.head = c_.size_or({"head_dim"}, m.head);
    return with_biases(m, bias_before, bias_after);
  }
  // A norm of each head, of queries as of keys; all heads share it.
  static mixer with_head_norms(mixer m) {
    m.beside += 2 * m.head;
    return m;
  }
  mixer mamba2_mixer(double heads, double inner, double groups, double state, bool bias) const {
    mixer m{.kind = mixer_kind::state_space, .inner = inner, .keys = groups * state, .steps = heads};
    double const channels = inner + 2 * m.keys;
    m.beside = channels * c_.size({"conv_kernel"}) + (c_.flag({"use_conv_bias"}, true) ? channels : 0)
               + 3 * heads + inner;  // step sizes, A, D; the norm
    if (bias) m.beside += 2 * inner + 2 * m.keys + heads + h_;
    return m;
  }

  feed_forward gated(bool bias) const { return gated_of(c_.size({"intermediate_size"}), bias); }
  feed_forward gated_of(double width, bool bias) const {
    c_.word({"hidden_act", "hidden_activation"}, "");
    c_.word({"hidden_activation"}, "");
    return {.kind = feed_forward_kind::dense,
            .is_gated = true,
            .width = width,
            .beside = bias ? 2 * width + h_ : 0};
  }
  feed_forward plain(double width, bool bias) const {
    c_.word({"hidden_act", "activation_function", "activation", "mlp_hidden_act"}, "");
    return {.kind = feed_forward_kind::dense, .width = width, .beside = bias ? width + h_ : 0};
  }
  feed_forward experts(double width) const {
    c_.word({"hidden_act", "mlp_hidden_act"}, "");
    feed_forward f{.kind = feed_forward_kind::experts, .is_gated = true};
    f.experts = c_.size({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
    f.chosen = c_.size({"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"});
    if (f.chosen > f.experts)
      c_.fail(fmt::format("chooses {} of {} experts for a token", f.chosen, f.experts));
    f.expert_width = width;
    return f;
  }
  feed_forward with_shared(feed_forward f) const {
    f.shared_width = c_.size_or({"n_shared_experts"}, 0) * f.expert_width;
    return f;
  }
  // The shared expert has a size of its own, and a gate.
  feed_forward with_shared_gate() const {
    feed_forward f = experts(c_.size({"moe_intermediate_size"}));
    f.shared_width = c_.size({"shared_expert_intermediate_size"});
    f.beside = h_;
    return f;
  }

  void add(mixer m, feed_forward f, double norms) {
    m.beside += norms / 2 * h_;
    f.beside += norms / 2 * h_;
    a_.add({.mix = m, .feed = f});
  }

  // Layers alike but for what their attention sees.
  void repeat(mixer const& m, feed_forward const& f, double norms) {
    for (int i = 0; i < layers_; ++i) add(seen_by(m, i), f, norms);
    a_.predictor = {.mix = m, .feed = f};
  }
  // Some are dense.
  void mixed(mixer const& m, feed_forward const& routed, double norms, bool dense_bias = false) {
    double const dense_width =
        c_.size_or({"intermediate_size_mlp"}, c_.size_or({"intermediate_size"}, 0));
    c_.size_or({"intermediate_size"}, 0);
    feed_forward const dense = gated_of(dense_width, dense_bias);
    for (int i = 0; i < layers_; ++i) {
      bool const is_routed = is_routed_at(i);
      if (!is_routed && !(dense_width > 0)) c_.fail("lacks \"intermediate_size\" of its dense layers");
      add(seen_by(m, i), is_routed ? routed : dense, norms);
    }
    a_.predictor = {.mix = m, .feed = routed};
  }
  void repeat_with_wide_norms(bool has_experts) {
    begin();
    bool const bias = c_.flag({"attention_bias"}, false);
    mixer m = attention(bias, bias);
    m.beside += (m.heads + m.groups) * m.head;
    repeat(m, has_experts ? experts(c_.size({"intermediate_size"})) : gated(false), 2 * rms_norm);
  }

  // As each type says which layers have experts.
  bool is_routed_at(int i) const {
    std::vector<std::string> const types = c_.words({"mlp_layer_types"});
    if (static_cast<std::size_t>(i) < types.size())
      return types[static_cast<std::size_t>(i)] == "sparse";
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

  // Which layers see a window, a chunk, or all: listed, or in the pattern of the type.
  mixer seen_by(mixer m, int i) const {
    double const chunk = c_.size_or({"attention_chunk_size"}, 0);
    double window = c_.size_or({"sliding_window"}, 0);
    bool const may_slide = c_.flag({"use_sliding_window"}, true);
    auto const pattern =
        static_cast<int>(c_.size_or({"sliding_window_pattern", "_sliding_window_pattern"}, one_in_));
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
    m.window = window;
    return m;
  }
  // Gated delta net.
  mixer linear_mixer() const {
    double const values = c_.size({"linear_num_value_heads"});
    mixer m{.kind = mixer_kind::state_space,
            .inner = values * c_.size({"linear_value_head_dim"}),
            .keys = c_.size({"linear_num_key_heads"}) * c_.size({"linear_key_head_dim"}),
            .steps = 2 * values};
    m.beside = (m.inner + 2 * m.keys) * c_.size({"linear_conv_kernel_dim"}) + 2 * values
               + c_.size({"linear_value_head_dim"});
    return m;
  }

  model_config const& c_;
  architecture& a_;
  double h_ = 0;   // hidden size
  double one_in_;  // layers that sees all, where a window is given
  int layers_ = 0;
};

struct decoder_type {
  char const* name;
  void (decoder::*read)();
  double one_in = 1;  // layers that sees all, where a window is given
};

constexpr std::array decoder_types{decoder_type{"bloom", &decoder::bloom},
                                   decoder_type{"cohere", &decoder::cohere},
                                   decoder_type{"cohere2", &decoder::cohere, 4},
                                   decoder_type{"deepseek_v2", &decoder::deepseek},
                                   decoder_type{"deepseek_v3", &decoder::deepseek},
                                   decoder_type{"ernie4_5", &decoder::ernie},
                                   decoder_type{"ernie4_5_moe", &decoder::ernie_moe},
                                   decoder_type{"exaone4", &decoder::exaone4, 4},
                                   decoder_type{"falcon", &decoder::falcon},
                                   decoder_type{"gemma", &decoder::gemma},
                                   decoder_type{"gemma2", &decoder::gemma2, 2},
                                   decoder_type{"gemma3_text", &decoder::gemma3, 6},
                                   decoder_type{"glm", &decoder::glm},
                                   decoder_type{"glm4", &decoder::glm4},
                                   decoder_type{"glm4_moe", &decoder::glm4_moe},
                                   decoder_type{"gpt2", &decoder::gpt2},
                                   decoder_type{"gpt_bigcode", &decoder::gpt2},
                                   decoder_type{"gpt_neox", &decoder::gpt_neox},
                                   decoder_type{"gpt_oss", &decoder::gpt_oss, 2},
                                   decoder_type{"gptj", &decoder::gptj},
                                   decoder_type{"granite", &decoder::llama},
                                   decoder_type{"granitemoe", &decoder::granitemoe},
                                   decoder_type{"hunyuan_v1_dense", &decoder::hunyuan_dense},
                                   decoder_type{"hunyuan_v1_moe", &decoder::hunyuan_moe},
                                   decoder_type{"jamba", &decoder::jamba},
                                   decoder_type{"llama", &decoder::llama},
                                   decoder_type{"llama4_text", &decoder::llama4},
                                   decoder_type{"mamba2", &decoder::mamba2},
                                   decoder_type{"minimax", &decoder::minimax},
                                   decoder_type{"mistral", &decoder::mistral},
                                   decoder_type{"mixtral", &decoder::mixtral},
                                   decoder_type{"nemotron", &decoder::nemotron},
                                   decoder_type{"nemotron_h", &decoder::nemotron_h},
                                   decoder_type{"olmo", &decoder::olmo},
                                   decoder_type{"olmo2", &decoder::olmo2},
                                   decoder_type{"olmoe", &decoder::olmoe},
                                   decoder_type{"opt", &decoder::opt},
                                   decoder_type{"phi3", &decoder::phi3},
                                   decoder_type{"qwen2", &decoder::qwen2},
                                   decoder_type{"qwen2_moe", &decoder::qwen2_moe},
                                   decoder_type{"qwen3", &decoder::qwen3},
                                   decoder_type{"qwen3_moe", &decoder::qwen3_moe},
                                   decoder_type{"qwen3_next", &decoder::qwen3_next},
                                   decoder_type{"smollm3", &decoder::smollm3},
                                   decoder_type{"starcoder2", &decoder::starcoder2}};

}  // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (decoder_type const& each : decoder_types) names.emplace_back(each.name);
  return names;
}

bool read_decoder(std::string const& type, model_config const& config, architecture& made) {
  for (decoder_type const& each : decoder_types) {
    if (type != each.name) continue;
    decoder d(config, made, each.one_in);
    (d.*each.read)();
    made.predictions =
        static_cast<int>(config.size_or({"num_nextn_predict_layers", "num_mtp_layers"}, 0));
    return true;
  }
  return false;
}

}  // namespace tool
