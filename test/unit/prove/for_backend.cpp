#include <ashlar/prove/for_backend.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;
using namespace mutate;

namespace {

constexpr progress_level every_level[] = {
    progress_level::independent_lanes, progress_level::one_order_per_device, progress_level::one_order};

// A rule that a program breaks anyway comes first, then one that it breaks on a backend of this level
// alone.
TEST_CASE("a program is proved for a backend of a level") {
  program p = one_f_one_b(2, 2) | lower();
  for (progress_level level : every_level) CHECK(check(p, level).ok());
  int const send = find(p, 1, opcode::send, {B, 1, 0});
  move(p, 1, find(p, 1, opcode::receive, {F, 0, 1}), send);
  CHECK(check(p).broken == rule::no_cycle_of_waits);
  for (progress_level level : every_level) CHECK(check(p, level) == check(p));

  // Device 0 reduces before it sends what device 1 has to receive before it reduces.
  p = two_ways(2) | repeat(micro_batches{2}) | squeeze() | lower();
  int last = -1;
  for (int i = 0; i < length(p, 0); ++i)
    if (at(p, 0, i).code == opcode::send) last = i;
  move(p, 0, last, last + 1);
  for (progress_level level : every_level) CHECK(check(p, level) == check_progress(p.view(), level));
  CHECK((check(p).ok() && !check(p, progress_level::one_order_per_device).ok()));
}

}  // namespace
