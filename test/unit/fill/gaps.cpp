#include <ashlar/fill/gaps.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("what a device idles, in order") {
  schedule const s = one_f_one_b(2, 2);  // F F . . B B . B B, . F B B F B B . .
  dynamic_array<idle_time> const first = gaps_of(s, 0, 9), second = gaps_of(s, 1, 9);
  CHECK((first.size() == 2 && first[0] == idle_time{2, 4} && first[1] == idle_time{6, 7}));
  CHECK((second.size() == 2 && second[0] == idle_time{0, 1} && second[1] == idle_time{7, 9}));
  CHECK(gaps_of(s, 0, 12).back() == idle_time{9, 12});
}

TEST_CASE("interlocked, the last gap goes on to the first pass of the next step") {
  schedule const s = one_f_one_b(2, 2);
  CHECK(step_gaps(s, 1, 9, false) == gaps_of(s, 1, 9));
  dynamic_array<idle_time> const last = step_gaps(s, 1, 9, true);
  CHECK((last.size() == 1 && last[0] == idle_time{7, 10}));  // on into the next step
  CHECK(step_gaps(s, 0, 9, true) == gaps_of(s, 0, 9));
  dynamic_array<idle_time> const busy_to_the_end = step_gaps(s, 1, 7, true);
  CHECK((busy_to_the_end.size() == 1 && busy_to_the_end[0] == idle_time{7, 8}));
}

TEST_CASE("room for a part and its margin") {
  CHECK((spare_room(10, 11, 0) < 0 && spare_room(10, 10, 0) == 0 && spare_room(12, 10, 0) == 200));
  CHECK((spare_room(105, 100, 5) == 0 && spare_room(104, 100, 5) < 0));
  CHECK(spare_room(max_tick, 1, 0) > 0);  // no overflow
}

}  // namespace
