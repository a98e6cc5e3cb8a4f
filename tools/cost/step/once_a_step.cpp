#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/once_a_step.hpp>

#include <cmath>

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

}  // namespace ashlar::cost
