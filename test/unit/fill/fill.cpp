#include <ashlar/fill/fill.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("no work: the step itself") {
  schedule const s = one_f_one_b(3, 4);
  for (fill_policy policy : {fill_policy::first_fit, fill_policy::best_fit})
    CHECK(fill(s, {}, {.policy = policy}) == s);
  CHECK((s | fill(work_graph{})) == s);
  CHECK(fill(s, {}, {.period = 2}) == then(s, s));
}

TEST_CASE("pieces go into gaps once their passes are over, what is too long after all") {
  // Device 0 idles at 2..4 and 6..7 of 9 ticks: of 7 ticks of work it does two a step, but 3 in none.
  schedule const s = one_f_one_b(2, 2);
  filling const f = fill_steps(s, curvature());
  CHECK((f.step == 9 && f.steps[0] == 2 && f.steps[1] == 1 && f.filled.micro_batch_count() == 4));
  CHECK((start_of(f.filled, {X, 0, 0}) == 2 && start_of(f.filled, {X, 0, 1}) == 11));
  CHECK(start_of(f.filled, {X, 1, 0}) == 18);  // after all
  CHECK((check(f.filled).ok() && makespan(f.filled) == 21));
  CHECK((utilisation(f, 0) == 16.0 / 18 && utilisation(f, 1) == 6.0 / 9));  // without the 3 ticks
  CHECK(start_of(f.filled, {F, 0, 3}) == 10);  // no pass of the pipeline has moved
  CHECK(check(lower(f.filled)).ok());
}

}  // namespace
