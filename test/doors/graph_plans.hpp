// Plans for graphs of operators.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/plan/graphs/graph_plan.hpp>

namespace doors {

inline void of_graph_plans(dice& d) {
  operator_model model{random_graph(d, d.between(1, 5)), {}};
  for (int i = d.percent(95) ? model.graph.count() : d.between(0, 5); i > 0; --i)
    model.cost.push_back({.launch = d.between(0, 2),
                          .forward = d.between(1, 4),
                          .backward_input = d.between(1, 4),
                          .backward_weight = d.between(1, 4),
                          .weights = d.between(0, 3),
                          .kept = d.between(0, 3),
                          .output = d.between(0, 3)});
  tick operator_cost::*const fields[] = {&operator_cost::launch,         &operator_cost::forward,
                                         &operator_cost::backward_input, &operator_cost::backward_weight,
                                         &operator_cost::weights,        &operator_cost::kept,
                                         &operator_cost::output};
  for (int changes = d.between(0, 2); changes > 0; --changes)
    put(d, model.cost, fields[d.between(0, 6)]);
  operator_machine machine{
      .device_count = d.between(1, 4), .memory = d.between(5, 60), .bandwidth = d.between(0, 2)};
  if (d.percent(10)) machine.device_count = extreme(d, 2);
  if (machine.device_count > 64 && machine.device_count < (1 << 24)) machine.device_count = 4;
  if (d.percent(20)) machine.memory = extreme(d, machine.memory);
  if (d.percent(20)) machine.bandwidth = extreme(d, machine.bandwidth);
  operator_batch batch{.samples = 1 << d.between(0, 3), .largest_micro_batch = 1 << d.between(0, 2)};
  if (d.percent(10)) batch.samples = extreme(d, 4);
  if (d.percent(10)) batch.largest_micro_batch = extreme(d, 2);
  knock([&] { best_graph_plan(model, machine, batch); });
  if (batch.samples > 64) return;
  knock([&] {
    simulated_plan const p =
        best_simulated_plan(model, machine, batch, d.percent(80) ? d.between(0, 60) : extreme(d, 50));
    demand(p.chosen_step <= p.rated_step && p.chosen_step >= 0);
  });
}

}  // namespace doors
