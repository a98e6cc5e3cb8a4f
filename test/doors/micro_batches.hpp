// Micro-batches that differ: their order, the samples that they get, and passes in parts.
#pragma once

#include "doors/limits.hpp"
#include <ashlar/catalog/input_shards.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/plan/parts/deal_samples.hpp>
#include <ashlar/search/micro_batch_order.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline std::vector<pass_part> some_parts(dice& d) {
  std::vector<pass_part> parts(static_cast<std::size_t>(d.between(0, 4)));
  for (pass_part& part : parts)
    part = {any_of<part_resource>(d, 1), d.percent(80) ? d.between(0, 5) : extreme(d, tick{1}),
            d.percent(50)};
  return parts;
}

inline void of_micro_batches(dice& d) {
  schedule s = catalog::find(d.percent(50) ? "1f1b" : "chimera")->make({devices{2}, micro_batches{4}});
  std::vector<stage_cost> each(4);
  for (stage_cost& c : each) c = {d.between(0, 4), d.between(0, 4), d.between(0, 4)};
  s.cost.passes = pass_costs::by_stage_and_micro_batch(each, 4);
  memory_limit const limit = some_limit(d);
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  std::vector<int> order{3, 1, 0, 2};
  if (d.percent(40)) change_list(d, order);
  knock([&] { in_order(s.cost.passes, order); });
  knock([&] { in_order(limit.memory, order); });
  knock([&] {
    ordered_micro_batches const found =
        order_micro_batches(s, {.evaluations = d.between(-1, 40)}, d.percent(50) ? &limit : nullptr);
    demand(check(found.best).ok() && (!found.least || found.reached >= *found.least));
  });
  knock([&] { demand(check(catalog::with_input_shards(s)).ok()); });

  sequence_cost cost{.tokens = 8, .whole = {20, 26, 14}, .attention = {30, 46}};
  if (d.percent(20)) cost.tokens = extreme(d, 8);
  if (d.percent(20)) cost.whole.forward = extreme(d, tick{20});
  if (d.percent(20)) cost.attention.forward = extreme(d, 30);
  std::vector<int> tokens{1, 8, 3, 3, 5};
  if (d.percent(40)) change_list(d, tokens);
  knock([&] { cost.of(tokens); });
  knock([&] {
    dealt_samples dealt = deal_samples(tokens, cost, micro_batches{some_count(d, 4)},
                                       d.percent(50) ? max_tick : extreme(d, std::int64_t{10}));
    demand(dealt.longest >= dealt.least * (1 - 1e-9));
    if (d.percent(20)) change_list(d, tokens);
    dealt.costs_of(tokens, cost);
  });

  part_costs parts{.stages = {}, .how = any_of<braiding>(d, 2)};
  for (int n = d.between(0, 3); n > 0; --n) parts.stages.push_back({some_parts(d), some_parts(d)});
  knock([&] { costs_of(parts); });
  schedule braided = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, braided);
  knock([&] {
    part_timeline const t = time_parts(braided, parts);
    for (device_parts const& own : t.devices)
      demand(own.computing >= 0 && own.computing <= t.makespan && own.exchanging >= 0
             && own.exchanging <= t.makespan);
  });
}

}  // namespace doors
