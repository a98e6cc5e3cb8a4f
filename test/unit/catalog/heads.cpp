#include <ashlar/catalog/heads.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

using namespace ashlar;

namespace {

TEST_CASE("heads follow the trunk, side by side or one after another") {
  stage_graph const flat = catalog::chain_with_heads(stages{3}, 2);
  CHECK(flat == stage_graph(stages{5}, {{0, 1}, {1, 2}, {2, 3}, {2, 4}}));
  CHECK(depth(flat) == 4);
  stage_graph const deep =
      catalog::chain_with_heads(stages{2}, 3, catalog::head_order::one_after_another);
  CHECK(deep == stage_graph(stages{5}, {{0, 1}, {1, 2}, {1, 3}, {3, 4}}));
  CHECK(depth(deep) == 4);
  CHECK(catalog::chain_with_heads(stages{3}, 1) == chain(stages{4}));
  CHECK_BREAKS(counts_are_positive, catalog::chain_with_heads(stages{0}, 0));
  CHECK_BREAKS(stage_edges_ascend, catalog::chain_with_heads(stages{0}, 2));
  CHECK_BREAKS(counts_are_positive, catalog::chain_with_heads(stages{1}, -1));
  CHECK_BREAKS(parameter_is_at_most, catalog::chain_with_heads(stages{most_stages}, 1));
  int const largest = std::numeric_limits<int>::max();
  CHECK_BREAKS(parameter_is_at_most, catalog::chain_with_heads(stages{largest}, largest));
}

TEST_CASE("1F1B over a trunk and its heads waits for the depth alone") {
  for (auto const order : {catalog::head_order::side_by_side, catalog::head_order::one_after_another})
    for (int trunk : {1, 2, 4})
      for (int heads : {1, 2, 4}) {
        CAPTURE(trunk);
        CAPTURE(heads);
        stage_graph const graph = catalog::chain_with_heads(stages{trunk}, heads, order);
        int const m = 6, all = trunk + heads, deep = depth(graph);
        CHECK(deep
              == trunk + (order == catalog::head_order::side_by_side || heads == 1 ? 1 : heads - 1));
        schedule const s = catalog::one_f_one_b(graph, linear(devices{all}), micro_batches{m});
        CHECK(makespan(s) == 3 * (m + deep - 1));
        CHECK(peak_activations(s)[0] == std::min(m, deep));
        program const p = lower(s);
        CHECK(check(p).ok());
        CHECK(simulate(p, {.cost = s.cost}).makespan() == makespan(s));
      }
}

// A message of the trunk's last stage goes to each head, and each gives a gradient of that size back.
// The heads send no activation, even if their memory gives it a size.
TEST_CASE("messages have the sizes of what makes them, edge by edge") {
  stage_graph const graph =
      catalog::chain_with_heads(stages{2}, 3, catalog::head_order::one_after_another);
  schedule const s = catalog::one_f_one_b(graph, linear(devices{5}), micro_batches{1}, {{10, 10, 10}});
  simulation_options o{.cost = s.cost};
  o.cost.on.links.inside.bandwidth = 1;
  o.memory.stages.resize(5);
  for (int stage = 0; stage < 5; ++stage) {
    auto& each = o.memory.stages[static_cast<std::size_t>(stage)];
    each.activation = each.gradient = 5 - stage;  // it shrinks on the way
  }
  program const p = lower(s);
  timeline const line = time_program(p, o);
  int sends = 0;
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    instruction const& each = p.instructions[i];
    if (each.code != opcode::send) continue;
    ++sends;
    int const maker = each.what.kind == pass_kind::forward ? each.what.stage : each.to;
    CHECK(line.timed[i].end - line.timed[i].start == 5 - maker);
  }
  CHECK(sends == 2 * 4);
  // The longest way is by 0, 1, 3 and 4 and back; stage 1 sends to 2 before it sends to 3.
  CHECK(line.makespan == 4 * 30 + (5 + 2 * 4 + 2) + (2 + 4 + 5));
}

}  // namespace
