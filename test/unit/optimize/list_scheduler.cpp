#include <ashlar/optimize/list_scheduler.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

using namespace shapes;

namespace {

constexpr bool test_window_of_one() {
  schedule const s = one_f_one_b(3, 4);
  list_scheduler d(s, chunk_activations(3));
  list_scheduler::timeline t;
  HOLDS(d.run(d.passes().orders, {}, {}, t));
  HOLDS(t.orders == d.passes().orders && timed(s, d.passes(), t) == s && t.makespan == makespan(s));
  HOLDS(t.span == span(s));
  HOLDS(d.run_reversed(d.passes().orders, {}, {}, t) && t.makespan == makespan(s));
  HOLDS(check(timed(s, d.passes(), t)).ok());
  HOLDS(d.passes().planned_like(s) == d.passes().orders);
  return true;
}
BOTH_TIMES("looking at one pass keeps the plan, both ways", test_window_of_one)

constexpr bool test_limit() {
  schedule const s = catalog::gpipe(devices{2}, micro_batches{4}) | repeat(micro_batches{4}) | squeeze();
  list_scheduler d(s, chunk_activations(2));
  list_scheduler::timeline t;
  HOLDS(!d.run(d.passes().orders, {}, {}, t));  // the plan holds four
  HOLDS(d.run(d.passes().orders, {.window = 8}, {}, t));
  schedule const less = timed(s, d.passes(), t);
  HOLDS(check(less).ok());
  for (int peak : peak_activations(less)) HOLDS(peak <= 2);
  return true;
}
BOTH_TIMES("no more than the limit, whatever the plan", test_limit)

TEST_CASE("what cannot be dispatched") {
  CHECK_BREAKS(every_pass_is_known, list_scheduler(with_work(one_f_one_b(2, 2)), chunk_activations(2)));
  list_scheduler const d(one_f_one_b(2, 2), chunk_activations(2));
  CHECK_BREAKS(every_pass_is_known,
               d.passes().planned_like(split_backward(catalog::one_f_one_b(devices{2}))
                                       | repeat(micro_batches{2})));
}

}  // namespace
