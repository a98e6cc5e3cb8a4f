// Measures of schedules, blocks and cuts: times, memory, lifespans, numbers of stages.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/block/measures.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>
#include <vector>

namespace doors {

inline memory_model some_memory(dice& d) {
  memory_model memory;
  for (int changes = d.between(0, 3); changes > 0; --changes) change_memory(d, memory);
  return memory;
}

inline void measures_of_schedules(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, s);
  memory_model const memory = some_memory(d);
  knock([&] { demand(makespan(s) < 2 * max_tick && span(s) >= 0); });
  knock([&] {
    for (tick const each : busy(s)) demand(each >= 0 && each <= max_tick);
  });
  knock([&] { demand(bubble_rate(s) <= 1 && bubble_rate_span(s) <= 1); });
  knock([&] { demand(overhead(s) <= 1 && overhead_span(s) <= 1); });
  knock([&] { recomputed_stages(s); });
  knock([&] { peak_activations(s); });
  knock([&] { demand(peak_memory(s, memory).size() == s.order.size()); });
  knock([&] { demand(smallest_budget(s.where, memory, extreme(d, 0), extreme(d, 1)) >= 0); });
  memory_limit const limit{.memory = memory, .budget = {extreme(d, byte_count{4})}};
  demand(!check(limit, s.where, 4, extreme(d, 1)).ok() || check(memory, s.stage_count()).ok());
  knock([&] { relocate(s, other_placement(d, s.where)); });
  knock([&] { fold_in_half(s); });
  knock([&] { find_pairs(s); });
  std::size_t turns = 0;
  diagnosis const stuck = take_turns(s, [&](std::size_t, std::size_t) { ++turns; });
  std::size_t slots = 0;
  for (auto const& order : s.order) slots += order.size();
  demand(turns == slots || !stuck.ok());
  knock([&] { with_causal_chunks(s.cost, d.between(-1, 9), {extreme(d, 5), extreme(d, 5)}); });
}

inline void measures_of_blocks(dice& d) {
  catalog::entry const& e = some_entry(d);
  if (e.block_of == nullptr) return;
  block const good = e.block_of({devices{2}, micro_batches{4}});
  block b = good;
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, b);
  knock([&] { lifespan(b, stage_id{extreme(d, 0)}, micro_batch_id{extreme(d, 0)}); });
  int const device = d.between(0, 2);
  knock([&] { demand(activation_bound(b, device_id{device}) >= 0); });
  knock([&] { demand(repeated_peak(b, device_id{device}) >= 0); });
  knock([&] { most_held(extreme(d, tick{3}), extreme(d, tick{3})); });
  knock([&] { overlay(b, good); });
  knock([&] { overlay(good, b); });
}

inline void measures_of_cuts(dice& d) {
  stage_graph graph = random_graph(d, d.between(1, 6));
  for (int changes = d.between(0, 1); changes > 0; --changes) change_graph(d, graph);
  auto const number = [&](int most) { return d.percent(95) ? d.between(0, most) : extreme(d, 1); };
  std::vector<int> stage_of(static_cast<std::size_t>(graph.count()));
  for (int& stage : stage_of) stage = number(2);
  if (d.percent(10)) change_list(d, stage_of);
  bool const right = check_partition(graph, stage_of).ok();
  knock([&] { demand(partitioned(graph, stage_of).stage_of.size() == stage_of.size() && right); });
  knock([&] { demand(find_returning_path(graph, stage_of).empty() || !right); });
  std::vector<stage_edge> edges(static_cast<std::size_t>(d.between(0, 4)));
  for (stage_edge& e : edges) e = {number(4), number(4)};
  int const count = d.percent(90) ? d.between(-1, 6) : extreme(d, 5);
  knock([&] { ascending_numbers(count < 1000 ? count : most_stages + 1, edges); });
  std::vector<int> turns(stage_of.size(), 1);
  change_list(d, turns);
  knock([&] { in_flight(graph, turns); });
}

inline void of_measures(dice& d) {
  measures_of_schedules(d);
  measures_of_blocks(d);
  measures_of_cuts(d);
}

}  // namespace doors
