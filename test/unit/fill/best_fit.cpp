#include <ashlar/fill/best_fit.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/fill/early_work.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/schedule/check.hpp>

using namespace shapes;

namespace {

// In 12 ticks device 0 idles for 5 and for 1 (F F . . . . . B B . B B), device 2 for 2 at the beginning
// and 4 at the end.
TEST_CASE("parts go where least is left") {
  schedule const s = one_f_one_b(3, 2);
  CHECK((gaps_of(s, 0, 12).size() == 2 && gaps_of(s, 0, 12)[0] == idle_time{2, 7}));
  // 1 + 5 fit into one step only if the short one goes where least is left.
  work_graph const work({{.parts = {{0, 1}}}, {.parts = {{0, 5}}}}, {});
  CHECK(fill_steps(s, work).steps == std::vector<int>(3, 1));
  CHECK(fill_steps(s, work, {.policy = fill_policy::first_fit}).steps[0] > 1);
  CHECK(fill_steps(s, work, {.margin = 1}).steps[0] == 1);  // 5 goes after all
  CHECK(makespan(fill(s, work, {.margin = 1})) > makespan(s));
  // A part of 1 alone goes there, too: after the first backward rather than in the longer time before
  // it.
  CHECK(fill(s, work_graph({{.parts = {{0, 1}}}}, {})).order[0][3] == time_slot{{X, 0, 0}, 9});
}

// In each step device 0 idles for 5 ticks and for 1. Two parts of 5 wait for five and for two short
// ones. Three steps do if the two go where 1 is left.
TEST_CASE("long parts that read many short ones get the long gaps") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = std::vector<work_part>(5, {0, 1})},
                         {.parts = {{0, 1}, {0, 1}}},
                         {.parts = {{0, 5}}},
                         {.parts = {{0, 5}}}},
                        {{{X, 0, 4}, {X, 2, 0}}, {{X, 1, 1}, {X, 3, 0}}});
  filling const f = fill_steps(s, work);
  CHECK((f.steps[0] == 3 && check(f.filled).ok()));
}

TEST_CASE("interlocked steps share their gaps") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{2, 6}}}}, {{{F, 2, 0}, {X, 0, 0}}});
  // It is too long for the end of a step, but not for that and the beginning of the next.
  filling const f = fill_steps(s, work, {.interlocked = true});
  CHECK((f.steps[2] == 1 && f.filled.order[2].back() == time_slot{{X, 0, 0}, 8}));
  CHECK((check(f.filled).ok() && makespan(s) == 12 && f.step == 12));
  CHECK(check(merge(f.filled, shift(f.filled, f.step))).ok());  // the next step does not wait
}

TEST_CASE("what the pipeline waits for comes first") {
  schedule const s = one_f_one_b(3, 2);
  // The last backward of device 0 waits for part 1; the longer part 0 leaves it the only place.
  work_graph const work({{.parts = {{0, 4}}}, {.parts = {{0, 3}}}}, {{{X, 1, 0}, {B, 0, 0}}});
  schedule const f = fill(s, work);
  CHECK((check(f).ok() && f.order[0][2] == time_slot{{X, 1, 0}, 2}));
}

TEST_CASE("work that cannot be there in time is refused") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const late({{.parts = {{0, 1}}}}, {{{X, 0, 0}, {F, 0, 0}}});
  CHECK_BREAKS(no_pass_starts_before_its_input, fill(s, late));
  CHECK_BREAKS(no_pass_starts_before_its_input, fill(s, late, {.policy = fill_policy::first_fit}));
  work_graph const long_part({{.parts = {{0, 6}}}}, {{{X, 0, 0}, {B, 0, 0}}});
  CHECK_BREAKS(no_pass_starts_before_its_input, fill(s, long_part));
}

TEST_CASE("a period is as long as it is said to be") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{0, 4}, {0, 4}}}}, {});
  CHECK(fill_steps(s, work).steps[0] == 2);
  filling const f = fill_steps(s, work, {.period = 3});
  CHECK((f.steps[0] == 2 && f.filled.micro_batch_count() == 6));
}

TEST_CASE("a period that is too short is refused, and so are margins below 0") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{0, 4}, {0, 4}}}}, {});
  try {
    fill(s, work, {.period = 1});
    FAIL("not refused");
  } catch (violation const& v) {
    CHECK(v.why.broken == rule::parameter_is_at_least);
    CHECK(v.why.which == parameter::work_period);
    CHECK(v.why.number == 2);
    CHECK(v.why.given == 1);
  }
  CHECK_BREAKS(counts_are_positive, fill(s, work, {.margin = -1}));
  CHECK_BREAKS(counts_are_positive, fill(s, work, {.period = -1}));
}

TEST_CASE("work that is summed over devices") {
  // The work is norms, their sum and its readers: no reader comes before both norms and the sum.
  for (fill_policy policy : {fill_policy::first_fit, fill_policy::best_fit}) {
    filling const f =
        fill_steps(one_f_one_b(2, 2), work_graph(norm_jobs(2), norm_edges(2)), {.policy = policy});
    CHECK((check(f.filled).ok() && early_work(f.filled).empty()));
  }
}

}  // namespace
