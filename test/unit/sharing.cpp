#include <ashlar/sharing.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_replicas() {
  placement const down = linear(devices{3});
  HOLDS(replicas(down, 1) == std::vector<int>{1});
  placement const both = overlay(mirror(down), down);
  HOLDS(replicas(both, 0) == std::vector<int>{2, 0});  // in the order of the routes
  HOLDS(replicas(both, 1) == std::vector<int>{1});     // routes that meet share the weights
  HOLDS(replicas(overlay(both, both), 2) == std::vector<int>{0, 2});
  return true;
}
BOTH_TIMES("replicas in the order of the routes", test_replicas)

}  // namespace
