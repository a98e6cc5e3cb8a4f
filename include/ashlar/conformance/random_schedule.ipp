// Definitions of random_schedule.hpp.
#pragma once

#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::conformance::random_detail {

// Every device runs, at random, any pass that it can run next. Stages are anywhere, some of them are
// recomputed, and backwards are fused or split.
ASHLAR_INLINE schedule in_random_order(dice& d, stage_graph graph, int p, int m) {
  int const stage_count = graph.count();
  std::vector<int> device_of;
  for (int s = 0; s < stage_count; ++s) device_of.push_back(d.below(p));
  bool const fused = d.one_in(2);
  std::vector<pass> waiting;
  result_table<char> to_come(stage_count, m, 0);
  auto const enter = [&](pass_kind kind, int stage, int k) {
    waiting.push_back({kind, stage, k});
    to_come.at(k, stage, result_of(kind)) = 1;
  };
  for (int s = 0; s < stage_count; ++s) {
    bool const again = d.one_in(4);
    for (int k = 0; k < m; ++k) {
      if (!graph.runs(s, k)) continue;
      enter(pass_kind::forward, s, k);
      if (again) enter(pass_kind::recompute, s, k);
      enter(fused ? pass_kind::backward : pass_kind::backward_input, s, k);
      if (!fused) enter(pass_kind::backward_weight, s, k);
    }
  }
  std::vector<std::vector<pass>> orders(static_cast<std::size_t>(p));
  while (!waiting.empty()) {
    auto const which = waiting.begin() + d.below(static_cast<int>(waiting.size()));
    pass const what = *which;
    bool ready = true;
    for_each_input(graph, what,
                   [&](result r, int stage, int k) { ready = ready && to_come.at(k, stage, r) == 0; });
    if (!ready) continue;
    to_come.at(what.micro_batch, what.stage, result_of(what.kind)) = 0;
    nth(orders, nth(device_of, what.stage)).push_back(what);
    waiting.erase(which);
  }
  tick const transfer = d.below(3);
  stage_cost const each{1 + d.below(3), 1 + d.below(3), 1 + d.below(3)};
  schedule s = schedule_from_orders(placement(devices{p}, {device_of}),
                                    std::vector<int>(static_cast<std::size_t>(m), 0),
                                    costs(each, transfer), orders);
  s.graph = std::move(graph);
  return squeeze(std::move(s));
}

}  // namespace ashlar::conformance::random_detail

namespace ashlar::conformance {

ASHLAR_INLINE schedule random_schedule(std::uint64_t seed, int sequence_chunks) {
  must_be(at_least(parameter::sequence_chunk_count, sequence_chunks, 1));
  must_be(at_most(parameter::sequence_chunk_count, sequence_chunks, most_passes / 8));
  random_detail::dice d(seed);
  int const p = 1 + d.below(4), count = 1 + d.below(6), m = sequence_chunks * (1 + d.below(5));
  return random_detail::in_random_order(d, in_sequence_chunks(chain(stages{count}), sequence_chunks), p,
                                        m);
}

ASHLAR_INLINE schedule random_graph_schedule(std::uint64_t seed) {
  random_detail::dice d(seed);
  int const p = 1 + d.below(4), count = 2 + d.below(6);
  std::vector<stage_edge> edges;
  std::vector<int> sizes;
  for (int to = 0; to < count; ++to) {
    for (int from = 0; from < to; ++from)
      if (d.below(to + 2) < 2) edges.push_back({from, to});
    sizes.push_back(1 << d.below(3));
  }
  stage_graph graph(stages{count}, std::move(edges));
  if (d.one_in(2)) graph = in_micro_batches(std::move(graph), std::move(sizes));
  int const m = graph.together() * (1 + d.below(graph.has_sizes() ? 2 : 5));
  return random_detail::in_random_order(d, std::move(graph), p, m);
}

}  // namespace ashlar::conformance
