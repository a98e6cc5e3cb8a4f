#include "studies/amp/model.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace amp;

namespace {

node_cluster uneven_nodes() { return {.nodes = {{1, 4}, {1, 4}}, .node_size = 2}; }

std::vector<amp_layer> four_layers() {
  return {{.forward = 1, .output = 2, .parameters = 8, .is_embedding = true},
          {.forward = 1, .output = 2, .parameters = 4},
          {.forward = 1, .output = 2, .parameters = 4},
          {.forward = 1, .output = 2, .parameters = 8, .is_embedding = true}};
}

TEST_CASE("AMP: amp step") {
  amp_plan two{.grid = {.tensor = 1, .data = 2, .pipeline = 2},
               .micro_batch = 1,
               .micro_batches = 3,
               .sizes = {2, 2}};
  // The cut leaves the node; the rings of two stay inside.
  CHECK(pipeline_time(amp_cut_costs(uneven_nodes(), four_layers(), two), two.sizes) == 2 * 6 + 2 + 12);
  CHECK(amp_reduction_time(uneven_nodes(), four_layers(), two, amp_bugs::none) == 2.0 / (2 * 4) * 12);
  CHECK(amp_step_time(uneven_nodes(), four_layers(), two) == 26 + 3);
  // Embeddings of one stage count once.
  CHECK(stage_parameters(four_layers(), 0, 4) == 16);
}

TEST_CASE("AMP: last link") {
  node_cluster c{.nodes = {{1, 4}, {1, 4}}, .node_size = 3};
  amp_plan p{.grid = {.tensor = 2, .data = 3, .pipeline = 1},
             .micro_batch = 1,
             .micro_batches = 1,
             .sizes = {4}};
  // Tensor rank 0 has devices 0 2 4: inside, across, across; rank 1 has 1 3 5: across, inside, across.
  CHECK(amp_reduction_time(c, four_layers(), p, amp_bugs::none) == 4.0 / 3 * 8);
  CHECK(amp_reduction_time(c, four_layers(), p, amp_bugs::published) == 4.0 / 3 * 8);
  node_cluster slow_first{.nodes = {{1, 4}, {2, 4}, {2, 4}}, .node_size = 1};
  amp_plan q{.grid = {.tensor = 1, .data = 2, .pipeline = 1},
             .micro_batch = 1,
             .micro_batches = 1,
             .sizes = {4}};
  CHECK(amp_reduction_time(slow_first, four_layers(), q, amp_bugs::none) == 16);
}

// The first cut is chosen for the last stage's sake, as if it had no cost.
TEST_CASE("AMP: forgotten cut") {
  cut_costs c{.layer = {3, 2, 4, 3}, .volume = {3, 3, 3, 1}, .link = {1, 1}, .repeats = 2};
  CHECK(amp_partition(c, 3).sizes() == std::vector<int>{1, 1, 2});
  CHECK(pipeline_time(c, {1, 1, 2}) == 32);
  CHECK(pipeline_time(c, best_partition(c, 3)) == 28);
}

}  // namespace

TEST_CASE("AMP: its code takes the last link of a ring") {
  // Three nodes of one device; only the link from the first to the second is slow: no ring has that, but
  // nodes of different speed make the last link of a ring faster than its slowest.
  node_cluster c{.nodes = {{4, 8}, {1, 8}, {1, 8}, {4, 8}}, .node_size = 1};
  amp_plan p{.grid = {.tensor = 1, .data = 4, .pipeline = 1},
             .micro_batch = 1,
             .micro_batches = 1,
             .sizes = {4}};
  CHECK(amp_reduction_time(c, four_layers(), p, amp_bugs::none) == 1.5 * 16);
  CHECK(amp_reduction_time(c, four_layers(), p, amp_bugs::published) == 1.5 * 4);
}
