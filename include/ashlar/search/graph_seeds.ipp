// Definitions of graph_seeds.hpp.
#pragma once

#include <ashlar/catalog/graphs.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/graph_seeds.hpp>

namespace ashlar {

ASHLAR_INLINE demand_order::demand_order(stage_graph const& graph, placement const& where,
                                         int micro_batch_count)
    : graph_(graph),
      where_(where),
      micro_batches_(micro_batch_count),
      orders_(static_cast<std::size_t>(where.device_count())),
      forward_(static_cast<std::size_t>(graph.count() * micro_batch_count), 0),
      backward_(forward_) {
  int const group = graph.together();
  for (int first = 0; first < micro_batch_count; first += group)
    for (int stage = 0; stage < graph.count(); ++stage)
      if (graph.successors(stage).size() == 0)
        for (int k = first; k < first + group; k += graph.size_of(stage)) demand(stage, k);
}

ASHLAR_INLINE void demand_order::demand(int stage, int k) {
  if (forward_[at(stage, k)] != 0) return;
  forward_[at(stage, k)] = 1;
  for (int before : graph_.predecessors(stage))
    for_each_matching(graph_.size_of(stage), graph_.size_of(before), k,
                      [&](int j) { demand(before, j); });
  run(pass_kind::forward, stage, k);
  if (graph_.successors(stage).size() == 0) go_back(stage, k);
}

ASHLAR_INLINE void demand_order::go_back(int stage, int k) {
  bool ready = true;
  for (int after : graph_.successors(stage))
    for_each_matching(graph_.size_of(stage), graph_.size_of(after), k,
                      [&](int j) { ready = ready && backward_[at(after, j)] != 0; });
  if (!ready) return;
  backward_[at(stage, k)] = 1;
  run(pass_kind::backward_input, stage, k);
  run(pass_kind::backward_weight, stage, k);
  for (int before : graph_.predecessors(stage))
    for_each_matching(graph_.size_of(stage), graph_.size_of(before), k,
                      [&](int j) { go_back(before, j); });
}

ASHLAR_INLINE schedule one_after_another(stage_graph const& graph, placement const& where,
                                         micro_batches m, costs const& cost) {
  demand_order const demanded(graph, where, m.value);
  schedule s = schedule_from_orders(where, std::vector<int>(static_cast<std::size_t>(m.value), 0), cost,
                                    demanded.orders());
  s.graph = graph;
  return squeeze(static_cast<schedule&&>(s));
}

ASHLAR_INLINE std::vector<schedule> graph_seeds(stage_graph const& graph, placement const& where,
                                                micro_batches m, costs const& cost) {
  std::vector<schedule> seeds{one_after_another(graph, where, m, cost)};
  std::vector<int> route, turns;
  for (int stage = 0; stage < graph.count(); ++stage) route.push_back(where.device_of(0, stage));
  placement const one(devices{where.device_count()}, {route});
  for (int units : {1, 2, 4, m.value}) {
    turns.clear();
    for (int stage = 0; stage < graph.count(); ++stage)
      turns.push_back(max_of(1, units / graph.size_of(stage)));
    schedule s = split_backward(catalog::k_f_k_b(graph, one, m, turns, cost));
    s.where = where;
    seeds.push_back(squeeze(static_cast<schedule&&>(s)));
    if (units >= m.value) break;
  }
  return seeds;
}

}  // namespace ashlar
