#include "studies/amp/device_grid.hpp"
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

using namespace amp;

namespace {

node_cluster two_kinds() { return {.nodes = {{1, 8}, {1, 8}, {2, 4}, {2, 4}}, .node_size = 4}; }

TEST_CASE("device grids: node links") {
  node_cluster const c = two_kinds();
  CHECK(c.link(0, 3) == 8);
  CHECK(c.link(8, 11) == 4);
  CHECK(c.link(3, 4) == 1);
  CHECK(c.link(4, 8) == 1);
  CHECK(c.link(8, 12) == 2);
}

TEST_CASE("device grids: grid") {
  device_grid const g{.tensor = 2, .data = 2, .pipeline = 4};
  CHECK((g.device_count() == 16 && g.stage_size() == 4));
  CHECK(g.device(3, 1, 0) == 14);
  // All four messages leave the node over its one link.
  CHECK(hop_time(two_kinds(), g, 0) == 4);
  CHECK(hop_time(two_kinds(), g, 2) == 2);
  // Each device has a link of its own inside a node.
  CHECK(hop_time(two_kinds(), {.tensor = 1, .data = 2, .pipeline = 8}, 0) == 0.125);
  // Half of them leave.
  CHECK(hop_time(two_kinds(), {.tensor = 1, .data = 3, .pipeline = 5}, 0) == 2);
}

TEST_CASE("device grids: rings") {
  node_cluster const c = two_kinds();
  CHECK(ring_sum_time(c, {.tensor = 4, .data = 1, .pipeline = 4}, 0) == 0);
  CHECK(ring_sum_time(c, {.tensor = 2, .data = 2, .pipeline = 4}, 0) == 0.125);
  CHECK(ring_sum_time(c, {.tensor = 2, .data = 2, .pipeline = 4}, 2) == 0.25);
  // Two rings share each link over two nodes.
  CHECK(ring_sum_time(c, {.tensor = 2, .data = 4, .pipeline = 2}, 0) == 1.5 * 2);
  CHECK(ring_sum_time(c, {.tensor = 1, .data = 8, .pipeline = 2}, 1) == 1.75 * 0.5);
}

}  // namespace
