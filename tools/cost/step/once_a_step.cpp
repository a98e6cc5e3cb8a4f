#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/weight_matrices.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/once_a_step.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

namespace once_detail {

inline double data_seconds(question const& q, parameter_counts const& held, device_seconds const& beside,
                           int copies, constants const& c) {
  double const ranks = q.layout.sharing_ranks() * copies,
               groups = q.layout.expert_sharing_ranks() * copies, others = q.layout.copies_of_shards();
  double moved =
      held.dense * (ranks - 1) / ranks / group_rate(q.cluster, q.layout, ranks, q.layout.tensor, c);
  if (held.expert > 0 && groups > 1)
    moved +=
        held.expert * (groups - 1) / groups
        / group_rate(q.cluster, q.layout, groups, 1.0 * q.layout.expert * q.layout.expert_tensor, c);
  // Copies of each shard sum its gradients, both ways.
  if (others > 1)
    moved += 2 * (held.dense / ranks + held.expert / groups) * (others - 1) / others
             / group_rate(q.cluster, q.layout, others, q.layout.tensor * ranks, c);
  stack const s = stack_of(q);
  // Sums of shards are in 32 bits, in the recipes of Megatron-Bridge in 16 (grad_reduce_in_fp32); other
  // sums move everything twice. Megatron of 2021 sums in 16 bits.
  bool const is_shared = q.layout.sharding != sharding::none,
             is_recipe = s.program == program_kind::recipe;
  double const reduced = (s.is_classic ? 4 : !is_shared ? 8 : is_recipe ? 2 : 4) * moved;
  double const gathered = is_shared && !s.is_classic ? 2 * moved : 0;
  // If virtual stages are summed in shards, each group of micro-batches but the last has its sums before
  // the end.
  int const m = q.micro_batches(),
            groups_before = s.sums_in_shards && q.layout.chunks > 1 ? (m - 1) / q.layout.pipeline : 0;
  double const before = groups_before * reduced;
  // Each bucket but the first, which counts anyway, has its latency; and the last bucket's sum comes
  // after the backward, as the first one's gather comes before the forward.
  double const bucket = s.facts.number(fact_number::bucket),
               buckets = bucket > 0 ? std::ceil(max_of(1.0, held.both() / bucket)) : 1,
               later = (buckets - 1) * latency_seconds(ranks, c),
               exposed = bucket > 0 ? max_of(c.data_exposed, 1 / buckets) : c.data_exposed;
  double const sums = reduced + later, gathers = gathered > 0 ? gathered + later : 0;
  if (!s.facts.has(fact::data_overlap)) return before + sums + gathers;
  return max_of(c.contention * before, before - m * beside.backward)
         + max_of(exposed * reduced, sums - beside.backward)
         + max_of(exposed * gathered, gathers - beside.forward);
}

// Products of each round: X by its transpose, that by itself, and the sum of both by X.
inline constexpr int rounds = 5;

inline double orthogonal_seconds(question const& q, stage const& s, constants const& c) {
  machine const& device = q.cluster.device();
  double const rate = product_rate(device, number_format::bf16, c);
  double seconds = 0;
  auto const add = [&](double m, double n, double k, double count) {
    seconds += rounds * product_seconds(device, rate, {.m = m, .n = n, .k = k, .count = count}, 2, c);
  };
  int const first_trained = q.model.first_trained();
  for (int i = s.first; i < s.first + s.count; ++i) {
    if (!q.model.lora.are_any() && q.model.gradients_of(i, first_trained) != gradient_kind::all)
      continue;
    for (weight_matrix const& each : weight_matrices(q.model, q.model.at(i))) {
      if (each.is_expert && !q.model.update.takes_experts) continue;
      double const count = each.is_expert ? each.count / q.layout.expert : each.count,
                   narrow = each.shorter(), wide = each.longer();
      add(narrow, narrow, wide, count);
      add(narrow, narrow, narrow, count);
      add(narrow, wide, narrow, count);
    }
  }
  return seconds;
}

}  // namespace once_detail

once_a_step once_on(question const& q, parameter_counts const& held, device_seconds const& beside,
                    int copies, constants const& c) {
  once_a_step once;
  double const ranks = 1.0 * q.layout.data * q.layout.context * copies;
  if (!stack_of(q).is_sharded && ranks > 1 && held.both() > 0)
    once.data = latency_seconds(ranks, c) + once_detail::data_seconds(q, held, beside, copies, c);
  if (stack_of(q).is_sharded && q.program.sums_copies_once)
    once.data = copies_seconds(q.cluster, q.layout, held, c);
  double const sharing = q.layout.sharing_ranks() * copies;
  double const updated =
      q.layout.sharding == sharding::none
          ? held.both()
          : held.dense / sharing + held.expert / (q.layout.expert_sharing_ranks() * copies);
  // Adam reads the gradient, the 32-bit weight and two moments; it writes those three and the weight,
  // which has the upper half of 32 bits if only the rest is held beside it.
  fact_values const facts = stack_of(q).facts;
  double const moved = 4 + 2 * (facts.main_bytes() + facts.moment_bytes()) + 2
                       + (facts.main_weights() == weights_held::rest ? 2 : 0);
  once.optimizer = moved * updated / memory_rate(q.cluster.device(), c);
  // Gradients in 32 bits go to the host, and weights in 16 come back; but what stays on the host does
  // not come back at once, and gradients beside it have gone already.
  if (q.layout.offload.optimizer) {
    host_side const& host = q.cluster.device().host;
    offloaded_weights const away = q.layout.offload.weights;
    double const copied = (away == offloaded_weights::own ? 0 : 4)
                          + (away == offloaded_weights::none ? value_bytes(q.program.format) : 0);
    once.optimizer = updated * (copied / host.link + moved / host.memory_bandwidth);
  }
  return once;
}

once_a_step once_by_stages(question const& q, held_parameters const& held,
                           std::vector<stage> const& stages, std::vector<int> const& numbers,
                           device_seconds const& beside, int copies, constants const& c) {
  once_a_step once = once_on(q, held.trained, beside, copies, c);
  if (q.model.update.kind == optimizer_kind::adam) return once;
  bool const splits = q.layout.sharding != sharding::none;
  double const ranks = splits ? q.layout.sharing_ranks() * copies : 1,
               expert_ranks = splits ? q.layout.expert_sharing_ranks() * copies : 1;
  fact_values const facts = stack_of(q).facts;
  double const moved =
      state_bytes(held.state, facts, ranks, expert_ranks)
      - facts.moment_bytes() * (held.trained.dense / ranks + held.trained.expert / expert_ranks);
  once.optimizer += 2 * moved / memory_rate(q.cluster.device(), c);
  if (q.model.update.kind == optimizer_kind::muon)
    for (int each : numbers)
      once.optimizer += once_detail::orthogonal_seconds(q, stages[static_cast<std::size_t>(each)], c)
                        / (q.model.update.is_repeated ? 1 : ranks);
  return once;
}

}  // namespace ashlar::cost
