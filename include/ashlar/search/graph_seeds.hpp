// Schedules of any stage graph that a search can begin with.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Orders in which a forward runs when a pass after it needs it, and a backward as soon as it can, so
// that little is held at a time.
class demand_order {
 public:
  // Finds the orders.
  demand_order(stage_graph const& graph, placement const& where, int micro_batch_count);

  std::vector<std::vector<pass>> const& orders() const { return orders_; }

 private:
  std::size_t at(int stage, int k) const { return static_cast<std::size_t>(stage * micro_batches_ + k); }
  void run(pass_kind kind, int stage, int k) {
    nth(orders_, where_.device_of(0, stage)).push_back({kind, stage, k});
  }
  void demand(int stage, int k);
  void go_back(int stage, int k);

  stage_graph const& graph_;
  placement const& where_;
  int micro_batches_;
  std::vector<std::vector<pass>> orders_;
  std::vector<char> forward_, backward_;  // by stage and micro-batch: whether it has run
};

// The largest micro-batches one after the other, with split backwards, on the first route. `m` counts
// the smallest ones and is a multiple of the largest. Linear in passes and edges.
schedule one_after_another(stage_graph const& graph, placement const& where, micro_batches m,
                           costs const& cost);

// Makes that, then kFkB with one, two and four of the largest micro-batches in turn, and with all of
// them at once; backwards are split. Throws as k_f_k_b() does.
std::vector<schedule> graph_seeds(stage_graph const& graph, placement const& where, micro_batches m,
                                  costs const& cost);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/graph_seeds.ipp>
#endif
