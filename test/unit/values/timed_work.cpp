#include <ashlar/values/timed_work.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("work stands where it would if it took no time") {
  schedule const s = one_f_one_b(1, 2);  // F0 B0 F1 B1 at 0, 1, 3, 4, to 6
  timed_work work(s);
  auto const part = [](int k) { return pass{X, 0, k}; };
  work.add(0, 6, 0, part(0));
  work.add(0, 2, 0, part(1));  // while B0 runs
  work.add(0, 3, 5, part(2));  // before what starts then
  work.add(0, 3, 4, part(3));  // and that of a lower rank first
  work.add(0, 3, 5, part(4));
  std::vector<pass> order;
  std::vector<std::vector<time_slot>> const all = work.orders();
  for (timed_pass const t : each_pass(all[0])) order.push_back(t.what);
  CHECK(order
        == std::vector<pass>{
            {F, 0, 0}, {B, 0, 0}, part(1), part(3), part(2), part(4), {F, 0, 1}, {B, 0, 1}, part(0)});
}

}  // namespace
