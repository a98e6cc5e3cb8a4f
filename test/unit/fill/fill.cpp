#include <ashlar/fill/fill.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>

using namespace shapes;

namespace {

constexpr bool test_no_work() {
  schedule const s = one_f_one_b(3, 4);
  for (fill_policy policy : {fill_policy::first_fit, fill_policy::best_fit})
    HOLDS(fill(s, {}, {.policy = policy}) == s);
  HOLDS((s | fill(work_graph{})) == s);
  HOLDS(fill(s, {}, {.period = 2}) == then(s, s));
  return true;
}
BOTH_TIMES("no work: the step itself", test_no_work)

constexpr bool test_steps() {
  // Device 0 idles at 2..4 and 6..7 of 9 ticks: of 7 ticks of work it does two a step, but 3 in none.
  schedule const s = one_f_one_b(2, 2);
  filling const f = fill_steps(s, curvature());
  HOLDS(f.step == 9 && f.steps[0] == 2 && f.steps[1] == 1 && f.filled.micro_batch_count() == 4);
  HOLDS(start_of(f.filled, {X, 0, 0}) == 2 && start_of(f.filled, {X, 0, 1}) == 11);
  HOLDS(start_of(f.filled, {X, 1, 0}) == 18);  // after all
  HOLDS(check(f.filled).ok() && makespan(f.filled) == 21);
  HOLDS(utilisation(f, 0) == 19.0 / 18 && utilisation(f, 1) == 6.0 / 9);
  HOLDS(start_of(f.filled, {F, 0, 3}) == 10);  // no pass of the pipeline has moved
  HOLDS(check(lower(f.filled)).ok());
  return true;
}
BOTH_TIMES("pieces go into gaps once their passes are over, what is too long after all", test_steps)

}  // namespace
