// 1F1B and kFkB over any stage graph. Jeon et al., GraphPipe: Improving Performance and Scalability of
// DNN Training with Graph Pipeline Parallelism (2024); kFkB: Wang et al., Ada-Grouper (2023).
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/catalog/orders.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/grids.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// Each stage runs as many forwards as it has in flight (model/in_flight.hpp; whole micro-batches, and no
// fewer than the rule says: with fewer, stages of different sizes can wait for each other in a cycle),
// then k backwards and k forwards in turn. Orders are those of stages with a device each; stages that
// share a device take turns by their starts, and micro-batches take routes in turns. `m` is in units of
// the smallest micro-batches. Squeezed under `cost`. Throws violation: as in_flight() and relocate() do,
// rule::parameter_is_at_most for more than most_passes, and rule::order_has_no_cycle where turns k b do
// not divide one another and stages come to wait for each other in a cycle; powers of two do not.
constexpr schedule k_f_k_b(stage_graph const& graph, placement const& where, micro_batches m,
                           std::vector<int> const& k, costs cost = {}) {
  std::vector<std::int64_t> const units = in_flight(graph, k);
  if (graph.count() != where.stage_count())
    refuse(wrong_size(table::stages_of_placement, where.stage_count(), graph.count()));
  must_be(check(cost, graph.count(), where.device_count(), m.value, graph.sequence_chunks()));
  if (m.value < 1) refuse({.broken = rule::counts_are_positive, .number = m.value});
  must_be(at_most(parameter::micro_batch_count, m.value, most_passes / max_of(1, graph.count())));
  placement const each = linear(devices{graph.count()});
  costs alike = cost;
  if (where != each) {
    alike.on.speeds.clear();
    alike.on.links.exceptions.clear();
  }
  schedule s = schedule_without_passes(each, std::vector<int>(static_cast<std::size_t>(m.value), 0),
                                       std::move(alike));
  s.graph = graph;
  for (int stage = 0; stage < graph.count(); ++stage) {
    std::int64_t const size = graph.size_of(stage);
    dynamic_array<pass> forwards, backwards;
    for (int unit = 0; unit < m.value; unit += graph.size_of(stage)) {
      forwards.push_back({pass_kind::forward, stage, unit});
      backwards.push_back({pass_kind::backward, stage, unit});
    }
    nth(s.order, stage) = k_forwards_k_backwards(
        forwards, backwards, static_cast<std::size_t>((nth(units, stage) + size - 1) / size),
        static_cast<std::size_t>(nth(k, stage)));
  }
  s = squeeze(std::move(s));
  if (where == each) return s;
  s.cost = std::move(cost);
  return relocate(std::move(s), where);
}

// 1F1B over any stage graph: k_f_k_b() with k = 1. Throws as that.
constexpr schedule one_f_one_b(stage_graph const& graph, placement const& where, micro_batches m,
                               costs cost = {}) {
  return k_f_k_b(graph, where, m, std::vector<int>(static_cast<std::size_t>(graph.count()), 1),
                 std::move(cost));
}

// 1F1B over modules with grids of their own: each replica runs one forward and one backward in turn, so
// that a stage runs as many of each at once as it has replicas. The graph has the stages of the modules
// in their order; if it has sizes, a pass takes several micro-batches, all from one replica of a module
// to one of the next. Throws as in_grids() and k_f_k_b() do.
constexpr schedule grids_one_f_one_b(stage_graph const& graph, std::vector<module_grid> const& modules,
                                     micro_batches m, costs cost = {}) {
  placement const where = in_grids(modules);
  std::vector<int> replicas;
  for (module_grid const& each : modules)
    replicas.resize(replicas.size() + static_cast<std::size_t>(each.length.value), each.replicas);
  return k_f_k_b(graph, where, m, replicas, std::move(cost));
}

}  // namespace ashlar::catalog
