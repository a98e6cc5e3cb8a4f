#include <ashlar/fill/placed_memory.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/fill/fill.hpp>

using namespace shapes;

namespace {

// Device 0: F F . . . . . B B . B B in 12 ticks; a forward takes 10 bytes, a backward gives them back.
fill_options limited_to(byte_count budget) {
  fill_options o;
  o.limit.memory.stages[0].stash = 10;
  o.limit.budget = {budget};
  return o;
}

TEST_CASE("what parts hold, over time") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{0, 1}}}, {.parts = {{0, 1}}}, {.parts = {{0, 1}}}},
                        {{{F, 0, 0}, {X, 1, 0}}, {{X, 0, 0}, {X, 1, 0}}, {{X, 0, 0}, {B, 0, 1}}});
  fill_options o = limited_to(30);
  o.work_bytes = {{.output = 5}, {}, {.output = 50}};
  placed_memory held(s, 12, work.view(), o);
  held.begin(0, 2);
  CHECK(held.is_limited());
  CHECK(held.peak_with({2, 0}, 2, 3) == 20);  // nobody reads what it would hand on
  CHECK(held.peak_with({2, 0}, 9, 10) == 10);
  CHECK(held.peak_with({2, 0}, 12, 13) == 10);
  CHECK(held.peak_with({0, 0}, 3, 4) == 25);  // where no pass begins or ends
  // They are held until the second backward, which ends with the step.
  CHECK(held.hold({0, 0}, 2, 3) == 25);
  CHECK(held.peak_with({1, 0}, 3, 4) == 25);
  CHECK(held.peak_with({1, 0}, 9, 10) == 25);  // the stash of the first micro-batch stays, too
  CHECK(held.hold({1, 0}, 14, 15) == 35);      // and is there beside those of the next step
  CHECK((held.fits(30) && !held.fits(31)));
  held.begin(0, 2);
  CHECK(held.peak_with({2, 0}, 2, 3) == 20);
  CHECK(held.hold({1, 0}, 14, 15) == 30);  // the reader first
  CHECK(held.peak_with({0, 0}, 2, 3) == 35);
}

TEST_CASE("what is handed on stays for its last reader, once") {
  schedule const s = one_f_one_b(3, 2);
  // Two jobs read what the first hands on; the output of the fourth is read through a sum.
  work_graph const work(
      {{.parts = {{0, 1}}},
       {.parts = {{0, 1}}},
       {.parts = {{0, 1}}},
       {.parts = {{0, 1}}},
       {.parts = {{0, 1}}, .does = all_reduce_job{.over_ranks = true}},
       {.parts = {{0, 1}}}},
      {{{X, 0, 0}, {X, 1, 0}}, {{X, 0, 0}, {X, 2, 0}}, {{X, 3, 0}, {X, 4, 0}}, {{X, 4, 0}, {X, 5, 0}}});
  fill_options o = limited_to(40);
  o.work_bytes = {{.output = 5}, {}, {}, {.output = 7}, {}, {}};
  placed_memory held(s, 12, work.view(), o);
  held.begin(0, 2);
  CHECK(held.hold({0, 0}, 2, 3) == 25);
  CHECK(held.hold({1, 0}, 15, 16) == 25);
  CHECK(held.hold({2, 0}, 13, 14) == 25);  // that long it is there anyway
  CHECK(held.hold({2, 0}, 15, 16) == 25);
  CHECK(held.hold({3, 0}, 3, 4) == 32);
  CHECK(held.hold({5, 0}, 14, 15) == 32);
}

TEST_CASE("what does not fit waits") {
  schedule const s = one_f_one_b(3, 2);  // device 1 idles before its first pass and after its last one
  work_graph const work({{.parts = {{1, 1}}}, {.parts = {{1, 1}}}}, {{{X, 0, 0}, {X, 1, 0}}});
  fill_options o = limited_to(35);
  o.work_bytes = {{.output = 15}, {}};
  CHECK(peak_memory(fill(s, work, o), o.limit.memory, o.work_bytes)[1] == 35);
  o.limit.budget = {34};
  filling const f = fill_steps(s, work, o);  // both wait until nothing else is held
  CHECK((f.steps[1] == 1 && peak_memory(f.filled, o.limit.memory, o.work_bytes)[1] == 20));
}

TEST_CASE("work that breaks the limit wherever it is put is refused with device and bytes") {
  schedule const s = one_f_one_b(3, 2);
  // They are held from the forward to the end of the step, at least.
  work_graph const work({{.parts = {{0, 5}}}, {.parts = {{0, 5}}}},
                        {{{F, 0, 1}, {X, 1, 0}}, {{X, 0, 0}, {X, 1, 0}}});
  for (fill_policy policy : {fill_policy::best_fit, fill_policy::first_fit, fill_policy::exact}) {
    fill_options o = limited_to(29);
    o.policy = policy;
    try {
      fill(s, work, o);
      FAIL("not refused");
    } catch (violation const& v) {
      CHECK(v.why.broken == rule::memory_is_within_budget);
      CHECK(v.why.first.device == 0);
      CHECK(v.why.number == 30);
    }
    o.limit.budget = {30};
    CHECK(fill_steps(s, work, o).steps[0] == 2);
  }
}

TEST_CASE("limits and sizes that are none are refused") {
  schedule const s = one_f_one_b(3, 2);
  work_graph const work({{.parts = {{0, 1}}}}, {});
  CHECK_BREAKS(parameter_is_at_least, fill(s, work, limited_to(9)));
  fill_options o;
  o.work_bytes = {{.output = -1}};
  CHECK_BREAKS(sizes_fit, fill(s, work, o));
  o = limited_to(20);
  o.limit.budget.push_back(20);
  CHECK_BREAKS(tables_agree, fill(s, work, o));
}

}  // namespace
