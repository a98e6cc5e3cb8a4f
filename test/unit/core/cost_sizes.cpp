#include <ashlar/core/cost_sizes.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

using namespace ashlar;

namespace {

constexpr bool test_sizes_of_costs() {
  costs c(std::vector<stage_cost>(4, stage_cost{}));
  c.speeds = {100, 40};
  HOLDS(check_sizes(c, 4, 2).ok() && check_sizes(costs{}, 7, 9).ok());
  HOLDS(check_sizes(c, 3, 2) == wrong_size(table::stage_costs, 4, 3));
  HOLDS(check_sizes(c, 4, 3) == wrong_size(table::device_speeds, 2, 3));
  return true;
}
BOTH_TIMES("costs are of one stage or of all, speeds of no device or of all", test_sizes_of_costs)

}  // namespace
