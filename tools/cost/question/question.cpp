#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/teachers.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

namespace question_detail {

// Beyond this, products of sizes would not be exact.
inline constexpr double largest = 1e15;

inline constexpr int most_predictions = 1000;

inline bool is_size(double x, bool may_be_zero = false) {
  return x <= largest && (may_be_zero ? x >= 0 : x > 0);  // false for NaN
}

inline bool is_whole(architecture const& a, mixer const& m) {
  for (double each :
       {m.heads, m.groups, m.head, m.window, m.chunk, m.q_rank, m.kv_rank, m.nope, m.rope, m.chosen,
        m.index_heads, m.index_head, m.value_head, m.inner, m.keys, m.steps, m.rank, m.beside})
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

inline bool is_whole(std::vector<measured_layer> const& all) {
  for (measured_layer const& m : all) {
    for (double each : {m.forward, m.backward, m.parameters, m.kept, m.output})
      if (!is_size(each, true)) return false;
    for (double each : {m.attends_forward, m.attends_backward})
      if (!(each >= 0 && each <= 1)) return false;
    if (m.tensor < 1) return false;
  }
  return true;
}

inline bool is_whole(architecture const& a, std::vector<layer> const& kinds,
                     std::vector<int> const& layers) {
  for (int each : layers)
    if (each < 0 || static_cast<unsigned>(each) >= kinds.size()) return false;
  for (layer const& l : kinds) {
    bool const reads = l.cross.kind == mixer_kind::none
                       || (l.cross.kind == mixer_kind::attention && a.cross_width() > 0);
    if (!is_whole(a, l.mix) || !is_whole(a, l.cross) || !reads || !is_whole(l.feed)
        || !is_whole(l.measured))
      return false;
  }
  return true;
}

inline bool is_whole(architecture const& a, tower const& t) {
  for (double each : {t.hidden, t.tokens, t.beside})
    if (!is_size(each, true)) return false;
  for (tower_product const& each : t.products)
    if (!is_size(each.rows, true) || !is_size(each.inner) || !is_size(each.columns)) return false;
  return t.inputs >= 1 && t.tokens <= largest_count && (t.layers.empty() || is_size(t.hidden))
         && is_whole(architecture_of(a, t), t.kinds, t.layers);
}

inline bool is_whole(architecture const& a) {
  if (!is_size(a.hidden) || !is_size(a.vocabulary, a.has_measured_layers())
      || !is_size(a.embedding, true) || !is_size(a.beside, true) || a.layers.empty() || a.predictions < 0
      || a.predictions > most_predictions)
    return false;
  for (tower const& each : a.towers)
    if (!is_whole(a, each)) return false;
  if (!is_whole(a, a.kinds, a.layers)) return false;
  return a.predictions == 0 || (is_whole(a, a.predictor.mix) && is_whole(a.predictor.feed));
}

inline bool is_whole(machine const& m) {
  for (double each : {m.memory_bytes, m.memory_bandwidth, m.inside, m.outside, m.units, m.exponentials,
                      m.power, peak(m, number_format::bf16), peak(m, number_format::fp32)})
    if (!(each > 0 && each < 1e30)) return false;
  for (double each : {m.products, m.exchange, m.pair})
    if (!(each >= 0 && each < 1e30)) return false;
  bool const no_host = m.host == host_side{};
  for (double each : {m.host.link, m.host.memory_bytes, m.host.memory_bandwidth})
    if (!no_host && !(each > 0 && each < 1e30)) return false;
  return m.domain > 0 && m.per_node > 0;
}

inline void must(bool holds, requirement what, long long number, long long limit = 0) {
  if (!holds) throw unpredictable(what, number, limit);
}

inline void check_kinds(question const& q) {
  cluster const& on = q.cluster;
  must(!on.kinds.empty(), requirement::sizes_are_positive, 0);
  double all = 0;
  for (device_kind const& each : on.kinds) {
    all += each.devices;
    must(each.devices >= 1, requirement::sizes_are_positive, each.devices);
    must(each.device.per_node >= 1, requirement::sizes_are_positive, each.device.per_node);
    must(is_whole(each.device), requirement::machine_is_whole, 0);
  }
  must(all <= largest_count, requirement::sizes_are_small_enough, on.kinds.front().devices,
       on.kinds.back().devices);
  must(on.between_kinds >= 0 && on.between_kinds < 1e30, requirement::machine_is_whole, 0);
}

// Measured layers were measured on the layout's number of tensor ranks, on each kind.
inline void check_measured(question const& q) {
  for (layer const& l : q.model.kinds)
    for (std::size_t k = 0; !l.measured.empty() && k < q.cluster.kinds.size(); ++k)
      must(measured_on(l, q.layout.tensor, q.cluster.kinds[k].name) != nullptr,
           requirement::layers_are_measured, q.layout.tensor, static_cast<long long>(k));
}

// Tensor ranks have as many heads each.
inline void check_heads(layer const& l, int tensor) {
  for (double heads : {l.mix.heads, l.cross.heads})
    must(heads < 1 || !(std::fmod(heads, tensor) > 0), requirement::heads_divide,
         static_cast<long long>(heads), tensor);
}

// Context ranks would divide a text that an encoder reads, and what layers of the decoder attend to.
inline bool has_whole_inputs(architecture const& a, tower const& t) {
  return t.tokens > 0 && !t.is_split_by_context && !a.has_cross_attention();
}

// How the ranks of each dimension lie on nodes and kinds.
inline void check_places(question const& q) {
  bool const several = q.cluster.has_several_kinds();
  int const together = q.layout.tensor * q.layout.context;
  must(!several || !q.layout.pipeline_inside, requirement::kinds_follow_the_pipeline, 0);
  for (device_kind const& each : q.cluster.kinds) {
    bool const is_one_node = each.devices <= each.device.per_node;
    must(is_one_node || each.devices % each.device.per_node == 0, requirement::nodes_are_full,
         each.devices, each.device.per_node);
    must(!several || each.devices % together == 0, requirement::kinds_have_whole_ranks, each.devices,
         together);
  }
}

// The formats that the devices of each kind compute with.
inline void check_kernels(question const& q) {
  for (device_kind const& each : q.cluster.kinds) {
    must(!q.layout.offload.is_any() || each.device.host.is_known(), requirement::host_is_known, 0);
    must(q.program.attention != attention_kernel::flash_3 || each.device.built == generation::hopper,
         requirement::kernel_is_for_the_machine, 0);
    must(has_products(each.device, q.program.format), requirement::machine_has_the_format, 0);
  }
}

// Weights on the host are shards of all; those of the optimizer leave with it.
inline void check_weights_away(layout const& l) {
  bool const is_sharded = l.sharding == sharding::full && l.weight_ranks == 0,
             has_owner = l.offload.weights != offloaded_weights::own || l.offload.optimizer;
  must(l.offload.weights == offloaded_weights::none || (is_sharded && has_owner),
       requirement::weights_away_are_sharded, 0);
}

inline void check_facts(given_facts const& facts) {
  for (std::size_t i = 0; i < fact_number_count; ++i) {
    double const value = facts.numbers[i];
    bool const is_said = value < 0 || value > 0 || std::isnan(value);
    must(!is_said || (value >= fact_number_table[i].least && value <= fact_number_table[i].most),
         requirement::fact_is_in_range, static_cast<long long>(i));
  }
}

}  // namespace question_detail

void check(question const& q) {
  using question_detail::must;
  layout const& l = q.layout;
  int const sizes[] = {q.sequence, q.batch,   l.micro_batch, l.tensor,        l.pipeline,
                       l.chunks,   l.context, l.expert,      l.expert_tensor, l.data};
  for (int each : sizes) must(each >= 1, requirement::sizes_are_positive, each);
  must(question_detail::is_whole(q.model), requirement::model_is_whole, 0);
  question_detail::check_kinds(q);
  must(q.model.first_trained() < q.model.layer_count() || q.model.trains_head(),
       requirement::something_trains, 0);
  double const tokens = 1.0 * q.batch * q.sequence, stages = 1.0 * l.pipeline * l.chunks;
  must(tokens <= question_detail::largest, requirement::sizes_are_small_enough, q.batch, q.sequence);
  must(stages <= 1'000'000, requirement::sizes_are_small_enough, l.pipeline, l.chunks);

  double const ranks = 1.0 * l.tensor * l.pipeline * l.context * l.data;
  must(ranks <= largest_count, requirement::sizes_are_small_enough, l.tensor, l.pipeline);
  long long const all = static_cast<long long>(ranks);
  must(all == q.cluster.device_count(), requirement::ranks_are_all_devices, all,
       q.cluster.device_count());
  question_detail::check_places(q);
  long long const together = static_cast<long long>(l.micro_batch) * l.data;
  must(q.batch % together == 0, requirement::batch_divides, q.batch, together);
  must(q.sequence % l.context == 0, requirement::context_divides_the_sequence, q.sequence, l.context);
  must(l.chunks == 1 || l.pipeline > 1, requirement::chunks_need_a_pipeline, l.chunks);

  long long const stage = all / l.pipeline;
  long long const expert_ranks = static_cast<long long>(l.expert) * l.expert_tensor;
  must(stage % expert_ranks == 0, requirement::expert_ranks_divide_a_stage, expert_ranks, stage);
  for (tower const& each : q.model.towers)
    must(1.0 * l.micro_batch * each.inputs <= largest_count, requirement::sizes_are_small_enough,
         l.micro_batch, each.inputs);
  for (tower const& each : q.model.towers)
    for (layer const& kind : each.kinds)
      question_detail::check_heads(kind, each.is_undivided ? 1 : l.tensor);
  for (tower const& each : q.model.towers)
    must(l.context == 1 || question_detail::has_whole_inputs(q.model, each),
         requirement::towers_have_whole_inputs, l.context);
  must(!q.model.has_cross_attention() || l.pipeline == 1, requirement::cross_attention_has_one_stage,
       l.pipeline);
  for (layer const& kind : q.model.kinds) {
    double const experts = kind.feed.experts;
    question_detail::check_heads(kind, l.tensor);
    if (kind.feed.kind == feed_forward_kind::experts)
      must(!(std::fmod(experts, l.expert) > 0), requirement::experts_divide,
           static_cast<long long>(experts), l.expert);
  }
  must(l.expert == 1 || q.model.has_experts(), requirement::experts_divide, 0, l.expert);
  bool const sends_parts = l.offload.parts != offloaded::none && !has(l.offload.parts, offloaded::all);
  recomputation const whole = recomputation::full | recomputation::operators;
  must(!(sends_parts && has(l.recompute, whole) && l.recompute_in.are_all()),
       requirement::what_leaves_is_kept, 0);
  must(l.shard_ranks >= 0 && l.weight_ranks >= 0, requirement::sizes_are_positive,
       min_of(l.shard_ranks, l.weight_ranks));
  must(l.shard_ranks == 0 || l.sharding != sharding::none, requirement::shards_need_sharding,
       l.shard_ranks);
  long long const sharing = static_cast<long long>(l.data) * l.context,
                  shards = l.shard_ranks > 0 ? l.shard_ranks : sharing;
  must(sharing % shards == 0, requirement::shards_divide_the_ranks, shards, sharing);
  must(shards == sharing || shards * l.tensor % expert_ranks == 0, requirement::shards_have_every_expert,
       shards * l.tensor, expert_ranks);
  must(l.weight_ranks == 0 || (l.sharding == sharding::full && shards % l.weight_ranks == 0),
       requirement::weights_divide_the_shards, l.weight_ranks,
       l.sharding == sharding::full ? shards : 0);
  question_detail::check_weights_away(l);
  int const beside = q.program.frozen_forwards;
  must(beside == 0 || (beside > 0 && beside <= 100 && l.pipeline == 1),
       requirement::forwards_beside_are_few, beside, l.pipeline);
  must(q.teachers.empty() || l.pipeline == 1, requirement::teachers_have_one_stage, l.pipeline);
  for (architecture const& each : q.teachers) check(teacher_question(q, each));
  question_detail::check_kernels(q);
  question_detail::check_facts(q.program.facts);
  question_detail::check_measured(q);
}

double padded_vocabulary(architecture const& model, int tensor) {
  double const to = 128.0 * tensor;
  return std::ceil(model.vocabulary / to) * to;
}

double head_rows(architecture const& model, int tensor) {
  return model.has_logits() ? padded_vocabulary(model, tensor) / tensor : model.outputs;
}

double head_columns(architecture const& model) {
  return model.has_logits() ? model.embedding_width() : model.hidden;
}

int stage_ranks_in_domain(cluster const& on, layout const& l) {
  int const domain = domain_of(on);
  if (!l.pipeline_inside) return domain;
  long long const replica = 1LL * l.tensor * l.context, pipelines = replica * l.pipeline;
  if (pipelines <= domain) return static_cast<int>(replica * (domain / pipelines));
  return static_cast<int>(min_of<long long>(domain, replica));
}

double attention_span(int sequence, mixer const& m) {
  double const s = sequence, window = m.chosen > 0 ? m.chosen : m.window, sides = m.sees_all ? 2 : 1;
  if (m.chunk > 0 && m.chunk < s) return sides * m.chunk / 2;
  return window > 0 && window < s ? window * (1 - window / (2 * sides * s)) : sides * s / 2;
}

}  // namespace ashlar::cost
