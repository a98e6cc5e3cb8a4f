#include "studies/amp/measured_layers.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace amp;

namespace {

TEST_CASE("measured layers: micro batch time") {
  // The time alone is proportional to the samples.
  CHECK(micro_batch_time({.alone = 4, .split = 4}, 1, 1, 8) == 32);
  // Split in two with an exchange of 1: a sample takes 2 + 1, and 2 are left that are the same for all.
  measured_layer const l{.alone = 4, .split = 5, .exchange = 2};
  CHECK(micro_batch_time(l, 2, 2, 1) == 5);
  CHECK(micro_batch_time(l, 2, 2, 8) == 8 * 3 + 2);
  // Nothing is taken off where the split is better than its share.
  CHECK(micro_batch_time({.alone = 4, .split = 1}, 1, 2, 3) == 6);
}

TEST_CASE("measured layers: stage times") {
  node_cluster c{.nodes = {{1, 4}, {1, 4}}, .node_size = 2};
  measured_model m{.kinds = {{{1, 1, 0}, {1, 1, 0}}, {{3, 3, 0}, {3, 3, 0}}},
                   .kind_of_node = {0, 1},
                   .layers = {{.output = 1, .parameters = 8}, {.output = 1, .parameters = 4}}};
  amp_plan plan{.grid = {.tensor = 1, .data = 2, .pipeline = 2},
                .micro_batch = 2,
                .micro_batches = 2,
                .sizes = {1, 1}};
  std::vector<stage_seconds> const made = stage_times(c, m, plan);
  CHECK((made[0].passes.forward == 2 && made[0].passes.backward == 4 && made[0].send == 4
         && made[0].reduction == 2));
  CHECK((made[1].passes.forward == 6 && made[1].send == 0 && made[1].reduction == 1));
  // A stage on both kinds is as slow as the slower one.
  plan.grid = {.tensor = 1, .data = 4, .pipeline = 1};
  plan.sizes = {2};
  CHECK(stage_times(c, m, plan)[0].passes.forward == 12);
  m.kind_of_node = {1, 0};
  CHECK(stage_times(c, m, plan)[0].passes.forward == 12);
}

}  // namespace
