#include <ashlar/model/stage_graph.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <vector>

using namespace ashlar;

namespace {

constexpr bool holds(stage_graph::range range, std::vector<int> const& expected) {
  if (range.size() != expected.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (range[i] != expected[i]) return false;
  return true;
}

constexpr bool test_chain() {
  stage_graph const g = chain(stages{4});
  HOLDS(g.count() == 4 && g.edge_count() == 3);
  HOLDS(holds(g.predecessors(0), {}) && holds(g.successors(0), {1}));
  HOLDS(holds(g.predecessors(2), {1}) && holds(g.successors(2), {3}));
  HOLDS(holds(g.successors(3), {}));
  for (int s = 0; s < 3; ++s) HOLDS(g.edge(s, s + 1) == s);
  HOLDS(chain(stages{1}).edge_count() == 0);
  HOLDS(stage_graph{}.count() == 0 && stage_graph{}.edge_count() == 0);
  return true;
}
BOTH_TIMES("a chain", test_chain)

constexpr bool test_fork_join_graph() {
  // Given in no order; found in ascending order.
  stage_graph const g(stages{4}, {{2, 3}, {0, 2}, {1, 3}, {0, 1}});
  HOLDS(g == stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  HOLDS(g != chain(stages{4}));
  HOLDS(holds(g.successors(0), {1, 2}) && holds(g.predecessors(3), {1, 2}));
  HOLDS(g.edge_count() == 4);
  HOLDS(g.edge(0, 1) == 0 && g.edge(0, 2) == 1 && g.edge(1, 3) == 2 && g.edge(2, 3) == 3);
  HOLDS(g.first_edge(0) == 0 && g.first_edge(1) == 2 && g.first_edge(3) == 4);
  return true;
}
BOTH_TIMES("a fork that joins again", test_fork_join_graph)

constexpr bool test_islands() {
  stage_graph const g(stages{3}, {});
  HOLDS(g.edge_count() == 0 && g.predecessors(1).empty() && g.successors(1).empty());
  return true;
}
BOTH_TIMES("stages without edges", test_islands)

constexpr bool test_micro_batches_of_sizes() {
  stage_graph const g = in_micro_batches(chain(stages{3}), {1, 4, 2});
  HOLDS(g.has_sizes() && g.size_of(1) == 4 && g.together() == 4);
  HOLDS(g.runs(0, 3) && g.runs(1, 4) && !g.runs(1, 2) && g.runs(2, 2));
  HOLDS(matching_micro_batches(4, 2) == 2 && matching_micro_batches(2, 4) == 1
        && matching_micro_batches(2, 2) == 1);
  HOLDS(in_micro_batches(g, {1, 1, 1}) == chain(stages{3}));
  HOLDS(in_sequence_chunks(chain(stages{3}), 3).together() == 3);
  int sum = 0;
  for_each_matching(4, 2, 8, [&](int k) { sum = 100 * sum + k; });
  HOLDS(sum == 810);
  for_each_matching(1, 4, 11, [&](int k) { sum = k; });
  HOLDS(sum == 8);
  return true;
}
BOTH_TIMES("stages differ in the size of their micro-batches", test_micro_batches_of_sizes)

TEST_CASE("sizes divide the larger ones") {
  stage_graph const g = chain(stages{3});
  CHECK_BREAKS(tables_agree, in_micro_batches(g, {1, 2}));
  CHECK_BREAKS(counts_are_positive, in_micro_batches(g, {1, 0, 2}));
  CHECK_BREAKS(micro_batch_sizes_divide, in_micro_batches(g, {2, 3, 1}));
  CHECK_BREAKS(micro_batch_sizes_divide, in_micro_batches(g, {2, 6, 3}));
  CHECK_BREAKS(micro_batch_sizes_divide, in_micro_batches(g, {6, 12, 4}));
  CHECK_BREAKS(micro_batch_sizes_divide, in_micro_batches(g, {1 << 30, 2'147'483'647, 1}));
  CHECK(in_micro_batches(g, {2'147'483'647, 1, 2'147'483'647}).together() == 2'147'483'647);
  CHECK(in_micro_batches(g, {4, 12, 2}).together() == 12);
  CHECK_BREAKS(micro_batch_sizes_divide, in_micro_batches(in_sequence_chunks(g, 2), {2, 1, 1}));
  CHECK_BREAKS(micro_batch_sizes_divide, in_sequence_chunks(in_micro_batches(g, {2, 1, 1}), 2));
}

TEST_CASE("edges must ascend, once, between existing stages") {
  CHECK_BREAKS(stage_edges_ascend, stage_graph(stages{3}, {{1, 0}}));
  CHECK_BREAKS(stage_edges_ascend, stage_graph(stages{3}, {{1, 1}}));
  CHECK_BREAKS(stage_edges_ascend, stage_graph(stages{3}, {{-1, 1}}));
  CHECK_BREAKS(stage_edges_ascend, stage_graph(stages{3}, {{1, 3}}));
  CHECK_BREAKS(stage_edges_ascend, stage_graph(stages{3}, {{0, 1}, {1, 2}, {0, 1}}));
  CHECK_BREAKS(counts_are_positive, stage_graph(stages{0}, {}));
  CHECK_BREAKS(counts_are_positive, chain(stages{-5}));
}

}  // namespace
