#include <ashlar/fill/gaps.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"

using namespace shapes;

namespace {

constexpr bool test_gaps() {
  schedule const s = one_f_one_b(2, 2);  // F F . . B B . B B, . F B B F B B . .
  dynamic_array<idle_time> const first = gaps_of(s, 0, 9), second = gaps_of(s, 1, 9);
  HOLDS(first.size() == 2 && first[0] == idle_time{2, 4} && first[1] == idle_time{6, 7});
  HOLDS(second.size() == 2 && second[0] == idle_time{0, 1} && second[1] == idle_time{7, 9});
  HOLDS(gaps_of(s, 0, 12).back() == idle_time{9, 12});
  return true;
}
BOTH_TIMES("what a device idles, in order", test_gaps)

constexpr bool test_interlocked_gaps() {
  schedule const s = one_f_one_b(2, 2);
  HOLDS(step_gaps(s, 1, 9, false) == gaps_of(s, 1, 9));
  dynamic_array<idle_time> const last = step_gaps(s, 1, 9, true);
  HOLDS(last.size() == 1 && last[0] == idle_time{7, 10});  // on into the next step
  HOLDS(step_gaps(s, 0, 9, true) == gaps_of(s, 0, 9));
  dynamic_array<idle_time> const busy_to_the_end = step_gaps(s, 1, 7, true);
  HOLDS(busy_to_the_end.size() == 1 && busy_to_the_end[0] == idle_time{7, 8});
  return true;
}
BOTH_TIMES("interlocked, the last gap goes on to the first pass of the next step", test_interlocked_gaps)

constexpr bool test_spare_room() {
  HOLDS(spare_room(10, 11, 0) < 0 && spare_room(10, 10, 0) == 0 && spare_room(12, 10, 0) == 200);
  HOLDS(spare_room(105, 100, 5) == 0 && spare_room(104, 100, 5) < 0);
  HOLDS(spare_room(max_tick, 1, 0) > 0);  // no overflow
  return true;
}
BOTH_TIMES("room for a part and its margin", test_spare_room)

}  // namespace
