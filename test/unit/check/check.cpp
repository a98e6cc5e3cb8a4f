#include <ashlar/check/check.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/lower/lower.hpp>

using namespace shapes;

namespace {

constexpr bool test_all_levels() {
  block b = catalog::one_f_one_b(devices{2});
  schedule s = b | repeat(micro_batches{2}) | squeeze();
  program p = lower(s);
  HOLDS(is_valid(b) && is_valid(s) && is_valid(p));
  b.cells.pop_back();
  s.order[1].pop_back();
  p.instructions[1].what.stage = 1;  // the first pass
  HOLDS(!is_valid(b) && !is_valid(s) && !is_valid(p));
  HOLDS(check(b).broken == rule::every_pass_is_present);
  HOLDS(check(s).broken == rule::every_pass_is_present);
  HOLDS(check(p).broken == rule::pass_is_on_its_device);
  return true;
}
BOTH_TIMES("blocks, schedules and programs", test_all_levels)

}  // namespace
