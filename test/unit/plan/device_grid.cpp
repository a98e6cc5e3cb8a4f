#include <ashlar/plan/device_grid.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr node_cluster two_kinds() {
  return {.nodes = {{1, 8}, {1, 8}, {2, 4}, {2, 4}}, .node_size = 4};
}

constexpr bool test_node_links() {
  node_cluster const c = two_kinds();
  HOLDS(c.link(0, 3) == 8);
  HOLDS(c.link(8, 11) == 4);
  HOLDS(c.link(3, 4) == 1);
  HOLDS(c.link(4, 8) == 1);
  HOLDS(c.link(8, 12) == 2);
  return true;
}
static_assert(test_node_links());

constexpr bool test_grid() {
  device_grid const g{.tensor = 2, .data = 2, .pipeline = 4};
  HOLDS(g.device_count() == 16 && g.stage_size() == 4);
  HOLDS(g.device(3, 1, 0) == 14);
  // All four messages leave the node over its one link.
  HOLDS(hop_time(two_kinds(), g, 0) == 4);
  HOLDS(hop_time(two_kinds(), g, 2) == 2);
  // Inside a node each has a link of its own.
  HOLDS(hop_time(two_kinds(), {.tensor = 1, .data = 2, .pipeline = 8}, 0) == 0.125);
  // Half of them leave.
  HOLDS(hop_time(two_kinds(), {.tensor = 1, .data = 3, .pipeline = 5}, 0) == 2);
  return true;
}
static_assert(test_grid());

constexpr bool test_rings() {
  node_cluster const c = two_kinds();
  HOLDS(ring_sum_time(c, {.tensor = 4, .data = 1, .pipeline = 4}, 0) == 0);
  HOLDS(ring_sum_time(c, {.tensor = 2, .data = 2, .pipeline = 4}, 0) == 0.125);
  HOLDS(ring_sum_time(c, {.tensor = 2, .data = 2, .pipeline = 4}, 2) == 0.25);
  // Over two nodes: two rings share each link.
  HOLDS(ring_sum_time(c, {.tensor = 2, .data = 4, .pipeline = 2}, 0) == 1.5 * 2);
  HOLDS(ring_sum_time(c, {.tensor = 1, .data = 8, .pipeline = 2}, 1) == 1.75 * 0.5);
  return true;
}
static_assert(test_rings());

}  // namespace

TEST_CASE("device grids: links, hops and rings share what leaves a node") {
  CHECK(test_node_links());
  CHECK(test_grid());
  CHECK(test_rings());
}
