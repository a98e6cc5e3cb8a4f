// Writes a model as arguments of Megatron-LM.
#include "predict/frameworks.hpp"
#include "predict/megatron_norms.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace tool {

namespace {

using ashlar::cost::architecture;
using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer;
using ashlar::cost::mixer_kind;

std::string whole(double n) { return fmt::format("{:.0f}", n); }

// Returns empty text if all layers attend alike and have feed-forward parts.
std::string obstacle_of_layers(architecture const& a) {
  for (layer const& l : a.kinds) {
    if (l.mix.kind != mixer_kind::attention && l.mix.kind != mixer_kind::compressed)
      return "its layers are not all of attention, for which nothing here writes arguments";
    if (l.mix.window > 0 || l.mix.chunk > 0)
      return "its attention sees a window, for which nothing here writes arguments";
    if (!(l.mix == a.kinds[0].mix) || l.mix.has_gate) return "its layers attend in several ways";
    if (l.feed.kind == feed_forward_kind::none || l.feed.latent > 0)
      return "its layers are no attention with a feed-forward part";
    if (l.feed.is_gated != a.kinds[0].feed.is_gated || l.feed.is_clamped)
      return "its activations are none that arguments name";
  }
  if (a.kinds.size() > 2 || (a.kinds.size() == 2 && a.kinds[0].feed.kind == a.kinds[1].feed.kind))
    return "its layers have feed-forward parts of several widths";
  if (a.embedding_width() != a.hidden) return "its embedding has another width than its layers";
  if (a.repeats) return "it runs one prediction layer again and again";
  return {};
}

// Says which layers have experts: ([0]*3+[1]*58).
std::string frequency_of(architecture const& a) {
  std::string text;
  int const n = a.layer_count();
  auto const routed = [&](int i) { return a.at(i).feed.kind == feed_forward_kind::experts; };
  for (int i = 0, end = 0; i < n; i = end) {
    while (end < n && routed(end) == routed(i)) ++end;
    text += fmt::format("{}[{}]*{}", text.empty() ? "" : "+", routed(i) ? 1 : 0, end - i);
  }
  return "(" + text + ")";
}

}  // namespace

std::vector<argument> megatron_model_arguments(prediction const& p, std::string& why) {
  architecture const& a = p.asked.model;
  std::vector<argument> all;
  if (why = obstacle_of_layers(a); !why.empty()) return all;
  mixer const& m = a.kinds[0].mix;
  layer const *dense = nullptr, *routed = nullptr;
  for (layer const& l : a.kinds) (l.feed.kind == feed_forward_kind::dense ? dense : routed) = &l;
  auto const add = [&](char const* name, std::string const& value = "") {
    all.push_back({name, value});
  };
  add("num-layers", whole(a.layer_count()));
  add("hidden-size", whole(a.hidden));
  add("ffn-hidden-size", whole(dense != nullptr ? dense->feed.width : routed->feed.expert_width));
  add("num-attention-heads", whole(m.heads));
  add("vocab-size", whole(a.vocabulary));
  if (a.kinds[0].feed.is_gated) add("swiglu");
  if (!a.is_tied) add("untie-embeddings-and-output-weights");
  if (m.kind == mixer_kind::compressed) {
    add("multi-latent-attention");
    if (m.q_rank > 0) add("q-lora-rank", whole(m.q_rank));
    add("kv-lora-rank", whole(m.kv_rank));
    add("qk-head-dim", whole(m.nope));
    add("qk-pos-emb-head-dim", whole(m.rope));
    add("v-head-dim", whole(m.value_head));
  } else {
    add("kv-channels", whole(m.head));
    if (m.groups < m.heads) {
      add("group-query-attention");
      add("num-query-groups", whole(m.groups));
    }
  }
  if (routed != nullptr) {
    add("num-experts", whole(routed->feed.experts));
    add("moe-router-topk", whole(routed->feed.chosen));
    add("moe-ffn-hidden-size", whole(routed->feed.expert_width));
    if (routed->feed.shared_width > 0)
      add("moe-shared-expert-intermediate-size", whole(routed->feed.shared_width));
    if (routed->feed.groups > 1) {
      add("moe-router-num-groups", whole(routed->feed.groups));
      add("moe-router-group-topk", whole(routed->feed.chosen_groups));
    }
    if (dense != nullptr) add("moe-layer-freq", frequency_of(a));
  }
  if (a.predictions > 0) add("mtp-num-layers", whole(a.predictions));
  // The norms and biases are those that leave as many parameters beside the matrices.
  for (megatron_norms const& norms : megatron_norms::all())
    if (norms.fits(a, p.asked.sequence)) {
      for (argument const& each : norms.arguments()) all.push_back(each);
      return all;
    }
  why = "its norms and biases are none that arguments make";
  return {};
}

}  // namespace tool
