#include <ashlar/model/stage_graph.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <vector>

using namespace ashlar;

namespace {

constexpr bool holds(stage_graph::range range, std::vector<int> const& expected) {
  if (range.size() != expected.size()) return false;
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (range[i] != expected[i]) return false;
  return true;
}

TEST_CASE("a chain") {
  stage_graph const g = chain(stages{4});
  CHECK((g.count() == 4 && g.edge_count() == 3));
  CHECK((holds(g.predecessors(0), {}) && holds(g.successors(0), {1})));
  CHECK((holds(g.predecessors(2), {1}) && holds(g.successors(2), {3})));
  CHECK(holds(g.successors(3), {}));
  for (int s = 0; s < 3; ++s) CHECK(g.edge(s, s + 1) == s);
  CHECK(chain(stages{1}).edge_count() == 0);
  CHECK((stage_graph{}.count() == 0 && stage_graph{}.edge_count() == 0));
}

TEST_CASE("a fork that joins again") {
  // Edges are given in no order and found in ascending order.
  stage_graph const g(stages{4}, {{2, 3}, {0, 2}, {1, 3}, {0, 1}});
  CHECK(g == stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  CHECK(g != chain(stages{4}));
  CHECK((holds(g.successors(0), {1, 2}) && holds(g.predecessors(3), {1, 2})));
  CHECK(g.edge_count() == 4);
  CHECK((g.edge(0, 1) == 0 && g.edge(0, 2) == 1 && g.edge(1, 3) == 2 && g.edge(2, 3) == 3));
  CHECK((g.first_edge(0) == 0 && g.first_edge(1) == 2 && g.first_edge(3) == 4));
}

TEST_CASE("stages without edges") {
  stage_graph const g(stages{3}, {});
  CHECK((g.edge_count() == 0 && g.predecessors(1).empty() && g.successors(1).empty()));
}

TEST_CASE("stages differ in the size of their micro-batches") {
  stage_graph const g = in_micro_batches(chain(stages{3}), {1, 4, 2});
  CHECK((g.has_sizes() && g.size_of(1) == 4 && g.together() == 4));
  CHECK((g.runs(0, 3) && g.runs(1, 4) && !g.runs(1, 2) && g.runs(2, 2)));
  CHECK((matching_micro_batches(4, 2) == 2 && matching_micro_batches(2, 4) == 1
         && matching_micro_batches(2, 2) == 1));
  CHECK(in_micro_batches(g, {1, 1, 1}) == chain(stages{3}));
  CHECK(in_sequence_chunks(chain(stages{3}), 3).together() == 3);
  int sum = 0;
  for_each_matching(4, 2, 8, [&](int k) { sum = 100 * sum + k; });
  CHECK(sum == 810);
  for_each_matching(1, 4, 11, [&](int k) { sum = k; });
  CHECK(sum == 8);
}

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

TEST_CASE("last stages may be the shards of a layer") {
  stage_graph const plain(stages{5}, {{0, 1}, {0, 2}, {0, 3}, {0, 4}});
  stage_graph const g = in_shards(plain, {{1, 4}, {2, 3}});
  CHECK((!plain.has_shards() && g.has_shards() && g != plain));
  CHECK(g.shards_with(0).empty());
  CHECK((g.shards_with(1).size() == 2 && g.shards_with(1)[1] == 4 && g.shards_with(4)[0] == 1));
  CHECK((g.shards_with(3).size() == 2 && g.shards_with(3)[0] == 2));
  CHECK((g.readers(0).size() == 4 && g.readers(4).size() == 2 && g.successors(4).empty()));
  CHECK((plain.link_count() == 4 && g.link_count() == 4 + 8));
  CHECK((g.first_link(0) == 0 && g.first_link(1) == 4 && g.first_link(2) == 6 && g.first_link(4) == 10));
  CHECK(g.view().readers(3).size() == 2);
  CHECK((!g.gives_gradient_early(1) && !g.view().gives_gradient_early(1)));
  stage_graph const early = in_shards(plain, {{1, 2, 3, 4}}, shard_gradient::of_forward);
  CHECK((early.gives_gradient_early(4) && early.view().gives_gradient_early(4)));
  CHECK((!early.gives_gradient_early(0) && !early.view().gives_gradient_early(0)));
  CHECK(in_shards(g, {}) == plain);
}

TEST_CASE("shards are last stages of size 1, each listed once, in ascending order") {
  stage_graph const g(stages{4}, {{0, 1}, {1, 2}, {1, 3}});
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{1, 2}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{3, 2}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{2, 2}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{2, 3}, {3}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{2, 4}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(g, {{-1}}));
  CHECK_BREAKS(shards_are_last_stages, in_shards(in_micro_batches(g, {1, 1, 2, 2}), {{2, 3}}));
  CHECK_BREAKS(shards_are_last_stages, in_micro_batches(in_shards(g, {{2, 3}}), {1, 1, 2, 2}));
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

TEST_CASE("a chain is told from other graphs, over chunks of sequences, too") {
  CHECK(is_chain(chain(stages{1})));
  CHECK(is_chain(in_sequence_chunks(chain(stages{3}), 2)));
  CHECK(!is_chain(stage_graph(stages{3}, {{0, 1}, {0, 2}, {1, 2}})));
  CHECK(!is_chain(stage_graph(stages{2}, {})));
  CHECK(!is_chain(in_micro_batches(chain(stages{2}), {2, 1})));
  CHECK(!is_chain(in_shards(stage_graph(stages{2}, {{0, 1}}), {{1}})));
}

TEST_CASE("a graph has passes of the pipeline, of its stages and micro-batches") {
  stage_graph const g = in_micro_batches(chain(stages{2}), {1, 2});
  CHECK((g.has({pass_kind::backward_weight, 0, 3}, 4) && g.has({pass_kind::forward, 1, 2}, 4)));
  CHECK((!g.has({pass_kind::work, 0, 0}, 4) && !g.has({pass_kind::forward, 1, 1}, 4)));
  CHECK((!g.has({pass_kind::forward, 2, 0}, 4) && !g.has({pass_kind::forward, -1, 0}, 4)));
  CHECK((!g.has({pass_kind::forward, 0, 4}, 4) && !g.has({pass_kind::forward, 0, -1}, 4)));
}

TEST_CASE("a view of a graph is of whole sequences unless said otherwise") {
  graph_view const plain{.before = {}, .after = {}};
  CHECK((plain.sequence_chunks == 1 && !plain.has_sizes() && !plain.has_shards));
  CHECK(plain.gradients == shard_gradient::of_backward);
  CHECK(in_sequence_chunks(chain(stages{2}), 3).view().sequence_chunks == 3);
}

}  // namespace
