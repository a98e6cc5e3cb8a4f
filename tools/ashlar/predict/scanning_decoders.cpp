// Decoders with state-space layers or linear attention.
#include "predict/decoder.hpp"

#include <cmath>
#include <string_view>

namespace tool {

using ashlar::cost::feed_forward;
using ashlar::cost::layer;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;

void decoder::qwen3_next() {
  begin();
  bool const bias = c_.flag({"attention_bias"}, false);
  mixer gate = attention(bias, bias);
  gate.has_gate = true;
  if (bias) add_biases(gate, gate.heads * gate.head);
  mixed(with_head_norms(gate), with_shared_gate(), 2 * rms_norm);
}

// Layers of one part each, by letters or by name.
void decoder::nemotron_h() {
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
    if (routed.shared_width > 0) add_biases(routed, routed.shared_width + h_);
    if (routed.latent > 0) add_biases(routed, routed.latent + h_);
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
    if (kind == 'M' || kind == '*')
      add_norms(l.mix, h_);
    else
      add_norms(l.feed, h_);
    a_.add(l);
  }
  a_.predictor = {.mix = attends, .feed = letters.find('E') != std::string::npos ? routed : dense};
  c_.word({"mtp_hybrid_override_pattern"}, "");
  c_.words({"mtp_layers_block_type"});
}

void decoder::mamba2() {
  begin();
  double const heads = c_.size({"num_heads"}), inner = c_.size_or({"expand"}, 2) * h_;
  c_.word({"hidden_act"}, "silu");
  if (std::fabs(heads * c_.size({"head_dim"}) - inner) > 0.5)
    c_.fail("must have \"num_heads\" x \"head_dim\" = \"expand\" x \"hidden_size\"");
  layer l;
  l.mix = mamba2_mixer(heads, inner, c_.size_or({"n_groups"}, 8), c_.size({"state_size"}),
                       c_.flag({"use_bias"}, false));
  add_norms(l.mix, h_);
  for (int i = 0; i < layers_; ++i) a_.add(l);
  a_.predictor = l;
}

// Mamba-1 with attention and experts now and then.
void decoder::jamba() {
  begin();
  mixer const attends = attention(false, false);
  double const inner = c_.size_or({"mamba_expand"}, 2) * h_, state = c_.size({"mamba_d_state"});
  double const width = c_.size({"mamba_d_conv"});
  bool const is_automatic = c_.is_text("mamba_dt_rank");
  mixer scan{.kind = mixer_kind::state_space,
             .inner = inner,
             .keys = state,
             .rank = is_automatic ? std::ceil(h_ / 16) : c_.size({"mamba_dt_rank"})};
  scan.beside = inner * width + inner * state + inner;                         // A, D
  add_biases(scan, (c_.flag({"mamba_conv_bias"}, true) ? inner : 0) + inner);  // of dt_proj
  add_norms(scan, scan.rank + 2 * state);
  if (c_.flag({"mamba_proj_bias"}, false)) add_biases(scan, 2 * inner + h_);
  feed_forward const dense = gated(false), routed = experts(c_.size({"intermediate_size"}));
  auto const at = [&](char const* period, char const* offset, int i) {
    auto const p = static_cast<int>(c_.size({period}));
    return i % p == static_cast<int>(c_.size_or({offset}, 0)) % p;
  };
  for (int i = 0; i < layers_; ++i) {
    bool const is_routed = routed.experts > 1 && at("expert_layer_period", "expert_layer_offset", i);
    layer l{.mix = at("attn_layer_period", "attn_layer_offset", i) ? attends : scan,
            .feed = is_routed ? routed : dense};
    add_norms(l.mix, h_);
    add_norms(l.feed, h_);
    a_.add(l);
  }
  a_.predictor = {.mix = attends, .feed = routed};
}

// Softmax attention in some layers, linear attention in the others.
void decoder::minimax() {
  begin();
  mixer const attends = attention(false, false);
  double const inner = attends.heads * attends.head;
  mixer linear{.kind = mixer_kind::state_space, .heads = attends.heads, .inner = inner, .keys = inner};
  add_norms(linear, inner);
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

}  // namespace tool
