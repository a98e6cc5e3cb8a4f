#include <ashlar/check/check.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("blocks, schedules and programs") {
  block b = catalog::one_f_one_b(devices{2});
  schedule s = b | repeat(micro_batches{2}) | squeeze();
  program p = lower(s);
  CHECK((is_valid(b) && is_valid(s) && is_valid(p)));
  b.cells.pop_back();
  s.order[1].pop_back();
  p.instructions[1].what.stage = 1;  // the first pass
  CHECK((!is_valid(b) && !is_valid(s) && !is_valid(p)));
  CHECK(check(b).broken == rule::every_pass_is_present);
  CHECK(check(s).broken == rule::every_pass_is_present);
  CHECK(check(p).broken == rule::pass_is_on_its_device);
}

}  // namespace
