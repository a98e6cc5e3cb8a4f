#include "predict/megatron_norms.hpp"

#include "predict/frameworks.hpp"
#include "predict/norm_sizes.hpp"

#include <cmath>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;

}  // namespace

void megatron_norms::count_in(architecture& a, double positions) const {
  double const h = a.hidden;
  norm_sizes const one = !are_counted ? norm_sizes{} : is_rms ? rms_norm : layer_norm;
  auto const count = [&](layer& l, double around) {
    auto& m = l.mix;
    auto& f = l.feed;
    double const qkv = ((m.has_gate ? 2 : 1) * m.heads + 2 * m.groups) * m.head;
    m.beside = m.norms = m.biases = 0;
    add_norms(m, around, one);
    if (m.kind == mixer_kind::attention) {
      if (has_biases || has_qkv_bias) add_biases(m, qkv);
      if (norms_heads) add_norms(m, 2 * m.head, one);
    } else if (norms_heads) {
      add_norms(m, m.q_rank + m.kv_rank, one);
    }
    if (has_biases) add_biases(m, h);
    double const first = f.is_gated ? 2 : 1;
    f.beside = f.norms = f.biases = 0;
    add_norms(f, around, one);
    if (f.kind == feed_forward_kind::dense && has_biases) add_biases(f, first * f.width + h);
    if (f.kind == feed_forward_kind::experts) {
      f.beside_expert = has_biases ? first * f.expert_width + h : 0;
      if (gates_shared && f.shared_width > 0) f.beside += h;
      if (has_expert_bias) add_biases(f, f.experts);
    }
  };
  for (layer& l : a.kinds) count(l, h);
  count(a.predictor, 0);  // whose norms are not counted for any model
  a.beside = learns_positions ? positions * h : 0;
  a.norms = a.biases = 0;
  add_norms(a, (norms_embedding ? 2 : 1) * h, one);
}

bool megatron_norms::fits(architecture const& a, double positions) const {
  architecture made = a;
  count_in(made, positions);
  auto const alike = [](double x, double y) { return std::fabs(x - y) < 0.5; };
  for (std::size_t i = 0; i < a.kinds.size(); ++i) {
    layer const &l = a.kinds[i], &n = made.kinds[i];
    if (!alike(l.mix.beside + l.feed.beside, n.mix.beside + n.feed.beside)
        || !alike(l.feed.beside_expert, n.feed.beside_expert))
      return false;
  }
  return alike(a.beside, made.beside);
}

std::vector<argument> megatron_norms::arguments() const {
  std::vector<argument> all;
  all.push_back({"normalization", is_rms ? "RMSNorm" : "LayerNorm"});
  if (!has_biases) all.push_back({"disable-bias-linear", ""});
  if (has_qkv_bias) all.push_back({"add-qkv-bias", ""});
  if (norms_heads) all.push_back({"qk-layernorm", ""});
  if (gates_shared) all.push_back({"moe-shared-expert-gate", ""});
  if (has_expert_bias) all.push_back({"moe-router-enable-expert-bias", ""});
  all.push_back({"position-embedding-type", learns_positions ? "learned_absolute" : "rope"});
  return all;
}

std::vector<megatron_norms> megatron_norms::all() {
  std::vector<megatron_norms> made;
  for (int bits = 0; bits < 128; ++bits) {
    auto const bit = [&](int i) { return (bits >> i & 1) != 0; };
    megatron_norms n{.is_rms = !bit(0),
                     .has_biases = bit(1),
                     .has_qkv_bias = bit(2),
                     .norms_heads = bit(3),
                     .gates_shared = bit(4),
                     .learns_positions = bit(5),
                     .has_expert_bias = bit(6)};
    if (n.has_biases && n.has_qkv_bias) continue;
    made.push_back(n);
  }
  made.push_back({.is_rms = true, .has_biases = false, .learns_positions = false, .are_counted = false});
  return made;
}

}  // namespace tool
