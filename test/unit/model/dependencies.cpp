#include <ashlar/model/dependencies.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

struct input {
  result what;
  int stage;
  int micro_batch = 0;
  friend constexpr bool operator==(input, input) = default;
};

constexpr bool needs(stage_graph const& graph, pass what, std::vector<input> const& expected) {
  std::vector<input> found;
  for_each_input(graph, what, [&](result r, int stage, int k) { found.push_back({r, stage, k}); });
  return found == expected;
}

TEST_CASE("inputs on a chain") {
  stage_graph const g = chain(stages{3});
  CHECK(needs(g, {pass_kind::forward, 0, 0}, {}));
  CHECK(needs(g, {pass_kind::forward, 1, 0}, {{result::activation, 0}}));
  CHECK(needs(g, {pass_kind::recompute, 1, 0}, {{result::activation, 1}}));
  CHECK(needs(g, {pass_kind::backward, 2, 0}, {{result::activation, 2}, {result::recomputed, 2}}));
  CHECK(needs(g, {pass_kind::backward_input, 1, 0},
              {{result::activation, 1}, {result::recomputed, 1}, {result::input_gradient, 2}}));
  CHECK(needs(g, {pass_kind::backward_weight, 1, 0}, {{result::input_gradient, 1}}));
  CHECK(needs(g, {pass_kind::work, 1, 0}, {}));
}

TEST_CASE("inputs among sequence chunks") {
  stage_graph const g = in_sequence_chunks(chain(stages{2}), 3);
  CHECK(needs(g, {pass_kind::forward, 0, 3}, {}));  // the first chunk of the second sequence
  CHECK(needs(g, {pass_kind::forward, 1, 4}, {{result::activation, 0, 4}, {result::activation, 1, 3}}));
  CHECK(needs(g, {pass_kind::backward, 1, 4},
              {{result::activation, 1, 4}, {result::recomputed, 1, 4}, {result::input_gradient, 1, 5}}));
  CHECK(needs(g, {pass_kind::backward, 1, 5}, {{result::activation, 1, 5}, {result::recomputed, 1, 5}}));
}

TEST_CASE("inputs on a graph") {
  stage_graph const g(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  CHECK(needs(g, {pass_kind::forward, 3, 0}, {{result::activation, 1}, {result::activation, 2}}));
  CHECK(needs(g, {pass_kind::backward, 0, 0},
              {{result::activation, 0},
               {result::recomputed, 0},
               {result::input_gradient, 1},
               {result::input_gradient, 2}}));
}

TEST_CASE("a table has an entry for each micro-batch, stage and result") {
  result_table<int> table(3, 2, -1);
  int next = 0;
  for (int k = 0; k < 2; ++k)
    for (int s = 0; s < 3; ++s)
      for (int r = 0; r < results; ++r) {
        int& entry = table.at(k, s, static_cast<result>(r));
        CHECK(entry == -1);  // nobody else's
        entry = next++;
      }
  CHECK(table.at(1, 2, result::weight_gradient) == next - 1);
  CHECK(table.at(0, 0, result::activation) == 0);
}

// Passes come by micro-batch, then phase, then stage: backwards from the last one on.
TEST_CASE("passes in an order that all may run in") {
  stage_graph const graph = chain(stages{2});
  using enum pass_kind;
  std::vector<pass> const ordered = {
      {forward, 0, 0},        {forward, 1, 0},        {recompute, 0, 0},       {recompute, 1, 0},
      {backward_input, 1, 0}, {backward_input, 0, 0}, {backward_weight, 0, 0}, {backward_weight, 1, 0},
      {forward, 0, 1},        {backward, 1, 1}};
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t k = 0; k < ordered.size(); ++k)
      CHECK(precedes(graph, ordered[i], ordered[k]) == (i < k));
}

}  // namespace
