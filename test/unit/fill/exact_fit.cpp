#include <ashlar/fill/exact_fit.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/fill/fill.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/check.hpp>

#include <string>

using namespace shapes;

namespace {

TEST_CASE("the fewest steps") {
  // In 12 ticks device 0 idles for 5 and for 1. Longest first, 3 + 2 fill the gap and 2 + 2 + 1 the
  // next.
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{0, 2}}},
                         {.parts = {{0, 2}}},
                         {.parts = {{0, 3}}},
                         {.parts = {{0, 2}}},
                         {.parts = {{0, 1}}}},
                        {});
  filling const f = fill_steps(s, work, {.policy = fill_policy::exact});
  CHECK((f.steps[0] == 2 && check(f.filled).ok() && makespan(f.filled) == 24));
  // A part that reads the second forward of the last device fits between this step and the next.
  work_graph const late({{.parts = {{2, 6}}}}, {{{F, 2, 1}, {X, 0, 0}}});
  filling const g = fill_steps(s, late, {.policy = fill_policy::exact, .interlocked = true});
  CHECK((g.steps[2] == 1 && g.filled.order[2].back() == time_slot{{X, 0, 0}, 8}));
  // This part comes before a pass that reads it.
  work_graph const early({{.parts = {{0, 4}}}, {.parts = {{0, 3}}}}, {{{X, 1, 0}, {B, 0, 0}}});
  CHECK(fill(s, early, {.policy = fill_policy::exact}).order[0][2].what == pass{X, 1, 0});
}

TEST_CASE("exact is for few parts and no sums; what cannot be in time is refused") {
  schedule const s = one_f_one_b(3, 2);
  fill_options const exact{.policy = fill_policy::exact};
  work_graph const many({{.parts = std::vector<work_part>(17, {0, 1})}}, {});
  try {
    fill(s, many, exact);
    FAIL("not refused");
  } catch (violation const& v) {
    CHECK(explain(v.why).find("the number of parts of work on device 0 must be at most 16, not 17")
          != std::string::npos);
  }
  CHECK_BREAKS(parameter_is_at_most,
               fill(one_f_one_b(2, 2), work_graph(norm_jobs(2), norm_edges(2)), exact));
  work_graph const late({{.parts = {{0, 1}}}}, {{{X, 0, 0}, {F, 0, 0}}});
  CHECK_BREAKS(no_pass_starts_before_its_input, fill(s, late, exact));
}

}  // namespace
