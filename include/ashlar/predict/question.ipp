// Definitions of question.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/question.hpp>

#include <cmath>

namespace ashlar::predict {

namespace question_detail {

// Beyond this, products of sizes would not be exact.
inline constexpr double largest = 1e15;

inline constexpr int most_predictions = 1000;

inline bool is_size(double x, bool may_be_zero = false) {
  return x <= largest && (may_be_zero ? x >= 0 : x > 0);  // false for NaN
}

inline bool is_whole(architecture const& a, mixer const& m) {
  for (double each : {m.heads, m.groups, m.head, m.window, m.chunk, m.q_rank, m.kv_rank, m.nope, m.rope,
                      m.value_head, m.inner, m.keys, m.steps, m.rank, m.beside})
    if (!is_size(each, true)) return false;
  bool const has_heads = m.heads > 0;
  switch (m.kind) {
    case mixer_kind::attention:
      return has_heads && m.groups > 0 && m.head > 0;
    case mixer_kind::compressed:
      return has_heads && m.kv_rank > 0 && m.nope + m.rope > 0 && m.value_head > 0;
    case mixer_kind::state_space:
      return m.inner > 0;
    case mixer_kind::none:
      break;
  }
  return is_size(a.hidden);
}

inline bool is_whole(feed_forward const& f) {
  for (double each : {f.width, f.experts, f.chosen, f.expert_width, f.shared_width, f.latent, f.groups,
                      f.chosen_groups, f.beside, f.beside_expert})
    if (!is_size(each, true)) return false;
  if (f.kind == feed_forward_kind::dense) return f.width > 0;
  if (f.kind == feed_forward_kind::experts)
    return f.experts > 0 && f.chosen > 0 && f.chosen <= f.experts && f.expert_width > 0
           && f.chosen_groups <= f.groups;
  return true;
}

inline bool is_whole(architecture const& a) {
  if (!is_size(a.hidden) || !is_size(a.vocabulary) || !is_size(a.embedding, true)
      || !is_size(a.beside, true) || a.layers.empty() || a.predictions < 0
      || a.predictions > most_predictions)
    return false;
  for (int each : a.layers)
    if (each < 0 || static_cast<unsigned>(each) >= a.kinds.size()) return false;
  for (layer const& l : a.kinds)
    if (!is_whole(a, l.mix) || !is_whole(l.feed)) return false;
  return a.predictions == 0 || (is_whole(a, a.predictor.mix) && is_whole(a.predictor.feed));
}

inline bool is_whole(machine const& m) {
  for (double each : {m.memory_bytes, m.memory_bandwidth, m.inside, m.outside, m.units, m.exponentials,
                      m.power, peak(m, number_format::bf16), peak(m, number_format::fp32)})
    if (!(each > 0 && each < 1e30)) return false;
  bool const no_host = m.host == host_side{};
  for (double each : {m.host.link, m.host.memory_bytes, m.host.memory_bandwidth})
    if (!no_host && !(each > 0 && each < 1e30)) return false;
  return m.domain > 0 && m.per_node > 0;
}

inline void must(bool holds, requirement what, long long number, long long limit = 0) {
  if (!holds) throw unpredictable(what, number, limit);
}

}  // namespace question_detail

ASHLAR_INLINE void check(question const& q) {
  using question_detail::must;
  int const sizes[] = {q.devices,  q.per_node, q.sequence, q.batch,  q.micro_batch,   q.tensor,
                       q.pipeline, q.chunks,   q.context,  q.expert, q.expert_tensor, q.data};
  for (int each : sizes) must(each >= 1, requirement::sizes_are_positive, each);
  must(question_detail::is_whole(q.model), requirement::model_is_whole, 0);
  must(question_detail::is_whole(q.device), requirement::machine_is_whole, 0);
  must(q.model.first_trained() < q.model.layer_count() || q.model.trains_head(),
       requirement::something_trains, 0);
  double const tokens = 1.0 * q.batch * q.sequence, stages = 1.0 * q.pipeline * q.chunks;
  must(tokens <= question_detail::largest, requirement::sizes_are_small_enough, q.batch, q.sequence);
  must(stages <= 1'000'000, requirement::sizes_are_small_enough, q.pipeline, q.chunks);

  double const ranks = 1.0 * q.tensor * q.pipeline * q.context * q.data;
  must(ranks <= 2e9, requirement::sizes_are_small_enough, q.tensor, q.pipeline);
  long long const all = static_cast<long long>(ranks);
  must(all == q.devices, requirement::ranks_are_all_devices, all, q.devices);
  must(q.devices <= q.per_node || q.devices % q.per_node == 0, requirement::nodes_are_full, q.devices,
       q.per_node);
  long long const together = static_cast<long long>(q.micro_batch) * q.data;
  must(q.batch % together == 0, requirement::batch_divides, q.batch, together);
  must(q.sequence % q.context == 0, requirement::context_divides_the_sequence, q.sequence, q.context);
  must(q.chunks == 1 || q.pipeline > 1, requirement::chunks_need_a_pipeline, q.chunks);

  long long const stage = all / q.pipeline;
  long long const expert_ranks = static_cast<long long>(q.expert) * q.expert_tensor;
  must(stage % expert_ranks == 0, requirement::expert_ranks_divide_a_stage, expert_ranks, stage);
  for (layer const& l : q.model.kinds) {
    double const heads = l.mix.heads, experts = l.feed.experts;
    must(heads < 1 || !(std::fmod(heads, q.tensor) > 0), requirement::heads_divide,
         static_cast<long long>(heads), q.tensor);
    if (l.feed.kind == feed_forward_kind::experts)
      must(!(std::fmod(experts, q.expert) > 0), requirement::experts_divide,
           static_cast<long long>(experts), q.expert);
  }
  must(q.expert == 1 || q.model.has_experts(), requirement::experts_divide, 0, q.expert);
  must(!q.leaves.is_any() || q.device.host.is_known(), requirement::host_is_known, 0);
  bool const sends_parts = q.leaves.parts != offloaded::none && !has(q.leaves.parts, offloaded::all);
  must(!(sends_parts && has(q.again, recomputation::full) && q.again_in.are_all()),
       requirement::what_leaves_is_kept, 0);
  must(q.shard_ranks >= 0 && q.weight_ranks >= 0, requirement::sizes_are_positive,
       min_of(q.shard_ranks, q.weight_ranks));
  must(q.shard_ranks == 0 || q.shares != sharding::none, requirement::shards_need_sharding,
       q.shard_ranks);
  long long const sharing = static_cast<long long>(q.data) * q.context,
                  shards = q.shard_ranks > 0 ? q.shard_ranks : sharing;
  must(sharing % shards == 0, requirement::shards_divide_the_ranks, shards, sharing);
  must(shards == sharing || shards * q.tensor % expert_ranks == 0, requirement::shards_have_every_expert,
       shards * q.tensor, expert_ranks);
  must(q.weight_ranks == 0 || (q.shares == sharding::full && shards % q.weight_ranks == 0),
       requirement::weights_divide_the_shards, q.weight_ranks, q.shares == sharding::full ? shards : 0);
  must(q.attention != attention_kernel::flash_3 || q.device.built == generation::hopper,
       requirement::kernel_is_for_the_machine, 0);
  must(has_products(q.device, q.format), requirement::machine_has_the_format, 0);
}

ASHLAR_INLINE double padded_vocabulary(question const& q) {
  double const to = 128.0 * q.tensor;
  return std::ceil(q.model.vocabulary / to) * to;
}

ASHLAR_INLINE int domain_of(question const& q) {
  machine const& m = q.device;
  return min_of(m.domain, m.domain > q.per_node ? q.devices : q.per_node);
}

ASHLAR_INLINE int stage_ranks_in_domain(question const& q) {
  int const domain = domain_of(q);
  if (!q.pipeline_inside) return domain;
  long long const replica = 1LL * q.tensor * q.context, pipelines = replica * q.pipeline;
  if (pipelines <= domain) return static_cast<int>(replica * (domain / pipelines));
  return static_cast<int>(min_of<long long>(domain, replica));
}

ASHLAR_INLINE double expert_data(question const& q) {
  return max_of(1.0, q.devices / (1.0 * q.pipeline * q.expert * q.expert_tensor));
}

ASHLAR_INLINE double attention_span(question const& q, mixer const& m) {
  double const s = q.sequence, window = m.window;
  if (m.chunk > 0 && m.chunk < s) return m.chunk / 2;
  return window > 0 && window < s ? window * (1 - window / (2 * s)) : s / 2;
}

namespace question_detail {

// Operations per token of scores and their use.
inline double attention_operations(question const& q, mixer const& m) {
  if (m.kind == mixer_kind::attention) return 4 * attention_span(q, m) * m.heads * m.head;
  if (m.kind == mixer_kind::compressed)
    return 2 * attention_span(q, m) * m.heads * (m.nope + m.rope + m.value_head);
  return 0;
}

}  // namespace question_detail

ASHLAR_INLINE double step_operations(question const& q) {
  architecture const& a = q.model;
  double met = active_parameters(a) - (a.is_tied ? 0 : a.table_parameters()), attention = 0;
  for (int i = 0; i < a.layer_count(); ++i)
    attention += question_detail::attention_operations(q, a.at(i).mix);
  if (a.predictions > 0) {
    layer const& l = a.predictor;
    double const block = layer_matrices(a, l, l.feed.chosen) + 2 * a.hidden * a.hidden;
    met += a.predictions * (block + a.table_parameters());
    attention += a.predictions * question_detail::attention_operations(q, l.mix);
  }
  // Frozen parts take no gradients of weights, nor of inputs if nothing before them trains.
  int const first_trained = a.first_trained();
  double less = a.trains_head() ? 0 : 2 * a.table_parameters();
  for (int i = 0; i < a.layer_count() && a.freezes_any(); ++i) {
    layer const& l = a.at(i);
    gradient_kind const takes = a.gradients_of(i, first_trained);
    double const own = layer_matrices(a, l, l.feed.chosen) + l.mix.beside + l.feed.beside;
    if (takes != gradient_kind::all) less += 2 * own;
    if (takes == gradient_kind::none)
      less += 2 * own + 2 * question_detail::attention_operations(q, l.mix);
  }
  return (6 * met + 3 * attention - less) * q.sequence * q.batch;
}

}  // namespace ashlar::predict
