#include <ashlar/fill/step_bound.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("parts that fit nowhere, and the steps that the others take at least") {
  schedule const s = one_f_one_b(3, 2);  // device 0 idles for 5 ticks and for 1
  work_graph const work({{.parts = {{0, 5}, {0, 5}, {0, 5}}}, {.parts = {{0, 6}}}, {.parts = {{0, 1}}}},
                        {{{X, 1, 0}, {X, 2, 0}}});
  part_times const times(s, work.view());
  dynamic_array<bool> const is_long = find_long_parts(s, makespan(s), times, {});
  CHECK((!is_long[0] && !is_long[1] && !is_long[2]));
  CHECK((is_long[3] && is_long[4]));                                          // waits for one that is
  CHECK(step_bound(s, makespan(s), times, {}) == std::vector<int>{3, 1, 1});  // 15 ticks by 6
  CHECK(find_long_parts(s, makespan(s), times, {.margin = 10})[0]);
}

TEST_CASE("what is idle before anything can be done does not count") {
  schedule const s =
      one_f_one_b(3, 2);  // device 2 idles for 2 ticks at the beginning and for 4 at the end
  work_graph const work({{.parts = {{2, 3}}}, {.parts = {{2, 2}}}},
                        {{{F, 2, 0}, {X, 0, 0}}, {{X, 0, 0}, {X, 1, 0}}});
  part_times const times(s, work.view());
  CHECK((heads_of(times).size() == 2 && heads_of(times)[0] == 3 && heads_of(times)[1] == 6));
  // 5 ticks by 6 would be one step, but nothing can be done in the first 2; they are those of the
  // second.
  CHECK(step_bound(s, 12, times, {})[2] == 2);
  CHECK(step_bound(s, 12, times, {.interlocked = true})[2] == 1);
}

}  // namespace
